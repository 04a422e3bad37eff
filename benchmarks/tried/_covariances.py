"""What is not known yet of the weights of each class, as seen by the pairs: covariances under a Laplace posterior.

    Q_c = G_c H_c^-1 G_c',    G_c: a row g_bc for every bag, g and H_c as in _blocks

With k known pairs of a class, of which A has the rows sqrt(P0/P1) g, only products of gradients are needed, not H:

    Q = (G G' - G A' (prior I + A A')^-1 A G') / prior

Cost O(bags^2 d + bags^2 k) for a class: a thousand features are no problem, a hundred thousand bags are.
"""

import numpy as np

from ._blocks import odds_of_absence, own_gradients


def covariances(pool):
    """Yield Q of every class, (bags x bags), with P0/P1 of its pairs, (bags,)."""
    gradients, odds = own_gradients(pool), odds_of_absence(pool)
    for label_class in range(pool.shape[1]):
        own, of_class = gradients[:, label_class], odds[:, label_class]
        products = own @ own.T
        known = np.flatnonzero(pool.known[:, label_class])
        roots = np.sqrt(of_class[known])
        towards = products[:, known] * roots
        within = pool.prior * np.eye(len(known)) + roots[:, None] * products[np.ix_(known, known)] * roots
        yield (products - towards @ np.linalg.solve(within, towards.T)) / pool.prior, of_class

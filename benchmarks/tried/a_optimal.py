"""A-optimal selection: by how much an answer lowers the variance of the predictions, summed over the open pairs.

    score[b, c] = o_b / (1 + o_b Q_bb)  sum over open pairs (t, c) of  P0_t^2 Q_bt^2 / bags,    o = P0/P1

d P1 / d weights = -P0 g, so P0^2 Q_tt is the variance of P1 of a pair under the Laplace posterior of the weights of its
class (Q as in _covariances), and the score is what an answer takes away from it. Range [0, 1].
"""

import numpy as np

from ._covariances import covariances


def a_optimal(pool):
    """Score every pair.

    >>> from bagwise import MIMLClassifier
    >>> model = MIMLClassifier.from_weights([[0.0, 0.0], [0.0, 0.0]])
    >>> a_optimal(model.pool([[[3.0, 0.1]], [[3.0, 0.0]], [[0.0, 3.0]]])).round(2)
    array([[0.26, 0.26],
           [0.26, 0.26],
           [0.13, 0.13]])
    """
    scores = np.zeros(pool.shape)
    for label_class, (covariance, odds) in enumerate(covariances(pool)):
        targets = np.flatnonzero(pool.askable[:, label_class])
        told = odds / (1 + odds * np.diag(covariance))
        if len(targets):
            scores[:, label_class] = told * (covariance[:, targets] ** 2 @ pool.absent[targets, label_class] ** 2)
    return scores / max(len(pool.askable), 1)

"""Expected predictive information gain (EPIG): how much an answer tells of the answers about other bags.

    score[b, c] = mean over open pairs (t, c) of  -log(1 - r_bt^2) / 2,
    r_bt^2 = o_b o_t Q_bt^2 / ((1 + o_b Q_bb) (1 + o_t Q_tt)),    o = P0/P1, Q as in _covariances

that is, the mutual information of two answers under the Laplace posterior of the weights of the class, with an answer
as a measurement of variance 1/o. Information gain alone asks about strange bags, which tell much about weights that no
other bag needs. Range [0, inf). Smith et al. 2023, arXiv 2304.08151.
"""

import numpy as np

from ._covariances import covariances

LARGEST = 1 - 1e-6


def predictive_information_gain(pool):
    """Score every pair.

    >>> from bagwise import MIMLClassifier
    >>> model = MIMLClassifier.from_weights([[0.0, 0.0], [0.0, 0.0]])
    >>> predictive_information_gain(model.pool([[[3.0, 0.1]], [[3.0, 0.0]], [[0.0, 3.0]]])).round(2)
    array([[0.11, 0.11],
           [0.11, 0.11],
           [0.  , 0.  ]])
    """
    scores = np.zeros(pool.shape)
    for label_class, (covariance, odds) in enumerate(covariances(pool)):
        told = odds / (1 + odds * np.diag(covariance))
        shared = np.minimum(covariance**2 * told * told[:, None], LARGEST)
        np.fill_diagonal(shared, 0)
        targets = pool.askable[:, label_class]
        scores[:, label_class] = -np.log1p(-shared[:, targets]).mean(axis=1) / 2 if targets.any() else 0
    return scores

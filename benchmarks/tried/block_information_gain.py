"""Information gain in blocks: what an answer would tell about the weights of its own class.

    score[b, c] = log(1 + (P0/P1) g' H_c^-1 g),   g and H_c as in _blocks

Range [0, inf). Cost O(bags C d^2 + C d^3), memory bags C d: unlike information_gain it fits any number of classes.
"""

import numpy as np

from ._blocks import information_blocks, odds_of_absence, own_gradients


def block_information_gain(pool):
    """Score every pair.

    >>> from bagwise import MIMLClassifier
    >>> model = MIMLClassifier.from_weights([[0.0, 0.0], [0.0, 0.0]])
    >>> block_information_gain(model.pool([[[3.0, 4.0]], [[0.0, 0.1]]])).round(3)
    array([[1.981, 1.981],
           [0.002, 0.002]])
    """
    gradients, odds = own_gradients(pool), odds_of_absence(pool)
    lower = np.linalg.cholesky(information_blocks(pool, gradients, odds))
    whitened = np.linalg.inv(lower) @ gradients.transpose(1, 2, 0)
    return np.log1p(odds * (whitened**2).sum(axis=1).T)

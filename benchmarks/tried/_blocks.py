"""The gradient of log P0 by the weights of the asked class alone, and the Fisher information in such blocks.

g_bc = -sum_i p_ic x_i,    H_c = prior I + sum over known pairs of class c of (P0/P1) g g'
"""

from itertools import pairwise

import numpy as np


def own_gradients(pool):
    """g of every pair, (bags x classes x weights of a class)."""
    instances, offsets = pool.scorer.instances, pool.scorer.instances.offsets
    seen = instances.transformed(0, len(instances.x))
    negative = -pool.scorer.instance_probabilities()
    gradients = np.empty((*pool.shape, instances.width))
    for bag, (first, last) in enumerate(pairwise(offsets)):
        np.matmul(negative[first:last].T, seen[first:last], out=gradients[bag])
    return gradients


def odds_of_absence(pool):
    """P0/P1, finite."""
    return pool.absent / np.maximum(pool.present, np.finfo(pool.present.dtype).tiny)


def information_blocks(pool, gradients, odds):
    """H of every class, (classes x weights x weights)."""
    roots = (np.sqrt(np.where(pool.known, odds, 0))[:, :, None] * gradients).swapaxes(0, 1)
    return pool.prior * np.eye(gradients.shape[2]) + roots.swapaxes(1, 2) @ roots

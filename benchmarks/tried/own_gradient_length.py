"""Own gradient length: expected gradient length by the weights of the asked class alone.

    score[b, c] = 2 P0 ||g||,   g = -sum_i p_ic x_i

Range [0, inf). Cost O(instances C d). The gradient by the other classes' weights says how they would make room; this
leaves it out.
"""

import numpy as np

from ._blocks import own_gradients


def own_gradient_length(pool):
    """Score every pair.

    >>> from bagwise import MIMLClassifier
    >>> model = MIMLClassifier.from_weights([[0.0, 0.0], [0.0, 0.0]])
    >>> own_gradient_length(model.pool([[[3.0, 4.0]], [[0.0, 0.1]]])).round(3)
    array([[2.5 , 2.5 ],
           [0.05, 0.05]])
    """
    return 2 * pool.absent * np.linalg.norm(own_gradients(pool), axis=2)

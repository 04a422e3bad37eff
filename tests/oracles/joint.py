"""The joint likelihood by going through every labelling of the instances."""

import itertools

import numpy as np

from tests.oracles.model import softmax


def joint_by_enumeration(logits, known):
    """log P(all known labels) and P(instance has class | known labels); `known` is 1, 0 or nan per class."""
    p = softmax(np.asarray(logits, float))
    rows, outputs = p.shape
    total, posterior = 0.0, np.zeros((rows, outputs))
    for labelling in itertools.product(range(outputs), repeat=rows):
        inside = set(labelling)
        if any((known[c] == 1 and c not in inside) or (known[c] == 0 and c in inside) for c in range(len(known))):
            continue
        probability = np.prod([p[i, c] for i, c in enumerate(labelling)])
        total += probability
        for i, c in enumerate(labelling):
            posterior[i, c] += probability
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(total), posterior / total

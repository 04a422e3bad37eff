"""Labels of bags and of single instances by going through every labelling of the instances."""

import itertools

import numpy as np

from tests.oracles.model import softmax


def likelihood_by_enumeration(logits, known, said, flips=None, joint=False):
    """log P of what is said of the instances and of the labels of one bag, as spec section 12 has it.

    `known` is 1, 0 or nan per class; `said` is a list of (instance, class, is it, rate of being wrong). The labels are
    taken one by one, each conditional on what is said of the instances, or all together where `joint`.
    """
    p = softmax(np.asarray(logits, float))
    rows, outputs = p.shape
    flips = np.zeros(len(known)) if flips is None else flips
    evidence, with_label, with_all = 0.0, np.zeros(len(known)), 0.0
    for labelling in itertools.product(range(outputs), repeat=rows):
        probability = np.prod([p[i, c] for i, c in enumerate(labelling)])
        for instance, label_class, is_it, rate in said:
            probability *= 1 - rate if (labelling[instance] == label_class) == is_it else rate
        inside = set(labelling)
        agrees = [np.isnan(known[c]) or (c in inside) == bool(known[c]) for c in range(len(known))]
        evidence += probability
        with_label += probability * np.array(agrees)
        with_all += probability * all(agrees)
    if joint:
        return np.log(with_all)
    of_labels = (1 - 2 * flips) * with_label / evidence + flips
    return np.log(evidence) + np.log(of_labels[~np.isnan(known)]).sum()

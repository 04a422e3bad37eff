"""The model as the paper writes it: slow, obvious, in exact arithmetic where that matters."""

import itertools

import mpmath
import numpy as np

EXTREME = [
    [[1e4, -1e4, 0.0]],
    [[1e4, 1e4, -1e4]],
    [[-1e4, -1e4, -1e4]],
    [[0.0, -1e4, -9.99e3], [5.0, -1e4, -1e4]],
    [[800.0, 0.0, 1.0], [-800.0, 0.0, 1.0]],
    [[90.0, 0.0, 0.0], [0.0, 90.0, 0.0], [0.0, 0.0, 90.0]],
    [[40.0, 0.0, -60.0], [39.5, 40.0, -70.0]],
]


def softmax(logits):
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def presence_by_enumeration(bag, weights):
    """P(class in bag) by summing over every labelling of the instances."""
    p = softmax(bag @ weights.T)
    classes = len(weights)
    present = np.zeros(classes)
    for labelling in itertools.product(range(classes), repeat=len(bag)):
        probability = np.prod([p[i, c] for i, c in enumerate(labelling)])
        for c in set(labelling):
            present[c] += probability
    return present


def triple_sum_gradient(bags, weights, labels):
    """The paper's equation for d L_MML / d w_c; labels are 1, 0 or nan."""
    gradient = np.zeros_like(weights)
    classes = len(weights)
    for bag, known in zip(bags, labels, strict=True):
        p = softmax(bag @ weights.T)
        for t in range(len(known)):
            if np.isnan(known[t]):
                continue
            absent = np.prod(1 - p[:, t])
            for i, x in enumerate(bag):
                push = p[i, t] * absent / (1 - absent) if known[t] == 1 else -p[i, t]
                for c in range(classes):
                    share = 1.0 if c == t else -p[i, c] / (1 - p[i, t])
                    gradient[c] += push * share * x
    return gradient


def fast_gradient(bags, weights, labels):
    """The triple sum with the loop over instances and classes written as products, for large bags."""
    gradient = np.zeros_like(weights)
    for bag, known in zip(bags, labels, strict=True):
        p = softmax(bag @ weights.T)
        for t in np.flatnonzero(~np.isnan(known)):
            log_absent = np.log1p(-p[:, t]).sum()
            push = p[:, t] / np.expm1(-log_absent) if known[t] == 1 else -p[:, t]
            share = -p / (1 - p[:, [t]])
            share[:, t] = 1
            gradient += (push[:, None] * share).T @ bag
    return gradient


def log_likelihood(bags, weights, labels):
    """The paper's marginal log-likelihood."""
    total = 0.0
    for bag, known in zip(bags, labels, strict=True):
        p = softmax(bag @ weights.T)
        for t in range(len(known)):
            if not np.isnan(known[t]):
                absent = np.prod(1 - p[:, t])
                total += np.log(1 - absent if known[t] == 1 else absent)
    return total


def expected_gradient_length(bags, weights, n_known, classes=None):
    """The paper's EGL: both gradients formed, both norms taken, the expectation written out."""
    classes = classes or len(weights)
    scores = np.zeros((len(bags), classes))
    for b, bag in enumerate(bags):
        p = softmax(bag @ weights.T)
        for c in range(classes):
            absent = np.prod(1 - p[:, c])
            for probability, value in ((1 - absent, 1.0), (absent, 0.0)):
                known = np.full((1, classes), np.nan)
                known[0, c] = value
                gradient = triple_sum_gradient([bag], weights, known)
                scores[b, c] += probability * np.linalg.norm(gradient) / (n_known + 1)
    return scores


def exact_bag(logits, digits=60):
    """p, P(absent), P(present) of one bag with `digits` digits, as mpmath numbers."""
    with mpmath.workdps(max(digits, int(np.ptp(logits) / 2) + 60)):
        rows = []
        for row in logits:
            top = max(row)
            e = [mpmath.exp(mpmath.mpf(float(z)) - mpmath.mpf(float(top))) for z in row]
            total = mpmath.fsum(e)
            rows.append([x / total for x in e])
        classes = len(logits[0])
        absent = [mpmath.fprod(1 - rows[i][c] for i in range(len(rows))) for c in range(classes)]
        return rows, absent, [1 - a for a in absent]


def exact_likelihood(logits, value, known, flip=None):
    """Log-likelihood of one bag and its derivative by the logits, with enough digits for any logits.

    With `flip`, log(f + (1 - 2f) P) and its derivative (1 - 2f) P / (f + (1 - 2f) P) d log P.
    """
    logits = np.asarray(logits, float)
    with mpmath.workdps(max(60, int(np.ptp(logits) / 2) + 60)):
        p, absent, present = exact_bag(logits)
        total = mpmath.mpf(0)
        derivative = [[mpmath.mpf(0)] * len(p[0]) for _ in p]
        for t in range(len(known)):
            if not known[t]:
                continue
            f = mpmath.mpf(0 if flip is None else float(flip[t]))
            right = present[t] if value[t] else absent[t]
            said = f + (1 - 2 * f) * right
            total += mpmath.log(said)
            factor = absent[t] / present[t] if value[t] else mpmath.mpf(-1)
            factor *= (1 - 2 * f) * right / said
            for i, row in enumerate(p):
                odds = row[t] / (1 - row[t])
                for c in range(len(row)):
                    derivative[i][c] += factor * odds * ((1 if c == t else 0) - row[c])
        return float(total), np.array([[float(x) for x in row] for row in derivative])


def exact_gradient_length(bag, weights, c):
    """||d log P(absent) / d weights|| for any logits."""
    logits = np.asarray(bag, float) @ np.asarray(weights, float).T
    known, value = [t == c for t in range(len(weights))], [False] * len(weights)
    _, derivative = exact_likelihood(logits, value, known)
    return float(np.linalg.norm(derivative.T @ bag))

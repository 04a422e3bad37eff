"""Log-likelihood of the known labels of one bag and its derivative by the logits.

With A_c = P0/P1 where class c is known present, -1 where known absent, 0 where unknown, and m the row's arg-max:

    dZ_ic = D_ic - p_ic sum_{t != m} D_it - (A_m p_im) u_ic      for c != m,    D_ic = A_c e_ic/(s_i - e_ic)
    dZ_im = A_m p_im - p_im sum_{t != m} D_it                    u_ic = e_ic/rest_i = P(class c | not class m)

This is the paper's triple sum with the odds of the arg-max, which overflow, cancelled by hand. Every factor is bounded.

A label that is wrong with rate f has probability Q = (1 - f) P1 + f P0 where labelled present (P0 and P1 exchanged
where absent), and A_c = (1 - 2f) P0/Q or its negative: no small number is divided by, so nothing underflows.

The logarithms come from the products of `presence`, whichever of P0, P1 is the smaller. Where a product or `rest`
underflows (a logit some 80 away from the rest in float32, 700 in float64) the same quantity is summed in logarithms,
from logits computed once more; that path is rare, exact, and what keeps the objective finite for any finite weights.
"""

import numpy as np

from bagwise.kernels.arithmetic.compile import Array, kernel
from bagwise.kernels.arithmetic.elementary import exp_of, log1p_of, log_of
from bagwise.kernels.arithmetic.softmax import argmax_of
from bagwise.kernels.arithmetic.vectors import LANES, drive_of, less_drawn
from bagwise.kernels.cpu.presence import bag_presence

TINY = 1e-30
NEVER_WRONG = 1e-12


def no_flips() -> Array:
    """The rates of labels that are never wrong, as the kernels want them: one empty row for all bags."""
    return np.empty((1, 0))


@kernel
def logits_of_row(x: Array, weights: Array, bias: Array, evidence: Array, logits: Array) -> None:
    """Logits of one instance in double precision; `evidence` are its weights beside them, or empty."""
    for c in range(logits.shape[0]):
        z = np.float64(bias[c])
        for j in range(x.shape[0]):
            z += np.float64(x[j]) * np.float64(weights[c, j])
        logits[c] = z + evidence[c] if evidence.shape[0] > 0 else z


@kernel
def evidence_of_row(row: int, rows: Array, evidence: Array) -> Array:
    """The weights of one row beside its logits; empty where nothing is known of it."""
    found: Array = evidence[:0].reshape(0)
    for k in range(rows.shape[0]):
        if rows[k] == row:
            found = evidence[k]
    return found


@kernel
def log_sum_exp(z: Array) -> float:
    """log sum exp z without overflow."""
    largest = np.float64(z[0])
    for c in range(z.shape[0]):
        largest = max(largest, z[c])
    total = 0.0
    for c in range(z.shape[0]):
        total += exp_of(z[c] - largest)
    return float(largest + log_of(total))


@kernel
def _log_sum_exp_without(z: Array, left_out: int) -> float:
    held = z[left_out]
    z[left_out] = -1e300
    result = log_sum_exp(z)
    z[left_out] = held
    return result


@kernel
def _log_absent(
    e: Array, rest: Array, x: Array, weights: Array, bias: Array, rows: Array, evidence: Array, c: int
) -> float:
    """S = sum_i log(1 - p_ic), in logarithms: the product underflows in every large bag that hardly lacks c."""
    total = 0.0
    for i in range(x.shape[0]):
        r = np.float64(rest[i])
        if e[i, c] < 1:
            total += log1p_of(-np.float64(e[i, c]) / (1.0 + r))
        elif r > TINY:
            total += log_of(r / (1.0 + r))
        else:
            z = np.empty(weights.shape[0])
            logits_of_row(x[i], weights, bias, evidence_of_row(i, rows, evidence), z)
            total += _log_sum_exp_without(z, c) - log_sum_exp(z)
    return total


@kernel
def _improbable_presence(
    x: Array, weights: Array, bias: Array, rows: Array, evidence: Array, c: int, derivative: Array
) -> float:
    """Log P1 where every p_ic underflows: P1 = sum_i p_ic then, to rounding. Adds its derivative."""
    instances, columns = x.shape[0], weights.shape[0]
    log_p = np.empty((instances, columns))
    for i in range(instances):
        logits_of_row(x[i], weights, bias, evidence_of_row(i, rows, evidence), log_p[i])
        log_p[i] -= log_sum_exp(log_p[i])
    log_present = log_sum_exp(log_p[:, c].copy())
    for i in range(instances):
        share = exp_of(log_p[i, c] - log_present)
        for t in range(columns):
            derivative[i, t] -= share * exp_of(log_p[i, t])
        derivative[i, c] += share
    return log_present


@kernel
def _share_the_rest(
    x: Array, weights: Array, bias: Array, evidence: Array, m: int, push: float, derivative: Array
) -> None:
    """Derivative -= push * u where `rest` underflows."""
    z = np.empty(weights.shape[0])
    logits_of_row(x, weights, bias, evidence, z)
    log_rest = _log_sum_exp_without(z, m)
    for c in range(z.shape[0]):
        if c != m:
            derivative[c] -= push * exp_of(z[c] - log_rest)


@kernel
def _log_of(probability: float, complement: float) -> float:
    return log_of(probability) if probability < 0.5 else log1p_of(-complement)


@kernel
def bag_likelihood(
    e: Array,
    rest: Array,
    value: Array,
    known: Array,
    flip: Array,
    x: Array,
    weights: Array,
    bias: Array,
    rows_with_evidence: Array,
    evidence: Array,
    room: Array,
) -> float:
    """Sum of log P over the known labels; `e` is overwritten by its derivative by the logits.

    `e`, `rest` come from `softmax_rows` on `x @ weights.T + bias`, to which `evidence` of some rows of the bag was
    added; `room` is (4, padded classes) to work in. `flip` has the rate at which each label is wrong, or is empty where
    none ever is; a rate below `NEVER_WRONG` is none.
    """
    zero, one = e.dtype.type(0), e.dtype.type(1)
    tiny = e.dtype.type(TINY)
    rows, columns = e.shape
    absent, present, factor, drive = room[0], room[1], room[2], room[3]
    bag_presence(e, rest, absent, present)
    total, improbable = 0.0, False
    for c in range(columns):
        factor[c] = zero
    for c in range(known.shape[0]):
        if not known[c]:
            continue
        if flip.shape[0] > 0 and flip[c] > NEVER_WRONG:
            said = (1.0 - flip[c]) * np.float64(present[c]) + flip[c] * np.float64(absent[c])
            other = (1.0 - flip[c]) * np.float64(absent[c]) + flip[c] * np.float64(present[c])
            if not value[c]:
                said, other = other, said
            slope = (1.0 - 2.0 * flip[c]) * np.float64(absent[c]) / said
            factor[c] = slope if value[c] else -slope
            total += _log_of(said, other)
        elif value[c]:
            if present[c] < tiny:
                improbable = True
            else:
                factor[c] = absent[c] / present[c]
                total += _log_of(np.float64(present[c]), np.float64(absent[c]))
        else:
            factor[c] = -one
            if absent[c] < tiny:
                total += _log_absent(e, rest, x, weights, bias, rows_with_evidence, evidence, c)
            else:
                total += _log_of(np.float64(absent[c]), np.float64(present[c]))
    vectors = columns // LANES
    for i in range(rows):
        row = e[i]
        m = argmax_of(row)
        r = rest[i]
        s = one + r
        inverse = one / s
        at_top = factor[m]
        factor[m] = zero
        pull = drive_of(row.ctypes.data, factor.ctypes.data, drive.ctypes.data, vectors, max(r, tiny), s, zero)
        push = at_top * inverse
        shared = push / r if r > tiny else zero
        draw = inverse * pull + shared
        less_drawn(row.ctypes.data, drive.ctypes.data, vectors, draw, zero)
        row[m] = push - inverse * pull
        factor[m] = at_top
        if r <= tiny and push != zero:
            _share_the_rest(x[i], weights, bias, evidence_of_row(i, rows_with_evidence, evidence), m, push, row)
    if improbable:
        for c in range(known.shape[0]):
            doubted = flip.shape[0] > 0 and flip[c] > NEVER_WRONG
            if known[c] and value[c] and present[c] < tiny and not doubted:
                total += _improbable_presence(x, weights, bias, rows_with_evidence, evidence, c, e)
    return total

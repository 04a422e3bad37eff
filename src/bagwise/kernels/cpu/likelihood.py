"""Log-likelihood of the known labels of single bags and its derivative by the logits.

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

from bagwise.kernels.arithmetic.compile import Array, inlined, kernel
from bagwise.kernels.arithmetic.elementary import exp_of, log1p_of, log_of, log_of_likely
from bagwise.kernels.arithmetic.softmax import argmax_of
from bagwise.kernels.arithmetic.vectors import LANES, address_of, drive_of, less_drawn
from bagwise.kernels.cpu.presence import ABSENT, PRESENT, bag_presence

TINY = 1e-30
NEVER_WRONG = 1e-12
FACTOR, DRIVE = 2, 3
"""Rows of the room of `likelihood_of_bags`, behind `ABSENT` and `PRESENT`: A_c and D_ic above."""
LIKELY, UNLIKELY, LOGS = 0, 1, 2
"""Rows of its room for logarithms: P of what is known, of its opposite, and the logarithm of the former."""


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
    """The weights of one row beside its logits; empty where nothing is known of it. `rows` ascend."""
    k = np.searchsorted(rows, row)
    found: Array = evidence[k] if k < rows.shape[0] and rows[k] == row else evidence[:0].reshape(0)
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
    e: Array, rest: Array, first: int, last: int, x: Array, weights: Array, bias: Array, rows: Array, evidence: Array,
    c: int,
) -> float:  # fmt: skip
    """S = sum_i log(1 - p_ic), in logarithms: the product underflows in every large bag that hardly lacks c."""
    total = 0.0
    for i in range(first, last):
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
    first: int, last: int, x: Array, weights: Array, bias: Array, rows: Array, evidence: Array, c: int,
    derivative: Array,
) -> float:  # fmt: skip
    """Log P1 where every p_ic underflows: P1 = sum_i p_ic then, to rounding. Adds its derivative."""
    instances, columns = last - first, weights.shape[0]
    log_p = np.empty((instances, columns))
    for i in range(instances):
        logits_of_row(x[first + i], weights, bias, evidence_of_row(first + i, rows, evidence), log_p[i])
        log_p[i] -= log_sum_exp(log_p[i])
    log_present = log_sum_exp(log_p[:, c].copy())
    for i in range(instances):
        share = exp_of(log_p[i, c] - log_present)
        for t in range(columns):
            derivative[first + i, t] -= share * exp_of(log_p[i, t])
        derivative[first + i, c] += share
    return log_present


@kernel
def _share_the_rest(
    i: int, x: Array, weights: Array, bias: Array, rows: Array, evidence: Array, m: int, push: float, derivative: Array
) -> None:
    """Derivative of row i -= push * u where `rest` underflows."""
    z = np.empty(weights.shape[0])
    logits_of_row(x[i], weights, bias, evidence_of_row(i, rows, evidence), z)
    log_rest = _log_sum_exp_without(z, m)
    for c in range(z.shape[0]):
        if c != m:
            derivative[i, c] -= push * exp_of(z[c] - log_rest)


@inlined
def _weigh_labels(b: int, value: Array, known: Array, room: Array, logs_room: Array) -> bool:
    """Fill in A_c, and P of what is known and of its opposite; return whether one of the former underflows.

    What is unknown or underflows has P = 1. Without a branch, so that the compiler finds vector instructions.
    """
    zero, one, tiny = room.dtype.type(0), room.dtype.type(1), room.dtype.type(TINY)
    rare = False
    for c in range(known.shape[1]):
        absent, present, there, given = room[ABSENT, c], room[PRESENT, c], value[b, c], known[b, c]
        said, other = present if there else absent, absent if there else present
        rare |= given and said < tiny
        counts = given and said >= tiny
        said, other = said if counts else one, other if counts else zero
        logs_room[LIKELY, c], logs_room[UNLIKELY, c] = said, other
        room[FACTOR, c] = other / said if there else (-one if given else zero)
    return rare


@kernel
def _weigh_doubted_labels(b: int, value: Array, known: Array, flip: Array, room: Array, logs_room: Array) -> None:
    """The same of labels that are wrong at some rate, where nothing underflows."""
    for c in range(known.shape[1]):
        if known[b, c] and flip[b, c] > NEVER_WRONG:
            absent, present = np.float64(room[ABSENT, c]), np.float64(room[PRESENT, c])
            said = (1.0 - flip[b, c]) * present + flip[b, c] * absent
            other = (1.0 - flip[b, c]) * absent + flip[b, c] * present
            if not value[b, c]:
                said, other = other, said
            slope = (1.0 - 2.0 * flip[b, c]) * absent / said
            room[FACTOR, c] = slope if value[b, c] else -slope
            logs_room[LIKELY, c], logs_room[UNLIKELY, c] = said, other


@inlined
def _add_logs(logs_room: Array) -> None:
    for c in range(logs_room.shape[1]):
        logs_room[LOGS, c] += log_of_likely(logs_room[LIKELY, c], logs_room[UNLIKELY, c])


@kernel
def likelihood_of_bags(
    e: Array,
    rest: Array,
    offsets: Array,
    first: int,
    last: int,
    left_out: Array,
    value: Array,
    known: Array,
    flip: Array,
    x: Array,
    weights: Array,
    bias: Array,
    rows_with_evidence: Array,
    evidence: Array,
    totals: Array,
) -> None:
    """Fill `totals` with the sum of log P over the known labels of each bag first..last that is not `left_out`.

    `e`, `rest` have the rows of these bags from `softmax_rows` on `x @ weights.T + bias`, to which `evidence` of some
    rows was added; `e` is overwritten by the derivative by the logits. `flip` has the rate at which each label is
    wrong, or no columns where none ever is; a rate below `NEVER_WRONG` is none.

    All bags in one call: what is rare needs arrays of its own, and makes each call count references to all of these.
    """
    zero, one = e.dtype.type(0), e.dtype.type(1)
    tiny = e.dtype.type(TINY)
    columns, classes, doubted = e.shape[1], known.shape[1], flip.shape[1] > 0
    room, logs_room = np.empty((4, columns), e.dtype), np.empty((3, columns))
    vectors = columns // LANES
    factor, drive = address_of(room) + FACTOR * room.strides[0], address_of(room) + DRIVE * room.strides[0]
    for b in range(first, last):
        if left_out[b]:
            continue
        begin, end = offsets[b] - offsets[first], offsets[b + 1] - offsets[first]
        bag_presence(e, rest, begin, end, room)
        for c in range(columns):
            room[FACTOR, c] = zero
            logs_room[LIKELY, c], logs_room[UNLIKELY, c], logs_room[LOGS, c] = 1.0, 0.0, 0.0
        rare = _weigh_labels(b, value, known, room, logs_room)
        if doubted:
            _weigh_doubted_labels(b, value, known, flip, room, logs_room)
        if rare:
            for c in range(classes):
                certain = known[b, c] and not (doubted and flip[b, c] > NEVER_WRONG)
                if certain and not value[b, c] and room[ABSENT, c] < tiny:
                    logs_room[LOGS, c] = _log_absent(
                        e, rest, begin, end, x, weights, bias, rows_with_evidence, evidence, c
                    )
        _add_logs(logs_room)
        total = 0.0
        for c in range(classes):
            total += logs_room[LOGS, c]
        for i in range(begin, end):
            row = address_of(e) + i * e.strides[0]
            m = argmax_of(e, i)
            r = rest[i]
            s = one + r
            inverse = one / s
            at_top = room[FACTOR, m]
            room[FACTOR, m] = zero
            pull = drive_of(row, factor, drive, vectors, max(r, tiny), s, zero)
            push = at_top * inverse
            shared = push / r if r > tiny else zero
            draw = inverse * pull + shared
            less_drawn(row, drive, vectors, draw, zero)
            e[i, m] = push - inverse * pull
            room[FACTOR, m] = at_top
            if r <= tiny and push != zero:
                _share_the_rest(i, x, weights, bias, rows_with_evidence, evidence, m, push, e)
        if rare:
            for c in range(classes):
                certain = known[b, c] and not (doubted and flip[b, c] > NEVER_WRONG)
                if certain and value[b, c] and room[PRESENT, c] < tiny:
                    total += _improbable_presence(begin, end, x, weights, bias, rows_with_evidence, evidence, c, e)
        totals[b - first] = total

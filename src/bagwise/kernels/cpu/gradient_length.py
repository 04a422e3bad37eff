"""Norms of the gradients of log P(Y_bc = 0), which the expected gradient length needs.

For class c the gradient by the weights of class t is  sum_i k_it x_i  with

    k_ic = -p_ic,     k_it = q_ic p_it  (t != c),     q = p/(1 - p)

and with the Gram matrix K = X_b X_b' of the bag and M_ij = sum_t p_it p_jt its squared norm is

    sum_ij K_ij [ p_ic p_jc + q_ic q_jc (M_ij - p_ic p_jc) ].

Where c is the arg-max of row i, q_ic may overflow and M_ij - p_ic p_jc cancel. Then the product is taken with
u_it = P(t | not c), which is exact:  q_ic p_it = p_ic u_it.  So the sum over c uses q = 0 at each row's arg-max and the
few remaining products are added one by one.

Cost n^2 (6 K + 2 d) operations a bag for all classes together; forming the gradients costs 2 n K^2 d and wins for
bags of many instances. Gram matrices that are small beside their bag are cached, the others are computed when needed.
"""

import math

import numpy as np

from bagwise.kernels.arithmetic.blocks import each_block, scratch
from bagwise.kernels.arithmetic.compile import Array, kernel
from bagwise.kernels.arithmetic.product import Linear
from bagwise.kernels.arithmetic.softmax import argmax_of, softmax_rows
from bagwise.kernels.arithmetic.sums import gram_into, inner, transposed_product
from bagwise.kernels.arithmetic.vectors import LANES, address_of, dot_of
from bagwise.kernels.cpu.instances import Instances
from bagwise.kernels.cpu.presence import ABSENT, bag_presence

LARGEST_GRAM = 2048


def _gram_is_cheaper(sizes: Array, classes: int, width: int) -> Array:
    """Which of the bags of these sizes a Gram matrix serves better than the gradients themselves."""
    return (sizes <= LARGEST_GRAM) & (sizes * (6 * classes + 2 * width) <= 2 * classes**2 * width)


@kernel
def _fill_rows(e: Array, rest: Array, p: Array, q: Array, u: Array, top: Array) -> None:
    """Probabilities, odds (0 at the arg-max), shares of the rest (0 at the arg-max) and the arg-max of each row."""
    zero, one = e.dtype.type(0), e.dtype.type(1)
    tiny = e.dtype.type(1e-30)
    for i in range(e.shape[0]):
        r = rest[i]
        s = one + r
        inverse = one / s
        share = one / r if r > zero else zero
        for c in range(e.shape[1]):
            x = e[i, c]
            p[i, c] = x * inverse
            q[i, c] = x / (s - x if x < one else max(r, tiny))
            u[i, c] = x * share
        m = argmax_of(e, i)
        q[i, m] = zero
        u[i, m] = zero
        top[i] = m


@kernel
def _squared_lengths(gram: Array, p: Array, q: Array, u: Array, top: Array, squared: Array) -> None:
    rows, columns = p.shape
    zero, two = p.dtype.type(0), p.dtype.type(2)
    stride, vectors = p.strides[0], columns // LANES
    for c in range(columns):
        squared[c] = zero
    for i in range(rows):
        for j in range(i + 1):
            k = gram[i, j] if i == j else two * gram[i, j]
            p_i, p_j = address_of(p) + i * stride, address_of(p) + j * stride
            u_i, u_j = address_of(u) + i * stride, address_of(u) + j * stride
            overlap = dot_of(p_i, p_j, vectors, zero)
            m = top[i]
            if m == top[j]:
                squared[m] += k * (p[i, m] * p[j, m] * dot_of(u_i, u_j, vectors, zero))
            else:
                squared[m] += k * (p[i, m] * q[j, m] * dot_of(u_i, p_j, vectors, zero))
                m = top[j]
                squared[m] += k * (p[j, m] * q[i, m] * dot_of(u_j, p_i, vectors, zero))
            for c in range(columns):
                pp = p[i, c] * p[j, c]
                squared[c] += k * (pp + q[i, c] * q[j, c] * (overlap - pp))


@kernel
def gradient_factors(p: Array, q: Array, u: Array, top: Array, c: int, factors: Array) -> None:
    """k_it of class c, (rows, classes): d log P(Y_c = 0) / d logit."""
    for i in range(p.shape[0]):
        if top[i] == c:
            for t in range(p.shape[1]):
                factors[i, t] = p[i, c] * u[i, t]
        else:
            for t in range(p.shape[1]):
                factors[i, t] = q[i, c] * p[i, t]
        factors[i, c] = -p[i, c]


@kernel
def _length_block(
    e: Array,
    rest: Array,
    offsets: Array,
    first: int,
    last: int,
    gram_entries: Array,
    gram_offsets: Array,
    by_gram: Array,
    fresh: Array,
    seen: Array,
    lengths: Array,
    absent: Array,
) -> None:
    """Write lengths of the bags by cached Gram matrices and by `fresh` ones made from `seen`; `absent` of all."""
    columns, classes = e.shape[1], lengths.shape[1]
    base = offsets[first]
    largest, largest_fresh = 0, 0
    for b in range(first, last):
        n = offsets[b + 1] - offsets[b]
        largest = max(largest, n)
        if fresh[b]:
            largest_fresh = max(largest_fresh, n)
    room = np.empty((3, columns), e.dtype)
    rows_room = np.empty((3, largest, columns), e.dtype)
    top_room = np.empty(largest, np.int64)
    gram_room = np.empty((largest_fresh, largest_fresh), e.dtype)
    for b in range(first, last):
        n = offsets[b + 1] - offsets[b]
        rows = slice(offsets[b] - base, offsets[b + 1] - base)
        bag_presence(e, rest, rows.start, rows.stop, room)
        for c in range(classes):
            absent[b, c] = room[ABSENT, c]
        kept = gram_offsets[b + 1] > gram_offsets[b]
        if not by_gram[b]:
            continue
        p, q, u, top = rows_room[0, :n], rows_room[1, :n], rows_room[2, :n], top_room[:n]
        _fill_rows(e[rows], rest[rows], p, q, u, top)
        if kept:
            _squared_lengths(gram_entries[gram_offsets[b] : gram_offsets[b + 1]].reshape(n, n), p, q, u, top, room[2])
        else:
            gram_into(gram_room, seen[rows])
            _squared_lengths(gram_room, p, q, u, top, room[2])
        for c in range(classes):
            lengths[b, c] = math.sqrt(max(room[2, c], e.dtype.type(0)))


def _rows_of(e: Array, rest: Array) -> tuple[Array, Array, Array, Array]:
    p, q, u = np.empty_like(e), np.empty_like(e), np.empty_like(e)
    top = np.empty(len(e), np.int64)
    _fill_rows(e, rest, p, q, u, top)
    return p, q, u, top


def _lengths_by_gradient(e: Array, rest: Array, columns: int, seen: Array, classes: int) -> Array:
    """The lengths of one bag of very many instances, by forming its gradients."""
    p, q, u, top = _rows_of(e, rest)
    lengths = np.empty(classes, e.dtype)
    factors = np.empty_like(e)
    for c in range(classes):
        gradient_factors(p, q, u, top, c, factors)
        gradient = transposed_product(factors, seen, columns)
        lengths[c] = math.sqrt(inner(gradient, gradient))
    return lengths


def gradient_lengths(instances: Instances, weights: Array, bias: Array, classes: int) -> tuple[Array, Array]:
    """Norm of d log P(absent)/d weights, and P(absent), each (bags, classes), given the evidence of the instances."""
    x, offsets, grams = instances.x, instances.offsets, instances.grams
    shape = (len(offsets) - 1, classes)
    lengths, absent = np.empty(shape, weights.dtype), np.empty(shape, weights.dtype)
    linear = Linear(weights, bias)
    # Which way a length is computed must not depend on what is cached: its last digit does.
    by_gram = instances.has_small_gram | _gram_is_cheaper(np.diff(offsets), len(weights), instances.width)
    fresh, by_gradient = by_gram & (np.diff(grams.offsets) == 0), ~by_gram

    def block(first: int, last: int) -> None:
        start = offsets[first]
        logits, padded_bias, rest = linear.logits(x[start : offsets[last]])
        if instances.evidence is not None:
            instances.evidence.between(start, offsets[last]).add_to(logits)
        softmax_rows(logits, padded_bias, rest)
        seen = instances.transformed(start, offsets[last] if fresh[first:last].any() else start)
        _length_block(
            logits,
            rest,
            offsets,
            first,
            last,
            grams.entries,
            grams.offsets,
            by_gram,
            fresh,
            seen,
            lengths,
            absent,
        )
        for b in first + np.flatnonzero(by_gradient[first:last]):
            rows = slice(offsets[b] - start, offsets[b + 1] - start)
            bag = instances.transformed(offsets[b], offsets[b + 1])
            lengths[b] = _lengths_by_gradient(logits[rows], rest[rows], len(weights), bag, classes)

    each_block(offsets, len(weights), block)
    return lengths, absent


def absent_gradients(instances: Instances, bag: int, weights: Array, bias: Array, classes: int) -> Array:
    """d log P(absent)/d weights of one bag, explicitly: (classes, K, weights of a class)."""
    first, last = instances.offsets[bag : bag + 2]
    if instances.n_scores:
        seen = np.column_stack([instances.bag(bag), np.ones(last - first, instances.precision)])
    else:
        seen = instances.transformed(first, last)
    logits, padded_bias, rest = Linear(weights, bias).logits(instances.bag(bag))
    if instances.evidence is not None:
        instances.evidence.between(first, last).add_to(logits)
    softmax_rows(logits, padded_bias, rest)
    p, q, u, top = _rows_of(logits, rest)
    factors = scratch("factors", logits.shape, weights.dtype)
    gradients = np.empty((classes, len(weights), instances.width), weights.dtype)
    for c in range(classes):
        gradient_factors(p, q, u, top, c, factors)
        gradient = transposed_product(factors, seen, len(weights))
        gradients[c] = instances.unfold(gradient[:, :-1], gradient[:, -1]) if instances.n_scores else gradient
    return gradients

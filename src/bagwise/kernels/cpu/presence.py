"""Bag probabilities: the OR over the instances, as two products without cancellation.

    absent_c <- absent_c (1 - p_ic)         present_c <- present_c + p_ic absent_c      for every instance i

Every term is positive, so both are right to rounding however close to 0 or 1 they are; no logarithm is needed.
Cost O(N (d + 1) C), memory O(block).
"""

import numpy as np

from bagwise.kernels.arithmetic.blocks import each_block
from bagwise.kernels.arithmetic.compile import Array, inlined, kernel
from bagwise.kernels.arithmetic.product import Linear
from bagwise.kernels.arithmetic.softmax import softmax_rows
from bagwise.kernels.arithmetic.vectors import LANES, add_presence, address_of
from bagwise.kernels.cpu.evidence import Evidence

ABSENT, PRESENT = 0, 1
"""Rows of the room that `bag_presence` fills. Kernels take rooms and positions: a view costs an atomic count."""


@inlined
def bag_presence(e: Array, rest: Array, first: int, last: int, room: Array) -> None:
    """Fill the rows `ABSENT` and `PRESENT` of `room` (padded classes) for one bag, the rows first..last of `e`."""
    zero, one = e.dtype.type(0), e.dtype.type(1)
    columns = e.shape[1]
    for c in range(columns):
        room[ABSENT, c] = one
        room[PRESENT, c] = zero
    start, stride, vectors = address_of(e), e.strides[0], columns // LANES
    absent, present = address_of(room) + ABSENT * room.strides[0], address_of(room) + PRESENT * room.strides[0]
    for i in range(first, last):
        r = rest[i]
        s = one + r
        inverse = one / s
        add_presence(start + i * stride, absent, present, vectors, r, s, inverse, zero)


@kernel
def _presence_block(
    e: Array, rest: Array, offsets: Array, first: int, last: int, present: Array, absent: Array
) -> None:
    room = np.empty((2, e.shape[1]), e.dtype)
    base = offsets[first]
    for b in range(first, last):
        bag_presence(e, rest, offsets[b] - base, offsets[b + 1] - base, room)
        for c in range(present.shape[1]):
            present[b, c] = room[PRESENT, c]
            absent[b, c] = room[ABSENT, c]


def bag_probabilities(
    x: Array, offsets: Array, weights: Array, bias: Array, classes: int, evidence: Evidence | None = None
) -> tuple[Array, Array]:
    """P(present) and P(absent), each (bags, classes), of the first `classes` rows of `weights`, given the evidence."""
    bags = len(offsets) - 1
    present = np.empty((bags, classes), weights.dtype)
    absent = np.empty((bags, classes), weights.dtype)
    linear = Linear(weights, bias)

    def block(first: int, last: int) -> None:
        logits, padded_bias, rest = linear.logits(x[offsets[first] : offsets[last]])
        if evidence is not None:
            evidence.between(offsets[first], offsets[last]).add_to(logits)
        softmax_rows(logits, padded_bias, rest)
        _presence_block(logits, rest, offsets, first, last, present, absent)

    each_block(offsets, len(weights), block)
    return present, absent


def instance_probabilities(
    x: Array, weights: Array, bias: Array, classes: int, evidence: Evidence | None = None
) -> Array:
    """P(instance has class), (instances, classes), given the evidence."""
    probabilities = np.empty((len(x), classes), weights.dtype)
    linear = Linear(weights, bias)

    def block(first: int, last: int) -> None:
        logits, padded_bias, rest = linear.logits(x[first:last])
        if evidence is not None:
            evidence.between(first, last).add_to(logits)
        softmax_rows(logits, padded_bias, rest)
        np.divide(logits[:, :classes], 1 + rest[:, None], out=probabilities[first:last])

    each_block(np.arange(len(x) + 1), len(weights), block)
    return probabilities

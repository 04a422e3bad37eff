"""The kernels on a device: by fused kernels on a GPU where they fit, by plain torch operations otherwise.

Weights are those on transformed rows, as everywhere. All is in float32 (or float64), unless `tf32` allows the
tensor cores' shorter numbers with 10 bits of mantissa, which are faster.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

import torch
from torch import Tensor

from bagwise.kernels.arithmetic.compile import Array
from bagwise.kernels.gpu import plain
from bagwise.kernels.gpu.plain import Rows
from bagwise.kernels.gpu.resident import Bags, Linear, Resident

ROOM = 1 << 26
LARGEST_GRAM = 2048


@dataclass(frozen=True)
class Wanted:
    """Where results go: two arrays or, with a factor for each class, their product with it in one."""

    out: tuple[Tensor, ...]
    factors: Tensor | None = None

    @classmethod
    def both(cls, resident: Resident, classes: int) -> "Wanted":
        """Both results as they are."""
        return cls((_empty(resident, classes), _empty(resident, classes)))

    @classmethod
    def product(cls, resident: Resident, factors: Tensor) -> "Wanted":
        """Their product with a factor for each class."""
        return cls((_empty(resident, len(factors)),), factors)

    @property
    def classes(self) -> int:
        """How many columns are wanted."""
        return self.out[0].shape[1]

    def put(self, bags: Tensor, first: Tensor, second: Tensor) -> None:
        """Take in the results of some bags."""
        first, second = first[:, : self.classes], second[:, : self.classes]
        if self.factors is None:
            self.out[0][bags], self.out[1][bags] = first, second
        else:
            self.out[0][bags] = first * second * self.factors


def _empty(resident: Resident, classes: int) -> Tensor:
    return torch.empty((resident.n_bags, classes), dtype=resident.x.dtype, device=resident.device)


def bag_probabilities(resident: Resident, weights: Array, classes: int, tf32: bool = False) -> tuple[Tensor, Tensor]:
    """P(present) and P(absent), each (bags, classes), of the first `classes` columns."""
    wanted = Wanted.both(resident, classes)
    _presence(resident, weights, wanted, tf32)
    return wanted.out[0], wanted.out[1]


def label_variances(resident: Resident, weights: Array, factors: Tensor, tf32: bool = False) -> Tensor:
    """P(present) P(absent) times the factor of the class, (bags, classes)."""
    wanted = Wanted.product(resident, factors)
    _presence(resident, weights, wanted, tf32)
    return wanted.out[0]


def gradient_lengths(resident: Resident, weights: Array, classes: int, tf32: bool = False) -> tuple[Tensor, Tensor]:
    """||d log P(absent) / d weights|| and P(absent), each (bags, classes)."""
    wanted = Wanted.both(resident, classes)
    _lengths(resident, weights, wanted, tf32)
    return wanted.out[0], wanted.out[1]


def expected_lengths(resident: Resident, weights: Array, factors: Tensor, tf32: bool = False) -> Tensor:
    """P(absent) ||d log P(absent) / d weights|| times the factor of the class, (bags, classes)."""
    wanted = Wanted.product(resident, factors)
    _lengths(resident, weights, wanted, tf32)
    return wanted.out[0]


def _presence(resident: Resident, weights: Array, wanted: Wanted, tf32: bool) -> None:
    linear = resident.linear(weights)
    fused = _fused(resident, linear)
    with _precision(tf32):
        for x, bags in _groups(resident):
            if fused:
                fused.presence(x, bags, linear, wanted, tf32)
                continue
            for some in bags.split(bags.longest * max(linear.weights.shape), ROOM):
                wanted.put(some.numbers, *plain.presence(_softmax(x, some, linear)))


def _lengths(resident: Resident, weights: Array, wanted: Wanted, tf32: bool) -> None:
    linear = resident.linear(weights)
    fused = _fused(resident, linear)
    with _precision(tf32):
        for x, bags in _groups(resident):
            if bags.longest > LARGEST_GRAM:
                _lengths_by_gradient(resident, x, bags, linear, wanted)
                continue
            for some, grams in resident.with_grams(x, bags):
                if fused and bags.longest <= fused.LENGTH_ROWS:
                    fused.lengths(x, some, grams, linear, wanted, tf32)
                else:
                    _lengths_by_gram(x, some, grams, linear, wanted)


def _lengths_by_gram(x: Tensor, bags: Bags, grams: Tensor, linear: Linear, wanted: Wanted) -> None:
    pieces = list(bags.split(bags.longest * max(*linear.weights.shape, bags.longest), ROOM))
    of_piece = grams[:, : bags.longest, : bags.longest].split([len(piece.numbers) for piece in pieces])
    for piece, gram in zip(pieces, of_piece, strict=True):
        rows = _softmax(x, piece, linear)
        length = plain.squared_lengths(rows, gram).clamp(min=0).sqrt()
        wanted.put(piece.numbers, length, plain.presence(rows)[1])


def _lengths_by_gradient(resident: Resident, x: Tensor, bags: Bags, linear: Linear, wanted: Wanted) -> None:
    for bag in bags.split(1, 1):
        rows = _softmax(x, bag, linear)
        length = plain.squared_lengths_by_gradient(rows, resident.seen(x[bag.rows()[0]])).sqrt()
        wanted.put(bag.numbers, length, plain.presence(rows)[1])


def _softmax(x: Tensor, bags: Bags, linear: Linear) -> Rows:
    rows, there = bags.rows()
    return Rows.of(x[rows] @ linear.weights.mT + linear.bias, there)


def _groups(resident: Resident) -> Iterator[tuple[Tensor, Bags]]:
    return ((x, bags) for x, block in resident.each_block() for bags in block.groups)


@contextmanager
def _precision(tf32: bool) -> Iterator[None]:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _fused(resident: Resident, linear: Linear) -> ModuleType | None:
    """The fused kernels, where they serve these instances."""
    try:
        from bagwise.kernels.gpu import fused
    except ImportError:
        return None
    return fused if fused.serves(resident, linear) else None

"""The kernels on a device: by fused kernels on a GPU where they fit, by plain torch operations otherwise.

Weights are those on transformed rows, as everywhere. All is in float32 (or float64), unless `tf32` allows the
tensor cores' shorter numbers with 10 bits of mantissa, which are faster.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from types import ModuleType

import torch
from torch import Tensor

from bagwise.kernels.arithmetic.compile import Array
from bagwise.kernels.gpu import plain
from bagwise.kernels.gpu.plain import Rows
from bagwise.kernels.gpu.resident import Bags, Linear, Resident

ROOM = 1 << 26
LARGEST_GRAM = 2048
LEAST = 1e-30


class Kind(IntEnum):
    """What is wanted of P(present), or of the gradient lengths, and of P(absent)."""

    BOTH = 0
    PRODUCT = 1
    HIGHEST = 2
    HIGHEST_SIDE = 3


@dataclass(frozen=True)
class Spread:
    """How far numbers of this device may be from the exact ones.

    P(present) of a bag is off by at most a `share` of it, (bags,), and a gradient length by at most `of_length`,
    (bags,), times -log P(absent).
    """

    share: Tensor
    of_length: Tensor


@dataclass(frozen=True)
class Wanted:
    """Where results go: two arrays, their product with a factor for each class, or bounds of the exact numbers."""

    kind: Kind
    out: tuple[Tensor, ...]
    factors: Tensor | None = None
    spread: Spread | None = None

    @classmethod
    def of(
        cls, kind: Kind, resident: Resident, classes: int, arrays: int = 1, factors: Tensor | None = None,
        spread: Spread | None = None,
    ) -> "Wanted":  # fmt: skip
        """Room for so many arrays."""
        shape = resident.n_bags, classes
        out = tuple(torch.empty(shape, dtype=resident.x.dtype, device=resident.device) for _ in range(arrays))
        return cls(kind, out, factors, spread)

    @property
    def classes(self) -> int:
        """How many columns are wanted."""
        return self.out[0].shape[1]

    def put(self, bags: Tensor, first: Tensor, absent: Tensor) -> None:
        """Take in P(present), or the lengths, and P(absent) of some bags."""
        first, absent = first[:, : self.classes], absent[:, : self.classes]
        if self.kind == Kind.BOTH:
            self.out[0][bags], self.out[1][bags] = first, absent
        elif self.kind == Kind.PRODUCT:
            assert self.factors is not None
            self.out[0][bags] = first * absent * self.factors
        else:
            assert self.spread is not None
            share = self.spread.share[bags, None]
            if len(self.out) == 1:
                more = first * share + LEAST
                highest = self.kind == Kind.HIGHEST
                self.out[0][bags] = first + more if highest else (torch.minimum(first, absent) + more).clamp(max=0.5)
            else:
                surprise = -absent.clamp(min=LEAST).log()
                self.out[0][bags] = first + self.spread.of_length[bags, None] * surprise
                self.out[1][bags] = absent + (1 - absent) * share + LEAST


def bag_probabilities(resident: Resident, weights: Array, classes: int, tf32: bool = False) -> tuple[Tensor, Tensor]:
    """P(present) and P(absent), each (bags, classes), of the first `classes` columns."""
    wanted = Wanted.of(Kind.BOTH, resident, classes, 2)
    _presence(resident, weights, wanted, tf32)
    return wanted.out[0], wanted.out[1]


def label_variances(resident: Resident, weights: Array, factors: Tensor, tf32: bool = False) -> Tensor:
    """P(present) P(absent) times the factor of the class, (bags, classes)."""
    wanted = Wanted.of(Kind.PRODUCT, resident, len(factors), factors=factors)
    _presence(resident, weights, wanted, tf32)
    return wanted.out[0]


def highest_presence(resident: Resident, weights: Array, classes: int, spread: Spread) -> Tensor:
    """Upper bounds of P(present), (bags, classes)."""
    wanted = Wanted.of(Kind.HIGHEST, resident, classes, spread=spread)
    _presence(resident, weights, wanted, tf32=False)
    return wanted.out[0]


def highest_sides(resident: Resident, weights: Array, classes: int, spread: Spread) -> Tensor:
    """Upper bounds of min(P(present), P(absent)), (bags, classes)."""
    wanted = Wanted.of(Kind.HIGHEST_SIDE, resident, classes, spread=spread)
    _presence(resident, weights, wanted, tf32=False)
    return wanted.out[0]


def gradient_lengths(resident: Resident, weights: Array, classes: int, tf32: bool = False) -> tuple[Tensor, Tensor]:
    """||d log P(absent) / d weights|| and P(absent), each (bags, classes)."""
    wanted = Wanted.of(Kind.BOTH, resident, classes, 2)
    _lengths(resident, weights, wanted, tf32)
    return wanted.out[0], wanted.out[1]


def expected_lengths(resident: Resident, weights: Array, factors: Tensor, tf32: bool = False) -> Tensor:
    """P(absent) ||d log P(absent) / d weights|| times the factor of the class, (bags, classes)."""
    wanted = Wanted.of(Kind.PRODUCT, resident, len(factors), factors=factors)
    _lengths(resident, weights, wanted, tf32)
    return wanted.out[0]


def highest_lengths(resident: Resident, weights: Array, classes: int, spread: Spread) -> tuple[Tensor, Tensor]:
    """Upper bounds of the gradient lengths and of P(absent), each (bags, classes)."""
    wanted = Wanted.of(Kind.HIGHEST, resident, classes, 2, spread=spread)
    _lengths(resident, weights, wanted, tf32=False)
    return wanted.out[0], wanted.out[1]


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


def exact_kernels(resident: Resident, columns: int) -> ModuleType | None:
    """The kernels with the bits of the CPU, where they serve these instances and a model of so many outputs."""
    try:
        from bagwise.kernels.gpu import exact
    except ImportError:
        return None
    return exact if exact.serves(resident, columns) else None

"""The kernels on a device: by fused kernels where there is a card and they fit, by plain torch operations elsewhere.

In float32, unless `tf32` allows the tensor cores' shorter numbers (10 bits of mantissa), which are faster.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

import torch
from torch import Tensor

from bagwise.kernels.device import plain
from bagwise.kernels.device.plain import Rows
from bagwise.kernels.device.resident import Block, Group, Linear, Resident

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


def bag_probabilities(resident: Resident, raw: Linear, classes: int, tf32: bool = False) -> tuple[Tensor, Tensor]:
    """P(present) and P(absent), each (bags, classes), of the first `classes` columns; weights act on raw rows."""
    wanted = Wanted.both(resident, classes)
    _presence(resident, raw, wanted, tf32)
    return wanted.out[0], wanted.out[1]


def label_variances(resident: Resident, raw: Linear, factors: Tensor, tf32: bool = False) -> Tensor:
    """P(present) P(absent) times the factor of the class, (bags, classes); weights act on raw rows."""
    wanted = Wanted.product(resident, factors)
    _presence(resident, raw, wanted, tf32)
    return wanted.out[0]


def gradient_lengths(resident: Resident, seen: Linear, classes: int, tf32: bool = False) -> tuple[Tensor, Tensor]:
    """||d log P(absent) / d weights|| and P(absent), each (bags, classes); weights act on what is seen of the rows."""
    wanted = Wanted.both(resident, classes)
    _lengths(resident, seen, wanted, tf32)
    return wanted.out[0], wanted.out[1]


def expected_lengths(resident: Resident, seen: Linear, factors: Tensor, tf32: bool = False) -> Tensor:
    """P(absent) ||d log P(absent) / d weights|| times the factor of the class, (bags, classes)."""
    wanted = Wanted.product(resident, factors)
    _lengths(resident, seen, wanted, tf32)
    return wanted.out[0]


def _presence(resident: Resident, raw: Linear, wanted: Wanted, tf32: bool) -> None:
    def score(x: Tensor, rows: Tensor, there: Tensor) -> tuple[Tensor, Tensor]:
        return plain.presence(Rows.of(x[rows] @ raw.weights.mT + raw.bias, there))

    fused = _fused(resident, raw)
    with _precision(tf32):
        for x, block, group in _groups(resident):
            if fused:
                fused.presence(resident, x, block, group, raw, wanted, tf32)
            else:
                _by_pieces(resident, x, block, group, raw, wanted, score)


def _lengths(resident: Resident, seen: Linear, wanted: Wanted, tf32: bool) -> None:
    def score(x: Tensor, rows: Tensor, there: Tensor) -> tuple[Tensor, Tensor]:
        features = (x[rows] - resident.shift) * resident.inverse_scale
        of = Rows.of(features @ seen.weights.mT + seen.bias, there)
        if resident.source.intercept:
            features = torch.cat([features, torch.ones_like(features[..., :1])], -1)
        by_gram = rows.shape[1] <= LARGEST_GRAM
        squared = (plain.squared_lengths if by_gram else plain.squared_lengths_by_gradient)(of, features)
        return squared.clamp(min=0).sqrt(), plain.presence(of)[1]

    fused = _fused(resident, seen)
    with _precision(tf32):
        for x, block, group in _groups(resident):
            if fused and group.longest <= fused.LENGTH_ROWS:
                fused.lengths(resident, x, block, group, seen, wanted, tf32)
            else:
                _by_pieces(resident, x, block, group, seen, wanted, score)


def _groups(resident: Resident) -> Iterator[tuple[Tensor, Block, Group]]:
    return ((x, block, group) for x, block in resident.each_block() for group in block.groups)


Score = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def _by_pieces(
    resident: Resident, x: Tensor, block: Block, group: Group, linear: Linear, wanted: Wanted, score: Score
) -> None:
    """Padded bags, as many at a time as there is room for."""
    widest = max(*linear.weights.shape, group.longest)
    for bags in group.bags.split(max(1, ROOM // (group.longest * widest))):
        first, last = resident.offsets[bags, None], resident.offsets[bags + 1, None]
        rows = first + torch.arange(group.longest, device=resident.device)
        there = rows < last
        rows = torch.where(there, rows, first) - block.rows[0]
        wanted.put(bags, *score(x, rows, there))


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
        from bagwise.kernels.device import fused
    except ImportError:
        return None
    return fused if fused.serves(resident, linear) else None

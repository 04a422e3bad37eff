"""Instances for a device: bags of similar size together; features on the GPU or, where they do not fit, in memory.

Bags are padded to the power of two above their size, at most `LARGEST` rows; longer ones go in chunks of that. Features
that stay in the memory of the computer are pinned and copied block by block, the next one while this one is scored.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from bagwise.core.errors import BagwiseError
from bagwise.kernels.arithmetic.compile import Array
from bagwise.kernels.cpu.instances import Instances

LARGEST = 128
ROOM_SHARE = 0.7
BLOCK_BYTES = 1 << 28
GRAM_NUMBERS = 1 << 26


@dataclass(frozen=True)
class Linear:
    """Weights (columns x features) on raw rows and a constant for each column, on the device."""

    weights: Tensor
    bias: Tensor


@dataclass(frozen=True)
class Bags:
    """Bags of one padded size, by their numbers, and the row at which the features at hand begin."""

    numbers: Tensor
    offsets: Tensor
    padded: int
    longest: int
    first_row: int

    def rows(self) -> tuple[Tensor, Tensor]:
        """Return the rows of every bag in the loaded features, (bags, longest), and a mask of those that exist."""
        first, last = self.offsets[self.numbers, None], self.offsets[self.numbers + 1, None]
        rows = first + torch.arange(self.longest, device=first.device)
        there = rows < last
        return torch.where(there, rows, first) - self.first_row, there

    def split(self, numbers_per_bag: int, room: int) -> "Iterator[Bags]":
        """Iterate over as many bags at a time as fit."""
        for some in torch.split(self.numbers, max(1, room // numbers_per_bag)):
            yield replace(self, numbers=some)


@dataclass(frozen=True)
class Block:
    """Consecutive rows and the bags they belong to."""

    rows: tuple[int, int]
    groups: tuple[Bags, ...]


@dataclass(frozen=True)
class Resident:
    """Instances on `device`, or streamed to it; rows are seen through (x - shift)/scale, as in `Instances`."""

    source: Instances
    x: Tensor
    offsets: Tensor
    shift: Tensor
    inverse_scale: Tensor
    device: torch.device
    blocks: tuple[Block, ...]
    _grams: dict[int, Tensor] = field(default_factory=dict)

    @classmethod
    def of(cls, instances: Instances, device: str = "cuda", stream: bool | None = None) -> "Resident":
        """`stream`: leave the features where they are; by default when they do not fit into the free memory."""
        place = _numbered(torch.device(device))
        streamed = _too_large(instances, place) if stream is None else stream
        x = _copied(instances, torch.device("cpu") if streamed else place, streamed and place.type == "cuda")
        offsets = torch.as_tensor(instances.offsets, device=place)
        blocks = _blocks(instances.offsets, offsets, BLOCK_BYTES // x[0].nbytes if streamed else len(x))
        shift, inverse = (_like(x, values, place) for values in (instances.shift, 1 / instances.scale))
        return cls(instances, x, offsets, shift, inverse, place, blocks)

    @property
    def n_bags(self) -> int:
        """Number of bags."""
        return len(self.offsets) - 1

    def linear(self, seen_weights: Array) -> Linear:
        """Weights on what is seen, as weights on the rows themselves."""
        return Linear(*(_like(self.x, part, self.device) for part in self.source.fold(seen_weights)))

    @cached_property
    def largest_bag(self) -> int:
        """Rows of the largest bag."""
        return int(np.diff(self.source.offsets).max())

    def rows_of(self, bags: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rows of the bags at these positions, one bag after the other, and where each begins and ends."""
        first = self.offsets[bags]
        sizes = self.offsets[bags + 1] - first
        starts = pad(sizes.cumsum(0), (1, 0))
        total = int(starts[-1])
        moved = torch.repeat_interleave(first - starts[:-1], sizes, output_size=total)
        return torch.arange(total, device=self.device) + moved, starts

    def loaded(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return features on the device that have these rows, and where in them: only the rows where it streams."""
        if self.x.device == self.device:
            return self.x, rows
        return self.x[rows.cpu()].to(self.device), torch.arange(len(rows), device=self.device)

    def seen(self, rows: Tensor) -> Tensor:
        """Return the transformed rows."""
        features = (rows - self.shift) * self.inverse_scale
        return pad(features, (0, 1), value=1.0) if self.source.intercept else features

    def with_grams(self, x: Tensor, group: Bags) -> Iterator[tuple[Bags, Tensor]]:
        """Iterate over bags with the Gram matrices of transformed rows, (bags, padded, padded), cached if small."""
        if self.x.device == self.device and 2 * group.padded <= x.shape[1]:
            if id(group) not in self._grams:
                self._grams[id(group)] = torch.cat([gram for _, gram in self._grams_of(x, group)])
            yield group, self._grams[id(group)]
        else:
            yield from self._grams_of(x, group)

    def _grams_of(self, x: Tensor, group: Bags) -> Iterator[tuple[Bags, Tensor]]:
        whole = replace(group, longest=max(group.padded, group.longest))
        for some in whole.split(whole.longest * max(whole.longest, x.shape[1]), GRAM_NUMBERS):
            rows, there = some.rows()
            seen = self.seen(x[rows]) * there[..., None]
            yield replace(some, longest=group.longest), seen @ seen.mT

    @cached_property
    def longest_seen(self) -> Tensor:
        """The largest norm of what is seen of a bag's rows, for every bag."""
        found = torch.zeros(self.n_bags, dtype=self.x.dtype, device=self.device)
        of_row = torch.repeat_interleave(torch.arange(self.n_bags, device=self.device), self.offsets.diff())
        for x, block in self.each_block():
            lengths = self.seen(x).norm(dim=1)
            found.scatter_reduce_(0, of_row[slice(*block.rows)], lengths, "amax")
        return found

    def each_block(self) -> Iterator[tuple[Tensor, Block]]:
        """The features of every block, on the device."""
        if self.x.device == self.device:
            yield from ((self.x[slice(*block.rows)], block) for block in self.blocks)
        else:
            yield from self._copied()

    def _copied(self) -> Iterator[tuple[Tensor, Block]]:
        copying, scoring = torch.cuda.Stream(self.device), torch.cuda.current_stream(self.device)
        largest = max(last - first for first, last in (block.rows for block in self.blocks))
        rooms = [torch.empty((largest, self.x.shape[1]), dtype=self.x.dtype, device=self.device) for _ in range(2)]
        scored = [torch.cuda.Event() for _ in rooms]
        copying.wait_stream(scoring)

        def copy(number: int) -> tuple[Tensor, torch.cuda.Event]:
            first, last = self.blocks[number].rows
            with torch.cuda.stream(copying):
                copying.wait_event(scored[number % 2])
                part = rooms[number % 2][: last - first]
                part.copy_(self.x[first:last], non_blocking=True)
                return part, copying.record_event()

        coming = copy(0)
        for number, block in enumerate(self.blocks):
            part, there = coming
            if number + 1 < len(self.blocks):
                coming = copy(number + 1)
            scoring.wait_event(there)
            yield part, block
            scored[number % 2].record(scoring)


def _numbered(device: torch.device) -> torch.device:
    """Return the device with its number: torch does not treat `cuda` as equal to the GPU it stands for."""
    current = device.type == "cuda" and device.index is None
    return torch.device("cuda", torch.cuda.current_device()) if current else device


def _like(x: Tensor, values: Array, device: torch.device) -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(values), dtype=x.dtype, device=device)


def _too_large(instances: Instances, device: torch.device) -> bool:
    size = instances.x.size * instances.precision.itemsize
    return device.type == "cuda" and size > ROOM_SHARE * torch.cuda.mem_get_info(device)[0]


def _copied(instances: Instances, device: torch.device, pinned: bool) -> Tensor:
    """The features in the precision of the arithmetic, copied a block at a time: they may be in a read-only file."""
    kind = torch.float32 if instances.precision == np.float32 else torch.float64
    x = torch.empty(instances.x.shape, dtype=kind, device=device, pin_memory=pinned)
    step = max(1, BLOCK_BYTES // max(1, x[:1].nbytes))
    for start in range(0, len(x), step):
        x[start : start + step] = torch.from_numpy(np.array(instances.x[start : start + step], instances.precision))
    return x


def _blocks(offsets: Array, on_device: Tensor, rows: int) -> tuple[Block, ...]:
    starts = [0]
    while starts[-1] < len(offsets) - 1:
        last = int(np.searchsorted(offsets, offsets[starts[-1]] + rows, side="right")) - 1
        starts.append(min(max(last, starts[-1] + 1), len(offsets) - 1))
    return tuple(_block(offsets, on_device, first, last) for first, last in pairwise(starts))


def _block(offsets: Array, on_device: Tensor, first: int, last: int) -> Block:
    sizes = np.diff(offsets[first : last + 1])
    padded = np.minimum(2 ** np.ceil(np.log2(sizes)).astype(np.int64), LARGEST)
    rows = int(offsets[first]), int(offsets[last])
    groups = []
    for size in np.unique(padded):
        bags = np.flatnonzero(padded == size)
        numbers = torch.as_tensor(first + bags, device=on_device.device)
        groups.append(Bags(numbers, on_device, int(size), int(sizes[bags].max()), rows[0]))
    return Block(rows, tuple(groups))


def device_called(name: str) -> str:
    """Return `auto`, `cpu` or `cuda` as a device that exists."""
    if name not in ("auto", "cpu", "cuda"):
        raise BagwiseError(f"device={name!r} must be auto, cpu or cuda.")
    if name == "cuda" and not torch.cuda.is_available():
        raise BagwiseError("device='cuda' needs an NVIDIA GPU that torch can use: use device='cpu' or 'auto'.")
    return ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name

"""Instances for a device: bags of like size together, and features on the card or, where they do not fit, beside it.

Bags are padded to the power of two above their size, at most `LARGEST` rows; longer ones go in chunks of that. Features
that stay in the memory of the computer are pinned and copied block by block, the next one while this one is scored.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bagwise.errors import BagwiseError
from bagwise.kernels.compile import Array
from bagwise.kernels.instances import Instances

LARGEST = 128
ROOM_SHARE = 0.7
BLOCK_BYTES = 1 << 28


@dataclass(frozen=True)
class Linear:
    """Weights (columns x features) and a constant for each column, on the device."""

    weights: Tensor
    bias: Tensor


@dataclass(frozen=True)
class Group:
    """Bags of one padded size."""

    padded: int
    longest: int
    bags: Tensor


@dataclass(frozen=True)
class Block:
    """Consecutive bags with the rows they have, grouped by size."""

    rows: tuple[int, int]
    groups: tuple[Group, ...]


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

    @classmethod
    def of(cls, instances: Instances, device: str = "cuda", stream: bool | None = None) -> "Resident":
        """`stream`: leave the features where they are; by default when they do not fit into the free memory."""
        place = torch.device(device)
        x = torch.from_numpy(np.ascontiguousarray(instances.x))
        streamed = _too_large(x, place) if stream is None else stream
        x = _pinned(x, place) if streamed else x.to(place)
        blocks = _blocks(instances.offsets, x.shape[1] * x.element_size(), place, streamed)
        offsets = torch.as_tensor(instances.offsets, device=place)
        shift, inverse = (_like(x, values, place) for values in (instances.shift, 1 / instances.scale))
        return cls(instances, x, offsets, shift, inverse, place, blocks)

    @property
    def n_bags(self) -> int:
        """Number of bags."""
        return len(self.offsets) - 1

    def on_raw_rows(self, seen_weights: Array) -> "Linear":
        """Weights on what is seen, as weights on the rows themselves."""
        return Linear(*(_like(self.x, part, self.device) for part in self.source.fold(seen_weights)))

    def on_seen_rows(self, seen_weights: Array) -> "Linear":
        """Weights on what is seen, with the constant apart."""
        features = self.x.shape[1]
        bias = seen_weights[:, -1] if self.source.intercept else np.zeros(len(seen_weights))
        return Linear(_like(self.x, seen_weights[:, :features], self.device), _like(self.x, bias, self.device))

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


def _like(x: Tensor, values: Array, device: torch.device) -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(values), dtype=x.dtype, device=device)


def _too_large(x: Tensor, device: torch.device) -> bool:
    return device.type == "cuda" and x.nbytes > ROOM_SHARE * torch.cuda.mem_get_info(device)[0]


def _pinned(x: Tensor, device: torch.device) -> Tensor:
    return x.pin_memory() if device.type == "cuda" else x


def _blocks(offsets: Array, row_bytes: int, device: torch.device, streamed: bool) -> tuple[Block, ...]:
    step = max(1, BLOCK_BYTES // row_bytes) if streamed else max(1, int(offsets[-1]))
    starts, first = [0], 0
    while first < len(offsets) - 1:
        last = int(np.searchsorted(offsets, offsets[first] + step, side="right")) - 1
        first = min(max(last, first + 1), len(offsets) - 1)
        starts.append(first)
    return tuple(_block(offsets, a, b, device) for a, b in zip(starts[:-1], starts[1:], strict=True))


def _block(offsets: Array, first: int, last: int, device: torch.device) -> Block:
    sizes = np.diff(offsets[first : last + 1])
    padded = np.minimum(2 ** np.ceil(np.log2(sizes)).astype(np.int64), LARGEST)
    groups = []
    for size in np.unique(padded):
        bags = np.flatnonzero(padded == size)
        groups.append(Group(int(size), int(sizes[bags].max()), torch.as_tensor(first + bags, device=device)))
    return Block((int(offsets[first]), int(offsets[last])), tuple(groups))


def device_called(name: str) -> str:
    """`auto`, `cpu` or `cuda` as a device that is there."""
    if name not in ("auto", "cpu", "cuda"):
        raise BagwiseError(f"device={name!r} must be auto, cpu or cuda.")
    if name == "cuda" and not torch.cuda.is_available():
        raise BagwiseError("device='cuda' needs an NVIDIA card that torch can see: use device='cpu' or 'auto'.")
    return ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name

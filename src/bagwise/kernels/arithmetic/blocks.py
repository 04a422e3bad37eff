"""Work through bags in blocks that fit the cache, on all cores, in an order that does not depend on their number.

Each thread multiplies its block and then runs a compiled kernel on the logits while they are warm. BLAS is held to one
thread meanwhile: two thread pools that wait for each other by spinning made the pass ten times slower.
"""

import math
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from itertools import cycle, islice
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from bagwise.core.errors import BagwiseError
from bagwise.kernels.arithmetic.compile import Array

Result = TypeVar("Result")

LOGITS_PER_BLOCK = 2**18
FEWEST_LOGITS = 2**15
PAGE = 4096


def thread_count() -> int:
    """Threads to use: BAGWISE_THREADS, or the cores this process may run on."""
    wanted = os.environ.get("BAGWISE_THREADS")
    if wanted:
        if not wanted.isdigit() or int(wanted) < 1:
            raise BagwiseError(f"BAGWISE_THREADS={wanted} must be a whole number, at least 1.")
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def use_one_thread() -> None:
    """Limit this process, BLAS included, to one thread: for several workers that share the cores.

    BLAS threads that wait by spinning made two such workers on two cores ten times slower.
    """
    use_threads(1)


def use_threads(count: int) -> None:
    """Limit this process, BLAS included, to a number of threads."""
    os.environ["BAGWISE_THREADS"] = str(count)
    _change_blas(lambda: _blas().limit(limits=count))


@cache
def _workers(threads: int) -> ThreadPoolExecutor:
    """Return a thread pool; where it has one thread for every core, each stays on its core.

    After a rest, as between a person's answers, Linux may wake them all on the core of the one that waits for them: the
    second begins when the first is done, and 2 ms of 7 are lost. Blocks are handed out one by one, so that a core which
    others use as well does fewer of them. Fewer threads than cores may go anywhere: other processes may have as few.
    """
    homes = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
    if threads < len(homes):
        homes = []
    return ThreadPoolExecutor(threads, "bagwise", initializer=_settle, initargs=(cycle(homes),))


def _settle(homes: Iterator[int]) -> None:
    for home in islice(homes, 1):
        with suppress(OSError):
            os.sched_setaffinity(0, {home})


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def _change_blas(change: Callable[[], Result]) -> Result:
    """Change the number of BLAS threads, whichever thread did so before, and may again.

    threadpoolctl lets the first thread that limits OpenBLAS own the limit and silently ignores those of all others
    until it lets go. Versions without that rule have nothing to clear.
    """
    owned = [one for one in _blas().lib_controllers if hasattr(one, "clear_controlling_thread")]
    for library in owned:
        library.clear_controlling_thread(force=True)
    try:
        return change()
    finally:
        for library in owned:
            library.clear_controlling_thread(force=True)


class _SingleThreadedBlas:
    """Limit BLAS to one thread while any thread is inside; the last one to leave restores it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limit: Any = None

    def __call__(self) -> Self:
        return self

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            # Where BLAS has one thread anyway, as in the workers of experiments, there is nothing to limit: to do it
            # several times for every question took as long as a small pool's arithmetic.
            if self._inside == 1 and any(library.num_threads != 1 for library in _blas().lib_controllers):
                self._limit = _change_blas(lambda: _blas().limit(limits=1))

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._limit is not None:
                _change_blas(self._limit.restore_original_limits)
                self._limit = None


single_threaded_blas = _SingleThreadedBlas()


def _reset_after_fork() -> None:
    """Reset after a fork: the threads of the parent, and the holder of the lock, do not exist in the child."""
    _workers.cache_clear()
    _reader.cache_clear()
    single_threaded_blas.__init__()  # type: ignore[misc]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


def split(offsets: Array, columns: int) -> list[tuple[int, int]]:
    """Consecutive ranges of bags, each about so many logits and at least one bag; a few for a few bags."""
    rows_per_block = max(1, min(LOGITS_PER_BLOCK, max(FEWEST_LOGITS, int(offsets[-1]) * columns // 4)) // columns)
    bags, ranges, first = len(offsets) - 1, [], 0
    if 0 < offsets[-1] <= rows_per_block:
        return [(0, bags)]
    while first < bags:
        last = int(np.searchsorted(offsets, offsets[first] + rows_per_block, side="right")) - 1
        last = min(max(last, first + 1), bags)
        ranges.append((first, last))
        first = last
    return ranges


def each_block(offsets: Array, columns: int, work: Callable[[int, int], Result]) -> list[Result]:
    """`work(first, last)` for every block of bags; the results in the order of the blocks."""
    ranges = split(offsets, columns)
    with single_threaded_blas():
        if len(ranges) == 1 or (threads := thread_count()) == 1:
            return [work(first, last) for first, last in ranges]
        return list(_workers(threads).map(work, *zip(*ranges, strict=True)))


@cache
def _reader() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="bagwise-reader")


def _is_mapped(x: Array) -> bool:
    """Return whether an array is a memory map of a file."""
    held: object = x
    while held is not None and not isinstance(held, np.memmap):
        held = getattr(held, "base", None)
    return held is not None


def _touch(x: Array, first: int, last: int) -> None:
    """Let the system read these rows from the disk, by reading one number of every page."""
    x[first:last].reshape(-1)[:: max(1, PAGE // x.itemsize)].max(initial=0)


def ahead(x: Array, offsets: Array, starts: range) -> Iterator[tuple[int, int]]:
    """Iterate over (first, last) of chunks of bags that begin at `starts`; a thread reads the next from the disk."""
    ends = [*starts[1:], len(offsets) - 1]
    reading, mapped = None, _is_mapped(x)
    for first, last in zip(starts, ends, strict=True):
        if mapped and last < ends[-1]:
            reading = _reader().submit(_touch, x, offsets[last], offsets[min(last + starts.step, ends[-1])])
        yield first, last
        if reading is not None:
            reading.result()


_scratch = threading.local()


def scratch(name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """Return an array that this thread reuses; a new one for every block would cost a page fault every 4 KiB."""
    size = math.prod(shape)
    key = f"{name}{np.dtype(dtype).char}"
    held: Array | None = getattr(_scratch, key, None)
    if held is None or held.size < size:
        held = np.empty(size, dtype)
        setattr(_scratch, key, held)
    return held[:size].reshape(shape)


def gather(x: Array, offsets: Array, bags: Array) -> tuple[Array, Array]:
    """Return the rows of these bags, in this order, and their offsets; without a copy where these are all bags."""
    if len(bags) == len(offsets) - 1 and np.array_equal(bags, np.arange(len(bags))):
        return x, offsets
    sizes = offsets[bags + 1] - offsets[bags]
    new_offsets = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.repeat(offsets[bags] - new_offsets[:-1], sizes) + np.arange(new_offsets[-1])
    return np.take(x, rows, axis=0), new_offsets

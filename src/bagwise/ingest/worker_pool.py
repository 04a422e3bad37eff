"""Files cut by several processes. A process that a file brings down is replaced, and the file is named."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import wait
from pathlib import Path

from bagwise.core.processes import worker_context
from bagwise.ingest.recipe import Recipe
from bagwise.ingest.worker import Done, work

AHEAD = 16
"""Files of each process that may be done before the one whose turn it is: what waits is bounded."""
FEW = 4
"""Files for which another process is not worth its start."""
PATIENCE = 900.0
"""Seconds for one file; a decoder can also run for ever."""
LOOK_EVERY = 1.0
FREE = -1


def segment_files(recipe: Recipe, paths: Sequence[Path], processes: int | None = None) -> Iterator[tuple[Path, Done]]:
    """Every file with what became of it, in the order of the paths."""
    count = min(-(-len(paths) // FEW), processes or cores())
    pool = [_Process(recipe) for _ in range(count)]
    waiting: dict[int, Done] = {}
    started = 0
    try:
        for turn, path in enumerate(paths):
            while turn not in waiting:
                for one in pool:
                    if one.turn == FREE and started < min(len(paths), turn + AHEAD * count):
                        one.begin(started, paths[started])
                        started += 1
                for one in _ready(pool):
                    turn_of, done = one.finish()
                    waiting[turn_of] = done
            yield path, waiting.pop(turn)
    finally:
        for one in pool:
            one.stop()


def cores() -> int:
    """Those this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Process:
    """A worker, and the turn of the file it is at."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self.turn, self._until = FREE, 0.0
        self._start()

    def _start(self) -> None:
        context = worker_context([work.__module__])
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, self._recipe), daemon=True)  # type: ignore[attr-defined]
        self._process.start()
        theirs.close()

    def begin(self, turn: int, path: Path) -> None:
        """Give it a file."""
        self.turn, self._until = turn, time.monotonic() + PATIENCE
        # One that is dead already says so when it is asked for what became of the file.
        with contextlib.suppress(OSError):
            self.pipe.send(path)

    def finish(self) -> tuple[int, Done]:
        """Whose turn it was, and what became of the file."""
        turn, self.turn = self.turn, FREE
        try:
            return turn, self.pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            why = f"takes more than {PATIENCE:.0f} seconds." if self.is_late else _how_it_ended(self._process.exitcode)
            self.pipe.close()
            self._start()
            return turn, Done(why=why)

    @property
    def is_late(self) -> bool:
        """Whether it has been at its file for too long."""
        return time.monotonic() > self._until

    def kill(self) -> None:
        """Whatever it is at."""
        self._process.kill()

    def stop(self) -> None:
        """It ends when nobody asks any more, or now where it is at a file."""
        self.pipe.close()
        if self.turn != FREE:
            self._process.kill()
        self._process.join()


def _ready(pool: Sequence[_Process]) -> list[_Process]:
    busy = {id(one.pipe): one for one in pool if one.turn != FREE}
    found = wait([one.pipe for one in busy.values()], timeout=LOOK_EVERY)
    for one in busy.values():
        if one.pipe not in found and one.is_late:
            one.kill()
    return [busy[id(pipe)] for pipe in found]


def _how_it_ended(code: int | None) -> str:
    if code is not None and code < 0:
        return f"the program that reads it was ended by {signal.Signals(-code).name}."
    return f"the program that reads it ended with status {code}."

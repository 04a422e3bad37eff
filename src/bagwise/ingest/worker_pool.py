"""A pool of worker processes that segment files. A worker that a file crashes is replaced, and the file is named."""

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from multiprocessing.connection import wait
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import ModuleType

from bagwise.ingest.recipe import Recipe
from bagwise.ingest.worker import Outcome, work

AHEAD = 16
"""Files per worker that may be finished before the next one to return: it bounds the results that wait."""
FILES_PER_WORKER = 4
"""Files below which another worker is not worth its start."""
TIMEOUT = 900.0
"""Seconds for one file; a decoder may hang."""
POLL_SECONDS = 1.0
IDLE = -1

# A recipe may hold a module as its segmenter.
ForkingPickler.register(ModuleType, lambda module: (import_module, (module.__name__,)))


def segment_files(
    recipe: Recipe, paths: Sequence[Path], processes: int | None = None
) -> Iterator[tuple[Path, Outcome]]:
    """Yield every file with its outcome, in the order of the paths.

    Parameters
    ----------
    recipe : Recipe
        How to segment; fitted, if its segmenter is fitted.
    paths : sequence of Path
        The files.
    processes : int, optional
        The most workers; by default the number of cores.
    """
    count = min(-(-len(paths) // FILES_PER_WORKER), processes or cores())
    workers = [_Worker(recipe) for _ in range(count)]
    finished: dict[int, Outcome] = {}
    started = 0
    try:
        for position, path in enumerate(paths):
            while position not in finished:
                for worker in workers:
                    if worker.position == IDLE and started < min(len(paths), position + AHEAD * count):
                        worker.start_file(started, paths[started])
                        started += 1
                for worker in _ready(workers):
                    done, outcome = worker.finish_file()
                    finished[done] = outcome
            yield path, finished.pop(position)
    finally:
        for worker in workers:
            worker.stop()


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Worker:
    """A worker process, and the position of the file that it segments."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self.position, self._deadline = IDLE, 0.0
        self._start()

    def _start(self) -> None:
        # Forked from a server that has imported all modules and runs no threads: a new worker starts at once.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["__main__", work.__module__])
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, self._recipe), daemon=True)
        self._process.start()
        theirs.close()

    def start_file(self, position: int, path: Path) -> None:
        self.position, self._deadline = position, time.monotonic() + TIMEOUT
        # If the process is dead, `finish_file` says so.
        with contextlib.suppress(OSError):
            self.pipe.send(path)

    def finish_file(self) -> tuple[int, Outcome]:
        """Return the position and the outcome of its file; a process that ended is replaced."""
        position, self.position = self.position, IDLE
        try:
            return position, self.pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            reason = f"takes more than {TIMEOUT:.0f} seconds." if self.timed_out else _ended(self._process.exitcode)
            self.pipe.close()
            self._start()
            return position, Outcome(reason=reason)

    @property
    def timed_out(self) -> bool:
        return time.monotonic() > self._deadline

    def kill(self) -> None:
        self._process.kill()

    def stop(self) -> None:
        """End the process: by closing the pipe, or at once where it segments a file."""
        self.pipe.close()
        if self.position != IDLE:
            self._process.kill()
        self._process.join()


def _ready(workers: Sequence[_Worker]) -> list[_Worker]:
    busy = {id(worker.pipe): worker for worker in workers if worker.position != IDLE}
    ready = wait([worker.pipe for worker in busy.values()], timeout=POLL_SECONDS)
    for worker in busy.values():
        if worker.pipe not in ready and worker.timed_out:
            worker.kill()
    return [busy[id(pipe)] for pipe in ready]


def _ended(code: int | None) -> str:
    if code is not None and code < 0:
        return f"the process that reads it was ended by {signal.Signals(-code).name}."
    return f"the process that reads it ended with status {code}."

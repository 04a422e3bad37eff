"""Run many specifications on all cores, each in its own process with one thread; finished ones are stored on disk.

A specification is anything with a `key`; its rows are in FOLDER/KEY.parquet once it has finished. An interrupted run
resumes where it stopped, and finished specifications are not run again.
"""

import hashlib
import json
import multiprocessing
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from bagwise.kernels.arithmetic.blocks import thread_count, use_one_thread

REPORT_EVERY = 5
ROWS_VERSION = 1

Row = dict[str, Any]
Progress = Callable[[int], None]


class Specification(Protocol):
    """Everything that determines the rows of one run."""

    @property
    def key(self) -> str:
        """Return a name that no other specification has."""
        ...

    @property
    def steps(self) -> int:
        """Return the amount of work, for the progress bar."""
        ...

    def run(self, progress: Progress) -> list[Row]:
        """Run and return the rows; `progress` is called with the number of steps done."""
        ...


def key_from(described: dict[str, Any]) -> str:
    """Return a name for rows: a hash of everything that determines them."""
    text = json.dumps({**described, "rows": ROWS_VERSION}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


_reports: "multiprocessing.Queue[int] | None" = None


def _start_worker(reports: "multiprocessing.Queue[int]") -> None:
    global _reports
    _reports = reports
    use_one_thread()


def _run_and_store(specification: Specification, folder: Path, progress: Progress) -> None:
    rows = pl.DataFrame(specification.run(progress), infer_schema_length=None)
    unfinished = folder / f"{specification.key}.part"
    rows.write_parquet(unfinished)
    unfinished.replace(folder / f"{specification.key}.parquet")


def _work(specification: Specification, folder: Path) -> None:
    pending = 0

    def progress(steps: int) -> None:
        nonlocal pending
        pending += steps
        if pending >= REPORT_EVERY and _reports is not None:
            _reports.put(pending)
            pending = 0

    _run_and_store(specification, folder, progress)


def finished(specification: Specification, folder: Path) -> bool:
    """Return whether the rows of the specification are on disk."""
    return (folder / f"{specification.key}.parquet").exists()


def run_all(
    specifications: Sequence[Specification],
    folder: Path,
    progress: Progress = lambda _: None,
    one_by_one: bool = False,
) -> pl.DataFrame:
    """Return the rows of all specifications in their order; only unfinished ones are run."""
    folder.mkdir(parents=True, exist_ok=True)
    todo = [one for one in specifications if not finished(one, folder)]
    if one_by_one or len(todo) <= 1 or thread_count() == 1:
        for specification in todo:
            _run_and_store(specification, folder, progress)
    else:
        _in_processes(todo, folder, progress)
    frames = [pl.read_parquet(folder / f"{one.key}.parquet") for one in specifications]
    return pl.concat(frames, how="diagonal_relaxed")


def _in_processes(todo: Sequence[Specification], folder: Path, progress: Progress) -> None:
    # Spawned, not forked: a fork would copy the locks of other threads in an arbitrary state.
    context = multiprocessing.get_context("spawn")
    reports = context.Queue()
    with ProcessPoolExecutor(min(thread_count(), len(todo)), context, _start_worker, (reports,)) as pool:
        waiting: set[Future[None]] = {pool.submit(_work, one, folder) for one in todo}
        try:
            while waiting:
                _drain(reports, progress)
                done = {future for future in waiting if future.done()}
                for future in done:
                    future.result()
                waiting -= done
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _drain(reports: "multiprocessing.Queue[int]", progress: Progress) -> None:
    try:
        progress(reports.get(timeout=0.2))
        while True:
            progress(reports.get_nowait())
    except queue.Empty:
        return

"""Run many specifications on all cores, each in its own process with one thread; what is finished is saved.

A specification is anything with a `key`; its rows are saved in FOLDER/KEY.parquet once it is done. An interrupted run
continues where it stopped, and what is finished is not run again.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from bagwise.core.processes import WorkerPool
from bagwise.kernels.arithmetic.blocks import thread_count, use_one_thread

REPORT_EVERY = 5
ROWS_VERSION = 1

Row = dict[str, Any]
Progress = Callable[[int], None]


class Specification(Protocol):
    """What determines rows."""

    @property
    def key(self) -> str:
        """A name that no other specification has."""
        ...

    @property
    def steps(self) -> int:
        """How much work it is, for the progress bar."""
        ...

    def run(self, progress: Progress) -> list[Row]:
        """Return its rows; `progress` is called with every number of steps done."""
        ...


def key_from(described: dict[str, Any]) -> str:
    """A name for rows made from everything that determines them."""
    text = json.dumps({**described, "rows": ROWS_VERSION}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _run_and_save(specification: Specification, folder: Path, progress: Progress) -> None:
    rows = pl.DataFrame(specification.run(progress), infer_schema_length=None)
    unfinished = folder / f"{specification.key}.part"
    rows.write_parquet(unfinished)
    unfinished.replace(folder / f"{specification.key}.parquet")


@dataclass(frozen=True)
class _RunInWorker:
    """The work of a worker process: runs a specification and reports some steps at a time."""

    folder: Path

    def __call__(self, specification: Specification, report: Progress) -> None:
        pending = 0

        def progress(steps: int) -> None:
            nonlocal pending
            pending += steps
            if pending >= REPORT_EVERY:
                report(pending)
                pending = 0

        _run_and_save(specification, self.folder, progress)


def finished(specification: Specification, folder: Path) -> bool:
    """Whether its rows are saved."""
    return (folder / f"{specification.key}.parquet").exists()


def run_all(
    specifications: Sequence[Specification],
    folder: Path,
    progress: Progress = lambda _: None,
    one_by_one: bool = False,
) -> pl.DataFrame:
    """The rows of all specifications, in their order; only those not finished yet are run."""
    folder.mkdir(parents=True, exist_ok=True)
    todo = [one for one in specifications if not finished(one, folder)]
    if one_by_one or len(todo) <= 1 or thread_count() == 1:
        for specification in todo:
            _run_and_save(specification, folder, progress)
    else:
        count = min(thread_count(), len(todo))
        work = _RunInWorker(folder)
        with WorkerPool[Specification, None](work, count, use_one_thread, on_progress=progress) as pool:
            for _ in pool.as_completed(todo):
                pass
    frames = [pl.read_parquet(folder / f"{one.key}.parquet") for one in specifications]
    return pl.concat(frames, how="diagonal_relaxed")

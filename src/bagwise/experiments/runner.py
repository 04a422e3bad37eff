"""Run many simulations on all cores, each in its own process with one thread, with progress and rows on disk."""

import multiprocessing
import queue
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import polars as pl

from bagwise.experiments.simulation import Row, Simulation, run
from bagwise.kernels.blocks import thread_count, use_one_thread

REPORT_EVERY = 5

_reports: "multiprocessing.Queue[int] | None" = None


def _start_worker(reports: "multiprocessing.Queue[int]") -> None:
    global _reports
    _reports = reports
    use_one_thread()


def _work(simulation: Simulation) -> list[Row]:
    pending = 0

    def progress(queries: int) -> None:
        nonlocal pending
        pending += queries
        if pending >= REPORT_EVERY and _reports is not None:
            _reports.put(pending)
            pending = 0

    return run(simulation, progress)


def run_all(simulations: Iterable[Simulation], progress: Callable[[int], None] = lambda _: None) -> pl.DataFrame:
    """The rows of all simulations; `progress` is told how many queries were made since it was last called."""
    todo = list(simulations)
    if len(todo) == 1 or thread_count() == 1:
        return pl.DataFrame([row for simulation in todo for row in run(simulation, progress)])
    # Spawned, not forked: a fork would copy threads' locks in whatever state they are.
    context = multiprocessing.get_context("spawn")
    reports = context.Queue()
    workers = min(thread_count(), len(todo))
    with ProcessPoolExecutor(workers, context, _start_worker, (reports,)) as pool:
        futures = [pool.submit(_work, simulation) for simulation in todo]
        try:
            while not all(future.done() for future in futures):
                _drain(reports, progress)
                for future in futures:
                    if future.done() and future.exception() is not None:
                        raise future.exception()  # type: ignore[misc]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return pl.DataFrame([row for future in futures for row in future.result()])


def _drain(reports: "multiprocessing.Queue[int]", progress: Callable[[int], None]) -> None:
    try:
        progress(reports.get(timeout=0.2))
        while True:
            progress(reports.get_nowait())
    except queue.Empty:
        return


def write_rows(rows: pl.DataFrame, path: Path) -> None:
    """Tidy rows as Parquet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows.write_parquet(path)

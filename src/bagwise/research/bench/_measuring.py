"""Timing side by side: in every round each job is run once, next to the floor, so that a busy machine hits both."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from bagwise.kernels import Array
from bagwise.kernels.arithmetic.blocks import single_threaded_blas
from bagwise.research.bench._figures import Figure

REST = 0.15
"""After a product idle BLAS threads spin for about 0.1 s and would slow down whatever comes next."""

THREADS = "BAGWISE_THREADS"
BUSY = 1.2

Job = Callable[[], object]
Say = Callable[[str], None]
Clock = Callable[[], float]
Times = dict[str, list[float]]


def seconds(job: Job, clock: Clock = time.perf_counter) -> float:
    """Seconds of one call, after a rest where that matters."""
    if clock is time.perf_counter:
        time.sleep(REST)
    start = clock()
    job()
    return clock() - start


def side_by_side(jobs: Mapping[str, Job], rounds: int, clock: Clock = time.perf_counter) -> Times:
    """Seconds of every job in every round; one call before them is not counted, it compiles and fills caches."""
    for job in jobs.values():
        job()
    times: Times = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            times[name].append(seconds(job, clock))
    return times


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold kernels and BLAS to one thread."""
    before = os.environ.get(THREADS)
    os.environ[THREADS] = "1"
    try:
        with single_threaded_blas():
            yield
    finally:
        if before is None:
            del os.environ[THREADS]
        else:
            os.environ[THREADS] = before


def against(floor: str, jobs: Mapping[str, Job], rounds: int) -> tuple[dict[str, Figure], tuple[str, ...]]:
    """Every job against the one called `floor`: by the clock on all cores, and by CPU time on one thread."""
    times = side_by_side(jobs, rounds)
    with one_thread():
        alone = side_by_side(jobs, rounds, time.process_time)
    figures = {
        name: figure_of(name, floor, times[name], times[floor], one_thread=median_ratio(alone[name], alone[floor]))
        for name in jobs
        if name != floor
    }
    return figures, busy(times[floor], alone[floor])


def median_ratio(times: list[float], floor_times: list[float]) -> float:
    """The ratio of the medians."""
    return float(np.median(times) / np.median(floor_times))


def figure_of(name: str, floor: str, times: list[float], floor_times: list[float], **rest: Any) -> Figure:
    """The ratio of two jobs, round by round."""
    ratios = [time / floor_time for time, floor_time in zip(times, floor_times, strict=True)]
    medians = {"seconds": float(np.median(times)), "floor_seconds": float(np.median(floor_times))}
    return Figure.of(name, floor, ratios, **medians, **rest)


def peer_figure(name: str, floor: str, times: Array, floor_times: Array, details: Mapping[str, Any]) -> Figure:
    """How many times as long as ours something else takes, each of its times over our median."""
    ours = float(np.median(floor_times))
    medians = {"seconds": float(np.median(times)), "floor_seconds": ours}
    return Figure.of(name, floor, list(times / ours), **medians, larger_is_better=True, details=details)


def busy(floor_times: list[float], alone: list[float]) -> tuple[str, ...]:
    """A note where the floor took longer on all cores than it needs on one: others are using them."""
    took, needed = float(np.median(floor_times)), float(np.median(alone))
    if took <= BUSY * needed:
        return ()
    return (
        f"The machine was busy: on all cores the floor took {1000 * took:.0f} ms by the clock, but one core needs only "
        f"{1000 * needed:.0f} for it. Trust the ratios on one thread.",
    )

"""Time jobs in alternation: every round runs each job once, so that other load on the machine affects all of them."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from bagwise.kernels import Array
from bagwise.kernels.arithmetic.blocks import single_threaded_blas
from bagwise.research.bench.figures import Figure

PAUSE = 0.15
"""Seconds before a measurement: after a product, idle BLAS threads spin for about 0.1 s and slow down what follows."""

THREADS = "BAGWISE_THREADS"
BUSY = 1.2

Job = Callable[[], object]
Log = Callable[[str], None]
Clock = Callable[[], float]
Times = dict[str, list[float]]


def seconds(job: Job, clock: Clock = time.perf_counter) -> float:
    """Return the seconds of one call; before wall-clock measurements, wait until BLAS threads are idle."""
    if clock is time.perf_counter:
        time.sleep(PAUSE)
    start = clock()
    job()
    return clock() - start


def time_alternating(jobs: Mapping[str, Job], rounds: int, clock: Clock = time.perf_counter) -> Times:
    """Return the seconds of every job in every round, after one call that is not timed (compilation, caches)."""
    for job in jobs.values():
        job()
    times: Times = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            times[name].append(seconds(job, clock))
    return times


@contextmanager
def one_thread() -> Iterator[None]:
    """Restrict kernels and BLAS to one thread."""
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


def ratios_to(floor: str, jobs: Mapping[str, Job], rounds: int) -> tuple[dict[str, Figure], tuple[str, ...]]:
    """Return a figure of every job relative to the job `floor`, and notes.

    The ratio is of wall-clock times on all cores; `one_thread` is of CPU times on one thread.
    """
    times = time_alternating(jobs, rounds)
    with one_thread():
        cpu_times = time_alternating(jobs, rounds, time.process_time)
    figures = {
        name: figure_of(
            name,
            floor,
            times[name],
            times[floor],
            one_thread=median_ratio(cpu_times[name], cpu_times[floor]),
        )
        for name in jobs
        if name != floor
    }
    return figures, busy_note(times[floor], cpu_times[floor])


def median_ratio(times: list[float], floor_times: list[float]) -> float:
    """Return the ratio of the medians."""
    return float(np.median(times) / np.median(floor_times))


def figure_of(name: str, floor: str, times: list[float], floor_times: list[float], **rest: Any) -> Figure:
    """Return the figure of two jobs' times, divided round by round."""
    ratios = [time / floor_time for time, floor_time in zip(times, floor_times, strict=True)]
    medians = {"seconds": float(np.median(times)), "floor_seconds": float(np.median(floor_times))}
    return Figure.of(name, floor, ratios, **medians, **rest)


def peer_figure(name: str, floor: str, times: Array, floor_times: Array, details: Mapping[str, Any]) -> Figure:
    """Return how many times as long as Bagwise another system takes: each of its times over our median."""
    ours = float(np.median(floor_times))
    medians = {"seconds": float(np.median(times)), "floor_seconds": ours}
    return Figure.of(name, floor, list(times / ours), **medians, larger_is_better=True, details=details)


def busy_note(floor_times: list[float], cpu_times: list[float]) -> tuple[str, ...]:
    """Return a note if the floor took longer on all cores than on one: other processes use them."""
    took, needed = float(np.median(floor_times)), float(np.median(cpu_times))
    if took <= BUSY * needed:
        return ()
    return (
        f"The machine was busy: the floor took {1000 * took:.0f} ms on all cores, but one core needs only "
        f"{1000 * needed:.0f} ms. Trust the ratios on one thread.",
    )

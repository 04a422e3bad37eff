"""Files are segmented by several worker processes; a file that crashes its worker is named, and the others go on."""

import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from multiprocessing.reduction import ForkingPickler
from types import ModuleType

from bagwise.core.processes import TaskTimeout, WorkerCrashed, WorkerPool
from bagwise.ingest.recipe import Recipe
from bagwise.ingest.worker import Outcome, SegmentFile, Task, discard_messages

FILES_PER_WORKER = 4
"""For fewer files, another worker is not worth its start."""
TIMEOUT = 900.0
"""Seconds for one file: a decoder may never end."""

# A recipe may hold a module as its segmenter.
ForkingPickler.register(ModuleType, lambda module: (import_module, (module.__name__,)))


def segment_files(
    recipe: Recipe, tasks: Sequence[Task], processes: int | None = None
) -> Iterator[tuple[Task, Outcome]]:
    """Segment files, or clips of them, in worker processes.

    Parameters
    ----------
    recipe
        How to segment them.
    tasks
        The files and clips.
    processes
        At most so many workers; by default as many as this process may use cores.

    Yields
    ------
    task
        In the order of `tasks`.
    outcome
        Its segments, or why there are none.
    """
    count = min(-(-len(tasks) // FILES_PER_WORKER), processes or cores())
    work = SegmentFile(recipe)
    with WorkerPool[Task, Outcome](work, count, discard_messages, timeout=TIMEOUT, on_failure=_failed) as pool:
        yield from zip(tasks, pool.in_order(tasks), strict=True)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _failed(task: Task, error: WorkerCrashed | TaskTimeout) -> Outcome:  # noqa: ARG001
    if isinstance(error, TaskTimeout):
        return Outcome(reason=f"takes more than {error.seconds:.0f} seconds.")
    return Outcome(reason=f"the process that reads it {error.how}.")

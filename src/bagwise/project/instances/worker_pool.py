"""Tasks of an import in processes of this machine, or wherever a `TaskRunner` runs them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from bagwise.core.processes import WorkerPool
from bagwise.kernels.arithmetic.blocks import thread_count

Task = TypeVar("Task")
Result = TypeVar("Result")


class Each(Protocol):
    """Runs tasks somewhere, on this machine or on a cluster.

    Examples
    --------
    >>> def here(work, tasks):
    ...     return ((number, work(task)) for number, task in enumerate(tasks))
    >>> list(here(len, ["wren", "owl"]))
    [(0, 4), (1, 3)]
    """

    def __call__(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
        """Yield (position of the task, result) as tasks complete, in unspecified order.

        Parameters
        ----------
        work : callable
            A function of a module, called with every task.
        tasks : sequence
            The tasks.

        Yields
        ------
        number : int
            The position of a task.
        result : any
            Its result.
        """


def in_processes(work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
    """Run tasks in processes of this machine, as many as it has cores; with one core, in this process.

    Parameters
    ----------
    work
        A function of a module, called with every task.
    tasks
        The tasks; each is named by its `str` where its process crashes.

    Yields
    ------
    number
        The position of a task.
    result
        Its result.

    Examples
    --------
    >>> list(in_processes(len, ["wren"]))
    [(0, 4)]
    """
    count = min(len(tasks), thread_count())
    if count == 1:
        yield from ((number, work(task)) for number, task in enumerate(tasks))
        return
    with WorkerPool[Task, Result](work, count) as pool:
        yield from pool.as_completed(tasks)


def in_order(results: Iterator[tuple[int, Result]]) -> list[Result]:
    """Return all results in the order of their tasks."""
    return [result for _, result in sorted(results, key=lambda one: one[0])]

"""Tasks on the machines of a Ray cluster."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import ray
from ray.exceptions import RayError, RayTaskError

from bagwise.cluster.connection import connect
from bagwise.core.errors import BagwiseError

Task = TypeVar("Task")
Result = TypeVar("Result")


class RayTasks:
    """Runs tasks on the cluster at `address`; `auto` is the cluster that this machine is part of."""

    def __init__(self, address: str) -> None:
        connect(address)

    def __call__(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
        """Yield (number of the task, result) as tasks complete; tasks of a lost machine run again on another."""
        function = ray.remote(work)
        running = {function.remote(task): number for number, task in enumerate(tasks)}
        try:
            while running:
                done, _ = ray.wait(list(running), num_returns=1)
                result = self._result(done[0])
                yield running.pop(done[0]), result
        finally:
            for one in running:
                ray.cancel(one, force=True)

    def _result(self, done: Any) -> Any:
        try:
            return ray.get(done)
        except RayTaskError as error:
            if isinstance(error.cause, BagwiseError):
                raise error.cause from error
            raise
        except RayError as error:
            raise BagwiseError(f"A task on the cluster failed: {error} Retry.") from error

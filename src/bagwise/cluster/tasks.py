"""Work shared out among the machines of a Ray cluster, one task for each piece of it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import ray
from ray.exceptions import RayError, RayTaskError

from bagwise.cluster.connection import connect
from bagwise.core.errors import BagwiseError

Piece = TypeVar("Piece")
Result = TypeVar("Result")


class RayTasks:
    """Does every piece of some work somewhere on the cluster at `address`; `auto` is the one this machine is in."""

    def __init__(self, address: str) -> None:
        connect(address)

    def __call__(self, work: Callable[[Piece], Result], pieces: Sequence[Piece]) -> Iterator[tuple[int, Result]]:
        """(number of the piece, result), as soon as one is done; what a lost machine was at is done elsewhere."""
        task = ray.remote(work)
        running = {task.remote(piece): number for number, piece in enumerate(pieces)}
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
            raise BagwiseError(f"The cluster could not do a part of the work: {error} Try again.") from error

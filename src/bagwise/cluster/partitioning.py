"""Work shared out among the machines of a Ray cluster, one task for each piece of it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from bagwise.errors import BagwiseError

Piece = TypeVar("Piece")
Result = TypeVar("Result")


class OnCluster:
    """Does every piece of some work somewhere on the cluster at `address`; `auto` is the one this machine is in."""

    def __init__(self, address: str) -> None:
        try:
            import ray
        except ImportError:
            raise BagwiseError("--cluster needs Ray: install it with pip install 'bagwise[cluster]'.") from None
        self._ray: Any = ray
        if not ray.is_initialized():
            _connect(ray, address)

    def __call__(self, work: Callable[[Piece], Result], pieces: Sequence[Piece]) -> Iterator[tuple[int, Result]]:
        """(number of the piece, result), as soon as one is done; what a lost machine was at is done elsewhere."""
        task = self._ray.remote(work)
        running = {task.remote(piece): number for number, piece in enumerate(pieces)}
        try:
            while running:
                done, _ = self._ray.wait(list(running), num_returns=1)
                result = self._result(done[0])
                yield running.pop(done[0]), result
        finally:
            for one in running:
                self._ray.cancel(one, force=True)

    def _result(self, done: Any) -> Any:
        try:
            return self._ray.get(done)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, BagwiseError) else error from None
        except self._ray.exceptions.RayError as error:
            raise BagwiseError(f"The cluster could not do a part of the work: {error} Try again.") from None


def _connect(ray: Any, address: str) -> None:
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError) as error:
        what = "no Ray cluster runs on this machine" if address == "auto" else f"cannot be reached ({error})"
        raise BagwiseError(
            f"--cluster {address}: {what}. Start one with `ray start --head`, or give its address."
        ) from None

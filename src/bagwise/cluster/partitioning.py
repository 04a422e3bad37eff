"""Work shared out among the machines of a Ray cluster, one task for each piece of it."""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import ray

from bagwise.errors import BagwiseError

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def on_cluster(work: Callable[[Piece], Result], pieces: Sequence[Piece]) -> Iterator[tuple[int, Result]]:
    """(number of the piece, result), as soon as one is done; what a lost machine was at is done elsewhere."""
    task = ray.remote(work)
    running = {task.remote(piece): number for number, piece in enumerate(pieces)}
    try:
        while running:
            (done,), _ = ray.wait(list(running), num_returns=1)
            result = _result(done)
            yield running.pop(done), result
    finally:
        for one in running:
            ray.cancel(one, force=True)


def _result(done: Any) -> Any:
    try:
        return ray.get(done)
    except ray.exceptions.RayTaskError as error:
        raise error.cause if isinstance(error.cause, BagwiseError) else error from None
    except ray.exceptions.RayError as error:
        raise BagwiseError(f"The cluster could not do a part of the work: {error} Try again.") from None


def connect(address: str) -> None:
    """Join a cluster, where this process is in none yet; `auto` is the one that this machine is in."""
    if ray.is_initialized():
        return
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING)
    except (ConnectionError, RuntimeError, ValueError):
        where = "on this machine" if address == "auto" else f"at {address}"
        raise BagwiseError(
            f"There is no Ray cluster {where}: start one with `ray start --head`, or give the address of another."
        ) from None

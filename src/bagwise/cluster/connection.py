"""Getting to a cluster, and shards on it."""

import logging
import socket
from collections.abc import Sequence
from typing import Any

import ray

from bagwise.cluster.shard import Origin, Shard
from bagwise.core.errors import BagwiseError

HERE = "local"
CONNECTING_SECONDS = 5.0


def connect(address: str) -> None:
    """Join a cluster: "auto" for the one that runs here, HOST:PORT, ray://HOST:10001, or "local" to start one.

    Whoever is on a cluster already stays there.
    """
    if ray.is_initialized():
        _validate_same_cluster(address)
        return
    if ":" in address:
        _validate_replies(address)
    try:
        ray.init(
            address=address,
            include_dashboard=False if address == HERE else None,
            log_to_driver=False,
            logging_level=logging.WARNING,
        )
    except ConnectionError as error:
        raise _nothing_there(address) from error
    except (ValueError, RuntimeError) as error:
        if ":" not in address:
            raise BagwiseError(f"The Ray cluster {address} cannot be joined: {error}") from error
        raise BagwiseError(
            f"Something is at {address}, but it lets nobody in: {error} If it is a Ray cluster with a token, set "
            "RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or ~/.ray/auth_token (see docs/cluster.md)."
        ) from error


def _validate_same_cluster(address: str) -> None:
    if ":" in address and not address.startswith("ray://"):
        here = ray.get_runtime_context().gcs_address
        if here != address:
            raise BagwiseError(f"This process is on the Ray cluster {here} already: it cannot join {address} as well.")


def _validate_replies(address: str) -> None:
    """Ray itself would try for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), CONNECTING_SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        raise _nothing_there(address) from error


def _nothing_there(address: str) -> BagwiseError:
    where = "on this machine" if address == "auto" else f"at {address}"
    return BagwiseError(
        f"There is no Ray cluster {where}: start one with `ray start --head`, or give the address of another."
    )


def number_of(kind: str) -> float:
    """How many processors ("CPU") or cards ("GPU") the cluster has."""
    return sum(_by_machine(kind))


def _by_machine(kind: str) -> list[float]:
    return [node["Resources"].get(kind, 0.0) for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]


def begin_shards(origins: Sequence[Origin], cpus: float | None, gpus: float | None, shard: type[Shard]) -> list[Any]:
    """A shard for each of the origins, spread over the machines; None shares out what there is.

    A shard reserves half of its share of the processors: so there is room for the shards of a machine that is lost.
    """
    share = _share(_by_machine("CPU"), len(origins)) if cpus is None else cpus
    cards = min(1.0, _share(_by_machine("GPU"), len(origins))) if gpus is None else gpus
    made = ray.remote(shard).options(
        num_cpus=share / 2 if cpus is None else cpus,
        num_gpus=cards,
        max_restarts=-1,
        max_task_retries=0,
        scheduling_strategy="SPREAD",
    )
    return [made.remote(origin, max(1, int(share)), "auto" if cards else "cpu") for origin in origins]


def _share(by_machine: Sequence[float], shards: int) -> float:
    """How much each can have of what must not be split over machines: whole ones, or one for several.

    >>> _share([5, 1], 3), _share([2], 3), _share([1] * 16, 100), _share([0], 2)
    (1.0, 0.5, 0.14285714285714285, 0.0)
    """
    if not sum(by_machine):
        return 0.0
    whole = next((size for size in range(int(max(by_machine)), 0, -1) if _fit(by_machine, size) >= shards), 0)
    if whole:
        return float(whole)
    several = 2
    while _fit(by_machine, 1 / several) < shards:
        several += 1
    return 1 / several


def _fit(by_machine: Sequence[float], size: float) -> int:
    return sum(int(there / size + 1e-9) for there in by_machine)

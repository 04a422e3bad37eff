"""Getting to a cluster, and shards on it."""

import logging
import socket
from collections.abc import Sequence
from typing import Any

import ray

from bagwise.cluster.shard import Origin, Shard
from bagwise.errors import BagwiseError

HERE = "local"
CONNECTING_SECONDS = 5.0


def connect(address: str) -> None:
    """Join a cluster: "auto" for the one that runs here, HOST:PORT, ray://HOST:10001, or "local" to start one.

    Whoever is on a cluster already stays there.
    """
    if ray.is_initialized():
        return
    if ":" in address:
        _refuse_silence(address)
    try:
        ray.init(
            address=None if address == HERE else address,
            include_dashboard=False if address == HERE else None,
            log_to_driver=False,
            logging_level=logging.WARNING,
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        if ":" not in address:
            raise _nothing_there(address) from None
        raise BagwiseError(
            f"Something is at {address}, but it lets nobody in ({type(error).__name__}): if it is a Ray cluster with a "
            "token, set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or ~/.ray/auth_token (see docs/cluster.md)."
        ) from None


def _refuse_silence(address: str) -> None:
    """Ray itself would try for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), CONNECTING_SECONDS).close()
    except (OSError, ValueError, OverflowError):
        raise _nothing_there(address) from None


def _nothing_there(address: str) -> BagwiseError:
    where = "on this machine" if address == "auto" else f"at {address}"
    return BagwiseError(
        f"There is no Ray cluster {where}: start one with `ray start --head`, or give the address of another."
    )


def number_of(kind: str) -> float:
    """How many processors ("CPU") or cards ("GPU") the cluster has."""
    return float(ray.cluster_resources().get(kind, 0.0))  # type: ignore[no-untyped-call]


def begin_shards(origins: Sequence[Origin], cpus: float | None, gpus: float | None, shard: type[Shard]) -> list[Any]:
    """A shard for each of the origins, spread over the machines; None shares out what there is."""
    cpus = _share("CPU", len(origins)) if cpus is None else cpus
    gpus = min(1.0, _share("GPU", len(origins))) if gpus is None else gpus
    threads = max(1, int(cpus))
    made = ray.remote(shard).options(
        num_cpus=cpus, num_gpus=gpus, max_restarts=-1, max_task_retries=0, scheduling_strategy="SPREAD"
    )
    return [made.remote(origin, threads, "auto" if gpus else "cpu") for origin in origins]


def _share(kind: str, shards: int) -> float:
    """Whole ones where there are enough."""
    share = number_of(kind) / shards
    return float(int(share)) if share >= 1 else share * 0.99

"""Connecting to a Ray cluster, and starting shards on it."""

import logging
import socket
from collections.abc import Sequence
from typing import Any

import ray

from bagwise.cluster.shard import Origin, Shard
from bagwise.core.errors import BagwiseError

LOCAL = "local"
CONNECT_TIMEOUT = 5.0


def connect(address: str) -> None:
    """Connect this process to a Ray cluster; a process that is connected already stays so.

    Parameters
    ----------
    address
        "auto" for the cluster that this machine is part of, HOST:PORT, ray://HOST:10001, or "local" to start one.

    Raises
    ------
    BagwiseError
        If there is no cluster at the address, it refuses, or this process is connected to another.

    Examples
    --------
    >>> try:
    ...     connect("localhost:1")
    ... except BagwiseError:
    ...     print("no cluster there")
    no cluster there
    """
    if ray.is_initialized():
        _validate_same_cluster(address)
        return
    if ":" in address:
        _validate_replies(address)
    try:
        ray.init(
            address=address,
            include_dashboard=False if address == LOCAL else None,
            log_to_driver=False,
            logging_level=logging.WARNING,
        )
    except ConnectionError as error:
        raise _no_cluster(address) from error
    except (ValueError, RuntimeError) as error:
        if ":" not in address:
            raise BagwiseError(f"Cannot connect to the Ray cluster {address}: {error}") from error
        raise BagwiseError(
            f"{address} refused the connection: {error} If it is a Ray cluster with a token, set "
            "`RAY_AUTH_MODE=token`, and `RAY_AUTH_TOKEN` or `~/.ray/auth_token` (see docs/cluster.md)."
        ) from error


def _validate_same_cluster(address: str) -> None:
    if ":" in address and not address.startswith("ray://"):
        connected = ray.get_runtime_context().gcs_address
        if connected != address:
            raise BagwiseError(f"This process is connected to the Ray cluster {connected}: it cannot use {address}.")


def _validate_replies(address: str) -> None:
    """Raise where nothing listens at the address: Ray itself would try for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), CONNECT_TIMEOUT).close()
    except (OSError, ValueError, OverflowError) as error:
        raise _no_cluster(address) from error


def _no_cluster(address: str) -> BagwiseError:
    where = "on this machine" if address == "auto" else f"at {address}"
    return BagwiseError(
        f"There is no Ray cluster {where}: start one with `ray start --head`, or give the address of another."
    )


def number_of(kind: str) -> float:
    """Return the number of "CPU" or "GPU" of the cluster."""
    return sum(_by_machine(kind))


def _by_machine(kind: str) -> list[float]:
    return [node["Resources"].get(kind, 0.0) for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]


def start_shards(origins: Sequence[Origin], cpus: float | None, gpus: float | None, shard: type[Shard]) -> list[Any]:
    """Start a shard for each of the origins, spread over the machines.

    `cpus` and `gpus` are for each shard; None divides what the cluster has. Then a shard reserves half of its share of
    the CPUs, so that there is room for the shards of a machine that is lost.
    """
    share = _share(_by_machine("CPU"), len(origins)) if cpus is None else cpus
    shard_gpus = min(1.0, _share(_by_machine("GPU"), len(origins))) if gpus is None else gpus
    actor = ray.remote(shard).options(
        num_cpus=share / 2 if cpus is None else cpus,
        num_gpus=shard_gpus,
        max_restarts=-1,
        max_task_retries=0,
        scheduling_strategy="SPREAD",
    )
    return [actor.remote(origin, max(1, int(share)), "auto" if shard_gpus else "cpu") for origin in origins]


def _share(by_machine: Sequence[float], shards: int) -> float:
    """Return how many CPUs or GPUs each shard can have, none split over machines: whole ones, or a fraction of one.

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
    return sum(int(count / size + 1e-9) for count in by_machine)

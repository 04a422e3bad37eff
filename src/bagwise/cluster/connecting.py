"""Getting to a cluster, and shards on it."""

import logging
from collections.abc import Sequence
from typing import Any

import ray

from bagwise.cluster.shard import Origin, Shard
from bagwise.errors import BagwiseError

HERE = "local"


def connect(address: str) -> None:
    """Join a cluster: "auto" for the one that runs here, HOST:PORT, ray://HOST:10001, or "local" to start one.

    Whoever is on a cluster already stays there.
    """
    if ray.is_initialized():
        return
    try:
        ray.init(
            address=None if address == HERE else address,
            include_dashboard=False if address == HERE else None,
            log_to_driver=False,
            logging_level=logging.WARNING,
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise BagwiseError(
            f"There is no Ray cluster at {address!r} ({error}): start one with `ray start --head`, or give its address."
        ) from None


def processors() -> float:
    """How many the cluster has."""
    return float(ray.cluster_resources().get("CPU", 1.0))  # type: ignore[no-untyped-call]


def begin_shards(origins: Sequence[Origin], cpus: float | None, gpus: float, shard: type[Shard]) -> list[Any]:
    """A shard for each of the origins, spread over the machines; None for `cpus` shares out what there is."""
    if cpus is None:
        share = processors() / len(origins)
        cpus = float(int(share)) if share >= 1 else share * 0.99
    threads = max(1, int(cpus))
    made = ray.remote(shard).options(
        num_cpus=cpus, num_gpus=gpus, max_restarts=-1, max_task_retries=0, scheduling_strategy="SPREAD"
    )
    return [made.remote(origin, threads, "auto" if gpus else "cpu") for origin in origins]

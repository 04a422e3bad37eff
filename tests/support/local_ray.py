"""A small Ray cluster on this machine, for the duration of a test."""

import contextlib
import logging
import os

import ray

# Ray's workers are niced by 15: the tests that wait for them would wait for all others, which have every core busy.
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 -- its name
ATTEMPTS = 3


@contextlib.contextmanager
def local_ray():
    """Start a cluster and yield its address; retry, since Ray allows 30 seconds, too few on a busy machine."""
    for attempt in range(ATTEMPTS):
        try:
            ray.init(
                address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR
            )
            break
        except Exception:
            ray.shutdown()
            if attempt == ATTEMPTS - 1:
                raise
    try:
        yield ray.get_runtime_context().gcs_address
    finally:
        ray.shutdown()

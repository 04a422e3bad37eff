"""A small Ray cluster of this machine, for as long as a test needs it."""

import contextlib
import logging

import ray

TRIES = 3


@contextlib.contextmanager
def ray_here():
    """Its address. Ray gives itself 30 seconds to start, which may be too few where other tests run beside it."""
    for tried in range(TRIES):
        try:
            ray.init(
                address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR
            )
            break
        except Exception:
            ray.shutdown()
            if tried == TRIES - 1:
                raise
    try:
        yield ray.get_runtime_context().gcs_address
    finally:
        ray.shutdown()

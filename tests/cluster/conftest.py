"""One small cluster for all tests of this folder that run in one process."""

import logging

import pytest
import ray


@pytest.fixture(scope="session", autouse=True)
def cluster():
    """Its address."""
    ray.init(num_cpus=6, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()


@pytest.fixture
def database():
    """Where answers are kept has nothing to do with where instances are: in the folder."""
    return ""

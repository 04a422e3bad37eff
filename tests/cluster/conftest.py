"""One small cluster for all tests of this folder that run in one process."""

import pytest

from tests.ray_here import ray_here


@pytest.fixture(scope="session", autouse=True)
def cluster():
    """Its address."""
    with ray_here() as address:
        yield address


@pytest.fixture
def database():
    """Where answers are kept has nothing to do with where instances are: in the folder."""
    return ""

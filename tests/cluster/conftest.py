"""A small cluster for the tests of every file of this folder."""

import pytest

from tests.support.local_ray import local_ray


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Its address."""
    with local_ray() as address:
        yield address


@pytest.fixture
def database():
    """Where answers are kept has nothing to do with where instances are: in the folder."""
    return ""

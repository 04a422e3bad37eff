"""Compiled kernels are kept until a source of theirs changes."""

import pytest

from bagwise.kernels.arithmetic.compile import WITH_KERNELS, _drop_stale_code


@pytest.fixture
def package(tmp_path):
    """Sources as in a new installation: nothing was compiled yet."""
    for room in WITH_KERNELS:
        (tmp_path / room).mkdir(parents=True)
        (tmp_path / room / "sums.py").write_text("total = 0")
    return tmp_path


def compiled(package):
    return [package / room / "__pycache__" / "sums.nbi" for room in WITH_KERNELS]


def test_the_second_process_uses_what_the_first_one_compiled(package):
    _drop_stale_code(package)
    for index in compiled(package):
        index.parent.mkdir(exist_ok=True)
        index.touch()
    _drop_stale_code(package)
    assert all(index.exists() for index in compiled(package))


def test_a_change_of_any_source_forgets_them_all(package):
    _drop_stale_code(package)
    for index in compiled(package):
        index.touch()
    (package / WITH_KERNELS[0] / "sums.py").write_text("total = 0.0")
    _drop_stale_code(package)
    assert not any(index.exists() for index in compiled(package))

"""A project is the same on every processor: the recorded one is replayed here, and as other processors would."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bagwise.project import check
from bagwise.project.answers import replay
from bagwise.project.queue import leases, ranking
from tests.recorded import SETTINGS, recorded, replayed, weights_of
from tools.nightly import PROCESSORS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", SETTINGS)
def test_the_recorded_project_is_replayed_bit_for_bit(name, tmp_path, monkeypatch):
    monkeypatch.setattr(replay, "REFIT_EVERY", replay.REFIT_EVERY)
    monkeypatch.setattr(ranking, "TIMEOUT", ranking.TIMEOUT)
    monkeypatch.setattr(leases, "RECENTLY", leases.RECENTLY)
    rows, weights = recorded(name)
    for number, (row, project) in enumerate(replayed(name, tmp_path / "project")):
        assert row == rows[number]
        if number == len(rows) - 1:
            np.testing.assert_array_equal(weights_of(project), weights)
            assert [one.wrong for one in check(project) if one.wrong] == []


@pytest.mark.slow
def test_an_older_processor_replays_it_bit_for_bit():
    """BLAS, NumPy and the C library without what newer processors have; `tools/nightly.py` has more."""
    older = PROCESSORS["older BLAS"]() | PROCESSORS["older NumPy"]() | PROCESSORS["older C library"]()
    compare_as(older | PROCESSORS["one thread"](), "default", "noisy")


@pytest.mark.slow
def test_kernels_compiled_for_any_processor_replay_it_bit_for_bit():
    compare_as(PROCESSORS["kernels for any x86-64"](), "stepwise")


def compare_as(processor, *names):
    environment = os.environ | processor | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.recorded", "--compare", *names],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

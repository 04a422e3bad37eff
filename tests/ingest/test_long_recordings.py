"""The benchmark of a season of long recordings runs, in a small size."""

import json

import pytest

from benchmarks import long_recordings


@pytest.mark.slow
def test_a_season_is_measured_in_a_small_size(tmp_path):
    long_recordings.main(["--files", "2", "--minutes", "2", "--to", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text())
    (run,) = found["runs"]
    assert (found["minutes"], run["files"]) == (2, 2)
    assert run["peak_megabytes"] > 0
    assert run["times_real_time_of_processor"] > 0
    # Clips and their features: the recordings themselves are linked.
    assert 0 < run["project_megabytes_per_hour"] < 30

"""Many people at once against a real `bagwise serve`; the full size is `python benchmarks/load.py`."""

from benchmarks import load


def test_nothing_is_lost_doubled_or_refused(tmp_path):
    found = load.measure(tmp_path / "project", bags=200, people=6, seconds=3.0, alone=1.0)
    assert load.in_order(found), found["afterwards"]
    assert found["milliseconds"]["flat out"]["answers"] > 6
    assert found["milliseconds"]["paced"]["answers"] >= 6

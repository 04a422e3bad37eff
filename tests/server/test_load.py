"""Many people at once against a real `bagwise serve`; the full size is `python -m benchmarks.load`."""

from concurrent.futures import ThreadPoolExecutor

from benchmarks import load
from tests.support import forked


def test_nothing_is_lost_doubled_or_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(load, "subprocess", forked)
    # In a thread, since Playwright leaves an event loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(load.measure, tmp_path / "p", bags=200, people=6, seconds=3.0, alone=1.0).result()
    assert load.in_order(found), found["afterwards"]
    assert found["milliseconds"]["flat out"]["answers"] > 6
    assert found["milliseconds"]["paced"]["answers"] >= 6

"""The order of the tests, and what every run prints at its end: time by package, and what was skipped and why."""

import gc
import os
from collections import Counter, defaultdict
from importlib.util import find_spec
from pathlib import PurePosixPath

import pytest

WITHOUT_TORCH = (
    "src/bagwise/kernels/gpu/*.py",
    "src/bagwise/learning/top_k_gpu.py",
    "tests/kernels/test_gpu.py",
)
# Until all tests are collected, nothing becomes garbage, and every process would look for it again and again.
gc.disable()
collect_ignore_glob = [] if find_spec("torch") else list(WITHOUT_TORCH)


# Tests of whole systems (servers, browsers, clusters, pages of the docs) take seconds each, units milliseconds.
WHOLE_SYSTEMS = (
    *(
        f"tests/{package}/"
        for package in ("crash", "cluster", "server", "project", "ingest", "research", "checks", "partitions", "cli")
    ),
    "tests/test_docs.py",
    "tests/kernels/test_gpu.py",
    "tests/learning/test_tried.py",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One process more than there are cores: tests of whole systems wait for pages, servers and other processes."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1


def pytest_collection_modifyitems(items):
    """Whole systems first, of those the files with the fewest tests: no process ends with one long file."""
    sizes = Counter(_file(item.nodeid) for item in items)
    items.sort(key=lambda item: (not item.nodeid.startswith(WHOLE_SYSTEMS), sizes[_file(item.nodeid)]))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What was imported and collected stays: later it need not be looked through for garbage."""
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _file(nodeid):
    return nodeid.partition("::")[0]


def package_of(nodeid):
    """The package of tests that a test is in; doctests are in `src`, single files directly in `tests`."""
    parts = PurePosixPath(_file(nodeid)).parts
    return "doctests" if parts[0] == "src" else "/".join(parts[:2] if len(parts) > 2 else parts[:1])


def pytest_terminal_summary(terminalreporter):
    """Seconds of all processes together: two processes on two cores take half of them."""
    reports = [one for kind in terminalreporter.stats.values() for one in kind if hasattr(one, "duration")]
    if not reports:
        return
    seconds, tests = Counter(), defaultdict(set)
    for report in reports:
        seconds[package_of(report.nodeid)] += report.duration
        tests[package_of(report.nodeid)].add(report.nodeid)
    write = terminalreporter.write_line
    terminalreporter.section("time by package")
    for package, spent in seconds.most_common():
        write(f"{package:<20} {len(tests[package]):>6} tests {spent:>8.1f} s")
    write(f"{'all':<20} {sum(map(len, tests.values())):>6} tests {seconds.total():>8.1f} s")
    reasons = Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()))
    if collect_ignore_glob:
        reasons[f"torch is not installed (tools/install.py says why): {', '.join(collect_ignore_glob)}"] += 1
    if reasons:
        terminalreporter.section("skipped")
        for reason, count in reasons.most_common():
            write(f"{count} x {reason}")

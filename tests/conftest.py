import contextlib
import os
import zlib
from collections import defaultdict
from multiprocessing import forkserver
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from bagwise import Bags, Labels, datasets
from bagwise.core import processes
from bagwise.formats import Source
from bagwise.ingest import worker_pool as segmentation_workers
from bagwise.project import Project
from bagwise.project.instances import worker_pool as partition_workers
from bagwise.project.queue import leases, ranking
from bagwise.research.experiments import runner
from tests.support import forked, new_tables, postgresql
from tools import programs

# Where there is no card, Triton's kernels are interpreted; this has to be said before anything imports them.
if not Path("/dev/nvidia0").exists():
    os.environ["TRITON_INTERPRET"] = "1"
# As wide as a window is: no test is about where a table breaks its words.
os.environ.setdefault("COLUMNS", "120")
LONGEST = 180.0
"""Seconds that a test waits for what must happen: long, since a machine may be busy; nothing waits for it in vain."""
# No test is about how fast a machine is, or how busy.
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")


DATABASES = "sqlite", "postgresql"
HOST_NAME = "labels.test"
IN_WORKERS = ("polars", "bagwise.ingest.worker", "bagwise.project", "bagwise.research.experiments.runner")
"""What workers of pools import: seconds of each, where the process that they are forks of has not imported it."""


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def small():
    """Twelve bags of two to five instances, four classes, about half of the labels known."""
    rng = np.random.default_rng(3)
    bags = Bags.from_list([rng.normal(size=(rng.integers(2, 6), 3)) for _ in range(12)])
    value = rng.random((12, 4)) < 0.4
    return bags, Labels(value, rng.random((12, 4)) < 0.5)


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A machine that stalls for a moment must not change what a test is asked."""
    monkeypatch.setattr(ranking, "TIMEOUT", 600.0)
    monkeypatch.setattr(leases, "RECENTLY", 0.0)


@pytest.fixture(scope="session", autouse=True)
def ready_workers():
    """Workers of all pools are forks of one process, which imports what the first pool needs: here what any needs."""
    with pytest.MonkeyPatch.context() as patch:
        preload = forkserver.set_forkserver_preload
        patch.setattr(forkserver, "set_forkserver_preload", lambda modules: preload([*modules, *IN_WORKERS]))
        yield


@pytest.fixture(scope="session", autouse=True)
def repeated_tables():
    with new_tables.repeated():
        yield


@pytest.fixture(scope="session", autouse=True)
def forked_children():
    """Training processes and the like are forks, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "subprocess", forked)
        yield


@contextlib.contextmanager
def in_one_process():
    """Nothing is shared out to processes: to start them takes longer than a few small runs or files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "thread_count", lambda: 1)
        patch.setattr(partition_workers, "thread_count", lambda: 1)
        patch.setattr(segmentation_workers, "cores", lambda: 1)
        yield


@pytest.fixture
def one_process():
    with in_one_process():
        yield


@pytest.fixture(scope="session")
def chromium():
    """The system's Chromium without a screen and without a network of its own."""
    path = programs.chromium()
    assert path, "Chromium is missing: `make test` installs it (tools/system-packages.sh)."
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    # A host name to the browser, as another machine's would be: without https it is not a secure context.
    named = f"--host-resolver-rules=MAP {HOST_NAME} 127.0.0.1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*quiet, named], timeout=1000 * LONGEST)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    """A fresh tab that collects whatever goes wrong in it as `page.faults`."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(1000 * LONGEST)
    page = context.new_page()
    page.faults = []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("console", lambda message: page.faults.append(message.text) if message.type == "error" else None)
    yield page
    context.close()


@pytest.fixture
def picture(request):
    """Takes a picture of a page for the documentation, where `--pictures docs/images` asks for it."""
    folder = request.config.getoption("--pictures")

    def take(page, name):
        if folder is not None:
            page.screenshot(path=folder / f"{name}.png")

    return take


def pytest_addoption(parser):
    parser.addoption("--crashes", type=int, default=5, help="Kills of each crash test (the full size is 200).")
    parser.addoption("--answers", type=int, default=100, help="Answers of the parallel annotators (full size 5000).")
    parser.addoption("--pictures", type=Path, help="Folder for the pictures of the documentation that tests take.")
    parser.addoption("--steps", type=int, default=40, help="Steps of the long random runs (the full size is 10000).")
    parser.addoption("--full", action="store_true", help="Also slow tests and every variant.")
    parser.addoption("--rest", action="store_true", help="Only what is left out without `--full`.")


ON_BOTH_DATABASES = ("tests/crash/test_crash.py", "tests/project/test_statements.py", "tests/project/test_storage.py")
"""Tests of what databases do differently: transactions, locks, migrations, lost connections."""

VARIANTS = {
    "database": "tests/",
    "kind": "tests/server/",
    "scheme": "tests/server/",
    "width": "tests/server/",
    "dtype": "tests/kernels/test_gpu.py",
    "mode": "tests/server/test_description.py",
    "name": "tests/project/test_processors.py",
    "update": "tests/project/test_project.py::test_random_histories",
}
"""Parameters, and where: with each of their values a test goes the same long way again."""


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: several seconds of a whole system; not in the default run.")


def pytest_collection_modifyitems(config, items):
    """Of the variants of a test keep one, and leave out what is marked `slow`; what is named runs."""
    if config.getoption("--full") or any("::" in argument for argument in config.args):
        return
    variants = defaultdict(list)
    for item in items:
        if item.get_closest_marker("slow") is None:
            variants[_without_variant(item)].append(item)
    # By its name: the same on every machine and in every process.
    kept = {same[zlib.crc32(repr(name).encode()) % len(same)] for name, same in variants.items()}
    if config.getoption("--rest"):
        kept = set(items) - kept
    left_out = [item for item in items if item not in kept]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item in kept]


def _without_variant(item):
    """What the variants of a test have in common."""
    if not hasattr(item, "callspec") or item.nodeid.startswith(ON_BOTH_DATABASES):
        return (item.nodeid,)
    others = (pair for pair in item.callspec.indices.items() if not item.nodeid.startswith(VARIANTS.get(pair[0], "-")))
    return item.nodeid.partition("[")[0], *sorted(others)


@pytest.fixture(scope="session")
def postgres_server():
    assert postgresql.may_start(), "PostgreSQL is missing: `make test` installs it (tools/system-packages.sh)."
    server = postgresql.Server()
    yield server
    server.remove()


@pytest.fixture(params=DATABASES)
def database(request):
    """The address of an empty database; the empty text stands for a file in the project."""
    return "" if request.param == "sqlite" else request.getfixturevalue("postgres_server").new_database()


@pytest.fixture(scope="session")
def synthetic():
    return datasets.load("synthetic").select(range(60))


def source_of(data, ids=None):
    """A data set as if it had been read from a file."""
    names = [f"bag {i}" for i in range(len(data.bags))] if ids is None else ids
    return Source.of_bags(Path("synthetic.npz"), [np.array(bag) for bag in data.bags], names)


@pytest.fixture
def make_project(tmp_path, database, synthetic):
    """Makes projects of sixty small bags; all are closed in the end."""
    opened = []

    def make(name="project", **options):
        project = Project.create(
            tmp_path / name, source_of(synthetic), classes=synthetic.classes, database=database, **options
        )
        opened.append(project)
        return project

    yield make
    for project in opened:
        project.close()


@pytest.fixture
def project(make_project):
    return make_project()


@pytest.fixture
def say(synthetic):
    """The truth about a question, as an answer."""
    return lambda asked: "present" if synthetic.labels.value[asked.bag, asked.label_class] else "absent"

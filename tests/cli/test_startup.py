"""What a process imports: the cost of its start, measured in modules instead of seconds."""

import importlib
import importlib.metadata
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import bagwise
from bagwise import cli, datasets
from bagwise.cli._commands import COMMANDS
from bagwise.core import extras
from bagwise.project import Project
from tests.conftest import source_of
from tests.support import forked

ROOT = Path(__file__).parents[2]
HEAVY = [
    "altair",
    "alembic",
    "bagwise.kernels",
    "bagwise.project",
    "bagwise.server",
    "fastapi",
    "numba",
    "numpy",
    "pandas",
    "polars",
    "pydantic",
    "ray",
    "scipy",
    "sklearn",
    "sqlalchemy",
    "torch",
    "uvicorn",
    "vl_convert",
]
NOT_FOR_ANSWERING = ["polars", "scipy.signal", "sklearn.decomposition", "sklearn.feature_extraction"]
NOT_FOR_LABELLING = [
    "altair",
    "bagwise.cluster",
    "bagwise.research",
    "ray",
    "torch",
    "vl_convert",
]


HIDING = """
import sys

class Finder:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name in {hidden} else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = map(Finder, sys.meta_path)
"""


def child(code, *arguments, keys="", hidden=()):
    """Run code in a new process, as if the modules `hidden` were not installed."""
    return subprocess.run(
        [sys.executable, "-c", HIDING.replace("{hidden}", repr(list(hidden))) + code, *map(str, arguments)],
        input=keys,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def imported(code, *arguments, keys=""):
    """Run code in a new process, which must succeed; return the modules that it has imported."""
    done = child(code + "\nprint('modules:', *sys.modules)", *arguments, keys=keys)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("modules:")[2].split())


COMMANDS_IN_TURN = """
import json
from bagwise.cli import main
for command in json.loads(sys.argv[1]):
    sys.argv = ["bagwise", *command]
    try:
        main()
    except SystemExit as end:
        assert not end.code, (command, end.code)
"""

# Its training process and the like are forks, as in all tests: this is about what the server itself imports.
SERVE = """
import os, signal, socket, threading, time, urllib.request
from bagwise.core import processes
from tests.support import forked
forked.server = lambda: {place}
processes.subprocess = forked
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]

def visit():
    for path in ("", "api/questions?count=1", "api/status", "api/quality"):
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}").read()
                break
            except urllib.error.HTTPError:
                break
            except OSError:
                time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=visit, daemon=True).start()
from bagwise.cli import main
sys.argv += ["--port", str(port), "--no-browser"]
try:
    main()
except (SystemExit, KeyboardInterrupt):
    pass
"""


@pytest.mark.parametrize("code", ["import bagwise", "from bagwise import BagwiseError", "import bagwise.cli"])
def test_an_import_loads_nothing_heavy(code):
    assert imported(code).isdisjoint(HEAVY)


@pytest.mark.parametrize("arguments", [["--help"], []])
def test_the_top_level_help_loads_nothing_heavy(arguments):
    code = "from bagwise.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass"
    assert imported(code, *arguments).isdisjoint(HEAVY)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("startup") / "project"
    data = datasets.load("synthetic").select(range(30))
    Project.create(place, source_of(data), classes=data.classes).close()
    return place


@pytest.mark.slow
def test_labellers_commands_import_nothing_of_research(tmp_path):
    """All in one process, from a table to predictions: it has imported what any of them imports."""
    data, project = datasets.load("synthetic").select(range(30)), tmp_path / "project"
    arrays = {"instances": data.bags.instances, "offsets": data.bags.offsets}
    np.savez(tmp_path / "bags.npz", **arrays, ids=[f"bag {i}" for i in range(30)])
    np.savez(tmp_path / "more.npz", **arrays, ids=[f"more {i}" for i in range(30)])
    (tmp_path / "classes.txt").write_text("\n".join(data.classes))
    commands = [
        ("demo", "--help"),
        ("init", project, "--from", tmp_path / "bags.npz", "--classes", tmp_path / "classes.txt"),
        ("import", project, "--from", tmp_path / "more.npz"),
        ("answer", project, "--count", "2"),
        ("status", project),
        ("train", project),
        ("predict", project, "--from", tmp_path / "more.npz", "--to", tmp_path / "predictions.csv"),
        ("export", project, "--what", "labels", "--to", tmp_path / "labels.csv"),
    ]
    words = json.dumps([[str(word) for word in command] for command in commands])
    found = imported(COMMANDS_IN_TURN, words, keys="yn")
    assert {COMMANDS[command[0]].module for command in commands} == {
        name.rpartition(".")[2] for name in found if re.fullmatch(r"bagwise\.cli\.[a-z]\w*", name)
    }
    assert found.isdisjoint(NOT_FOR_LABELLING)


@pytest.mark.slow
def test_serving_the_page_imports_nothing_of_research(folder):
    found = imported(SERVE.replace("{place}", repr(forked.server())), "serve", folder)
    assert "bagwise.server.app" in found
    assert found.isdisjoint([*NOT_FOR_LABELLING, *NOT_FOR_ANSWERING])


def test_every_public_name_is_found_in_its_module():
    assert set(bagwise.__all__) == {*bagwise._PACKAGE_OF, *bagwise._MODULE_OF}
    assert set(bagwise.__all__) <= set(dir(bagwise))
    for name, module in bagwise._MODULE_OF.items():
        assert getattr(bagwise, name) is getattr(importlib.import_module(f"bagwise.{module}"), name)
    for name, package in bagwise._PACKAGE_OF.items():
        assert getattr(bagwise, name) is importlib.import_module(f"bagwise.{package}")
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = bagwise.nonsense


def test_names_outside_the_package_can_be_copied_and_pickled():
    """A class that was found through the package is the class itself."""
    done = child("import bagwise, pickle; print(pickle.loads(pickle.dumps(bagwise.Bags)).__module__)")
    assert done.stdout.strip() == "bagwise.data.bags", done.stderr


def test_the_table_of_commands_says_what_the_docstrings_say():
    for module in pkgutil.iter_modules(cli.__path__):
        importlib.import_module(f"bagwise.cli.{module.name}")
    documented = {}
    for command in cli.app.registered_commands:
        name = command.name or command.callback.__name__
        summary = command.callback.__doc__.partition("\n\n")[0]
        documented[name] = (command.callback.__module__.rpartition(".")[2], " ".join(summary.split()))
    assert documented == {name: (entry.module, entry.summary) for name, entry in COMMANDS.items()}


def test_the_help_of_a_command_is_its_own():
    done = CliRunner().invoke(cli.app, ["annotator", "--help"])
    assert done.exit_code == 0
    assert "--adjudicator" in done.output
    done = CliRunner().invoke(cli.app, ["statsu"])
    assert done.exit_code == 2
    assert "status" in done.output


def test_the_extras_are_those_of_the_package():
    """Every module of an extra comes with a distribution that the extra names."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    def named(extra):
        for requirement in declared[extra]:
            name, inner = re.match(r"([A-Za-z0-9._-]+)(?:\[([^]]*)\])?", requirement).groups()
            if name == "bagwise":
                for one in inner.split(","):
                    yield from named(one)
            else:
                yield name.lower().replace("_", "-")

    distributions = importlib.metadata.packages_distributions()
    for extra, modules in extras.MODULES.items():
        for module in modules:
            provided = {name.lower().replace("_", "-") for name in distributions[module]}
            assert provided & set(named(extra)), (extra, module)


@pytest.mark.parametrize(
    ("hidden", "arguments", "extra"),
    [
        ("sqlalchemy", ["init", "p", "--from", "x.csv"], "app"),
        ("fastapi", ["demo"], "app"),
        pytest.param("polars", ["status", "p"], "app", marks=pytest.mark.slow),
        pytest.param("altair", ["simulate", "digits"], "figures", marks=pytest.mark.slow),
        pytest.param("altair", ["demo", "--simulate", "25"], "figures", marks=pytest.mark.slow),
        pytest.param("vl_convert", ["compare", "digits", "--json"], "figures", marks=pytest.mark.slow),
        pytest.param("polars", ["bench", "--quick"], "figures", marks=pytest.mark.slow),
    ],
)
def test_without_an_extra_a_command_says_in_one_sentence_what_to_install(hidden, arguments, extra):
    done = child("from bagwise.cli import main; main()", *arguments, hidden=[hidden])
    assert done.returncode == 1
    assert hidden in done.stderr
    assert f"pip install 'bagwise[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
    listed = child("from bagwise.cli import main; main()", "--help", hidden=[hidden]).stdout
    assert arguments[0] == "demo" or f"bagwise[{extra}]" in listed


LIBRARY = """
from bagwise import ActiveLearner, BagwiseError, datasets
data = datasets.load("digits").select(range(30))
learner = ActiveLearner(data.bags, data.classes)
learner.tell(learner.ask(), True)
try:
    datasets.load(sys.argv[1])
except BagwiseError as error:
    print(error)
assert "birds" in datasets.available()
"""


@pytest.mark.slow
def test_the_library_works_without_tables_and_figures(tmp_path):
    np.savez(tmp_path / "a.npz", instances=np.ones((2, 2)))
    done = child(LIBRARY, tmp_path / "a.npz", hidden=["polars", "altair", "vl_convert", "sqlalchemy", "fastapi"])
    assert done.returncode == 0, done.stderr
    assert "pip install 'bagwise[tables]'" in done.stdout

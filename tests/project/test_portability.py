"""A project is made, answered and served on a platform without the modules and functions that only POSIX has."""

import json
import os
import subprocess
import sys

import pytest

from bagwise.project import Project

HIDING = """
import asyncio, multiprocessing.reduction, os, subprocess, sys

# Modules of the standard library that are made for POSIX stay as they are; everybody else does without.
for name in ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"):
    sys.modules[name] = None
for name in "fork geteuid getuid killpg nice posix_fallocate sched_getaffinity sched_setaffinity".split():
    if hasattr(os, name):
        delattr(os, name)
# Python 3.13 and newer define this by `sched_getaffinity` where there is one.
if hasattr(os, "process_cpu_count"):
    os.process_cpu_count = os.cpu_count
multiprocessing.reduction.HAVE_SEND_HANDLE = False
"""

VISIT = """
import sys
from fastapi.testclient import TestClient
from bagwise.project import Project
from bagwise.server import application

with (
    Project.open(sys.argv[2], apart=True) as project,
    TestClient(application(project, "ann"), base_url="http://127.0.0.1") as client,
):
    question = client.get("/api/questions/next").json()[0]
    saved = client.post("/api/answers", json={"key": question["key"], "answer": "present"})
    assert saved.status_code == 200, saved.text
    correction = {"key": "corrected", "number": saved.json()["number"], "answer": "absent"}
    corrected = client.post("/api/corrections", json=correction)
    assert corrected.status_code == 200, corrected.text
    assert client.get("/api/status").json()["answers"] > 0
"""


IN_TURN = """
import json, sys
from bagwise.cli import main

for command in json.loads(sys.argv[1]):
    sys.argv = ["bagwise", *command]
    try:
        main()
    except SystemExit as end:
        assert not end.code, (command, end.code)
"""


@pytest.fixture
def python(tmp_path):
    """Runs Python, and every process that it starts, without the modules of POSIX."""
    (tmp_path / "sitecustomize.py").write_text(HIDING)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "USERNAME": "ann", "BAGWISE_THREADS": "2"}

    def run(*arguments, keys=""):
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            env=environment,
            input=keys,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_the_modules_are_hidden(python):
    hidden = "import importlib, sys\nfor name in sys.argv[1:]:\n    try: importlib.import_module(name)\n"
    hidden += "    except ImportError: print(name)"
    assert python("-c", hidden, "fcntl", "termios", "pwd", "json").split() == ["fcntl", "termios", "pwd"]


@pytest.mark.slow
def test_a_table_is_imported_answered_partitioned_served_and_exported_and_files_are_segmented(python, tmp_path):
    """Commands in turn in one process, the partitioned project in another; files are segmented by several."""
    documents = tmp_path / "documents"
    documents.mkdir()
    for number in range(6):
        (documents / f"{number}.txt").write_text(f"The owl calls at night.\n\nThe lark of day {number} sings.\n" * 3)
    for table, letter in (("first.csv", "b"), ("second.csv", "c")):
        rows = [f"{letter}{bag},{bag / 10},{instance}" for bag in range(12) for instance in range(3)]
        (tmp_path / table).write_text("\n".join(["bag,x,y", *rows]) + "\n")
    (tmp_path / "classes.txt").write_text("owl\nlark\n")
    folder = tmp_path / "project"
    commands = [
        ("init", folder, "--from", tmp_path / "first.csv", "--classes", tmp_path / "classes.txt"),
        ("import", folder, "--from", tmp_path / "second.csv"),
        ("answer", folder, "--as", "ann", "--count", "2"),
        ("import", folder, "--partition", "2"),
        ("init", tmp_path / "raw", "--from", documents, "--classes", tmp_path / "classes.txt"),
    ]
    python("-c", IN_TURN, json.dumps(commands, default=str), keys="yn")
    commands = [
        ("export", folder, "--what", "labels", "--to", tmp_path / "labels.csv"),
        ("status", folder, "--json"),
    ]
    said = python("-c", VISIT + IN_TURN, json.dumps(commands, default=str), folder)
    assert json.loads(said[said.index("{") :])["answers"] == 3
    assert "owl" in (tmp_path / "labels.csv").read_text()
    with Project.open(tmp_path / "raw") as project:
        assert len(project.bags) == 6


KEYS = """
import sys, types
keys = iter("Yn\\x03")
sys.modules["msvcrt"] = types.SimpleNamespace(getwch=lambda: next(keys))
sys.stdin = types.SimpleNamespace(isatty=lambda: True)
from bagwise.cli._keys import keys as pressed
with pressed() as found:
    print(next(found), next(found))
    try:
        next(found)
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_keys_come_from_the_console_of_windows_where_there_is_no_termios(python):
    assert python("-c", KEYS).split() == ["y", "n", "interrupted"]

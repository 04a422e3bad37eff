"""Metadata, lock, workflow, hooks and Dockerfile agree with each other and with the command line."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_string
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from typer.main import get_command

from bagwise.cli import app

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
PYTHONS = [word.rpartition(" ")[2] for word in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", word)]


def yaml_of(name):
    return yaml.safe_load((ROOT / name).read_text())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as file:
        yield {name: file.read(name) for name in file.namelist()}


def test_the_wheel_has_types_the_licence_and_the_page(wheel):
    assert "bagwise/py.typed" in wheel
    assert "bagwise/server/static/index.html" in wheel
    licence = next(name for name in wheel if name.endswith(".dist-info/licenses/LICENSE"))
    assert wheel[licence].startswith(b"BSD 3-Clause License\n\nCopyright (c) 2026, the Bagwise authors")
    assert not [name for name in wheel if name.startswith("tests") or name.endswith((".nbi", ".nbc", ".pyc"))]
    metadata = message_from_string(next(text for name, text in wheel.items() if name.endswith("/METADATA")).decode())
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["Author"] == "the Bagwise authors"


def test_the_citation_is_of_this_version_and_names_the_paper():
    citation = yaml_of("CITATION.cff")
    assert (citation["title"], citation["version"]) == ("Bagwise", PROJECT["version"])
    assert citation["license"] == PROJECT["license"]
    (paper,) = citation["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Nguyen", "Raich"]


def requirements_of(extra, seen=()):
    for text in [*PROJECT["dependencies"], *EXTRAS[extra]]:
        requirement = Requirement(text)
        if requirement.name == PROJECT["name"]:
            for other in requirement.extras - set(seen):
                yield from requirements_of(other, (*seen, extra))
        else:
            yield requirement


def test_the_lock_has_a_version_for_every_requirement_of_the_tests_and_no_address():
    text = (ROOT / "requirements/test.txt").read_text()
    assert "://" not in text
    assert "--" not in text
    locked = [Requirement(line) for line in text.splitlines() if not line.startswith("#")]
    assert not [one for one in locked if one.extras]
    for wanted in requirements_of("test"):
        found = [one for one in locked if one.name == wanted.name.lower()]
        assert found, f"{wanted} is not in requirements/test.txt: make lock"
        for one in found:
            version = str(one.specifier).removeprefix("==")
            assert wanted.specifier.contains(version), f"{wanted}, but {one} in requirements/test.txt: make lock"


def test_the_workflow_runs_make_test_on_every_python():
    jobs = yaml_of(".github/workflows/test.yml")["jobs"]
    assert jobs["test"]["strategy"]["matrix"]["python"] == PYTHONS
    assert {"run": "make test"} in jobs["test"]["steps"]
    assert {name.partition("-")[0] for name in jobs["smoke"]["strategy"]["matrix"]["os"]} == {"windows", "macos"}
    for step in jobs["smoke"]["steps"]:
        check_install(step.get("run", ""))


def test_the_hooks_download_nothing_and_are_the_checks_of_make():
    makefile = (ROOT / "Makefile").read_text()
    targets = re.search(r"^checks: (.*)$", makefile, flags=re.MULTILINE)[1].split()
    recipes = [
        re.search(rf"^{one}:.*\n((?:\t.*\n)+)", makefile, flags=re.MULTILINE)[1] for one in targets if one != "docs"
    ]
    programs = set(re.findall(r"\$\(BIN\)/(\S+)", "".join(recipes)))
    repositories = yaml_of(".pre-commit-config.yaml")["repos"]
    assert [one["repo"] for one in repositories] == ["local"]
    hooks = repositories[0]["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    assert {shlex.split(hook["entry"])[0].removeprefix(".venv/bin/") for hook in hooks} == programs


def check_install(command):
    """The extras that a `pip install` names exist, and so do its constraints."""
    for names in re.findall(r"\.\[([\w,]+)\]", command):
        assert set(names.split(",")) <= set(EXTRAS), command
    for path in re.findall(r"pip install .*-c (\S+)", command):
        assert (ROOT / path).is_file(), command


def dockerfile():
    lines = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in lines.splitlines() if line.strip()]


def options_of(arguments):
    """The options of a command line of `bagwise`, parsed as the command would."""
    name, *rest = arguments
    group = get_command(app)
    command = group.get_command(None, name)
    assert command is not None, name
    return command.make_context(name, list(rest)).params


def test_what_the_image_copies_exists_and_is_not_ignored():
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert ignored[0] == "*"
    for instruction, rest in dockerfile():
        if instruction == "COPY" and not rest.startswith("--from="):
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists(), source
                assert any(fnmatch(source, line[1:]) for line in ignored if line.startswith("!")), source
        if instruction == "RUN":
            check_install(rest)


def test_the_image_serves_a_project_as_a_user_without_privileges():
    last = dict(dockerfile())
    assert json.loads(last["ENTRYPOINT"]) == list(PROJECT["scripts"])
    serving = options_of(json.loads(last["CMD"]))
    assert str(serving["folder"]) == last["VOLUME"]
    assert (serving["host"], serving["port"], serving["browser"]) == ("0.0.0.0", int(last["EXPOSE"]), False)
    assert f"useradd --create-home --uid 1000 {last['USER']} " in last["RUN"]
    program, flag, code = json.loads(last["HEALTHCHECK"].partition("CMD ")[2])
    assert (program, flag) == ("python", "-c")
    compile(code, "healthcheck", "exec")
    assert f"127.0.0.1:{last['EXPOSE']}/" in code


def test_every_command_of_the_container_page_exists():
    text = (ROOT / "docs/container.md").read_text().replace("\\\n", " ")
    commands = [shlex.split(line) for line in re.findall(r"^    (docker .*)", text, flags=re.MULTILINE)]
    assert len(commands) > 5
    for command in commands:
        if command[1] == "build":
            continue
        arguments = command[command.index("bagwise") + 1 :]
        if arguments:
            options_of(arguments)

"""The programs that the tests need are found under any name and in any version, and what is missing is named."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import install, nightly, programs

ROOT = Path(__file__).parents[1]


def program(path, code="exit 0"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine with nothing on its path, and a home of its own."""
    for name in ("CHROMIUM", "POSTGRESQL_BIN", "PLAYWRIGHT_BROWSERS_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(programs, "POSTGRESQL_FOLDERS", ())
    monkeypatch.setattr(programs, "CHROMIUM_APPLICATIONS", ())
    return tmp_path


@pytest.mark.parametrize("name", ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"])
def test_chromium_is_found_by_any_of_its_names(bare, name):
    assert programs.chromium() is None
    found = program(bare / "bin" / name)
    assert programs.chromium() == found


def test_a_chromium_that_does_not_start_is_skipped(bare):
    program(bare / "bin/chromium-browser", "echo install the snap; exit 1")
    assert programs.chromium() is None
    found = program(bare / "bin/google-chrome")
    assert programs.chromium() == found


def test_playwrights_own_chromium_is_found(bare):
    cache = bare / ".cache/ms-playwright"
    program(cache / "chromium-999/chrome-linux/chrome")
    newest = program(cache / "chromium-1200/chrome-linux64/chrome")
    assert programs.chromium() == newest


def test_a_chromium_named_by_the_environment_is_used(bare, monkeypatch):
    program(bare / "bin/chromium")
    monkeypatch.setenv("CHROMIUM", str(program(bare / "elsewhere/chrome")))
    assert programs.chromium() == bare / "elsewhere/chrome"


def server(folder):
    for name in programs.POSTGRESQL_PROGRAMS:
        program(folder / name)
    return folder


def test_postgresql_is_found_on_the_path_or_where_pg_config_says(bare):
    assert programs.postgresql() is None
    elsewhere = server(bare / "opt/pg/bin")
    program(bare / "bin/pg_config", f"echo {elsewhere}")
    assert programs.postgresql() == elsewhere
    (bare / "bin/initdb").symlink_to(server(bare / "other/bin") / "initdb")
    assert programs.postgresql() == bare / "other/bin"


def test_the_newest_postgresql_server_is_used_and_a_client_alone_is_not(bare, monkeypatch):
    monkeypatch.setattr(programs, "POSTGRESQL_FOLDERS", (f"{bare.relative_to('/')}/lib/*/bin",))
    program(bare / "lib/17/bin/psql")
    server(bare / "lib/9.6/bin")
    newest = server(bare / "lib/16/bin")
    assert programs.postgresql() == newest


def test_without_root_and_sudo_the_packages_to_install_are_printed(tmp_path):
    """The tests may run as root: `id` and `sudo` are replaced by those of a user without privileges."""
    program(tmp_path / "id", "echo 1000")
    program(tmp_path / "sudo", "exit 1")
    program(tmp_path / "apt-get", "touch called; exit 1")
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHON": sys.executable,
        "CHROMIUM": str(tmp_path / "none"),
        "POSTGRESQL_BIN": str(tmp_path / "none"),
    }
    script = ROOT / "tools/system-packages.sh"
    done = subprocess.run([script], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "apt-get install --no-install-recommends chromium postgresql" in done.stderr
    assert "playwright install chromium" in done.stderr
    assert not (tmp_path / "called").exists()
    complete = {**environment, "CHROMIUM": str(program(tmp_path / "chrome"))}
    complete["POSTGRESQL_BIN"] = str(server(tmp_path / "pg"))
    assert subprocess.run([script], env=complete, cwd=tmp_path, check=False).returncode == 0


@pytest.mark.slow
def test_a_run_prints_the_time_of_each_package_and_what_was_skipped(tmp_path):
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    for name, body in {"one/test_a.py": "pass", "two/test_b.py": "import pytest; pytest.skip('no moon')"}.items():
        file = tmp_path / "tests" / name
        file.parent.mkdir(parents=True)
        file.write_text(f"def test_it():\n    {body}\n\ndef test_more():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--numprocesses", "2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for package in ("tests/one", "tests/two"):
        assert re.search(rf"^{package} +2 tests +\d+\.\d s$", done.stdout, flags=re.MULTILINE)
    assert re.search(r"^all +4 tests", done.stdout, flags=re.MULTILINE)
    assert "1 x Skipped: no moon" in done.stdout


def test_an_installation_that_takes_long_keeps_saying_what_it_does(monkeypatch, capsys):
    quiet_for_long = (
        "import time; print('Collecting numpy', flush=True); time.sleep(2); print('Successfully installed a b')"
    )
    monkeypatch.setattr(install, "PIP", [sys.executable, "-c", quiet_for_long])
    monkeypatch.setattr(install, "SECONDS_BETWEEN_LINES", 0.1)
    assert install.install([], "numpy")
    said = capsys.readouterr().out
    assert said.startswith("Installing numpy")
    assert said.count("Collecting numpy") >= 2, "a step that does not end is shown again, with its seconds"
    assert said.rstrip().endswith("installed 2 packages")


def test_all_settings_are_met_by_the_combined_runs(monkeypatch, capsys, tmp_path):
    """Each is in force once, together with those that do not exclude it."""
    in_force = []
    monkeypatch.setattr(nightly, "run", lambda settings, *_: in_force.append(settings) or ("0", "1 passed", True))
    monkeypatch.setattr(nightly, "LOGS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["nightly.py", "--combined", "--runs", "1"])
    assert nightly.main() == 0
    assert sorted(name for together in in_force for name in together) == sorted(nightly.SETTINGS)
    for together in in_force:
        assert sum(name in nightly.CORES for name in together) <= 1
        variables = [name for setting in together for name in nightly.PROCESSORS.get(setting, dict)()]
        assert len(variables) == len(set(variables)), together
    assert capsys.readouterr().out.count("1 passed") == 2 * len(nightly.COMBINED)


def test_a_combined_run_has_the_environment_and_the_cores_of_all_its_settings(monkeypatch, tmp_path):
    seen, log = [], tmp_path / "run.log"

    def output(environment, log, module, *arguments):
        seen.append((environment, len(os.sched_getaffinity(0)), module, arguments))
        return True, "weights by 0 at most\n3 passed\n"

    monkeypatch.setattr(nightly, "_output", output)
    cores = os.sched_getaffinity(0)
    assert nightly.run(nightly.COMBINED["oldest processor"], ["tests/kernels"], log) == ("0", "3 passed", True)
    assert [module for _, _, module, _ in seen] == ["tests.recorded", "pytest"]
    for environment, available, _, _ in seen:
        assert environment["OPENBLAS_CORETYPE"] == "Prescott"
        assert environment["NUMBA_CPU_NAME"] == "generic"
        assert "NPY_DISABLE_CPU_FEATURES" in environment
        assert available == 1
    assert seen[1][3][-1] == "tests/kernels"
    assert os.sched_getaffinity(0) == cores
    monkeypatch.setitem(nightly.CORES, "4 cores", len(cores) + 1)
    assert nightly.run(["4 cores"], [], log)[1] == "not run"


def test_the_output_of_a_nightly_run_is_in_its_log_and_tells_failure(monkeypatch, tmp_path):
    log = tmp_path / "run.log"
    (tmp_path / "said.py").write_text("import sys\nprint('weights by', sys.argv[1])\nsys.exit(int(sys.argv[2]))\n")
    monkeypatch.setattr(nightly, "ROOT", tmp_path)
    assert nightly._output(dict(os.environ), log, "said", "0", "0") == (True, "weights by 0\n")
    assert nightly._output(dict(os.environ), log, "said", "2", "1") == (False, "weights by 2\n")
    assert log.read_text() == "weights by 0\nweights by 2\n"

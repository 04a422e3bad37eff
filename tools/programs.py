"""Find the programs that the tests use besides Python: a Chromium of any name, a PostgreSQL server of any version.

`python tools/programs.py` prints which of `chromium` and `postgresql` are missing, one per line.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

# The shell is Chromium without windows: a page takes a third of the processor time to open.
CHROMIUM_NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
CHROMIUM_APPLICATIONS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
PLAYWRIGHT_FOLDERS = ("~/.cache/ms-playwright", "~/Library/Caches/ms-playwright")
PLAYWRIGHT_CHROMIUM = (
    "chromium-*/chrome-linux*/chrome",
    "chromium_headless_shell-*/chrome-*/*headless*shell",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
)
POSTGRESQL_PROGRAMS = ("initdb", "pg_ctl")
POSTGRESQL_FOLDERS = (
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "usr/local/pgsql/bin",
    "opt/homebrew/opt/postgresql*/bin",
    "usr/local/opt/postgresql*/bin",
    "Applications/Postgres.app/Contents/Versions/*/bin",
)


def chromium() -> Path | None:
    """The first Chromium that starts: $CHROMIUM, by its usual names, or as Playwright installs it."""
    return next((path for path in _chromiums() if _starts(path)), None)


def postgresql() -> Path | None:
    """The folder of a PostgreSQL server's programs: $POSTGRESQL_BIN, the one on the path, or the newest installed."""
    return next((folder for folder in _postgresqls() if _has_server(folder)), None)


def _chromiums() -> Iterator[Path]:
    if given := os.environ.get("CHROMIUM"):
        yield Path(given)
        return
    for name in CHROMIUM_NAMES:
        if found := shutil.which(name):
            yield Path(found)
    yield from map(Path, CHROMIUM_APPLICATIONS)
    for folder in (os.environ.get("PLAYWRIGHT_BROWSERS_PATH", ""), *PLAYWRIGHT_FOLDERS):
        for pattern in PLAYWRIGHT_CHROMIUM if folder else ():
            yield from _newest_first(Path(folder).expanduser(), pattern)


def _starts(path: Path) -> bool:
    # Ubuntu's chromium-browser is a script that only names the snap to install.
    try:
        return subprocess.run([path, "--version"], capture_output=True, check=False, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _postgresqls() -> Iterator[Path]:
    if given := os.environ.get("POSTGRESQL_BIN"):
        yield Path(given)
        return
    if found := shutil.which("initdb"):
        yield Path(found).resolve().parent
    if config := shutil.which("pg_config"):
        yield Path(subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False).stdout.strip())
    for pattern in POSTGRESQL_FOLDERS:
        yield from _newest_first(Path("/"), pattern)


def _has_server(folder: Path) -> bool:
    return all(os.access(folder / program, os.X_OK) for program in POSTGRESQL_PROGRAMS)


def _newest_first(folder: Path, pattern: str) -> list[Path]:
    """Sorted by the numbers in the path, so that 16 is newer than 9.6."""
    return sorted(folder.glob(pattern), key=lambda path: [int(n) for n in re.findall(r"\d+", str(path))], reverse=True)


def main() -> None:
    """Print what is missing."""
    for name, found in (("chromium", chromium()), ("postgresql", postgresql())):
        if found is None:
            print(name)


if __name__ == "__main__":
    main()

"""A temporary PostgreSQL server that the tests create, start, stop and remove."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

import psycopg

from tools import programs

UNPRIVILEGED = ("postgres", "nobody")


class Server:
    """A server in a temporary folder, on a free port of the loopback interface."""

    def __init__(self):
        self.binaries = programs.postgresql()
        self.folder = Path(tempfile.mkdtemp(prefix="bagwise-postgres-"))
        self.as_user = []
        if os.geteuid() == 0:
            # PostgreSQL refuses to run as root.
            user = _unprivileged_user()
            self.as_user = ["runuser", "-u", user, "--"]
            shutil.chown(self.folder, user)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._run("initdb", "-D", str(self.folder / "data"), "-U", "bagwise", "-A", "trust", "--no-sync")
        self.start()

    def start(self):
        # Without fsync a committed answer still survives a killed server, and tests do nothing worse.
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        self._run(
            "pg_ctl", "-D", str(self.folder / "data"), "-w", "-o", options, "-l", str(self.folder / "log"), "start"
        )

    def stop(self, mode="fast"):
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop")

    def new_database(self):
        name, server = "d" + uuid.uuid4().hex, f"postgresql://bagwise@127.0.0.1:{self.port}"
        with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"{server}/{name}"

    def remove(self):
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program, *arguments):
        command = [*self.as_user, str(self.binaries / program), *arguments]
        for attempt in range(3):
            done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False, timeout=600)
            if done.returncode == 0:
                return
            time.sleep(attempt + 1)
        raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")


def _unprivileged_user():
    existing = {user.pw_name for user in pwd.getpwall()}
    return next((name for name in UNPRIVILEGED if name in existing), None)


def may_start():
    """Whether this user can start a server."""
    return programs.postgresql() is not None and (os.geteuid() != 0 or _unprivileged_user() is not None)

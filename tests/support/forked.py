"""Processes that are forks of one process of Python, which has imported what they need and loaded the kernels.

To start Python and import Bagwise takes two to three seconds of a core, to load the kernels another. `Popen` starts
`python -m MODULE` and `python -c CODE` without them and has of `subprocess.Popen` what `bagwise.core.processes` and the
tests use, so that this module can stand in for `subprocess`: in the processes that it starts, too. That fresh processes
start is tested where it matters: in `tests/core/test_processes.py`, `tests/cli/test_startup.py`,
`tests/project/test_portability.py`, `tests/project/test_commands.py` and `tests/server/test_middleware.py`.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import warnings
import weakref
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, TimeoutExpired

__all__ = ["DEVNULL", "PIPE", "STDOUT", "Popen", "TimeoutExpired"]

ROOT = Path(__file__).parents[2]
PYTHON = sys.executable
REPLY = struct.Struct("i")
IMPORTED = (
    "bagwise.cli.labelling",
    "bagwise.project.reports.quality",
    "bagwise.project.training.warm_up",
    "bagwise.server",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
)


def Popen(command, **options):  # noqa: N802 -- the name that it stands in for
    """A process: a fork where it is one of this Python, perhaps under another command; else as always."""
    if PYTHON in command:
        place = command.index(PYTHON)
        if command[place + 1] in ("-m", "-c"):
            return Forked(command[:place], command[place + 1 :], **options)
    return subprocess.Popen(command, **options)


@functools.cache
def server(*under):
    """The address of the server process that forks, itself under a command; it ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix="bagwise-fork-"))
    command = [*under, PYTHON, "-m", __name__, str(folder / "socket")]
    process = subprocess.Popen(command, stdin=PIPE, stdout=PIPE, cwd=ROOT)

    def stop():
        process.stdin.close()
        process.wait()
        process.stdout.close()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    assert process.stdout.readline() == b"ready\n"
    return str(folder / "socket")


class Forked:
    """A running process; its streams are pipes, nothing (DEVNULL), or those of this process."""

    def __init__(self, under, words, stdin=None, stdout=None, stderr=None, env=None, creationflags=0):
        self.args, self.returncode = [*under, PYTHON, *words], None
        self.stdin = self.stdout = self.stderr = None
        theirs = []
        for number, (name, wanted) in enumerate((("stdin", stdin), ("stdout", stdout), ("stderr", stderr))):
            if wanted == PIPE:
                ends = os.pipe()
                theirs.append(ends[number > 0])
                setattr(self, name, os.fdopen(ends[number == 0], "rb" if number else "wb"))
            elif wanted == DEVNULL:
                theirs.append(os.open(os.devnull, os.O_RDWR))
            elif wanted == STDOUT:
                theirs.append(os.dup(theirs[1]))
            else:
                theirs.append(os.dup(number))
        self._socket = socket.socket(socket.AF_UNIX)
        weakref.finalize(self, self._socket.close)
        self._socket.connect(server(*under))
        asked = {"words": words, "environment": dict(env or os.environ), "folder": str(Path.cwd())}
        socket.send_fds(self._socket, [b"!"], theirs)
        self._socket.sendall(json.dumps(asked).encode() + b"\n")
        for stream in theirs:
            os.close(stream)
        self._mutex = threading.Lock()
        self.pid = self._reply()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for stream in (self.stdout, self.stderr, self.stdin):
            if stream is not None:
                stream.close()
        self.wait()

    def poll(self):
        return self._ended_within(0)

    def wait(self, timeout=None):
        if self._ended_within(timeout) is None:
            raise TimeoutExpired(self.args, timeout)
        return self.returncode

    def _ended_within(self, timeout):
        if self.returncode is None and select.select([self._socket], [], [], timeout)[0]:
            with self._mutex:
                if self.returncode is None:
                    self.returncode = self._reply()
        return self.returncode

    def _reply(self):
        """The process id, and later how it ended."""
        return REPLY.unpack(self._socket.recv(REPLY.size, socket.MSG_WAITALL))[0]

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)


def serve(address):
    """Fork for whoever asks, until the standard input is closed; in a fork, return what it has to run."""
    for name in IMPORTED:
        importlib.import_module(name)
    from tests.support.loaded_kernels import load_kernels

    load_kernels()
    gc.freeze()
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while True:
            if sys.stdin in select.select([listener, sys.stdin], [], [])[0]:
                return None
            connection, _ = listener.accept()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            with connection:
                if os.fork() == 0:
                    listener.close()
                    return started(connection)


def started(connection):
    """In a fork of this process, what it has to run; this one says which it is, waits for it, and says how it ended."""
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile() as lines:
        asked = json.loads(lines.readline())
    pid = os.fork()
    if pid:
        for stream in streams:
            os.close(stream)
        connection.sendall(REPLY.pack(pid))
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(OSError):
            connection.sendall(REPLY.pack(os.waitstatus_to_exitcode(status)))
        os._exit(0)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    option, program, *sys.argv[1:] = asked["words"]
    return option, program


if __name__ == "__main__":
    place = sys.argv[1]
    if (wanted := serve(place)) is not None:
        from bagwise.core import processes
        from tests.support import forked

        forked.server = lambda: place
        processes.subprocess = forked
        # A test waits for it: niced, it would wait for the other tests, which have every core busy.
        os.nice = lambda _: 0
        if wanted[0] == "-m":
            runpy.run_module(wanted[1], run_name="__main__", alter_sys=True)
        else:
            exec(wanted[1], {"__name__": "__main__"})

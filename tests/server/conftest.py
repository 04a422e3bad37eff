import asyncio
import contextlib
import socket
import sys
import threading
import time
import urllib.request

import numpy as np
import pytest
import uvicorn
from starlette.responses import JSONResponse

from bagwise import datasets
from bagwise.project import Project
from bagwise.project.reports.quality import stored_quality
from bagwise.project.reports.quality_process import QualityProcess
from bagwise.project.search.plane import LAYOUTS
from bagwise.project.search.plane_process import PlaneProcess
from bagwise.server import Site, application, configuration
from bagwise.server.http_protocol import BoundedProtocol
from tests.support import example_media, forked


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(autouse=True)
def no_estimates(monkeypatch):
    """The page shows what is stored: estimating takes a process and seconds (`tests/project/test_progress.py`)."""
    monkeypatch.setattr(QualityProcess, "newest", lambda self: (stored_quality(self.project), False))


@pytest.fixture(autouse=True)
def no_maps(monkeypatch):
    """The page shows the maps that are stored: to compute one takes a process (`tests/project/test_search.py`)."""

    def stored(self):
        maps = {layout: self.project.stored_map(layout) for layout in LAYOUTS}
        return {layout: found for layout, found in maps.items() if found is not None}, False

    monkeypatch.setattr(PlaneProcess, "newest", stored)


class Hindered:
    """Refuses what is sent to the paths in `refused`, and keeps waiting what is sent to those in `held`.

    Unlike an interception by the browser, it is in force for every page from one request to the next.
    """

    def __init__(self, app, refused, held):
        self.app, self.refused, self.held = app, refused, held
        self.waited = 0

    async def __call__(self, scope, receive, send):
        path = scope.get("path")
        self.waited += path in self.held
        while path in self.held:
            await asyncio.sleep(0.02)
        if path in self.refused:
            await JSONResponse({"detail": "not now"}, 503)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


class Running:
    """A real server on a real port, as `bagwise serve` starts it; it can be stopped and started again.

    What is sent to the paths in `refused` is refused for now, what is sent to those in `held` is kept waiting.
    """

    def __init__(self, folder, port=None, name="127.0.0.1", proxies=(), protocol=BoundedProtocol, apart=False):
        self.folder, self.port = folder, port or free_port()
        self.address = f"http://{name}:{self.port}"
        self.site, self.protocol, self.apart = Site(at=self.address, proxies=proxies), protocol, apart
        self.refused, self.held = set(), set()
        self.start()

    def start(self):
        self.project = Project.open(self.folder, apart=self.apart)
        self.app = Hindered(application(self.project, "ann", self.site), self.refused, self.held)
        self.server = uvicorn.Server(configuration(self.app, self.site, self.port, self.protocol))
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def stop(self):
        self.server.should_exit = True
        self.server.force_exit = True
        self.thread.join(30)
        self.project.close()


class Served:
    """The same in a process of its own, made with the command line: it can be killed."""

    def __init__(self, folder, *options, under=()):
        self.folder, self.port, self.options, self.under = folder, free_port(), options, under
        self.address = f"http://127.0.0.1:{self.port}"
        self.project = Project.open(folder)
        self.start()

    def start(self):
        command = [sys.executable, "-m", "bagwise", "serve", str(self.folder), "--port", str(self.port)]
        options = ["--no-browser", "--as", "ann", *self.options]
        self.process = forked.Popen([*self.under, *command, *options], stdout=forked.DEVNULL)
        for _ in range(6000):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.address}/api/status"):
                return
            assert self.process.poll() is None, "the server ended"
            time.sleep(0.05)
        raise AssertionError("the server did not come up")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.project.close()


@pytest.fixture
def served(tmp_path):
    """The project of the demo, served by a process of its own."""
    example_media.make_demo(tmp_path / "digits")
    server = Served(tmp_path / "digits")
    yield server
    server.stop()


@pytest.fixture
def digits():
    return datasets.load("digits")


@pytest.fixture
def running(tmp_path):
    """The project of the demo, served."""
    example_media.make_demo(tmp_path / "digits")
    server = Running(tmp_path / "digits")
    yield server
    with contextlib.suppress(Exception):
        server.stop()


@pytest.fixture
def truth(digits):
    """Whether a class is in a strip, by their names."""
    place = {f"strip {i + 1}": i for i in range(len(digits.bags))}
    return lambda strip, name: bool(np.asarray(digits.labels.value)[place[strip], digits.classes.index(name)])


@pytest.fixture
def serve(tmp_path):
    """Serves a made project of a kind; gives the server and the truth."""
    servers = []

    def start(kind, bags=20, least=1):
        folder, truth = example_media.make(tmp_path, kind, bags, least=least)
        servers.append(Running(folder))
        return servers[0], truth

    yield start
    for server in servers:
        with contextlib.suppress(Exception):
            server.stop()

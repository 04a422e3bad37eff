import contextlib
import socket
import threading
import time

import numpy as np
import pytest
import uvicorn

from bagwise import datasets
from bagwise.project import Display, Learning, Project
from bagwise.server import application
from tests.conftest import source_of


class Running:
    """A real server on a real port; it can be stopped and started again."""

    def __init__(self, folder):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        self.project = Project.open(self.folder)
        config = uvicorn.Config(application(self.project, "ann"), host="127.0.0.1", port=self.port, log_level="error")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def stop(self):
        self.server.should_exit = True
        self.server.force_exit = True
        self.thread.join(30)
        self.project.close()


@pytest.fixture
def digits():
    return datasets.load("digits")


@pytest.fixture
def running(tmp_path, digits):
    """The digits project, served."""
    source = source_of(digits, [f"strip {i}" for i in range(len(digits.bags))])
    learning, display = Learning(scaling="centre"), Display(bag="strip", picture="8x8")
    Project.create(tmp_path / "digits", source, None, digits.classes, learning, display=display).close()
    server = Running(tmp_path / "digits")
    yield server
    with contextlib.suppress(Exception):
        server.stop()


@pytest.fixture
def truth(digits):
    """Whether a class is in a strip, by their names."""
    place = {f"strip {i}": i for i in range(len(digits.bags))}
    return lambda strip, name: bool(np.asarray(digits.labels.value)[place[strip], digits.classes.index(name)])

"""Partitions copies of a project and dies at one stage of it in each: `crashing.py FOLDER STAGE...`.

Every stage has a process of its own, forked before any thread runs.
"""

import os
import signal
import sys
from pathlib import Path

from bagwise.project import Project
from bagwise.project.instances import partition_writer, partitions
from bagwise.project.settings import FILE, Settings

os.environ["BAGWISE_THREADS"] = "1"


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


def after(owner, name):
    """Do it, then die."""
    function = getattr(owner, name)

    def changed(*arguments):
        function(*arguments)
        die()

    setattr(owner, name, changed)


STAGES = {
    "writing": lambda: setattr(partition_writer.Partitions, "read", die),
    "verified": lambda: setattr(partitions, "checksum_of", die),
    "put": lambda: after(partitions, "sync_to_disk"),
    "unsettled": lambda: setattr(Settings, "write", die),
    "settings": lambda: after(Settings, "write"),
    "removing": lambda: setattr(partitions, "sync_to_disk", lambda *paths: die() if paths[0].name == FILE else None),
}

if __name__ == "__main__":
    for stage in sys.argv[2:]:
        child = os.fork()
        if not child:
            STAGES[stage]()
            Project.open(Path(sys.argv[1]) / stage).partition(3)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"{stage}: nothing died"

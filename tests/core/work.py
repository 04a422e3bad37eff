"""What the processes of these tests do. `main` is that of a child process that echoes what it receives."""

import os
import signal
import time

from bagwise.core.errors import BagwiseError
from bagwise.core.processes import connect_to_parent

state = []


def set_up():
    state.append("set up")


def run(task):
    if task == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "exit":
        os._exit(3)
    if task == "hang":
        time.sleep(600)
    if task == "fail":
        raise BagwiseError("it failed")
    return task, list(state)


def slow_first(task):
    time.sleep(0.5 if task == 0 else 0.0)
    return task


def counting(task, report):
    for _ in range(task):
        report(1)
    return -task


def main(*arguments):
    parent = connect_to_parent(nice=1)
    print("this is not a message")
    while (message := parent.receive()) is not None:
        parent.send((message, os.getpid(), list(arguments)))

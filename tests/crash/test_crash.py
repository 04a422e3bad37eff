"""Killed repeatedly at random moments: no acknowledged answer is lost, none is stored twice.

python -m pytest tests/crash --crashes 200        the full size
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from bagwise.project import Project
from tests.conftest import LONGEST
from tests.project.test_project import all_is_well

WORKER = Path(__file__).parent / "worker.py"


@pytest.fixture(scope="module")
def workers():
    """The process of which workers are forks."""
    with subprocess.Popen(
        [sys.executable, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        yield process
        process.stdin.close()


def killed_worker(workers, folder, seed, answers, wait):
    """Start a worker and kill it `wait` seconds after `answers` answers; return the acknowledged and the tried keys."""
    workers.stdin.write(json.dumps([str(folder), "ann", seed]) + "\n")
    word, pid = workers.stdout.readline().split()
    assert word == "pid"
    lines = []
    enough = threading.Event()

    def listen():
        for line in workers.stdout:
            if line == "ended\n":
                break
            lines.append(line.split())
            if line == "exhausted\n" or sum(words[:1] == ["saved"] for words in lines) >= answers:
                enough.set()
        enough.set()

    listener = threading.Thread(target=listen)
    listener.start()
    assert enough.wait(LONGEST), "the worker did not answer"
    time.sleep(wait)
    os.kill(int(pid), signal.SIGKILL)
    listener.join()
    # A last line may have been cut off in the middle.
    whole = [words for words in lines if len(words) == 2 and len(words[1]) == 32]
    return [key for word, key in whole if word == "saved"], [key for word, key in whole if word == "try"]


def test_no_acknowledged_answer_is_lost(project, workers, request):
    crashes = request.config.getoption("--crashes")
    project.close()
    rng = random.Random(1)
    acknowledged, tried = [], []
    for crash in range(crashes):
        saved, attempted = killed_worker(workers, project.folder, crash, rng.randrange(1, 8), rng.uniform(0.0, 0.1))
        acknowledged += saved
        tried += attempted
        with Project.open(project.folder) as survivor:
            keys = Counter(event.key for event in survivor.events)
            assert max(keys.values(), default=1) == 1, "an answer is stored twice"
            assert set(acknowledged) <= set(keys), "an acknowledged answer is lost"
            answers = {event.key for event in survivor.events if event.kind == "answer"}
            assert answers <= set(tried), "an answer is stored that was not given"
            all_is_well(survivor)
    assert len(acknowledged) > crashes, "hardly anything was answered: the test says little"

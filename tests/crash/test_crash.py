"""Killed repeatedly at random moments: no acknowledged answer is lost, none is stored twice.

python -m pytest tests/crash --crashes 200        the full size, about half an hour for both databases
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from bagwise.project import Project
from tests.conftest import LONGEST
from tests.project.test_project import all_is_well

WORKER = Path(__file__).parent / "worker.py"


def killed_worker(folder, seed, answers, wait):
    """Start a worker and kill it `wait` seconds after `answers` answers; return the acknowledged and the tried keys."""
    worker = subprocess.Popen(
        [sys.executable, str(WORKER), str(folder), "ann", str(seed)], stdout=subprocess.PIPE, text=True, bufsize=1
    )
    lines = []
    enough = threading.Event()

    def listen():
        for line in worker.stdout:
            lines.append(line.split())
            if sum(word == "saved" for word, *_ in lines) >= answers:
                enough.set()
        enough.set()  # it has ended: nothing is left to answer

    listener = threading.Thread(target=listen)
    listener.start()
    assert enough.wait(LONGEST), "the worker did not answer"
    time.sleep(wait)
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    listener.join()
    worker.stdout.close()
    # A last line may have been cut off in the middle.
    whole = [line for line in lines if len(line) == 2 and len(line[1]) == 32]
    return [key for word, key in whole if word == "saved"], [key for word, key in whole if word == "try"]


def test_no_acknowledged_answer_is_lost(project, request):
    crashes = request.config.getoption("--crashes")
    project.close()
    rng = random.Random(1)
    acknowledged, tried = [], []
    for crash in range(crashes):
        saved, attempted = killed_worker(project.folder, crash, rng.randrange(1, 8), rng.uniform(0.0, 0.1))
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

"""Answers questions and prints what was acknowledged, until it is killed.

Each line of the input, `["FOLDER", "NAME", SEED]`, starts a worker: a fork of this process, which has imported
everything and loaded the kernels. The worker prints its process id first; this process prints `ended` on a line of its
own when it has ended.
"""

import json
import os
import signal
import sys
from pathlib import Path

from bagwise import datasets
from bagwise.kernels.arithmetic.blocks import use_one_thread
from bagwise.project import Project

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.support.loaded_kernels import load_kernels


def work(folder, name, seed):
    use_one_thread()
    truth = datasets.load("synthetic").labels.value
    with Project.open(folder) as project:
        project.ask(name)
        print("ready", flush=True)
        step = seed
        while questions := project.ask(name):
            asked = questions[0]
            print(f"try {asked.key}", flush=True)
            project.answer(asked.key, name, "present" if truth[asked.bag, asked.label_class] else "absent")
            print(f"saved {asked.key}", flush=True)
            step += 1
            if step % 7 == 0:
                event = project.undo(name)
                print(f"saved {event.key}", flush=True)
    print("exhausted", flush=True)
    signal.pause()


if __name__ == "__main__":
    load_kernels()
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            print(f"pid {os.getpid()}", flush=True)
            work(*json.loads(line))
            break
        os.waitpid(pid, 0)
        print("\nended", flush=True)

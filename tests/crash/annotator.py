"""Several annotators, each in a process of its own: each answers some questions and prints the pairs it was given.

They are forks of this process, which has imported everything and loaded the kernels. Each prints `ready`, and begins
when it reads a byte.
"""

import os
import sys
from pathlib import Path

from bagwise import datasets
from bagwise.kernels.arithmetic.blocks import use_one_thread
from bagwise.project import Project

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.support.loaded_kernels import load_kernels


def say(line):
    """In one piece: the others write to the same pipe."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def annotate(folder, name, count):
    use_one_thread()
    truth = datasets.load("synthetic").labels.value
    with Project.open(folder) as project:
        project.load()
        say("ready")
        os.read(sys.stdin.fileno(), 1)
        given = 0
        while given < count and (questions := project.ask(name)):
            asked = questions[0]
            project.answer(asked.key, name, "present" if truth[asked.bag % len(truth), asked.label_class] else "absent")
            given += 1
            say(f"{asked.bag} {asked.label_class} {asked.key}")


if __name__ == "__main__":
    load_kernels()
    folder, count, *names = sys.argv[1:]
    for name in names:
        if not os.fork():
            annotate(folder, name, int(count))
            sys.exit()
    sys.exit(any(os.wait()[1] for _ in names))

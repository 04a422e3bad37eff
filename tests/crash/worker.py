"""Answers questions and prints what was acknowledged, until it is killed."""

import sys

from bagwise import datasets
from bagwise.kernels.arithmetic.blocks import use_one_thread
from bagwise.project import Project

if __name__ == "__main__":
    folder, name, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
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

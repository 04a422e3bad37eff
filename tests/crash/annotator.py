"""One of many annotators: answers a number of questions and prints the pairs it was given."""

import sys

from bagwise import datasets
from bagwise.kernels.arithmetic.blocks import use_one_thread
from bagwise.project import Project

if __name__ == "__main__":
    folder, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    use_one_thread()
    truth = datasets.load("synthetic").labels.value
    with Project.open(folder) as project:
        project.load()
        print("ready", flush=True)
        sys.stdin.readline()
        given = 0
        while given < count and (questions := project.ask(name)):
            asked = questions[0]
            project.answer(asked.key, name, "present" if truth[asked.bag % len(truth), asked.label_class] else "absent")
            given += 1
            print(asked.bag, asked.label_class, asked.key, flush=True)

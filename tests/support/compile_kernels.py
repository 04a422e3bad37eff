"""Compiles the kernels that most tests use, once, before the tests start.

Otherwise every process of a first run compiles them at the same time as the others. Projects use some kernels that a
learner in memory does not: those of feature maps, wrong answers, refits and read-only arrays.
"""

import os
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

import numpy as np

from bagwise import ActiveLearner, Bags, MIMLClassifier
from bagwise.cli._demo import make_demo
from bagwise.project import Project
from bagwise.research.baselines import MIMLSVM, MIMLfast
from tests import recorded
from tools.nightly import PROCESSORS

UPDATES = ("bag_sgd", "replay")
CRITERIA = ("uncertainty", "expected_gradient_length")


def use_learners():
    rng = np.random.default_rng(0)
    truth = rng.random((60, 3)) < 0.4
    for dtype in (np.float32, np.float64):
        for read_only in (False, True):
            instances = rng.normal(size=(180, 5)).astype(dtype)
            instances.flags.writeable = not read_only
            bags = Bags(instances, np.arange(0, 181, 3))
            MIMLClassifier(max_iter=2).fit(bags, truth).predict_proba(bags)
            for update in UPDATES:
                for criterion in CRITERIA:
                    learner = ActiveLearner(bags, list("abc"), update=update, criterion=criterion, cold_start=False)
                    for number in range(4):
                        learner.tell(learner.ask(), number % 2 == 0)
    for model in (MIMLfast(), MIMLSVM()):
        model.fit(bags, truth)


def use_projects(folder):
    """Replay the recorded projects past their first refit, in single precision; the demo is in double precision."""
    for name in recorded.SETTINGS:
        for _, project in islice(recorded.replayed(name, folder / name), recorded.TURNING_POINT + 1):
            project.catch_up()
    make_demo(folder / "demo")
    with Project.open(folder / "demo") as project:
        for number in range(4):
            (asked,) = project.ask("ann")
            project.answer(asked.key, "ann", "present" if number % 2 else "absent")
        project.catch_up()


def main():
    # tests/project/test_processors.py runs the same: the other processor has kernels of its own.
    other = os.environ | PROCESSORS["kernels for any x86-64"]()
    with subprocess.Popen([sys.executable, "-m", "tests.recorded", "--compare", "stepwise"], env=other):
        use_learners()
        with tempfile.TemporaryDirectory() as folder:
            use_projects(Path(folder))


if __name__ == "__main__":
    main()

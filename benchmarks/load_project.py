"""The project of the load test, made by the Bagwise that is imported: also by one of another checkout.

PYTHONPATH=../before/src python benchmarks/load_project.py FOLDER BAGS PEOPLE
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from bagwise.formats import Source
from bagwise.project import Invitations, Project

CLASSES, PER_BAG, FEATURES = 50, 10, 64
FILE_BYTES, BAG_WITH_FILE = 10_000_000, 7


def make(folder, bags, people):
    """A project with random instances; what is true of its pairs, and a token for everybody."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((bags * PER_BAG, FEATURES), dtype=np.float32)
    source = Source.of_bags(Path("drawn"), np.split(x, bags), [str(b) for b in range(bags)])
    weights = rng.standard_normal((CLASSES, FEATURES)) / 4
    truth = (x @ weights.T).reshape(bags, PER_BAG, CLASSES).max(axis=1) > 4
    with Project.create(folder, source, classes=[f"class {c}" for c in range(CLASSES)]) as project:
        (folder / "media").mkdir()
        (folder / "media" / f"{BAG_WITH_FILE}.wav").write_bytes(rng.bytes(FILE_BYTES))
        invited = Invitations(project.database)
        return truth, [invited.invite(f"person {i}") for i in range(people)]


def make_elsewhere(folder, bags, people):
    """The same in a process of its own, by the Bagwise that `PYTHONPATH` leads to."""
    subprocess.run([sys.executable, __file__, str(folder), str(bags), str(people)], check=True)
    return np.load(folder.with_name("truth.npy")), json.loads(folder.with_name("tokens.json").read_text())


if __name__ == "__main__":
    of_project, *sizes = sys.argv[1:]
    true, tokens = make(Path(of_project), *map(int, sizes))
    np.save(Path(of_project).with_name("truth.npy"), true)
    Path(of_project).with_name("tokens.json").write_text(json.dumps(tokens))

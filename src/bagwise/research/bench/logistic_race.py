"""`fit` against scikit-learn's logistic regression on bags of one instance, where both minimise the same objective."""

import sys
from pathlib import Path

import numpy as np

from bagwise import datasets
from bagwise.core.errors import BagwiseError
from bagwise.kernels import Array
from bagwise.research.bench.environments import run_external
from bagwise.research.bench.figures import Figure
from bagwise.research.bench.timing import peer_figure

CLOSE_ENOUGH = 1e-6
PARTS = 5


def logistic_race(name: str, rounds: int) -> Figure:
    """Fit both to four fifths of the instances of a data set, `rounds` times."""
    task = _task(name, rounds)
    found = run_external(Path(sys.executable), "logistic", task)
    ours, theirs = float(found["ours_value"]), float(found["theirs_value"])
    if abs(theirs / ours - 1) > CLOSE_ENOUGH:
        raise BagwiseError(f"{name}: Bagwise and scikit-learn reached F = {ours:.9g} and {theirs:.9g}: not the same.")
    held_out = task["held_out_y"]
    details = {
        "our F": ours,
        "its F": theirs,
        "our accuracy": float(np.mean(found["ours_predicted"] == held_out)),
        "its accuracy": float(np.mean(found["theirs_predicted"] == held_out)),
    }
    title = f"{name}, one instance a bag: scikit-learn, LogisticRegression"
    return peer_figure(title, "Bagwise, fit", found["theirs_seconds"], found["ours_seconds"], details)


def _task(name: str, rounds: int) -> dict[str, Array]:
    """Return instances with their classes: standardised, with a constant, and in random order."""
    data = datasets.load(name)
    assert data.instance_labels is not None
    x, y = data.bags.instances.astype(float), data.instance_labels
    deviation = x.std(axis=0)
    x = np.column_stack([(x - x.mean(axis=0)) / np.where(deviation == 0, 1, deviation), np.ones(len(x))])
    order = np.random.default_rng(0).permutation(len(x))
    held_out, training = order[::PARTS], np.delete(order, np.s_[::PARTS])
    return {
        "x": x[training],
        "y": y[training],
        "held_out_x": x[held_out],
        "held_out_y": y[held_out],
        "rounds": np.array(rounds),
    }

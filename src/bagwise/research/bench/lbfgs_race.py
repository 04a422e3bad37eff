"""Our L-BFGS against that of torch on the same objective: the time to the value that both reach."""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from bagwise import datasets
from bagwise.core.errors import BagwiseError
from bagwise.kernels import Array
from bagwise.research.bench.environments import Missing, run_external
from bagwise.research.bench.figures import Figure
from bagwise.research.bench.timing import peer_figure

CLOSE_ENOUGH = 1e-6


def race(name: str, rounds: int) -> Figure:
    """Run both on all labels of a data set, `rounds` times."""
    if not find_spec("torch"):
        raise Missing("L-BFGS of torch was skipped: torch is not installed.")
    task = _task(name, rounds)
    ours, theirs = (run_external(Path(sys.executable), runner, task) for runner in ("ours_lbfgs", "torch_lbfgs"))
    if abs(ours["at_probe"] / theirs["at_probe"] - 1) > CLOSE_ENOUGH:
        raise BagwiseError(f"{name}: the objectives of torch and Bagwise differ, so their times cannot be compared.")
    traces = [[found[f"trace{number}"] for number in range(rounds)] for found in (ours, theirs)]
    reached = [float(some[0][:, 1].min()) for some in traces]
    fast, slow = (np.array([_seconds_until(max(reached), trace) for trace in some]) for some in traces)
    floor = f"our L-BFGS to F = {max(reached):.4f}"
    details = dict(zip(("our F", "its F"), reached, strict=True))
    return peer_figure(f"{name}: torch autograd and its L-BFGS", floor, slow, fast, details)


def _task(name: str, rounds: int) -> dict[str, Array]:
    """Return the task of both; `probe` is a point at which both must compute the same value."""
    data = datasets.load(name)
    shape = len(data.classes) + 1, data.bags.n_features + 1
    return {
        "x": data.bags.instances.astype(float),
        "offsets": data.bags.offsets,
        "truth": data.labels.value,
        "rounds": np.array(rounds),
        "probe": 0.03 * np.random.default_rng(0).standard_normal(shape),
    }


def _seconds_until(target: float, trace: Array) -> float:
    """Return when the value was first within a millionth of the target."""
    return float(trace[np.argmax(trace[:, 1] <= target * (1 + CLOSE_ENOUGH)), 0])

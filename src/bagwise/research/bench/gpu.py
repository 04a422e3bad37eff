"""Scoring every pair of a large pool that lies on a graphics card.

The floor is reading the features once at the bandwidth of a copy. Beside it stand the products X @ W.T in float32 and
TF32, and both criteria as one would first write them in torch. A pool that stays in the computer's memory is streamed
to the card; its floor is copying it there once. `tell` + `ask` is the learner with `device="cuda"`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from bagwise.core.errors import BagwiseError
from bagwise.model import MIMLClassifier
from bagwise.research.bench._figures import Report
from bagwise.research.bench._measuring import Job, Say, figure_of
from bagwise.research.bench._pools import Conversation, PoolSize, RandomPool

DESCRIPTION = "scoring on a graphics card, beside reading the features once"
FLOOR = "reading the features once"
COPIED = "copying the features to the card once"
STREAMED = "uncertainty of all pairs, features streamed to the card"
GOALS = {"uncertainty of all pairs, TF32": 0.0025, "EGL of all pairs, TF32": 0.006}


@dataclass(frozen=True)
class Size:
    """The pool, the rounds, and the device: another than cuda only shows that it runs."""

    pool: PoolSize
    rounds: int
    device: str = "cuda"


FULL = Size(PoolSize(1_000_000, instances=8, features=128, classes=64), rounds=20)
QUICK = Size(PoolSize(50_000, instances=8, features=128, classes=64), rounds=5)


def measure(size: Size, say: Say) -> Report:
    """Products, eager criteria, and ours."""
    _validate_device(size.device)
    say(f"{size.rounds} rounds side by side")
    jobs = _jobs(size)
    for job in jobs.values():
        _seconds(job, size.device)
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(size.rounds):
        for name, job in jobs.items():
            times[name].append(_seconds(job, size.device))
    # A copy reads and writes: reading alone is half of it.
    floor, copied = [seconds / 2 for seconds in times.pop(FLOOR)], times.pop(COPIED)
    streamed = figure_of(STREAMED, COPIED, times.pop(STREAMED), copied)
    figures = (*(figure_of(name, FLOOR, found, floor, details=_goal(name)) for name, found in times.items()), streamed)
    return Report("gpu", f"{size.pool}, on {_device_name(size.device)}", figures)


def _goal(name: str) -> dict[str, str]:
    """The project's goals for this pool on an H200 are times."""
    return {"goal on an H200": f"{1000 * GOALS[name]:g} ms"} if name in GOALS else {}


def _validate_device(device: str) -> None:
    there = find_spec("torch") is not None
    if there and device == "cuda":
        import torch

        there = torch.cuda.is_available()
    if not there:
        raise BagwiseError("This needs an NVIDIA card and a torch that sees it: `pip install 'bagwise[gpu]'` there.")


def _jobs(size: Size) -> dict[str, Job]:
    import torch

    from bagwise.kernels import gpu as device
    from bagwise.research.bench._foreign.runners import eager

    drawn = RandomPool(size.pool)
    instances = MIMLClassifier.from_weights(drawn.weights).instances(drawn.bags)
    weights = drawn.weights.astype(float)
    here = device.Resident.of(instances, size.device, stream=False)
    beside = device.Resident.of(instances, size.device, stream=True)
    x, on_card = here.x, torch.as_tensor(drawn.weights, device=size.device)
    there, factors = torch.empty_like(x), torch.full((size.pool.classes,), 2.0, device=size.device)

    def product(tf32: bool) -> Any:
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = tf32
        try:
            return x @ on_card.T
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before

    return {
        FLOOR: lambda: there.copy_(x),
        COPIED: lambda: there.copy_(beside.x, non_blocking=True),
        "product X @ W.T, float32": lambda: product(tf32=False),
        "product X @ W.T, TF32": lambda: product(tf32=True),
        "uncertainty of all pairs, eager torch": lambda: eager.uncertainty(x, on_card, size.pool.instances),
        "EGL of all pairs, eager torch": lambda: eager.expected_gradient_length(x, on_card, size.pool.instances),
        "uncertainty of all pairs, float32": lambda: device.label_variances(here, weights, factors),
        "uncertainty of all pairs, TF32": lambda: device.label_variances(here, weights, factors, tf32=True),
        "EGL of all pairs, float32": lambda: device.expected_lengths(here, weights, factors),
        "EGL of all pairs, TF32": lambda: device.expected_lengths(here, weights, factors, tf32=True),
        STREAMED: lambda: device.label_variances(beside, weights, factors),
        "tell + ask, bag_sgd, uncertainty": Conversation(drawn, "uncertainty", "bag_sgd", device=size.device),
    }


def _seconds(job: Job, device: str) -> float:
    """Seconds until the device is done."""
    import torch

    wait: Callable[[], object] = torch.cuda.synchronize if device == "cuda" else lambda: None
    wait()
    start = time.perf_counter()
    job()
    wait()
    return time.perf_counter() - start


def _device_name(device: str) -> str:
    import torch

    return str(torch.cuda.get_device_name()) if device == "cuda" else device

"""Scoring every pair of a large pool in GPU memory.

The floor is reading the features once at the bandwidth of a copy. It is compared with the products X @ W.T in float32
and TF32, and with both criteria in plain torch operations. A pool that stays in host memory is streamed to the GPU; its
floor is copying it to the GPU once. `tell` + `ask` is the learner with `device="cuda"`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from bagwise.core.errors import BagwiseError
from bagwise.model import MIMLClassifier
from bagwise.research.bench.figures import Report
from bagwise.research.bench.pools import AskTellLoop, PoolSize, RandomPool
from bagwise.research.bench.timing import Job, Log, figure_of

DESCRIPTION = "scoring on a GPU, relative to reading the features once"
FLOOR = "reading the features once"
COPIED = "copying the features to the card once"
STREAMED = "uncertainty of all pairs, features streamed to the card"
GOALS = {"uncertainty of all pairs, TF32": 0.0025, "EGL of all pairs, TF32": 0.006}


@dataclass(frozen=True)
class Size:
    """The pool, the rounds, and the device; a device other than cuda only shows that the suite runs."""

    pool: PoolSize
    rounds: int
    device: str = "cuda"


FULL = Size(PoolSize(1_000_000, instances=8, features=128, classes=64), rounds=20)
QUICK = Size(PoolSize(50_000, instances=8, features=128, classes=64), rounds=5)


def measure(size: Size, log: Log) -> Report:
    """Measure products, criteria in plain torch, and ours."""
    _validate_device(size.device)
    log(f"{size.rounds} rounds in alternation")
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
    """Return the goal as a time: those of this pool are set for an H200."""
    return {"goal on an H200": f"{1000 * GOALS[name]:g} ms"} if name in GOALS else {}


def _validate_device(device: str) -> None:
    usable = find_spec("torch") is not None
    if usable and device == "cuda":
        import torch

        usable = torch.cuda.is_available()
    if not usable:
        raise BagwiseError("The suite needs an NVIDIA GPU and a torch that supports it: `pip install 'bagwise[gpu]'`.")


def _jobs(size: Size) -> dict[str, Job]:
    import torch

    from bagwise.kernels import gpu as gpu_kernels
    from bagwise.research.bench.external.runners import eager

    pool = RandomPool(size.pool)
    instances = MIMLClassifier.from_weights(pool.weights).instances(pool.bags)
    weights = pool.weights.astype(float)
    resident = gpu_kernels.Resident.of(instances, size.device, stream=False)
    streamed = gpu_kernels.Resident.of(instances, size.device, stream=True)
    x, w = resident.x, torch.as_tensor(pool.weights, device=size.device)
    target, factors = torch.empty_like(x), torch.full((size.pool.classes,), 2.0, device=size.device)

    def product(tf32: bool) -> Any:
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = tf32
        try:
            return x @ w.T
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before

    return {
        FLOOR: lambda: target.copy_(x),
        COPIED: lambda: target.copy_(streamed.x, non_blocking=True),
        "product X @ W.T, float32": lambda: product(tf32=False),
        "product X @ W.T, TF32": lambda: product(tf32=True),
        "uncertainty of all pairs, eager torch": lambda: eager.uncertainty(x, w, size.pool.instances),
        "EGL of all pairs, eager torch": lambda: eager.expected_gradient_length(x, w, size.pool.instances),
        "uncertainty of all pairs, float32": lambda: gpu_kernels.label_variances(resident, weights, factors),
        "uncertainty of all pairs, TF32": lambda: gpu_kernels.label_variances(resident, weights, factors, tf32=True),
        "EGL of all pairs, float32": lambda: gpu_kernels.expected_lengths(resident, weights, factors),
        "EGL of all pairs, TF32": lambda: gpu_kernels.expected_lengths(resident, weights, factors, tf32=True),
        STREAMED: lambda: gpu_kernels.label_variances(streamed, weights, factors),
        "tell + ask, bag_sgd, uncertainty": AskTellLoop(pool, "uncertainty", "bag_sgd", device=size.device),
    }


def _seconds(job: Job, device: str) -> float:
    """Return the seconds until the device has finished."""
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

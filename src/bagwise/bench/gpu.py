"""Scoring every pair of a large pool that lies on a graphics card.

The floor is reading the features once at the bandwidth of a copy. Beside it stand the products X @ W.T in float32 and
TF32, and both criteria as one would first write them in torch.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from bagwise.bench._figures import Report
from bagwise.bench._measuring import Job, Say, figure_of
from bagwise.bench._pools import PoolSize
from bagwise.errors import BagwiseError

DESCRIPTION = "scoring on a graphics card, beside reading the features once"
FLOOR = "reading the features once"


@dataclass(frozen=True)
class Size:
    """The pool, the rounds, and the device: another than cuda only shows that it runs."""

    pool: PoolSize
    rounds: int
    device: str = "cuda"


FULL = Size(PoolSize(1_000_000, instances=8, features=128, classes=64), rounds=20)
QUICK = Size(PoolSize(50_000, instances=8, features=128, classes=64), rounds=5)


def measure(size: Size, say: Say) -> Report:
    """Products and eager criteria."""
    _refuse_without(size.device)
    say(f"{size.rounds} rounds side by side")
    jobs = _jobs(size)
    for job in jobs.values():
        _seconds(job, size.device)
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(size.rounds):
        for name, job in jobs.items():
            times[name].append(_seconds(job, size.device))
    # A copy reads and writes: reading alone is half of it.
    floor = [seconds / 2 for seconds in times.pop(FLOOR)]
    figures = tuple(figure_of(name, FLOOR, found, floor) for name, found in times.items())
    return Report("gpu", f"{size.pool}, on {_device_name(size.device)}", figures)


def _refuse_without(device: str) -> None:
    there = find_spec("torch") is not None
    if there and device == "cuda":
        import torch

        there = torch.cuda.is_available()
    if not there:
        raise BagwiseError("This needs an NVIDIA card and a torch that sees it: `pip install 'bagwise[gpu]'` there.")


def _jobs(size: Size) -> dict[str, Job]:
    import torch

    from bagwise.bench._foreign.runners import eager

    pool, generator = size.pool, torch.Generator(size.device).manual_seed(0)

    def drawn(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator, device=size.device)

    x = drawn(pool.bags * pool.instances, pool.features)
    weights = drawn(pool.classes, pool.features) / pool.features**0.5
    there = torch.empty_like(x)

    def product(tf32: bool) -> Any:
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = tf32
        try:
            return x @ weights.T
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before

    return {
        FLOOR: lambda: there.copy_(x),
        "product X @ W.T, float32": lambda: product(tf32=False),
        "product X @ W.T, TF32": lambda: product(tf32=True),
        "uncertainty of all pairs, eager torch": lambda: eager.uncertainty(x, weights, pool.instances),
        "EGL of all pairs, eager torch": lambda: eager.expected_gradient_length(x, weights, pool.instances),
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

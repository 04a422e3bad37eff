"""The learner on a device where there is no card: torch on the CPU, with the compiled kernels in place of Triton's.

Triton's interpreter takes seconds for what a question needs; its kernels are compared with the compiled ones by
themselves (`tests/kernels/test_exact.py`, `tests/checks/test_scoring.py`).
"""

import pytest
import torch

from bagwise import kernels
from bagwise.kernels.gpu import exact, fused
from bagwise.learning.pool import LocalPool
from bagwise.learning.top_k_gpu import GpuTopK

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def _bag_probabilities(resident, weights, bags, classes, evidence=None):
    some = resident.source.with_evidence(evidence).select(bags.numpy())
    found = kernels.bag_probabilities(some.x, some.offsets, *some.fold(weights), classes, some.evidence)
    return tuple(torch.from_numpy(one) for one in found)


def without_interpreter(patch: pytest.MonkeyPatch) -> None:
    """Put the compiled kernels in place of Triton's, where these would be interpreted."""
    if DEVICE == "cpu":
        patch.setattr(fused, "serves", lambda *_: False)
        patch.setattr(exact, "bag_probabilities", _bag_probabilities)


def pool_on_device(bags) -> LocalPool:
    """Return a pool on the card, or on torch's CPU."""
    return LocalPool(bags, GpuTopK(DEVICE))

"""The learner on a device asks what it asks on the CPU. Here the device is torch on the CPU; on a card, the card."""

import numpy as np
import pytest
import torch

from bagwise import ActiveLearner, Bags, BagwiseError
from bagwise.kernels.gpu import fused
from bagwise.learning import learner
from bagwise.learning.top_k_gpu import GpuTopK

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def make(rng, dtype):
    bags = Bags.from_list([rng.normal(size=(rng.integers(1, 7), 12)).astype(dtype) for _ in range(300)])
    weights = rng.normal(size=(6, 12))
    truth = np.array([(bag @ weights.T).max(axis=0) > 4 for bag in bags])
    return bags, truth


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("update", ["bag_sgd", "replay"])
@pytest.mark.parametrize("criterion", ["widening_uncertainty", "uncertainty", "expected_gradient_length", "random"])
def test_the_same_questions_as_on_the_cpu(rng, monkeypatch, dtype, update, criterion):
    bags, truth = make(rng, dtype)
    options = {"criterion": criterion, "update": update, "random_state": 3, "cold_start": False}
    here = ActiveLearner(bags, list("abcdef"), **options)
    monkeypatch.setattr(learner, "top_k_on", lambda _: GpuTopK(DEVICE))
    if DEVICE == "cpu":
        # The interpreter of the fused kernels is slow, and they are checked elsewhere.
        monkeypatch.setattr(fused, "serves", lambda *_: False)
    there = ActiveLearner(bags, list("abcdef"), **options)
    for _ in range(40):
        asked, also = here.ask(), there.ask()
        assert asked == also
        answer = bool(truth[asked.bag, asked.classes[0]])
        here.tell(asked, answer)
        there.tell(also, answer)
    if criterion != "random":
        assert there.statistics.scans < there.statistics.questions / 2


def test_a_device_that_does_not_exist_is_an_error(small):
    bags, labels = small
    with pytest.raises(BagwiseError, match="auto, cpu or cuda"):
        ActiveLearner(bags, list("abcd"), labels, device="tpu")
    if not torch.cuda.is_available():
        with pytest.raises(BagwiseError, match="needs an NVIDIA GPU"):
            ActiveLearner(bags, list("abcd"), labels, device="cuda")
    assert (
        ActiveLearner(bags, list("abcd"), labels, device="auto").ask()
        == ActiveLearner(bags, list("abcd"), labels).ask()
    )

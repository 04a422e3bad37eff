"""The learner on a device asks what it asks on the CPU. Here the device is torch on the CPU; on a card, the card."""

import numpy as np
import pytest
import torch

from bagwise import ActiveLearner, Bags, BagwiseError
from bagwise.kernels import hashed_grid
from bagwise.kernels.gpu import as_signed, hashed_bits, uniform
from bagwise.learning.cold_start import ColdStart
from tests.support.on_device import pool_on_device, without_interpreter

CLASSES = list("abcdef")


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    without_interpreter(monkeypatch)


def make(rng, dtype=np.float32, bags=300, above=4):
    bags = Bags.from_list([rng.normal(size=(rng.integers(1, 7), 12)).astype(dtype) for _ in range(bags)])
    weights = rng.normal(size=(6, 12))
    truth = np.array([(bag @ weights.T).max(axis=0) > above for bag in bags])
    return bags, truth


def both(bags, **options):
    here = ActiveLearner(bags, CLASSES, **options)
    return here, ActiveLearner(classes=CLASSES, pool=pool_on_device(bags), **options)


def asked_alike(here, there, truth, answers, pointing=False):
    for _ in range(answers):
        question, also = here.ask(), there.ask()
        assert question == also
        present = bool(truth[question.bag, question.classes[0]])
        where = question.evidence if present and pointing else ()
        here.tell(question, present, where=where)
        there.tell(also, present, where=where)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("update", ["bag_sgd", "replay"])
@pytest.mark.parametrize("criterion", ["widening_uncertainty", "uncertainty", "expected_gradient_length", "random"])
def test_the_same_questions_as_on_the_cpu(rng, dtype, update, criterion):
    bags, truth = make(rng, dtype)
    here, there = both(bags, criterion=criterion, update=update, random_state=3, cold_start=False)
    asked_alike(here, there, truth, 25)
    if criterion != "random":
        assert there.statistics.scans < there.statistics.questions / 2


@pytest.mark.parametrize("above", [4, 7], ids=["common", "rare"])
def test_the_same_cold_start_as_on_the_cpu(rng, above):
    """Class discovery, bag completion and active search, then the criterion."""
    bags, truth = make(rng, above=above)
    here, there = both(bags, cold_start=ColdStart(3, 6), audit=0.2)
    asked_alike(here, there, truth, 45)


def test_the_same_rankings_as_on_the_cpu(rng):
    """Of the size that a server publishes, with audits; ties of all pairs at first, candidates that change."""
    bags, truth = make(rng)
    here, there = both(bags, cold_start=False, random_state=1)
    for number in range(4):
        assert here.rank(1500) == there.rank(1500)
        assert here.ask(5) == there.ask(5)
        here.candidates = there.candidates = None if number == 3 else rng.random(len(bags)) < 0.5
        asked_alike(here, there, truth, 3)
    assert here.rank(10**6) == there.rank(10**6)


def test_the_same_questions_where_instances_are_known_and_answers_are_undone(rng):
    bags, truth = make(rng, bags=80)
    here, there = both(bags, cold_start=False, audit=0.3)
    asked_alike(here, there, truth, 15, pointing=True)
    for one in (here, there):
        one.undo()
        one.undo()
    asked_alike(here, there, truth, 10, pointing=True)


@pytest.mark.parametrize("granularity", ["bag", "bag_then_class", "best_value", "instance"])
def test_the_same_questions_of_other_granularities(rng, granularity):
    bags, truth = make(rng, bags=40)
    here, there = both(bags, granularity=granularity, audit=0.3)
    for _ in range(6):
        question = here.ask()
        assert question == there.ask()
        answer = truth[question.bag, list(question.classes)].tolist()
        here.tell(question, answer)
        there.tell(question, answer)


@pytest.mark.parametrize("seed", [0, -3, (1 << 63) + 5])
def test_random_numbers_have_the_bits_of_the_cpu(rng, seed):
    keys = rng.integers(0, 1 << 64, 50, dtype=np.uint64)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    found = uniform(hashed_bits(seed, as_signed(keys, device)[:, None], torch.arange(7, device=device)))
    np.testing.assert_array_equal(found.cpu().numpy(), hashed_grid(seed, keys, 7))


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


def test_simulations_on_a_device_are_those_of_the_learner_alone():
    from bagwise.research.experiments.simulation import Simulation

    assert Simulation("digits", device="auto").described == Simulation("digits").described
    with pytest.raises(BagwiseError, match="`device` works only"):
        Simulation("digits", device="cuda", noise=0.1)

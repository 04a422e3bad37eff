"""Kernels of a card that promise the bits of the CPU have them; interpreted where there is no card."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from bagwise.kernels import (  # noqa: E402
    Instances,
    bag_probabilities,
    gpu,
    gradient_lengths,
    log_likelihood_and_gradient,
)
from bagwise.kernels.arithmetic import blocks  # noqa: E402
from bagwise.kernels.cpu.evidence import BARRED, Evidence  # noqa: E402
from bagwise.kernels.gpu import Resident, exact, fused, likelihood  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def make(rng, features, outputs, scale, bags=12):
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 6, bags))])
    x = (3 * rng.normal(size=(offsets[-1], features)) + 1).astype(np.float32)
    instances = Instances(x, offsets, x.mean(axis=0).astype(float), x.std(axis=0).astype(float), True)
    return instances, scale * rng.normal(size=(outputs, features + 1)) / np.sqrt(features)


@pytest.mark.parametrize(
    ("features", "outputs", "classes", "scale", "stream"),
    [(7, 5, 4, 1.0, False), (3, 19, 17, 40.0, True)],
    ids=["small", "extreme and streamed"],
)
def test_presence_has_the_bits_of_the_cpu(rng, features, outputs, classes, scale, stream):
    instances, weights = make(rng, features, outputs, scale)
    said = np.full((2, outputs), BARRED)
    said[0, 1], said[1] = 0.0, rng.normal(size=outputs)
    evidence = Evidence(np.array([2, 5]), said, np.zeros(2, np.int64))
    bags = rng.permutation(len(instances.offsets) - 1)[:9]
    resident = Resident.of(instances, DEVICE, stream=stream)
    for known in (None, evidence):
        want = bag_probabilities(instances.x, instances.offsets, *instances.fold(weights), classes, known)
        got = exact.bag_probabilities(resident, weights, torch.as_tensor(bags, device=DEVICE), classes, known)
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one.cpu().numpy(), other[bags])


def test_the_likelihood_and_its_gradient_have_the_bits_of_the_cpu(rng, monkeypatch):
    """Several blocks, of several groups of rows each, as in large pools."""
    monkeypatch.setattr(blocks, "FEWEST_LOGITS", 1400)
    instances, weights = make(rng, 5, 10, 2.0, bags=60)
    bags = np.sort(rng.permutation(60)[:55])
    known = rng.random((55, 9)) < 0.6
    value = known & (rng.random((55, 9)) < 0.4)
    some, folded = instances.select(bags), instances.fold(weights)
    want = log_likelihood_and_gradient(some.x, some.offsets, *folded, value, known)
    got = likelihood.Likelihood(Resident.of(instances, DEVICE), bags, value, known)(*folded)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_likelihood_that_underflows_is_left_to_the_cpu(rng):
    instances, weights = make(rng, 3, 4, 1000.0, bags=4)
    value = np.ones((4, 3), bool)
    on_device = likelihood.Likelihood(Resident.of(instances, DEVICE), np.arange(4), value, value)
    assert on_device(*instances.fold(weights)) is None


def test_bounds_are_above_the_numbers_of_the_cpu_and_the_same_by_both_kernels(rng, monkeypatch):
    """Of a model of 16 classes and a background, whose column is beyond a power of two."""
    instances, weights = make(rng, 6, 17, 3.0, bags=7)
    resident = Resident.of(instances, DEVICE)
    share = torch.full((7,), 1e-3, device=DEVICE)
    spread = gpu.Spread(share, 5 * share)

    def found():
        lengths = gpu.highest_lengths(resident, weights, 16, spread)
        presence = gpu.highest_presence(resident, weights, 16, spread), gpu.highest_sides(resident, weights, 16, spread)
        return [one.cpu().numpy() for one in (*lengths, *presence)]

    by_fused = found()
    monkeypatch.setattr(fused, "serves", lambda *_: False)
    present, absent = bag_probabilities(instances.x, instances.offsets, *instances.fold(weights), 16)
    lengths, _ = gradient_lengths(instances, *instances.fold(weights), 16)
    exact_ones = lengths, absent, present, np.minimum(present, absent)
    for one, other, least in zip(by_fused, found(), exact_ones, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)
        assert (one >= least).all()
        np.testing.assert_allclose(one, least, rtol=0.1, atol=0.02)

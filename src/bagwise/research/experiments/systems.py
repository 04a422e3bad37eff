"""The systems that an experiment can run, each with its candidate settings.

`tune` chooses by cross validation inside the bags labelled at the start, never on a test fold; every system has the
same number of candidates. Presets of a system, such as those of published code, have nothing to choose.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from bagwise.core.plugins import choose
from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.data.metrics.average_precision import average_precision
from bagwise.datasets import Dataset
from bagwise.kernels import Array
from bagwise.learning.base import Learner
from bagwise.learning.cold_start import ColdStart
from bagwise.learning.learner import ActiveLearner
from bagwise.model import MIMLClassifier
from bagwise.model.solvers import Solver
from bagwise.research.baselines import MIMLAL, MIMLSVM, MIMLSVMAL, MIMLfast
from bagwise.research.experiments.noisy_learner import NoisyLearner
from bagwise.research.experiments.updates import climb

INNER_FOLDS = 3
ITERATIONS = 100

Parameters = dict[str, Any]


class Model(Protocol):
    """A model that is fitted to labelled bags."""

    def fit(self, bags: Bags, labels: Labels) -> Any:
        """Fit the model."""
        ...

    def predict_proba(self, bags: Bags) -> Array:
        """Return scores in [0, 1], bags x classes."""
        ...


@dataclass(frozen=True)
class Strategy:
    """How the learner of the paper selects and updates; the compared systems ignore it."""

    criterion: str = "balanced_uncertainty"
    granularity: str = "pair"
    update: str | Solver = "lbfgs"
    audit: float = 0.1
    noise: float | str = 0.0
    again: bool = False
    refit_every: int | None = None
    cold_start: bool = False
    search: bool = True
    cluster: str = ""
    device: str = "cpu"


@dataclass(frozen=True)
class System:
    """A model, its learner, and the candidate settings."""

    title: str
    candidates: tuple[Parameters, ...]
    model: Callable[[Parameters, Any], Any]
    learner: Callable[[Dataset, Labels, Any, Strategy, int], Learner]


def _active_learner(data: Dataset, labels: Labels, model: Any, how: Strategy, seed: int) -> Learner:
    given = (data.bags, data.classes, labels, model, how.criterion, how.granularity, how.update, how.audit, seed)
    if how.noise:
        return NoisyLearner(*given, noise=how.noise, again=how.again)
    cold_start: bool | ColdStart | None = None if how.cold_start else False
    if how.cold_start and not how.search and not labels.known.all(axis=1).any():
        cold_start = replace(ColdStart.of(data.bags.n_features), searches=False)
    options: Parameters = {"refit_every": how.refit_every, "cold_start": cold_start}
    if how.cluster:
        from bagwise.cluster import RayPool

        return ActiveLearner(None, *given[1:], pool=RayPool.of(data.bags, address=how.cluster), **options)
    return ActiveLearner(*given, **options, device=how.device)


SYSTEMS = {
    "bagwise": System(
        "Bagwise",
        ({"penalty": 1e-2}, {"penalty": 1e-3}, {"penalty": 1e-4}, {"penalty": 1e-5}),
        lambda parameters, transformer: MIMLClassifier(transformer=transformer, **parameters),
        _active_learner,
    ),
    "miml_al": System(
        "MIML-AL",
        ({"step_size": 0.001}, {"step_size": 0.005}, {"step_size": 0.02}, {"step_size": 0.005, "sub_concepts": 5}),
        lambda parameters, _: MIMLfast(**parameters),
        lambda data, labels, model, _, seed: MIMLAL(data.bags, data.classes, labels, model, random_state=seed),
    ),
    "mimlsvm_al": System(
        "MIMLSVM-AL",
        ({"cost": 1.0}, {"cost": 10.0}, {"cost": 100.0}, {"distance": "max", "gamma": 0.2, "cost": 1.0}),
        lambda parameters, _: MIMLSVM(**parameters),
        lambda data, labels, model, _, seed: MIMLSVMAL(data.bags, data.classes, labels, model, random_state=seed),
    ),
}

_MIML_AL, _MIMLSVM_AL = SYSTEMS["miml_al"], SYSTEMS["mimlsvm_al"]
_FIXED: tuple[Parameters, ...] = ({},)
SYSTEMS |= {
    "miml_al_published": replace(
        _MIML_AL,
        title="MIML-AL, published",
        candidates=_FIXED,
        model=lambda *_: MIMLfast(step_size=0.001, decay=1e-7, average_every=1, key_mode="rank"),
        learner=lambda data, labels, model, _, seed: MIMLAL(
            data.bags, data.classes, labels, model, schedule="published", random_state=seed
        ),
    ),
    "miml_al_released": replace(
        _MIML_AL, title="MIML-AL, released", candidates=_FIXED, model=lambda *_: MIMLfast.released()
    ),
    "mimlsvm_al_released": replace(
        _MIMLSVM_AL, title="MIMLSVM-AL, released", candidates=_FIXED, model=lambda *_: MIMLSVM.released()
    ),
    "mimlsvm_al_median": replace(
        _MIMLSVM_AL,
        title="MIMLSVM-AL, median",
        candidates=_FIXED,
        model=lambda *_: MIMLSVM(distance="median", medoids=0.2, cost=1.0),
    ),
}


def get(name: str) -> System:
    """Return the system called `name`."""
    return choose("system", name, SYSTEMS)


def tune(system: System, fixed: Parameters, data: Dataset, labelled: Array, seed: int) -> Parameters:
    """Return the candidate with the best average precision in a cross validation of the labelled bags.

    With too few bags, return the first candidate, the most regularised one.
    """
    if len(labelled) < INNER_FOLDS or len(system.candidates) == 1:
        return system.candidates[0]
    order = np.random.default_rng([seed, 2]).permutation(labelled)
    means = [_inner_score(system, {**fixed, **candidate}, data, order) for candidate in system.candidates]
    return system.candidates[int(np.nanargmax(means))] if not np.isnan(means).all() else system.candidates[0]


def best_penalty(fixed: Parameters, data: Dataset, seed: int) -> Parameters:
    """Return the penalty of our model with the best average precision in a cross validation of all training bags.

    The powers of ten are searched from 1e-3 until both neighbours of the best are worse, with fits of at most
    `ITERATIONS` iterations: a ranking of the classes needs no more.
    """
    order = np.random.default_rng([seed, 2]).permutation(len(data.bags))
    system = get("bagwise")

    def score(place: tuple[int, ...]) -> float:
        return _inner_score(system, {**fixed, "penalty": 10.0 ** (place[0] - 3), "max_iter": ITERATIONS}, data, order)

    (power,) = climb(score, (0,))
    return {"penalty": 10.0 ** (power - 3)}


def _inner_score(system: System, parameters: Parameters, data: Dataset, order: Array) -> float:
    scores = []
    for fold in range(INNER_FOLDS):
        held_out, inner = data.select(order[fold::INNER_FOLDS]), data.select(np.delete(order, np.s_[fold::INNER_FOLDS]))
        model: Model = system.model(parameters, data.transformer)
        model.fit(inner.bags, inner.labels)
        scores.append(average_precision(held_out.labels.value, model.predict_proba(held_out.bags)))
    return float(np.nanmean(scores)) if not np.isnan(scores).all() else float("nan")

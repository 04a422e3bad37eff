"""The updates of the experiments against what they are defined by."""

import numpy as np
import pytest

from bagwise import Bags, MIMLClassifier, datasets
from bagwise.data.labels import Labels
from bagwise.kernels import sgd_steps
from bagwise.model.solvers import Settings, State
from bagwise.research.experiments.updates import (
    ExpectationMaximisation,
    Refits,
    Steps,
    best_constants,
    climb,
    trained,
)

DATA = datasets.load("synthetic", bags=40)


def prepared(**parameters):
    model = MIMLClassifier(background=False, **parameters).prepare(DATA.bags, DATA.labels.n_classes)
    return model, model.objective_of(model.instances(DATA.bags), DATA.labels)


def test_the_paper_leaves_the_penalty_out_of_its_steps():
    """One step from the same weights: with the penalty it ends eta * penalty * W nearer to 0."""
    _, objective = prepared(penalty=0.3)
    start = State(np.full_like(objective.start, 0.1), steps=7)
    pair = np.array([3]), np.array([1])
    settings = Settings(step_size=0.2)
    paper, ours = (
        Steps("pair_sgd", penalised, offset=2.0).update(objective, start, *pair, settings).weights
        for penalised in (False, True)
    )
    eta = 0.2 / (0.3 * 7 / 2.0 + 1)
    assert paper - ours == pytest.approx(eta * 0.3 * start.weights)


def test_the_step_of_a_pair_is_the_gradient_of_its_log_likelihood():
    model, objective = prepared(penalty=1e-4)
    start = np.random.default_rng(0).normal(size=objective.start.shape)
    bag, label_class, eta = 5, 2, 0.01
    stepped = sgd_steps(
        objective.instances, DATA.labels.value, objective.learnable, [bag], [label_class], start, 0, eta, 0.0, np.inf
    )
    known = np.zeros_like(DATA.labels.known)
    known[bag, label_class] = True
    alone = model.objective_of(model.instances(DATA.bags), Labels(DATA.labels.value, known))
    assert (stepped - start) / eta == pytest.approx(alone.log_likelihood_and_gradient(start)[1])


def test_refits_come_after_so_many_labels_whatever_an_answer_has():
    _, objective = prepared(prior=1.0)
    refits, settings = Refits(labels=10), Settings()
    of_pairs = of_bags = State(objective.start)
    changed = []
    for count in range(1, 21):
        before = of_pairs
        of_pairs = refits.update(objective, of_pairs, np.array([0]), np.array([0]), settings)
        changed += [count] if (of_pairs.weights != before.weights).any() else []
    assert changed == [10, 20] or changed == [10], "the second refit has nothing new to learn"
    for _ in range(2):
        of_bags = refits.update(objective, of_bags, np.zeros(6, int), np.arange(6), settings)
    assert of_bags.steps == 12
    assert (of_bags.weights != 0).any()


def test_expectation_maximisation_never_rises_and_ends_where_the_joint_is_flat():
    values = []
    _, objective = prepared(prior=1.0, objective="joint")
    em = ExpectationMaximisation(rounds=60, tolerance=1e-9)
    state = em.fit(objective, objective.start, Settings(), lambda _, value: values.append(value))
    assert (np.diff([objective(objective.start)[0], *values]) <= 1e-12).all()
    value, gradient = objective(state.weights)
    assert value == pytest.approx(values[-1])
    assert np.abs(gradient).max() < 1e-3


def test_the_expected_statistics_are_those_of_certain_labels():
    """Bags of one instance with all labels known: its class is known, and T is the sum of x by class."""
    one = [bag for bag in range(40) if DATA.labels.value[bag].sum() == 1][:5]
    first = [int(DATA.bags.offsets[bag]) for bag in one]
    x = DATA.bags.instances[first]
    classes = DATA.labels.value[one]
    model = MIMLClassifier(background=False, objective="joint", transformer=None, fit_intercept=False)
    model.prepare(datasets.load("synthetic", bags=5).bags, 6)
    bags = Bags(x, np.arange(6))
    objective = model.objective_of(model.instances(bags), Labels(classes, np.ones_like(classes)))
    weights = np.random.default_rng(0).normal(size=objective.start.shape)
    found = ExpectationMaximisation()._expected(objective, weights)
    assert found == pytest.approx(classes.T.astype(float) @ x, abs=1e-6)


def test_constants_are_not_at_an_edge():
    steps = Steps("bag_sgd")
    found = best_constants(steps, DATA, 1, seed=0, penalty=1e-4, background=False)

    def reached(step_size, offset):
        return trained(Steps("bag_sgd", offset=offset), DATA, 1, step_size, 0, penalty=1e-4, background=False)

    best = reached(found.step_size, found.offset)
    around = [(3, 1), (1 / 3, 1), (1, 10), (1, 0.1)]
    for step, offset in around:
        assert reached(found.step_size * step, found.offset * offset) <= best + 1e-4 * abs(best)


def test_the_search_leaves_the_range_it_started_in():
    assert climb(lambda place: -abs(place[0] - 9), (0,)) == (9,)
    assert climb(lambda place: float("nan") if place[0] > 1 else place[0], (0,)) == (1,)

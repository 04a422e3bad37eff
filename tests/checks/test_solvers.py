"""What must be true of every solver, present and future."""

import numpy as np
import pytest

from bagwise import Bags, Labels, MIMLClassifier
from bagwise.model import solvers
from bagwise.model.solvers import replay

EVERY = pytest.mark.parametrize("name", solvers.available())
BATCH = pytest.mark.parametrize("name", ["gd", "lbfgs"])


def fitted(name, bags, labels, **parameters):
    return MIMLClassifier(name, max_iter=20, random_state=1, **parameters).fit(bags, labels)


@EVERY
def test_same_seed_same_model_and_inputs_unchanged(name, small):
    bags, labels = small
    before = bags.instances.copy(), labels.copy()
    first, second = fitted(name, bags, labels), fitted(name, bags, labels)
    np.testing.assert_array_equal(first.weights_, second.weights_)
    np.testing.assert_array_equal(bags.instances, before[0])
    assert labels == before[1]


@EVERY
def test_likelihood_is_recorded_and_grows(name, small):
    model = fitted(name, *small)
    history = model.log_likelihood_
    assert 2 <= len(history) <= 21
    assert history[-1] > history[0]
    total = model.objective_of(model.instances(small[0]), small[1]).log_likelihood_and_gradient(model.weights_)[0]
    assert history[-1] == pytest.approx(total)


@EVERY
def test_order_of_instances_does_not_matter(name, small, rng):
    bags, labels = small
    shuffled = Bags.from_list([bag[rng.permutation(len(bag))] for bag in bags])
    np.testing.assert_allclose(fitted(name, bags, labels).weights_, fitted(name, shuffled, labels).weights_, atol=1e-8)


@BATCH
def test_order_of_bags_does_not_matter(name, small, rng):
    bags, labels = small
    order = rng.permutation(len(bags))
    shuffled = fitted(name, bags.select(order), labels.select(order))
    np.testing.assert_allclose(fitted(name, bags, labels).weights_, shuffled.weights_, atol=1e-6)


@EVERY
def test_nothing_is_learned_from_unknown_labels(name, small):
    """Bags without a known label change only the standardisation, which is left out here."""
    bags, labels = small
    more = Bags(np.concatenate([bags.instances, bags.instances[:3]]), [*bags.offsets, bags.offsets[-1] + 3])
    more_labels = Labels.from_array(np.vstack([labels.to_array(), [np.nan] * 4]))
    alone, together = (fitted(name, *data, transformer=None) for data in ((bags, labels), (more, more_labels)))
    if name in ("gd", "lbfgs"):
        np.testing.assert_allclose(alone.weights_, together.weights_, atol=1e-9)
    else:
        np.testing.assert_array_equal(alone.weights_, together.weights_)


@EVERY
def test_one_known_label_is_enough(name, small):
    bags, _ = small
    labels = Labels.unknown(len(bags), 4)
    labels.record(2, 1, True)
    model = fitted(name, bags, labels)
    assert np.isfinite(model.weights_).all()
    assert model.predict_proba(bags)[2, 1] > MIMLClassifier().prepare(bags, 4).predict_proba(bags)[2, 1]


@EVERY
def test_weights_stay_in_the_ball(name, small):
    bags, labels = small
    model = fitted(name, bags, labels, penalty=5.0, step_size=3.0)
    assert np.linalg.norm(model.weights_) <= model.objective_of(model.instances(bags), labels).radius * (1 + 1e-9)


@EVERY
def test_partial_fit_goes_on_from_where_it_stands(name, small):
    bags, labels = small
    model = MIMLClassifier(name, step_size=0.05)
    values = []
    for _ in range(5):
        model.partial_fit(bags, labels)
        values.append(model.objective_of(model.instances(bags), labels)(model.weights_)[0])
    assert values[-1] < values[0]


def test_all_solvers_approach_the_same_minimum(small):
    bags, labels = small
    best = MIMLClassifier("lbfgs", prior=3.0, tol=1e-9).fit(bags, labels)
    objective = best.objective_of(best.instances(bags), labels)
    minimum = objective(best.weights_)[0]
    for name in solvers.available():
        model = MIMLClassifier(name, prior=3.0, max_iter=3000, step_size=1.0, random_state=0).fit(bags, labels)
        assert objective(model.weights_)[0] < minimum + 0.003, name


def test_a_replay_step_costs_the_same_with_many_labels(rng):
    """It looks at the answered bag and a fixed number of others, whatever is known; a refit looks at all."""
    bags = Bags.from_list([rng.normal(size=(3, 4)) for _ in range(200)])
    labels = Labels(rng.random((200, 3)) < 0.4, np.ones((200, 3), bool))
    model = MIMLClassifier().prepare(bags, 3)
    objective = model.objective_of(model.instances(bags), labels)
    batch = replay._batch(objective, model.state, np.array([7]), model.settings())
    assert replay.REPLAYED <= len(batch.labels) <= replay.REPLAYED + 1
    state = model.state
    for _ in range(replay.REFIT_EVERY - 1):
        state = replay.update(objective, state, np.array([7]), np.array([0]), model.settings())
        assert state.moments is not None
    state = replay.update(objective, state, np.array([7]), np.array([0]), model.settings())
    assert state.moments is None, "the moments start from zero after a refit"
    assert objective(state.weights)[0] < objective(model.weights_)[0]

"""What must be true of every criterion, present and future."""

import pickle

import numpy as np
import pytest

from bagwise import ActiveLearner, Bags, BagwiseError, MIMLClassifier
from bagwise.learning import criteria
from bagwise.learning.granularity import GRANULARITIES

EVERY = pytest.mark.parametrize("name", criteria.available())


@pytest.fixture
def model(small):
    return MIMLClassifier(random_state=5).fit(*small)


@EVERY
def test_scores_are_finite_and_larger_than_nothing(name, model, small):
    scores = criteria.get(name)(model.pool(*small))
    assert scores.shape == (12, 4)
    assert np.isfinite(scores).all()
    assert (scores >= 0).all()
    assert len(np.unique(scores)) > 10


@EVERY
def test_order_of_bags_and_instances_does_not_matter(name, model, small, rng):
    bags, labels = small
    order = rng.permutation(len(bags))
    shuffled = Bags.from_list([bags[b][rng.permutation(len(bags[b]))] for b in order], ids=bags.ids[order])
    expected = criteria.get(name)(model.pool(bags, labels))
    np.testing.assert_allclose(criteria.get(name)(model.pool(shuffled, labels.select(order))), expected[order])


@EVERY
def test_inputs_are_not_changed(name, model, small):
    bags, labels = small
    pool = model.pool(bags, labels)
    before = [pool.present.copy(), pool.absent.copy(), bags.instances.copy(), labels.copy()]
    criteria.get(name)(pool)
    np.testing.assert_array_equal(pool.present, before[0])
    np.testing.assert_array_equal(pool.absent, before[1])
    np.testing.assert_array_equal(bags.instances, before[2])
    assert labels == before[3]


@EVERY
def test_same_seed_same_scores_and_a_pickled_model_scores_the_same(name, model, small):
    expected = criteria.get(name)(model.pool(*small))
    np.testing.assert_array_equal(criteria.get(name)(model.pool(*small)), expected)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(criteria.get(name)(again.pool(*small)), expected)


@EVERY
def test_scoring_in_chunks_equals_scoring_whole(name, model, small):
    bags, _ = small
    criterion = criteria.get(name)
    chunks = [criterion(model.pool(bags.select(chunk))) for chunk in (np.arange(5), np.arange(5, 12))]
    np.testing.assert_allclose(np.vstack(chunks), criterion(model.pool(bags)), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "granularity"),
    [
        (name, granularity)
        for name in criteria.available()
        for granularity in GRANULARITIES
        if granularity != "instance" or name == "random" or criteria.rises_with(name)
    ],
)
@pytest.mark.parametrize("update", ["bag_sgd", "lbfgs"])
def test_known_pairs_are_never_asked(name, granularity, update, small):
    """Answer everything there is to ask: each pair comes exactly once, and nothing known comes at all.

    Each pair of an instance and a class, where questions are about instances.
    """
    bags, labels = small
    learner = ActiveLearner(
        bags, list("abcd"), labels, criterion=name, granularity=granularity, update=update, audit=0.2
    )
    asked = []
    while not learner.exhausted:
        question = learner.ask()
        asked += [(question.bag, c, question.instance) for c in question.classes]
        learner.tell(question, [len(asked) % 3 == 0 or None] * len(question.classes))
    assert len(asked) == len(set(asked))
    assert {(bag, c) for bag, c, _ in asked} == set(zip(*np.nonzero(~labels.known), strict=True))


def test_instances_are_not_scored_alone_by_a_criterion_that_needs_other_bags(small):
    bags, labels = small
    options = {"criterion": "information_gain", "granularity": "instance", "audit": 0, "cold_start": False}
    with pytest.raises(BagwiseError, match="declares RISES_WITH"):
        ActiveLearner(bags, list("abcd"), labels, **options).ask()

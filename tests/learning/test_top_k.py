"""What is selected chunk by chunk is what scoring everything at once would select, bit for bit."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from bagwise import ActiveLearner, Bags, Labels, MIMLClassifier
from bagwise.kernels.arithmetic.product import Linear, pack, padded, product_into
from bagwise.kernels.arithmetic.rounding import fresh_slack
from bagwise.learning import criteria, granularity, top_k
from bagwise.learning.top_k import scan
from bagwise.model import solvers

CLASSES = 5
BOUNDED = [name for name in criteria.available() if criteria.rises_with(name)]


def a_pool(rng, bags=300, features=12, dtype=np.float32, apart=2.0):
    sizes = rng.integers(1, 9, bags)
    x = rng.normal(size=(sizes.sum(), features)) + apart * rng.integers(0, 2, (sizes.sum(), 1))
    return Bags(x.astype(dtype), np.concatenate([[0], np.cumsum(sizes)]))


def some_labels(rng, bags, complete=4):
    value = rng.random((len(bags), CLASSES)) < 0.3
    return value, Labels(value, np.arange(len(bags))[:, None] < complete * np.ones(CLASSES))


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Small pools are to be selected from as large ones are."""
    monkeypatch.setattr(top_k, "PAIRS_AT_A_TIME", 60 * CLASSES)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("features", "classes"), [(1, 2), (7, 9), (128, 51), (300, 130)])
def test_a_product_is_right_and_knows_nothing_of_the_rows_beside(features, classes, dtype, rng):
    x, weights = rng.normal(size=(97, features)).astype(dtype), rng.normal(size=(classes, features)).astype(dtype)
    whole, packed = np.full((97, padded(classes)), np.nan, dtype), pack(weights)
    product_into(whole, x, packed, 0.0)
    np.testing.assert_allclose(
        whole[:, :classes], x.astype(float) @ weights.T, atol=1e-4 if dtype == np.float32 else 1e-12
    )
    assert (whole[:, classes:] == 0).all()
    for count in (1, 2, 5, 31):
        rows = rng.permutation(97)[:count]
        some = np.empty((count, padded(classes)), dtype)
        product_into(some, x[rows], packed, 0.0)
        np.testing.assert_array_equal(some, whole[rows])
    product_into(whole, x, packed, 0.5)
    np.testing.assert_allclose(whole[:, :classes], 1.5 * (x.astype(float) @ weights.T), atol=1e-3)


@pytest.mark.parametrize("name", BOUNDED)
def test_a_bag_has_the_same_scores_among_others_and_alone(name, rng):
    bags = a_pool(rng, bags=40)
    _, labels = some_labels(rng, bags)
    pool = MIMLClassifier(random_state=3).fit(bags, labels).pool(bags, labels)
    scores = criteria.get(name)(pool)
    for chosen in (np.array([7]), rng.permutation(40)[:11]):
        np.testing.assert_array_equal(criteria.get(name)(pool.select(chosen)), scores[chosen])
    np.testing.assert_array_equal(criteria.get(name)(pool.between(5, 23)), scores[5:23])


def full(learner):
    pool = learner.pool()
    return granularity.pair(pool, criteria.get(learner.criterion)(pool), 1)[0]


def same_as_full(learner):
    asked = learner.ask()
    if not asked.audit:
        expected = full(learner)
        assert (asked.bag, asked.classes, asked.score) == (expected.bag, expected.classes, expected.score)
    return asked


def one_random_step(learner, truth, rng):
    """An answer mostly, or a change of mind."""
    known = np.argwhere(~learner._label_store.askable)
    kind = rng.random()
    if kind < 0.1 and learner.last_answer is not None:
        learner.undo()
    elif kind < 0.17:
        learner.revise(*map(int, known[rng.integers(len(known))]), bool(rng.random() < 0.5))
    elif kind < 0.24 and len(known) > 10:
        learner.retract(*map(int, known[rng.integers(len(known))]))
    else:
        question = same_as_full(learner)
        answer = [bool(truth[question.bag, c]) for c in question.classes]
        learner.tell(question, None if rng.random() < 0.1 else answer)


def a_conversation(criterion, update, rng):
    """A learner that has heard one answer, and the truth about its bags."""
    long = {"features": 80, "apart": 0.0} if criterion == "expected_gradient_length" else {}
    bags = a_pool(rng, dtype=np.float32 if rng.random() < 0.7 else np.float64, **long)
    truth, labels = some_labels(rng, bags, complete=4 if rng.random() < 0.7 else 0)
    model = MIMLClassifier(max_iter=20)
    learner = ActiveLearner(
        bags, list("abcde"), labels, model, criterion, update=update, audit=0.15, random_state=5, cold_start=False
    )
    learner.tell(learner.ask(), True)
    return learner, truth


@pytest.mark.parametrize("update", solvers.available())
@pytest.mark.parametrize("criterion", BOUNDED)
def test_a_long_random_run_asks_what_scoring_everything_would_ask(criterion, update, request):
    """As long as wanted: where everything is answered, another conversation goes on."""
    rng = np.random.default_rng([len(criterion), len(update)])
    learner, truth = a_conversation(criterion, update, rng)
    for _ in range(request.config.getoption("--steps")):
        if learner.exhausted:
            learner, truth = a_conversation(criterion, update, rng)
        one_random_step(learner, truth, rng)


def alike(rng):
    """Every bag there is several times over: nothing but ties."""
    bags = a_pool(rng, bags=20)
    return Bags.from_list([bags[b % 20] for b in range(240)])


def of_all_sizes(rng):
    """A bag of one instance beside one of hundreds."""
    return Bags.from_list([rng.normal(size=(size, 5)).astype(np.float32) for size in (1, 600, 3, 40, 1, 90) * 20])


def of_all_lengths(rng):
    """Instances thousands of times as long as others."""
    bags = a_pool(rng, bags=200)
    return Bags(
        (bags.instances * 10.0 ** rng.integers(-3, 4, (len(bags.instances), 1))).astype(np.float32), bags.offsets
    )


def of_one_feature(rng):
    """One number for every instance."""
    return a_pool(rng, bags=150, features=1)


@pytest.mark.parametrize("update", ["bag_sgd", "pair_sgd", "replay"])
@pytest.mark.parametrize("criterion", ["uncertainty", "expected_gradient_length"])
@pytest.mark.parametrize("made", [alike, of_all_sizes, of_all_lengths, of_one_feature])
@pytest.mark.parametrize("step_size", [0.1, 30.0])
def test_strange_pools_are_selected_from_as_by_a_full_pass(made, criterion, update, step_size, rng):
    """Ties, extreme sizes and lengths, steps that blow the weights up; an answer is taken back now and then."""
    bags = made(rng)
    truth, labels = some_labels(rng, bags)
    model = MIMLClassifier(max_iter=5, transformer=None, step_size=step_size)
    learner = ActiveLearner(bags, list("abcde"), labels, model, criterion, update=update, audit=0, random_state=2)
    for number in range(12):
        question = same_as_full(learner)
        learner.tell(question, bool(truth[question.bag, question.classes[0]]))
        if number % 5 == 4:
            learner.undo()


def test_the_best_few_are_those_of_a_full_pass(rng):
    bags = a_pool(rng)
    truth, labels = some_labels(rng, bags)
    learner = ActiveLearner(bags, list("abcde"), labels, criterion="uncertainty", update="bag_sgd", audit=0)
    for _ in range(15):
        question = learner.ask()
        learner.tell(question, bool(truth[question.bag, question.classes[0]]))
        pool = learner.pool()
        expected = granularity.pair(pool, criteria.uncertainty(pool), 9)
        found = [(q.bag, q.classes, q.score) for q in learner.rank(9)]
        assert found == [(q.bag, q.classes, q.score) for q in expected]
    again = pickle.loads(pickle.dumps(learner))
    assert again.ask() == learner.ask()


def test_what_is_remembered_of_a_small_pool_is_not_what_a_criterion_changed(rng):
    """A model that stays as it is has not to score the bags again; a criterion may still overwrite what it gets."""
    bags = a_pool(rng, bags=60)
    truth, labels = some_labels(rng, bags)

    def overwriting(pool):
        scores = criteria.uncertainty(pool)
        pool.present[:] = pool.absent[:] = 0.0
        return scores

    given = {"labels": labels, "update": "lbfgs", "audit": 0, "refit_every": 5, "random_state": 1}
    plain = ActiveLearner(bags, list("abcde"), criterion="uncertainty", **given)
    other = ActiveLearner(bags, list("abcde"), criterion=overwriting, **given)
    for _ in range(12):
        question = plain.ask()
        assert other.ask() == question == replace(plain.rank(1)[0], evidence=question.evidence, belief=question.belief)
        pool = plain.model.pool(bags, plain.labels)
        expected = np.where(plain.labels.known, -np.inf, criteria.uncertainty(pool))
        assert question.score == expected[question.bag, question.classes[0]] == expected.max()
        for learner in (plain, other):
            learner.tell(question, bool(truth[question.bag, question.classes[0]]))


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("storage", [np.float16, np.float32])
def test_a_pool_in_a_file_is_scored_part_by_part(name, storage, tmp_path, rng):
    """The same pairs as from memory, in half precision as from the same numbers in single precision."""
    held = a_pool(rng, bags=500)
    numbers = held.instances.astype(storage)
    np.save(tmp_path / "x.npy", numbers)
    mapped = Bags(np.load(tmp_path / "x.npy", mmap_mode="r"), held.offsets)
    assert mapped.instances.dtype == storage
    in_memory = Bags(numbers.astype(np.float32), held.offsets)
    _, labels = some_labels(rng, held)
    model = MIMLClassifier(transformer=None).fit(in_memory, labels)
    expected = granularity.pair(model.pool(in_memory, labels), criteria.get(name)(model.pool(in_memory, labels)), 7)
    assert scan(model.pool(mapped, labels), name, 7) == expected


@pytest.mark.parametrize("update", solvers.available())
def test_a_learner_keeps_half_precision_and_learns_in_single(update, rng):
    bags = a_pool(rng, bags=60)
    half = Bags(bags.instances.astype(np.float16), bags.offsets)
    rounded = Bags(half.instances.astype(np.float32), bags.offsets)
    truth, labels = some_labels(rng, bags)
    learners = [
        ActiveLearner(one, list("abcde"), labels, MIMLClassifier(transformer=None), update=update)
        for one in (half, rounded)
    ]
    for _ in range(12):
        one, other = (learner.ask() for learner in learners)
        assert (one.bag, one.classes) == (other.bag, other.classes)
        for learner in learners:
            learner.tell(one, bool(truth[one.bag, one.classes[0]]))


def test_rounding_of_a_product_is_within_its_bound(rng):
    x, weights = rng.normal(size=(500, 64)).astype(np.float32), rng.normal(size=(9, 64)).astype(np.float32)
    out = np.empty((500, padded(9)), np.float32)
    product_into(out, x, Linear(weights, np.zeros(9)).packed, 0.0)
    off = np.abs(out[:, :9] - x.astype(float) @ weights.astype(float).T).max(axis=1)
    assert (off <= fresh_slack(weights) * np.linalg.norm(x.astype(float), axis=1)).all()

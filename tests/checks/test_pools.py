"""What must be true of every pool, wherever its bags are stored and whatever finds the best pairs.

Each is compared with a `LocalPool` over bags in memory, bit for bit.
"""

from contextlib import ExitStack
from itertools import pairwise

import numpy as np
import pytest

from bagwise import ActiveLearner, Bags, BagwiseError, MIMLClassifier
from bagwise.data.labels import Labels
from bagwise.learning.active_search import searched
from bagwise.learning.base import NothingToAsk
from bagwise.learning.cold_start import ColdStart
from bagwise.learning.pool import LocalPool, QueryOptions, Request
from bagwise.learning.top_k import TopK
from bagwise.partitions import Partitions

CLASSES = list("abcd")
BAGS = 120
CRITERIA = ["uncertainty", "widening_uncertainty", "balanced_uncertainty", "expected_gradient_length", "random"]


@pytest.fixture(scope="module")
def bags():
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 7, BAGS)
    x = (rng.normal(size=(sizes.sum(), 8)) * rng.exponential(2, 8) + 1).astype(np.float32)
    return Bags(x, np.concatenate([[0], np.cumsum(sizes)]), [f"bag {n}" for n in range(BAGS)])


@pytest.fixture(scope="module")
def truth(bags):
    weights = np.random.default_rng(4).normal(size=(len(CLASSES), 8))
    return np.array([((bag - 1) @ weights.T).max(axis=0) > 4 for bag in bags])


@pytest.fixture(scope="module")
def labels(truth):
    return Labels(truth, np.arange(BAGS)[:, None] % 12 < np.ones(len(CLASSES)))


def in_memory(bags, folder, stack):
    return LocalPool(bags)


def memory_mapped(bags, folder, stack):
    np.save(folder / "instances.npy", bags.instances)
    return LocalPool(Bags(np.load(folder / "instances.npy", mmap_mode="r"), bags.offsets, bags.ids))


def partitioned(bags, folder, stack):
    return LocalPool(_partitions(bags, folder).bags(bags.ids, bags.offsets))


def on_a_gpu(bags, folder, stack):
    """Torch on the CPU where there is no GPU."""
    pytest.importorskip("torch")
    from tests.support.on_device import pool_on_device, without_interpreter

    without_interpreter(stack.enter_context(pytest.MonkeyPatch.context()))
    return pool_on_device(bags)


def on_ray(bags, folder, stack):
    from bagwise.cluster import RayPool

    return stack.enter_context(RayPool.of(bags, [70, 1, 49], cpus=0.1))


def on_ray_in_partitions(bags, folder, stack):
    from bagwise.cluster import RayPool

    return stack.enter_context(RayPool.open(_partitions(bags, folder), shards=2, cpus=0.1))


def _partitions(bags, folder):
    edges = [0, 30, 31, 90, BAGS]
    chunks = [bags.select(range(*pair)) for pair in pairwise(edges)]
    return Partitions.write(folder / "partitions", chunks)


@pytest.fixture(scope="module")
def cluster():
    """For all pools that need one."""
    from tests.support.local_ray import local_ray

    with local_ray() as address:
        yield address


ON_A_CLUSTER = (on_ray, on_ray_in_partitions)


@pytest.fixture(
    scope="module",
    params=[
        in_memory,
        memory_mapped,
        partitioned,
        on_a_gpu,
        *(pytest.param(one, marks=pytest.mark.slow) for one in ON_A_CLUSTER),
    ],
)
def pool(request, bags, tmp_path_factory):
    if request.param in ON_A_CLUSTER:
        pytest.importorskip("ray")
        request.getfixturevalue("cluster")
    with ExitStack() as stack:
        made = request.param(bags, tmp_path_factory.mktemp("pool"), stack)
        yield made
        # Closing it again does no harm.
        made.close()
        made.close()


def begun(pool, labels=None):
    """A model prepared for a pool, and its label store; fitted where something is known."""
    model, store = MIMLClassifier(max_iter=10), pool.label_store(labels, len(CLASSES))
    pool.prepare(model, len(CLASSES), seed=5)
    if labels is not None:
        model.learn(pool.objective(model, store, np.empty(0, int))[0])
    return model, store


@pytest.fixture(scope="module")
def local(bags):
    return LocalPool(bags, TopK())


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("granularity", ["pair", "bag", "bag_then_class", "best_value"])
def test_the_same_choices(pool, local, labels, criterion, granularity):
    found = []
    for one in (pool, local):
        model, store = begun(one, labels)
        options = QueryOptions(granularity, last=3, seed=5)
        found.append(one.choose(model, store, options, [Request(criterion, 7), Request("random", 0)]))
    assert found[0] == found[1]
    assert len(found[0].choices[0]) == 7
    assert found[0].choices[1] == []
    assert not found[0].partial


@pytest.mark.parametrize("granularity", ["pair", "bag", "best_value"])
def test_of_candidates_the_best_of_all(pool, local, labels, granularity):
    candidates = np.arange(BAGS) % 3 == 1
    model, store = begun(local, labels)
    everything = [Request("uncertainty", BAGS * len(CLASSES)), Request("random", BAGS * len(CLASSES))]
    of_all = local.choose(model, store, QueryOptions(granularity, seed=5), everything)
    expected = [[one for one in some if candidates[one.bag]] for some in of_all.choices]
    model, store = begun(pool, labels)
    options = QueryOptions(granularity, seed=5, candidates=candidates)
    found = pool.choose(model, store, options, [Request("uncertainty", 7), Request("random", 5)])
    assert found.choices == [expected[0][:7], expected[1][:5]]
    assert not found.partial


def test_only_candidates_are_asked_until_none_is_left(pool, bags, truth):
    candidates = np.isin(np.arange(BAGS), [3, 69, 70, 71, 119])
    learner = ActiveLearner(classes=CLASSES, pool=pool, candidates=candidates, random_state=4)
    unlimited = ActiveLearner(bags, CLASSES, audit=0.0, random_state=4)
    asked = []
    for _ in range(5 * len(CLASSES)):
        question = learner.ask()
        asked.append((question.bag, *question.classes))
        for one in (learner, unlimited):
            one.tell(question, bool(truth[asked[-1]]))
    assert sorted({bag for bag, _ in asked}) == np.flatnonzero(candidates).tolist()
    assert len(set(asked)) == len(asked)
    with pytest.raises(NothingToAsk, match="about the candidates"):
        learner.ask()
    assert learner.rank(5) == []
    learner.candidates, learner.audit = np.arange(BAGS) < 40, 0.0
    expected = [one for one in unlimited.rank(BAGS * len(CLASSES)) if one.bag < 40]
    assert learner.rank(30) == expected[:30], "what is learned does not depend on the candidates"


@pytest.mark.parametrize("update", ["replay", "bag_sgd", "lbfgs"])
@pytest.mark.parametrize("start", ["nothing", "nothing but embeddings", "labels"])
def test_the_same_questions_one_after_the_other(pool, bags, labels, truth, update, start, monkeypatch):
    if "embeddings" in start:
        # The cold start ends while questions are compared.
        monkeypatch.setattr("bagwise.learning.cold_start.MANY_FEATURES", bags.n_features)
    options = {"labels": labels if start == "labels" else None, "update": update, "random_state": 4}
    learner, expected = ActiveLearner(classes=CLASSES, pool=pool, **options), ActiveLearner(bags, CLASSES, **options)
    for number in range(24 if "embeddings" in start else 12):
        questions = learner.ask(2)
        assert questions == expected.ask(2), number
        (label_class,), (marked,) = questions[0].classes, questions[0].evidence
        present = bool(truth[questions[0].bag, label_class])
        for one in (learner, expected):
            one.tell(questions[0], present, where=[marked] if present and number % 2 else [])
            if number % 4 == 1:
                one.tell(questions[1], None)
            if number % 5 == 2:
                one.undo()
    assert learner.rank(20) == expected.rank(20)
    snapshot = expected.snapshot()
    assert all(np.array_equal(value, snapshot[name]) for name, value in learner.snapshot().items())


@pytest.mark.parametrize("looked_at", [20, 256])
def test_the_same_audits_with_the_same_probabilities(pool, bags, labels, truth, looked_at, monkeypatch):
    """Where a part of the bags is looked at for a draw, and where all are."""
    monkeypatch.setattr("bagwise.learning.audits.FIRST_PHASE", looked_at)
    options = {"labels": labels, "audit": 0.5, "audit_design": "balanced", "random_state": 6}
    learner, expected = ActiveLearner(classes=CLASSES, pool=pool, **options), ActiveLearner(bags, CLASSES, **options)
    drawn = []
    for number in range(8):
        questions = learner.ask(3)
        assert questions == expected.ask(3), number
        drawn += [one.probability for one in questions if one.audit]
        (label_class,), (marked,) = questions[0].classes, questions[0].evidence
        present = bool(truth[questions[0].bag, label_class])
        for one in (learner, expected):
            one.tell(questions[0], present, where=[marked] if present else [])
    assert learner.rank(60) == expected.rank(60)
    assert len(drawn) > 6
    assert all(0 < one < 1 for one in drawn)


def test_the_same_predictions_of_some_bags(pool, local, labels):
    chosen, found = np.array([119, 0, 70, 71, 33]), []
    for one in (pool, local):
        model, store = begun(one, labels)
        found.append(one.present(model, store, chosen))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[1], model.predict_proba(local.bags)[chosen])


@pytest.mark.parametrize("granularity", ["pair", "bag"])
def test_the_same_search_for_rare_classes(pool, local, granularity):
    value = np.arange(BAGS)[:, None] == [8, 64, 72, BAGS]
    rare = Labels(value, np.arange(BAGS)[:, None] % 8 < np.array([1, 1, 1, 0]))
    found = []
    for one in (pool, local):
        model, store = begun(one, rare)
        assert searched(store.label_counts).tolist() == [True, True, True, False]
        options = QueryOptions(granularity, ColdStart(discovered=0), seed=5)
        found.append(one.choose(model, store, options, [Request("uncertainty", 9)]))
    assert found[0] == found[1]
    if granularity == "pair":
        likeliest = np.where(store.askable, model.predict_proba(local.bags), 0)[:, :3].ravel()
        assert [question.score for question in found[0].choices[0]] == sorted(likeliest, reverse=True)[:9]


@pytest.mark.parametrize("alone", [False, True])
def test_the_same_objective(pool, local, labels, alone):
    answered = np.array([60, 12, 60])
    values = []
    for one in (pool, local):
        model, store = begun(one, labels)
        objective, positions = one.objective(model, store, answered, alone)
        assert len(positions) == len(answered)
        weights = np.random.default_rng(0).normal(size=model.weights_.shape)
        # Over all labelled bags, or over those answered, whichever bags the objective has besides.
        values.append((objective.about(positions) if alone else objective)(weights))
    assert values[0][0] == values[1][0]
    np.testing.assert_array_equal(values[0][1], values[1][1])


def test_the_same_label_store(pool, local, labels):
    stores = [one.label_store(labels, len(CLASSES)) for one in (pool, local)]
    for store in stores:
        store.record(50, 1, present=True, flip=0.1)
        store.withdraw(51, 2)
        store.forget(12, 0)
    found, expected = (store.known_labels() for store in stores)
    np.testing.assert_array_equal(found.bags, expected.bags)
    np.testing.assert_array_equal(found.withdrawn, expected.withdrawn)
    assert found.labels == expected.labels
    assert stores[0].shape == (BAGS, len(CLASSES))
    assert stores[0].labelled.tolist() == stores[1].labelled.tolist()
    assert stores[0].label_counts.n_open == stores[1].label_counts.n_open
    assert [store.is_open(51, 2) for store in stores] == [False, False]
    assert [store.flip(50, 1) for store in stores] == [0.1, 0.1]


def test_labels_of_another_shape_are_refused(pool, labels):
    with pytest.raises(BagwiseError, match=f"labels for 3 bags but {BAGS} bags"):
        pool.label_store(labels.select([0, 1, 2]), len(CLASSES))


def test_the_same_bags(pool, bags):
    assert repr(pool.bags) == repr(bags)
    assert len(pool.bags) == BAGS
    np.testing.assert_array_equal(pool.bags[-1], bags[-1])
    mask = np.arange(BAGS) % 50 == 7
    for chosen in ([119, 3, 3], [-1], mask):
        found, expected = pool.bags.select(chosen), bags.select(chosen)
        np.testing.assert_array_equal(found.instances, expected.instances)
        np.testing.assert_array_equal(found.offsets, expected.offsets)
        np.testing.assert_array_equal(found.ids, expected.ids)
    with pytest.raises(IndexError):
        pool.bags.select([BAGS])
    with pytest.raises(IndexError):
        pool.bags[BAGS]
    assert np.concatenate(list(pool.bags.portions())).tolist() == list(range(BAGS))
    assert pool.bags.name(7) == "bag 7"


def test_prefetched_bags_are_as_the_model_sees_them(pool, local):
    for one in (pool, local):
        begun(one)
        one.prefetch([100, 2])
    for bag in (100, 2, 71):
        found, expected = pool.instances(bag), local.instances(bag)
        np.testing.assert_array_equal(found.x, expected.x)
        np.testing.assert_array_equal(found.offsets, expected.offsets)


def test_statistics_count_the_questions(pool, labels):
    model, store = begun(pool, labels)
    before = pool.statistics.questions
    for _ in range(3):
        pool.choose(model, store, QueryOptions(), [Request("uncertainty", 1)])
    assert pool.statistics.questions == before + 3
    assert 0 < pool.statistics.share_looked_at <= 1


def test_a_pool_serves_one_learner_after_the_other(pool, bags, labels):
    """Also with other classes, and with class discovery, whose clusters depend on the seed."""
    for classes, seed in ((CLASSES, 1), (CLASSES[:2], 2)):
        learner = ActiveLearner(classes=classes, pool=pool, random_state=seed)
        expected = ActiveLearner(bags, classes, random_state=seed)
        for _ in range(3):
            question = learner.ask()
            assert question == expected.ask()
            for one in (learner, expected):
                one.tell(question, True)

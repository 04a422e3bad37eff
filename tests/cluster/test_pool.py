"""A pool on a cluster asks what a pool in one process asks, question by question, whatever happens to its shards.

Ray is started by the tests themselves. `BAGWISE_CLUSTER_ANSWERS=500 pytest tests/cluster`
is the full size.
"""

import copy
import os
import shutil
import signal
import threading
import time

import numpy as np
import pytest

from bagwise import ActiveLearner, Bags, BagwiseError, MIMLClassifier
from bagwise.cluster import RayPool, connect, messages
from bagwise.cluster.distributed_objective import DistributedObjective
from bagwise.cluster.shard import Shard
from bagwise.data.label_store import KnownLabels
from bagwise.data.labels import Labels
from bagwise.partitions import Partitions

# Ray takes a minute of two cores to start and end.
pytestmark = pytest.mark.slow
ANSWERS = int(os.environ.get("BAGWISE_CLUSTER_ANSWERS", "40"))
CLASSES = list("abcde")
BAGS = 240
SLOW = 3.0
SHARDS = {"one": [BAGS], "two": [200, 40], "three": [1, 120, 119]}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 8, BAGS)
    x = (rng.normal(size=(sizes.sum(), 10)) * rng.exponential(2, 10) + 3).astype(np.float32)
    bags = Bags(x, np.concatenate([[0], np.cumsum(sizes)]), [f"bag {n}" for n in range(BAGS)])
    weights = rng.normal(size=(len(CLASSES), 10)) / np.std(x, axis=0)
    truth = np.array([((bag - 3) @ weights.T).max(axis=0) > 4 for bag in bags])
    return bags, truth


class Watched(Shard):
    """A shard that can be made slow, and returns its process id."""

    slow = 0.0

    def pid(self):
        return os.getpid()

    def be_slow(self, seconds):
        self.slow = seconds

    def choose(self, asked):
        time.sleep(self.slow)
        return super().choose(asked)


class WatchedPool(RayPool):
    shard = Watched


@pytest.fixture(scope="module")
def pools(data):
    made = {name: WatchedPool.of(data[0], sizes, cpus=0.1) for name, sizes in SHARDS.items()}
    yield made
    for pool in made.values():
        pool.close()


def answer(learner, question, truth):
    learner.tell(question, [bool(truth[question.bag, c]) for c in question.classes])


def assert_alike(here, there, truth, answers, now_and_then=lambda _: None):
    for number in range(answers):
        now_and_then(number)
        asked, also = here.ask(), there.ask()
        assert asked == also, number
        answer(here, asked, truth)
        answer(there, also, truth)


def pair_of(pool, data, **options):
    pool.timeout = None
    options = {"random_state": 4, **options}
    here = ActiveLearner(data[0], CLASSES, **options)
    return here, ActiveLearner(classes=CLASSES, pool=pool, **options)


@pytest.mark.parametrize("shards", SHARDS)
@pytest.mark.parametrize("criterion", ["uncertainty", "expected_gradient_length"])
def test_the_same_questions_one_after_the_other(pools, data, criterion, shards):
    labels = Labels(data[1], np.arange(BAGS)[:, None] % 40 < np.ones(len(CLASSES)))
    here, there = pair_of(pools[shards], data, criterion=criterion, update="bag_sgd", labels=labels)
    assert_alike(here, there, data[1], ANSWERS)
    assert there.statistics.questions > ANSWERS / 2


@pytest.mark.parametrize("update", ["replay", "lbfgs", "gd", "pair_sgd"])
@pytest.mark.parametrize("granularity", ["pair", "bag", "bag_then_class", "best_value"])
def test_from_nothing_with_every_update_and_granularity(pools, data, update, granularity):
    here, there = pair_of(pools["three"], data, update=update, granularity=granularity)
    assert_alike(here, there, data[1], 12)


def test_a_long_way_from_nothing(pools, data):
    here, there = pair_of(pools["two"], data)
    assert_alike(here, there, data[1], ANSWERS)


def test_undone_revised_withdrawn_and_asked_in_batches(pools, data):
    here, there = pair_of(pools["three"], data, update="lbfgs", criterion="balanced_uncertainty")
    for number in range(20):
        batch = here.ask(4)
        assert batch == there.ask(4)
        for learner in (here, there):
            answer(learner, batch[0], data[1])
            learner.tell(batch[1], None)
            if number % 3 == 0:
                learner.undo()
            if number % 4 == 1:
                learner.revise(batch[0].bag, batch[0].classes[0], False)
            if number % 5 == 2:
                learner.retract(batch[0].bag, batch[0].classes[0])
    assert here.rank(30) == there.rank(30)


def test_the_state_of_a_learner_can_be_restored(pools, data):
    here, there = pair_of(pools["two"], data)
    assert_alike(here, there, data[1], 15)
    snapshot = there.snapshot()
    assert all(np.array_equal(value, snapshot[name]) for name, value in here.snapshot().items())
    again = ActiveLearner(classes=CLASSES, pool=pools["three"], random_state=4, snapshot=snapshot)
    assert_alike(here, again, data[1], 15)


def test_labels_may_be_given_for_some_bags_only(pools, data):
    some = np.array([211, 3, 77])
    given = KnownLabels(some, Labels(data[1][some], np.ones((3, len(CLASSES)))), np.zeros((3, len(CLASSES)), bool))
    labels = Labels(data[1], np.isin(np.arange(BAGS), some)[:, None] * np.ones(len(CLASSES)))
    here = ActiveLearner(data[0], CLASSES, labels)
    there = ActiveLearner(classes=CLASSES, labels=given, pool=pools["three"])
    assert_alike(here, there, data[1], 10)
    assert there.known_labels.labels.n_known == here.labels.n_known
    for learner in (here, there):
        learner.retract(211, 0)
    assert_alike(here, there, data[1], 3)
    with pytest.raises(BagwiseError, match="known_labels"):
        _ = there.labels
    twice = KnownLabels(np.array([3, 3]), given.labels.select([0, 1]), given.withdrawn[:2])
    with pytest.raises(BagwiseError, match="Bag 3 has two rows"):
        ActiveLearner(classes=CLASSES, labels=twice, pool=pools["three"])


def test_a_batch_is_fetched_together(pools, data):
    here, there = pair_of(pools["three"], data, audit=0, cold_start=False)
    there.ask()
    before = pools["three"].messages.messages
    assert here.ask(40) == there.ask(40)
    assert pools["three"].messages.messages - before <= 10, "one message to each shard for the search, one for the bags"


def test_bags_are_named_as_in_one_process(pools, data):
    crowded = int(np.flatnonzero(data[0].sizes == 1)[5])
    labels = Labels(np.ones((BAGS, len(CLASSES)), bool), (np.arange(BAGS) == crowded)[:, None] * np.ones(len(CLASSES)))
    for options in ({"bags": data[0]}, {"pool": pools["three"]}):
        with pytest.raises(BagwiseError, match=f"position {crowded} has 1 instances"):
            ActiveLearner(classes=CLASSES, labels=labels, model=MIMLClassifier(objective="joint"), **options)


def test_any_few_bags_are_at_hand(pools, data):
    bags = pools["three"].bags
    assert len(bags) == BAGS
    np.testing.assert_array_equal(bags[-1], data[0][-1])
    chosen = bags.select([200, 3])
    assert chosen.ids.tolist() == ["bag 200", "bag 3"]
    np.testing.assert_array_equal(chosen.instances, data[0].select([200, 3]).instances)
    with pytest.raises(BagwiseError, match="on the cluster"):
        _ = bags.instances


# Faults


def kill(pool, shard):
    os.kill(pool.messages.send("pid", {shard: ()})[shard], signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(data):
    with WatchedPool.of(data[0], [200, 40], cpus=0.1) as pool:
        here, there = pair_of(pool, data)

        def now_and_then(number):
            if number == 3:
                kill(pool, 1)
            if number == 8:
                # In the middle of a question: it works on it when it is killed.
                pool.messages.send("be_slow", {0: (1.0,)})
                pid = pool.messages.send("pid", {0: ()})[0]
                threading.Timer(0.4, os.kill, (pid, signal.SIGKILL)).start()

        assert_alike(here, there, data[1], 16, now_and_then)
        assert all(np.array_equal(value, there.snapshot()[name]) for name, value in here.snapshot().items())
        pool._cache_bytes = 0
        objective, _ = pool.objective(there.model, there._label_store, np.empty(0, int))
        before = objective(there.model.weights_)
        kill(pool, 1)
        after = objective(there.model.weights_)
        assert before[0] == after[0]
        np.testing.assert_array_equal(before[1], after[1])


@pytest.mark.slow
def test_missing_storage_is_reported_and_once_it_is_back_all_goes_on(data, tmp_path):
    bags = data[0]
    partitions = Partitions.write(
        tmp_path / "partitions", [bags.select(np.arange(100)), bags.select(np.arange(100, BAGS))]
    )
    gone = tmp_path / "partitions" / partitions.entries[1].file
    with WatchedPool.open(tmp_path / "partitions", cpus=0.1) as pool:
        here, there = pair_of(pool, data)
        assert_alike(here, there, data[1], 3)
        gone.rename(tmp_path / "elsewhere")
        kill(pool, 1)
        with pytest.raises(BagwiseError, match=r"part-00001\.parquet.*missing"):
            there.ask()
        (tmp_path / "elsewhere").rename(gone)
        assert_alike(here, there, data[1], 3)
        shutil.rmtree(tmp_path / "partitions")
        Partitions.write(tmp_path / "partitions", [bags.select(np.arange(100)), bags.select(np.arange(99, BAGS))])
        kill(pool, 1)
        with pytest.raises(BagwiseError, match="changed since the pool was opened"):
            there.ask()
    with pytest.raises(BagwiseError, match="closed"):
        there.ask()


def asked_within_a_timeout(learner, pool):
    """The question of the shards that reply before a slow one; the timeout is longer on a busy machine."""
    pool.timeout = 0.1
    while True:
        try:
            return learner.ask()
        except BagwiseError:
            pool.timeout *= 1.5
            assert pool.timeout < SLOW, "no shard replied before the slow one"


@pytest.mark.slow
def test_a_slow_shard_is_waited_for_or_left_out(pools, data, caplog, monkeypatch):
    monkeypatch.setattr(messages, "WARN_AFTER", 0.2)
    pool = pools["two"]
    here, there = pair_of(pool, data, cold_start=False, audit=0)
    pool.messages.send("be_slow", {0: (SLOW,)})
    assert here.ask() == there.ask()
    assert "Waiting for shard 0 (bags 0 to 199)" in caplog.text
    some = asked_within_a_timeout(there, pool)
    assert some.partial
    assert some.bag >= 200
    assert asked_within_a_timeout(there, pool).partial, "it still works on what it was asked before"
    pool.messages.send("be_slow", {1: (SLOW,)})
    pool.timeout = 0.1
    with pytest.raises(BagwiseError, match=r"No shard replied within 0\.1 s"):
        there.ask()
    with pytest.raises(BagwiseError, match=r"No shard replied within 0\.1 s"):
        there.ask(3)
    pool.timeout = None
    pool.messages.send("be_slow", {1: (0.0,)})
    assert not there.ask().partial
    pool.messages.send("be_slow", {0: (0.0,)})
    assert_alike(here, there, data[1], 3)


class Silence:
    """Ray whose shards never reply, and a clock that waiting for them moves on."""

    now = 0.0

    def get(self, refs, timeout):
        if not refs:
            return []
        self.now += timeout
        raise messages.GetTimeoutError

    def wait(self, refs, timeout, num_returns=1):
        self.now += timeout
        return [], refs

    def monotonic(self):
        return self.now


@pytest.mark.parametrize("late", [{}, {0: "a message before"}])
@pytest.mark.parametrize("timeout", [0.2, 1.5, 10.0])
def test_a_timeout_is_one_span_of_time(pools, timeout, late, monkeypatch):
    silence, alone = Silence(), pools["one"].messages
    monkeypatch.setattr(messages, "ray", silence)
    monkeypatch.setattr(messages, "time", silence)
    monkeypatch.setattr(alone, "_warn_waiting", lambda _: None)
    monkeypatch.setattr(alone, "_late", dict(late))
    with pytest.raises(BagwiseError, match="No shard replied within"):
        alone.broadcast("about", timeout=timeout)
    assert silence.now == pytest.approx(timeout)


def test_what_is_left_may_be_in_a_slow_shard(pools, data):
    pool = pools["two"]
    labels = Labels(data[1], (np.arange(BAGS) >= 200)[:, None] * np.ones(len(CLASSES)))
    _, there = pair_of(pool, data, labels=labels, audit=0, model=MIMLClassifier(max_iter=2))
    there.ask()
    # On a busy machine the other shard needs a while, too.
    pool.messages.send("be_slow", {0: (5.0,)})
    pool.timeout = 2.0
    with pytest.raises(BagwiseError, match="in shards that did not reply in time"):
        there.ask()
    pool.timeout = None
    pool.messages.send("be_slow", {0: (0.0,)})


class Unborn(Shard):
    def __init__(self, *_):
        raise ModuleNotFoundError("No module named 'bagwise'")


def test_a_shard_that_cannot_start_is_not_waited_for(data, monkeypatch):
    monkeypatch.setattr(RayPool, "shard", Unborn)
    with pytest.raises(BagwiseError, match=r"cannot be restarted.*No module named 'bagwise'"):
        RayPool.of(data[0], 1, cpus=0.1)


def test_a_shard_that_fails_is_named(pools):
    with pytest.raises(BagwiseError, match=r"shard 0 .* failed: AttributeError"):
        pools["one"].messages.broadcast("no_such_thing")


# Training over shards


@pytest.mark.slow
def test_gradients_are_summed_where_the_bags_are(data, monkeypatch):
    bags = Bags(data[0].instances.astype(float), data[0].offsets, data[0].ids)
    labels = Labels(data[1], np.random.default_rng(0).random(data[1].shape) < 0.4)
    with RayPool.of(bags, [100, 20, 120], cpus=0.1, cache_bytes=0) as pool:
        here, there = pair_of(pool, (bags, data[1]), labels=labels, update="lbfgs", model=MIMLClassifier(max_iter=15))
        np.testing.assert_allclose(there.model.weights_, here.model.weights_, rtol=1e-6, atol=1e-9)
        ours, _ = there._pool.objective(there.model, there._label_store, np.empty(0, int))
        theirs, _ = here._pool.objective(here.model, here._label_store, np.empty(0, int))
        assert isinstance(ours, DistributedObjective)
        for branches, weights in ((2, np.zeros_like(here.model.weights_)), (8, here.model.weights_)):
            monkeypatch.setattr(messages, "BRANCHES", branches)
            value, gradient = ours(weights)
            assert value == pytest.approx(theirs(weights)[0], rel=1e-12)
            np.testing.assert_allclose(gradient, theirs(weights)[1], rtol=1e-9, atol=1e-13)
        for update in ("lbfgs", "gd", "replay", "bag_sgd"):
            here.update = there.update = update
            question = here.ask()
            answer(here, question, data[1])
            answer(there, question, data[1])
            np.testing.assert_allclose(there.model.weights_, here.model.weights_, rtol=1e-6, atol=1e-8)


# What is refused


def test_what_needs_all_bags_in_one_place_is_refused(pools, data):
    pool = pools["one"]
    with pytest.raises(BagwiseError, match=r"information_gain.* scores a pair by the labels of other bags"):
        ActiveLearner(classes=CLASSES, pool=pool, criterion="information_gain").ask()
    with pytest.raises(BagwiseError, match="all instances in one place"):
        ActiveLearner(classes=CLASSES, pool=pool, model=MIMLClassifier(transformer="nystroem"))
    with pytest.raises(BagwiseError, match="Give either"):
        ActiveLearner(data[0], CLASSES, pool=pool)
    with pytest.raises(BagwiseError, match="Give either"):
        ActiveLearner(classes=CLASSES)
    with pytest.raises(BagwiseError, match="chooses its own devices"):
        ActiveLearner(classes=CLASSES, pool=pool, device="cuda")
    with pytest.raises(BagwiseError, match="cannot be divided"):
        RayPool.of(data[0], [10, 20])
    with pytest.raises(BagwiseError, match="3 columns for 5 classes"):
        ActiveLearner(classes=CLASSES, pool=pool, labels=data[1][:, :3])
    with pytest.raises(BagwiseError, match="cannot be copied"):
        copy.deepcopy(ActiveLearner(classes=CLASSES, pool=pool))
    with pytest.raises(BagwiseError, match="it cannot use"):
        connect("192.0.2.7:6379")
    nothing = Labels.unknown(1, len(CLASSES))
    with pytest.raises(BagwiseError, match="bag 240"):
        ActiveLearner(classes=CLASSES, pool=pool, labels=KnownLabels(np.array([240]), nothing, nothing.known))


def test_a_pool_serves_one_learner_at_a_time(pools, data):
    _, first = pair_of(pools["one"], data)
    question = first.ask()
    here, second = pair_of(pools["one"], data)
    with pytest.raises(BagwiseError, match="serves another learner"):
        first.tell(question, True)
    with pytest.raises(BagwiseError, match="serves another learner"):
        first.ask()
    assert_alike(here, second, data[1], 3)


def test_an_answered_pair_is_refused_by_name(pools, data):
    _, there = pair_of(pools["three"], data)
    question = there.ask()
    there.tell(question, True)
    with pytest.raises(BagwiseError, match=f"Bag bag {question.bag}, class .* answered already"):
        there.tell(question, True)

"""Cold start: the first questions find a bag of every class, sooner than chance, then complete bags, then end."""

import numpy as np
import pytest

from bagwise import ActiveLearner, Bags, Question, datasets
from bagwise.data.label_store import LabelCounts
from bagwise.data.labels import Labels
from bagwise.learning import class_discovery
from bagwise.learning.class_discovery import MOST_DENIALS, InstanceClusters
from bagwise.learning.cold_start import (
    BAGS_PER_CLASS,
    LIKELY,
    PRESENT,
    ColdStart,
    bag_completion,
)
from bagwise.model import ScoredPool
from bagwise.model.features import MANY_FEATURES


def answers_until_all_found(data, cold_start, seed):
    criterion = "widening_uncertainty" if cold_start else "random"
    learner = ActiveLearner(
        data.bags,
        data.classes,
        criterion=criterion,
        audit=0,
        random_state=seed,
        cold_start=cold_start,
        update="bag_sgd",
    )
    found = np.zeros(len(data.classes), bool)
    for asked in range(1, 400):
        question = learner.ask()
        present = bool(data.labels.value[question.bag, question.classes[0]])
        learner.tell(question, present)
        found[question.classes[0]] |= present
        if found.all():
            return asked
    return 400


def test_every_class_is_found_sooner_than_by_chance():
    data = datasets.load("digits")
    scouted = [answers_until_all_found(data, True, seed) for seed in range(5)]
    by_chance = [answers_until_all_found(data, False, seed) for seed in range(5)]
    assert np.median(scouted) < 0.6 * np.median(by_chance)


CLUSTERS = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 1]], np.float32)


def scores_with(labels, pointed=()):
    labelled = np.flatnonzero(labels.known.any(axis=1))
    known_instances = np.zeros((CLUSTERS.shape[1], labels.n_classes), int)
    for cluster, label_class in pointed:
        known_instances[cluster, label_class] += 1
    is_class = class_discovery.suspicion(CLUSTERS[labelled], labels.select(labelled), known_instances)
    return class_discovery.scores(CLUSTERS, is_class, unfound(labels))


def unfound(labels):
    return class_discovery.unfound(LabelCounts.of(labels, np.zeros_like(labels.known)))


def test_a_class_is_looked_for_where_it_was_not_denied():
    labels = Labels.unknown(4, 2)
    labels.record(0, 0, False)
    scores = scores_with(labels)
    assert scores[2, 0] > scores[1, 0]


def test_what_was_denied_to_the_others_is_likely_of_the_class_that_is_left():
    labels = Labels.unknown(4, 3)
    labels.record(1, 0, False)
    labels.record(1, 1, False)
    scores = np.where(labels.known, -1, scores_with(labels))
    assert np.unravel_index(scores.argmax(), scores.shape) == (1, 2)


def test_a_class_is_not_looked_for_where_another_was_pointed_at():
    labels = Labels.unknown(4, 3)
    labels.record(3, 0, True)
    before, after = scores_with(labels), scores_with(labels, pointed=[(2, 0)])
    assert after[2, 1] < before[2, 1] / 5, "its only cluster is of class 0"
    assert after[1, 1] == before[1, 1], "a cluster of which nothing is known"
    assert before[3, 1] > after[3, 1] > after[2, 1], "its other cluster may be of class 1"


def test_instances_known_to_be_of_a_class_are_counted_by_cluster():
    bags = Bags.from_list([[[0.0], [10.0]], [[0.1]], [[9.9], [0.2]]])
    learner = ActiveLearner(bags, ["a", "b"], audit=0)
    learner.tell(Question(0, (1,)), True, where=[1])
    learner.tell(Question(2, (1,)), True, where=[0], elsewhere=[1])
    instances = learner._pool.chooser.instances
    clusters = InstanceClusters(instances.seen(np.array([0, 1])))
    assert clusters.known_instances(instances, learner.labels).tolist() == [[0, 0], [0, 2]]


def test_found_classes_are_not_looked_for():
    labels = Labels.unknown(4, 2)
    labels.record(3, 1, True)
    assert unfound(labels).tolist() == [True, False]
    scores = scores_with(labels)
    assert scores[:, 0].min() > 0
    assert (scores[:, 1] == 0).all()


def test_a_class_that_no_bag_has_does_not_take_every_question():
    data = datasets.load("digits")
    learner = ActiveLearner(data.bags, [*data.classes, "no such digit"], audit=0, update="bag_sgd")
    truth = np.column_stack([data.labels.value, np.zeros(len(data.bags), bool)])
    asked = []
    discovered = ColdStart().discovered * 11
    for _ in range(2 * discovered):
        question = learner.ask()
        asked.append(question.classes[0])
        learner.tell(question, bool(truth[question.bag, question.classes[0]]))
    early, late = np.split(np.array(asked), [discovered])
    assert np.count_nonzero(early == 10) <= MOST_DENIALS
    assert np.mean(late == 10) < 0.3


def known_pool(rng, bags, classes, known, present):
    """A pool with so many known pairs, of which so many are present."""
    is_known = np.zeros(bags * classes, bool)
    is_known[rng.choice(bags * classes, known, replace=False)] = True
    value = np.zeros_like(is_known)
    value[np.flatnonzero(is_known)[:present]] = True
    labels = Labels(value.reshape(bags, classes), is_known.reshape(bags, classes))
    return ScoredPool(rng.random((bags, classes)), labels=labels)


def test_a_bag_that_was_begun_is_completed_but_for_what_is_unlikely(rng):
    pool = known_pool(rng, 30, 6, 20, 8)
    scores = np.where(pool.askable, bag_completion(pool), -1)
    order = np.argsort(-scores, axis=None)[: int(pool.askable.sum())]
    likely = (pool.present >= LIKELY).ravel()[order]
    assert likely[: likely.sum()].all()
    begun = pool.known.sum(axis=1)[order // 6][: likely.sum()]
    assert (np.diff(begun) <= 0).all(), "bags of which more is known come first"
    bags = order[: likely.sum()] // 6
    assert np.count_nonzero(np.diff(bags)) == len(set(bags)) - 1, "one bag after the other"


@pytest.mark.parametrize("cold_start", [ColdStart(), ColdStart.of(MANY_FEATURES)])
def test_the_cold_start_ends_when_enough_is_known(rng, cold_start):
    most = cold_start.completed * 4
    assert goes_on(cold_start, known_pool(rng, 300, 4, most - 1, PRESENT * 4 - 1))
    assert not goes_on(cold_start, known_pool(rng, 300, 4, most - 1, PRESENT * 4))
    assert not goes_on(cold_start, known_pool(rng, 300, 4, most, 0))


def goes_on(cold_start, pool):
    return cold_start.criterion(pool, lambda _: np.zeros_like) is not None


def test_few_bags_are_not_completed(rng):
    known = 40
    assert goes_on(ColdStart(), known_pool(rng, BAGS_PER_CLASS * 4 + known + 1, 4, known, 4))
    assert not goes_on(ColdStart(), known_pool(rng, BAGS_PER_CLASS * 4 + known, 4, known, 4))


def test_the_cold_start_of_embeddings_is_short(rng):
    wide = rng.normal(size=(60, MANY_FEATURES))
    found = {}
    for rows in (wide, wide[:, 1:]):
        bags = Bags(rows, np.arange(0, 61, 2))
        learner = ActiveLearner(bags, ["wren", "jay"], audit=0, update="bag_sgd")
        while goes_on(learner._options(None).cold_start, learner.pool()) and len(learner.answers) < 30:
            learner.tell(learner.ask(), False)
        found[bags.n_features] = len(learner.answers)
    assert found == {MANY_FEATURES: 2 * 6, MANY_FEATURES - 1: 30 - BAGS_PER_CLASS * 2}


def test_labelled_bags_make_a_cold_start_unnecessary():
    data = datasets.load("synthetic")
    labels = data.labels.hide(np.arange(1, len(data.bags)))
    assert not ActiveLearner(data.bags, data.classes, labels).cold_start
    assert ActiveLearner(data.bags, data.classes).cold_start
    assert ActiveLearner(data.bags, data.classes, labels, cold_start=True).cold_start


def test_more_instances_than_are_clustered_and_fewer_than_clusters(monkeypatch):
    data = datasets.load("synthetic")
    monkeypatch.setattr("bagwise.learning.class_discovery.MOST_CLUSTERED", 200)
    monkeypatch.setattr("bagwise.learning.class_discovery.ROWS_AT_A_TIME", 300)
    learner = ActiveLearner(data.bags, data.classes)
    clusters = learner._pool.chooser.clusters(learner._pool.instance_clusters)
    assert clusters.shape == (300, 36)
    assert clusters.any(axis=1).all()
    tiny = ActiveLearner([[[0.0]], [[1.0]]], ["a", "b", "c", "d"])
    assert len(tiny._pool.instance_clusters.centres) == 2
    assert tiny.ask().classes

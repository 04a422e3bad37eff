"""Scouting: the first questions find a bag of every class, sooner than chance, and then stop."""

import numpy as np
import pytest

from bagwise import ActiveLearner, datasets
from bagwise.labels import Labels
from bagwise.scouting import LABELS_PER_CLASS, Scout


def answers_until_all_found(data, scouting, seed):
    criterion = "widening_uncertainty" if scouting else "random"
    learner = ActiveLearner(
        data.bags, data.classes, criterion=criterion, audit=0, random_state=seed, scouting=scouting, update="bag_sgd"
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


@pytest.fixture
def scout():
    clusters = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 1]], bool)
    return Scout(clusters)


def test_a_class_is_looked_for_where_it_was_not_denied(scout):
    labels = Labels.unknown(4, 2)
    labels.record(0, 0, False)
    scores = scout.scores(labels, ~labels.known)
    assert scores[2, 0] > scores[1, 0]
    assert scores[:, 1].min() > scores[:, 0].max(), "the class asked about least comes first"


def test_found_classes_are_not_looked_for(scout):
    labels = Labels.unknown(4, 2)
    labels.record(3, 1, True)
    assert Scout.unfound(labels, ~labels.known).tolist() == [True, False]
    assert (scout.scores(labels, ~labels.known)[:, 1] < 0).all()


def test_a_class_that_no_bag_has_does_not_take_every_question():
    data = datasets.load("digits")
    learner = ActiveLearner(data.bags, [*data.classes, "no such digit"], audit=0, update="bag_sgd")
    truth = np.column_stack([data.labels.value, np.zeros(len(data.bags), bool)])
    asked = []
    for _ in range(2 * LABELS_PER_CLASS * 11):
        question = learner.ask()
        asked.append(question.classes[0])
        learner.tell(question, bool(truth[question.bag, question.classes[0]]))
    early, late = np.split(np.array(asked), [LABELS_PER_CLASS * 11])
    assert np.mean(early == 10) < 0.6
    assert np.mean(late == 10) < 0.3


def test_labelled_bags_make_scouting_needless():
    labels = Labels.unknown(4, 2)
    for label_class in range(2):
        labels.record(3, label_class, False)
    assert not Scout.unfound(labels, ~labels.known).any()


def test_more_instances_than_are_clustered_and_fewer_than_clusters(monkeypatch):
    data = datasets.load("synthetic")
    monkeypatch.setattr("bagwise.scouting.MOST_CLUSTERED", 200)
    monkeypatch.setattr("bagwise.scouting.ROWS_AT_A_TIME", 300)
    learner = ActiveLearner(data.bags, data.classes)
    clusters = learner._scout.clusters
    assert clusters.shape == (300, 9)
    assert clusters.any(axis=1).all()
    tiny = ActiveLearner([[[0.0]], [[1.0]]], ["a", "b", "c", "d"])
    assert tiny._scout.clusters.shape[1] == 2
    assert tiny.ask().classes

"""Active search: where positives are rare, some questions go on where a class was found; elsewhere nothing changes."""

import numpy as np
import pytest

from bagwise import ActiveLearner, datasets
from bagwise.data.label_store import LabelCounts
from bagwise.data.labels import Labels
from bagwise.learning.active_search import EVERY, HANDFUL, PATIENCE, RARE_CLASS, RARE_POOL, searched
from bagwise.learning.cold_start import ColdStart
from bagwise.model import ScoredPool


def counts(known, present, bags=1000):
    known = np.array(known)
    return LabelCounts(bags, known, known, np.array(present), 0, 0)


def test_only_classes_that_were_found_are_searched_until_they_have_a_handful():
    assert searched(counts([90] * 4, [0, 5, HANDFUL - 1, HANDFUL])).tolist() == [False, True, True, False]


def test_a_class_rests_after_many_denials_for_every_yes():
    others = [EVERY * 100]
    assert searched(counts([PATIENCE + 1, *others], [1, 8]))[0]
    assert not searched(counts([PATIENCE + 1 + EVERY, *others], [1, 8]))[0]
    assert searched(counts([PATIENCE + 1 + EVERY, *others], [2, 8]))[0]


def test_nothing_is_searched_where_positives_are_common():
    known = 20 * EVERY
    enough = round(RARE_POOL * 2 * known)
    above_its_share = int(RARE_CLASS * known) + 1
    assert searched(counts([known, known], [above_its_share, enough - above_its_share - 1]))[0]
    assert not searched(counts([known, known], [above_its_share, enough - above_its_share])).any()
    assert searched(counts([known, known], [above_its_share - 1, known])).tolist() == [True, False], "rare by itself"
    assert not searched(counts([known, known], [above_its_share - 1, known]), many_bags=False).any(), "of few bags"


def test_only_some_of_the_questions_search():
    turns = [searched(counts([12 + more, 12], [2, 1])).any() for more in range(4 * EVERY)]
    assert sum(turns) == 4
    assert np.diff(np.flatnonzero(turns)).tolist() == [EVERY] * 3


def test_the_likeliest_open_bag_of_a_searched_class_is_asked(rng):
    known = np.zeros((400, 2), bool)
    known[: 5 * EVERY] = True
    value = np.zeros_like(known)
    value[0] = True
    pool = ScoredPool(rng.random((400, 2)), labels=Labels(value, known))
    best = np.where(pool.askable, ColdStart(discovered=0).criterion(pool, lambda _: None)(pool), -1)
    assert best.argmax() == np.where(pool.askable, pool.present, -1).argmax()
    without = ColdStart(discovered=0, searches=False).criterion(pool, lambda _: None)(pool)
    assert not np.array_equal(without, best)


def yes_among(data, cold_start, first, last):
    learner = ActiveLearner(data.bags, data.classes, cold_start=cold_start, audit=0.1, random_state=4)
    said = []
    for _ in range(last):
        question = learner.ask()
        said.append(bool(data.labels.value[question.bag, question.classes[0]]))
        learner.tell(question, said[-1])
    return sum(said[first:]), learner


@pytest.fixture(scope="module")
def scarce():
    """Eight classes in 2 % of 500 bags each, of two features, next to instances of no class."""
    rng = np.random.default_rng(0)
    centres = 8 * np.column_stack([np.cos(np.arange(8) * np.pi / 4), np.sin(np.arange(8) * np.pi / 4)])
    present = np.zeros((500, 8), bool)
    for one in range(8):
        present[rng.choice(500, 10, replace=False), one] = True
    bags = [
        np.concatenate([rng.normal(size=(3, 2)), centres[classes] + rng.normal(size=(classes.sum(), 2))])
        for classes in present
    ]
    from bagwise import Bags

    return datasets.Dataset("made", Bags.from_list(bags), Labels(present, np.ones_like(present)), list("abcdefgh"))


def test_more_positives_are_found_and_the_answers_replay(scarce):
    without, _ = yes_among(scarce, ColdStart(searches=False), 64, 164)
    found, learner = yes_among(scarce, None, 64, 164)
    assert found >= without + 10
    again = ActiveLearner(scarce.bags, scarce.classes, random_state=4)
    again.replay(learner.answers)
    np.testing.assert_array_equal(again.model.weights_, learner.model.weights_)
    assert again.ask() == learner.ask()


def test_common_classes_are_asked_as_without_a_search():
    data = datasets.load("digits")
    _, searching = yes_among(data, True, 0, 60)
    _, without = yes_among(data, ColdStart(searches=False), 0, 60)
    assert searching.answers == without.answers

"""Audits: which pairs are drawn, and with what probability."""

import numpy as np
import pytest

from bagwise import ActiveLearner, BagwiseError, datasets
from bagwise.data.label_store import LabelStore
from bagwise.learning import audits
from bagwise.learning.audits import UNIFORM_SHARE, DesignedDraws, drawn_pair, first_phase, whole_weights

DATA = datasets.load("synthetic", bags=40, classes=4, features=5)
POINTS = 4000
EVENLY = (np.arange(POINTS) + 0.5) / POINTS


def learner_of(**options):
    given = {"random_state": 3, "audit_design": "balanced", **options}
    return ActiveLearner(DATA.bags, DATA.classes, DATA.labels.hide(np.arange(5, 40)), **given)


def told(learner, count):
    for _ in range(count):
        question = learner.ask()
        learner.tell(question, [bool(DATA.labels.value[pair]) for pair in question.pairs])
    return learner


def test_a_pair_is_drawn_as_often_as_its_probability_says():
    """Over all numbers that a draw can be made with, which are passed through evenly."""
    rng = np.random.default_rng(0)
    is_open = rng.random((9, 3)) < 0.7
    weights = whole_weights(rng.random((9, 3)) ** 3)
    measured, stated = np.zeros(27), np.full(27, np.nan)
    for which, share in ((0.0, UNIFORM_SHARE), (UNIFORM_SHARE, 1 - UNIFORM_SHARE)):
        for where in EVENLY:
            place, probability = drawn_pair(weights, is_open, which, where)
            measured[place] += share / POINTS
            stated[place] = probability
    assert np.array_equal(np.isnan(stated), ~is_open.ravel())
    np.testing.assert_allclose(measured[is_open.ravel()], stated[is_open.ravel()], atol=2 / POINTS)
    assert abs(np.nansum(stated) - 1) < 1e-12


def test_uncertain_pairs_are_drawn_more_often_and_every_class_by_the_root_of_its_weight():
    present = np.full((100, 2), 0.5)
    present[:25, 1], present[25:, 1] = 0.5, 0.0
    probability = np.full(present.shape, np.nan)
    for where in EVENLY:
        place, probability.flat[place] = drawn_pair(whole_weights(present), np.ones(present.shape, bool), 0.5, where)
    by_design = (probability - UNIFORM_SHARE / 200) / (1 - UNIFORM_SHARE)
    np.testing.assert_allclose(by_design[0, 1] / by_design[99, 1], 5, rtol=1e-4)
    np.testing.assert_allclose(by_design[:, 0].sum() / by_design[:, 1].sum(), np.sqrt(50 / 20), rtol=1e-4)


@pytest.mark.parametrize("bags", [2 * audits.FIRST_PHASE, 4 * audits.FIRST_PHASE])
def test_of_many_bags_all_are_equally_likely_to_be_looked_at(bags):
    turns = 400
    chosen = np.zeros(bags)
    for turn in range(turns):
        found = first_phase(seed=7, turn=turn, bags=bags)
        assert len(found) == audits.FIRST_PHASE
        assert (np.diff(found) > 0).all()
        chosen[found] += 1
    share = audits.FIRST_PHASE / bags
    spread = np.sqrt(turns * share * (1 - share))
    assert np.abs(chosen - turns * share).max() < 5 * spread


def test_of_hardly_more_bags_than_are_looked_at_all_but_one_are():
    assert len(set(first_phase(seed=7, turn=1, bags=audits.FIRST_PHASE + 1).tolist())) == audits.FIRST_PHASE


def test_all_bags_are_looked_at_where_there_are_few():
    assert first_phase(seed=7, turn=1, bags=audits.FIRST_PHASE).tolist() == list(range(audits.FIRST_PHASE))


def test_the_stored_probability_is_that_of_both_phases(monkeypatch):
    monkeypatch.setattr(audits, "FIRST_PHASE", 10)
    store = LabelStore.of(DATA.labels.hide(np.arange(5, 40)), 40, 4)
    seen = []

    def present(bags):
        seen.append(bags.tolist())
        return DATA.labels.value[bags] * 0.6 + 0.2

    question = DesignedDraws(store, present, seed=1, turns=[9]).draw(9, taken=())
    (bags,) = seen
    assert len(bags) == 10
    weights = whole_weights(present(np.array(bags)))
    place = bags.index(question.bag) * 4 + question.classes[0]
    within = next(
        probability
        for where in EVENLY
        for drawn, probability in [drawn_pair(weights, np.ones((10, 4), bool), 0.5, where)]
        if drawn == place
    )
    assert question.probability == pytest.approx(within * 10 / 35)


def test_audits_say_how_they_were_drawn_and_chosen_questions_do_not():
    learner = told(learner_of(audit=0.4), 20)
    assert all((one.probability is not None) == one.audit for one in learner.answers)
    assert any(one.audit for one in learner.answers)
    ranking = learner.rank(60)
    assert len({one.pairs for one in ranking}) == len(ranking)
    assert all((one.probability is not None) == one.audit for one in ranking)


@pytest.mark.parametrize(("options", "left"), [({"audit_design": "uniform"}, 140), ({"granularity": "bag"}, 35)])
def test_uniform_draws_are_as_likely_as_what_is_left_is_many(options, left):
    learner = learner_of(audit=1.0, **options)
    assert [one.probability for one in learner.rank(6)] == [1 / (left - number) for number in range(6)]


def test_without_labels_draws_are_uniform():
    learner = ActiveLearner(DATA.bags, DATA.classes, audit=1.0, audit_design="balanced")
    assert learner.ask().probability == 1 / 160


def test_draws_far_ahead_are_uniform_until_a_ranking_is_made_again():
    learner = learner_of(audit=1.0)
    ranking = learner.rank(20)
    uniform = [one.probability == 1 / (140 - number) for number, one in enumerate(ranking)]
    assert uniform == [False] * audits.DESIGNED_AT_ONCE + [True] * (20 - audits.DESIGNED_AT_ONCE)
    for question in ranking[:3]:
        learner.tell(question, None)
    assert learner.ask().probability != 1 / 137


def test_only_candidates_are_drawn_and_counted():
    candidates = np.arange(40) % 5 == 0
    learner = learner_of(audit=1.0, candidates=candidates)
    ranking = learner.rank(28)
    assert {one.bag for one in ranking} == set(range(5, 40, 5))
    assert [one.probability for one in ranking[8:]] == [1 / (28 - number) for number in range(8, 28)]


def test_everything_is_drawn_in_the_end():
    learner = told(learner_of(audit=1.0), 140)
    assert learner.exhausted


def test_a_design_must_exist():
    with pytest.raises(BagwiseError, match="audit_design='best' must be one of uniform, balanced"):
        learner_of(audit_design="best")

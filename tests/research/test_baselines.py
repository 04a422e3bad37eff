import os

import numpy as np
import pytest
from sklearn.svm import SVC

from bagwise import Bags, BagwiseError, Labels, datasets
from bagwise.data import metrics
from bagwise.research.baselines import MIMLAL, MIMLSVM, MIMLSVMAL, ClassFrequency, MIMLfast
from bagwise.research.baselines._mimlfast_kernel import best_concept, through_map
from bagwise.research.baselines.hausdorff import KINDS, hausdorff
from bagwise.research.baselines.mimlfast import _harmonic, _relevant_pairs, as_predictions
from bagwise.research.baselines.mimlsvm import k_medoids
from bagwise.research.baselines.mimlsvm_al import STRATEGIES
from bagwise.research.experiments.simulation import split

DATA = datasets.load("synthetic", bags=60, classes=4, features=5)
QUICK = {"subspace": 8, "passes": 5}


def test_harmonic_weights():
    np.testing.assert_allclose(_harmonic(4), [0, 1, 1.5, 1.5 + 1 / 3, 1.5 + 1 / 3 + 1 / 4])


def test_the_dummy_is_relevant_wherever_something_is_known():
    labels = Labels.from_array([[1, 0, np.nan], [np.nan] * 3, [0, 0, 0]])
    bags, label = _relevant_pairs(labels, np.ones(3, bool))
    assert list(zip(bags.tolist(), label.tolist(), strict=True)) == [(0, 0), (0, 3), (2, 3)]


def test_a_step_of_mimlfast_is_minus_the_gradient():
    """One bag, one relevant and one irrelevant label: the first pair's update against finite differences."""
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(4, 3)), [0, 4])
    labels = Labels.from_array([[1, 0]])
    model = MIMLfast(subspace=5, norm=1e6, step_size=1e-6, decay=0.0, random_state=3)
    model.start(bags, 2)
    model.shared_ /= 1e6
    model.concepts_ /= 1e6
    before_v, before_w = model.shared_.copy(), model.concepts_.copy()
    model.learn(bags, labels, 1)
    moved_v, moved_w = (model.shared_ - before_v) / 1e-6, (model.concepts_ - before_w) / 1e-6
    seen = (bags.instances - bags.instances.mean(axis=0)) / bags.instances.std(axis=0)
    seen = np.column_stack([seen, np.ones(4)])

    def loss(v, w):
        """Both pairs of the pass: label 0 against {1, dummy} and the dummy against {1}; at w ~ v all are violated."""
        f = [max((w[c, 0] @ (v @ x)) for x in seen) for c in range(3)]
        against_first = [1 + f[j] - f[0] for j in (1, 2)]
        return against_first, 1 + f[1] - f[2]

    def numeric(function, array):
        slope = np.zeros_like(array)
        for index in np.ndindex(array.shape):
            moved = array.copy()
            moved[index] += 1e-6
            up = function(moved)
            moved[index] -= 2e-6
            slope[index] = (up - function(moved)) / 2e-6
        return slope

    first, dummy = loss(before_v, before_w)
    assert min(*first, dummy) > 0
    # H(floor(2/1)) = 1.5 for label 0, whichever of the two was drawn first; H(1) = 1 for the dummy.
    candidates = []
    for drawn in (0, 1):
        by_v = numeric(lambda v, d=drawn: 1.5 * loss(v, before_w)[0][d] + loss(v, before_w)[1], before_v)
        by_w = numeric(lambda w, d=drawn: 1.5 * loss(before_v, w)[0][d] + loss(before_v, w)[1], before_w)
        candidates.append(max(np.abs(moved_v + by_v).max(), np.abs(moved_w + by_w).max()))
    assert min(candidates) < 1e-3


def test_norms_stay_within_their_bound():
    model = MIMLfast(norm=2.0, step_size=0.5, **QUICK).fit(DATA.bags, DATA.labels)
    assert np.linalg.norm(model.shared_, axis=0).max() <= 2 + 1e-9
    assert np.linalg.norm(model.concepts_, axis=2).max() <= 2 + 1e-9


def test_best_concept_is_the_best():
    rng = np.random.default_rng(1)
    concepts, bag, shared = rng.normal(size=(3, 4)), rng.normal(size=(5, 2)), rng.normal(size=(4, 2))
    mapped = through_map(bag, shared)
    np.testing.assert_allclose(mapped, bag @ shared.T)
    score, instance, concept = best_concept(concepts, mapped)
    everything = mapped @ concepts.T
    assert score == pytest.approx(everything.max())
    assert (instance, concept) == np.unravel_index(everything.argmax(), everything.shape)


def test_predictions_keep_the_order_and_the_dummy_is_not_among_them():
    decision = np.array([[-3.0, 50.0, 60.0], [-5.0, -4.0, -9.0]])
    free, forced = as_predictions(decision, False), as_predictions(decision, True)
    np.testing.assert_array_equal(free.argsort(axis=1), decision.argsort(axis=1))
    np.testing.assert_array_equal(free > 0.5, decision > 0)
    np.testing.assert_array_equal(forced > 0.5, [[False, True, True], [False, True, False]])
    assert MIMLfast(**QUICK).fit(DATA.bags, DATA.labels).predict_proba(DATA.bags).shape == (60, 4)


def test_the_top_label_is_forced_only_where_no_bag_is_known_empty():
    assert MIMLfast(**QUICK).fit(DATA.bags, DATA.labels).forced_
    with_empty = DATA.labels.copy()
    with_empty.value[3] = False
    assert not MIMLfast(**QUICK).fit(DATA.bags, with_empty).forced_


@pytest.mark.parametrize("kind", KINDS)
def test_hausdorff_distances(kind):
    a, b = DATA.bags[0].astype(float), DATA.bags[1].astype(float)
    r = np.linalg.norm(a[:, None] - b[None], axis=2)
    near_a, near_b = r.min(axis=1), r.min(axis=0)
    expected = {
        "max": max(near_a.max(), near_b.max()),
        "average": (near_a.sum() + near_b.sum()) / (len(a) + len(b)),
        "median": max(np.median(near_a), np.median(near_b)),
        "min": r.min(),
    }
    distances = hausdorff(DATA.bags, DATA.bags, kind)
    assert distances[0, 1] == pytest.approx(expected[kind], rel=1e-5)
    np.testing.assert_allclose(distances, distances.T, rtol=1e-6)
    assert np.abs(np.diag(distances)).max() == 0


@pytest.mark.parametrize("deal_first", [False, True])
def test_medoids_are_distinct_and_settle(deal_first, rng):
    points = rng.normal(size=(40, 2))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    medoids = k_medoids(distances, 8, rng, deal_first)
    assert len(set(medoids)) == 8
    cluster = distances[:, medoids].argmin(axis=1)
    for c, medoid in enumerate(medoids):
        members = np.flatnonzero(cluster == c)
        inside = distances[np.ix_(members, members)].sum(axis=1)
        assert inside[members.tolist().index(medoid)] == pytest.approx(inside.min())


def test_a_label_with_one_known_value_is_constant_and_others_train_on_known_bags_only():
    labels = DATA.labels.copy()
    labels.known[10:] = False
    labels.value[:10, 0], labels.value[:10, 1] = True, False
    model = MIMLSVM().fit(DATA.bags, Labels(labels.value, labels.known))
    decision = model.decision_function(DATA.bags)
    assert (decision[:, 0] == 1).all()
    assert (decision[:, 1] == -1).all()
    np.testing.assert_array_equal(model.constant_[:2], [True, True])
    unknown = MIMLSVM().fit(DATA.bags, Labels.unknown(60, 4))
    assert unknown.constant_.all()


@pytest.mark.parametrize("gamma", ["scale", 0.2])
def test_machines_are_those_of_scikit_learn_with_a_radial_kernel(gamma, rng):
    known = rng.random(DATA.labels.known.shape) < 0.7
    model = MIMLSVM(gamma=gamma, cost=3.0).fit(DATA.bags, Labels(DATA.labels.value & known, known))
    decision = model.decision_function(DATA.bags)
    for c in range(4):
        rows = known[:, c]
        machine = SVC(C=3.0, gamma=gamma).fit(model.representation_[rows], DATA.labels.value[rows, c])
        np.testing.assert_allclose(decision[:, c], machine.decision_function(model.representation_), atol=1e-9)


def test_the_t_criterion():
    model = MIMLSVM(allow_empty=False).fit(DATA.bags, DATA.labels)
    assert (model.predict(DATA.bags).sum(axis=1) >= 1).all()


LEARNERS = {
    "MIML-AL": lambda labels, **rest: MIMLAL(DATA.bags, DATA.classes, labels, MIMLfast(**QUICK), **rest),
    "MIML-AL, published": lambda labels, **rest: MIMLAL(
        DATA.bags, DATA.classes, labels, MIMLfast(**QUICK), "published", **rest
    ),
    "MIMLSVM-AL": lambda labels, **rest: MIMLSVMAL(DATA.bags, DATA.classes, labels, **rest),
}


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
def test_every_pair_is_asked_once_and_a_replay_is_the_same_learner(make):
    first = DATA.labels.hide(np.arange(5, 60))
    learner, asked = make(first, random_state=1), []
    while not learner.exhausted:
        question = learner.ask()
        assert learner.ask() == question
        asked += [(question.bag, c) for c in question.classes]
        present = [bool(DATA.labels.value[question.bag, c]) for c in question.classes]
        learner.tell(question, present, where=[[0] if yes else [] for yes in present])
    assert len(asked) == len(set(asked)) == 55 * 4
    assert not {bag for bag, _ in asked} & set(range(5))
    again = make(first, random_state=1)
    again.replay(learner.answers)
    np.testing.assert_array_equal(again.predict_proba(DATA.bags), learner.predict_proba(DATA.bags))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_of_mimlsvm_al_chooses_a_bag(strategy):
    learner = MIMLSVMAL(DATA.bags, DATA.classes, DATA.labels.hide(np.arange(8, 60)), strategy=strategy)
    question = learner.ask()
    assert question.classes == (0, 1, 2, 3)
    assert question.bag >= 8


def test_min_margin_takes_the_bag_nearest_to_a_boundary():
    learner = MIMLSVMAL(DATA.bags, DATA.classes, DATA.labels.hide(np.arange(20, 60)))
    margin = np.abs(learner.model.decide(learner.model.squared_distances_)).min(axis=1)
    assert learner.ask().bag == 20 + margin[20:].argmin()


def test_key_instances_anchor_their_label():
    """Two instances; the key says that the second carries the class, so its score must end up above the first's."""
    rng = np.random.default_rng(0)
    bags = Bags.from_list([np.array([[3.0, 0], [0, 3.0]]) + 0.1 * rng.normal(size=(2, 2)) for _ in range(10)])
    labels = Labels.from_array([[1, 0]] * 10)
    keys = np.full((10, 2), -1)
    keys[:, 0] = 1
    single = [Bags.from_list([[[3.0, 0]]]), Bags.from_list([[[0, 3.0]]])]
    for mode in ("anchor", "rank"):
        model = MIMLfast(key_mode=mode, subspace=10, passes=30, step_size=0.02).fit(bags, labels, keys)
        first, second = (model.decision_function(bag)[0, 0] for bag in single)
        assert second > first, mode


def test_unknown_options_are_refused():
    with pytest.raises(BagwiseError, match="`key_mode` is 'both'"):
        MIMLfast(key_mode="both").fit(DATA.bags, DATA.labels)
    with pytest.raises(BagwiseError, match="no Hausdorff distance 'mean'"):
        MIMLSVM(distance="mean").fit(DATA.bags, DATA.labels)
    with pytest.raises(BagwiseError, match="no schedule 'theirs'"):
        MIMLAL(DATA.bags, DATA.classes, schedule="theirs")
    with pytest.raises(BagwiseError, match="no strategy 'best'"):
        MIMLSVMAL(DATA.bags, DATA.classes, strategy="best")


@pytest.mark.parametrize(
    ("model", "accuracy"),
    [
        pytest.param(MIMLfast(), 0.43, id="MIMLfast", marks=pytest.mark.slow),
        pytest.param(MIMLSVM(), 0.42, id="MIMLSVM"),
    ],
)
def test_fully_labelled_frost(model, accuracy):
    """Ten folds, three draws of the letters."""
    scores = []
    for draw in range(3):
        data = datasets.load("frost", draw)
        for fold in range(10):
            training, held_out = split(data, 10, fold, draw)
            probability = model.fit(training.bags, training.labels).predict_proba(held_out.bags)
            scores.append(metrics.bag_accuracy(held_out.labels.value, probability))
    assert np.mean(scores) >= accuracy


@pytest.mark.skipif(not os.environ.get("BAGWISE_DATA"), reason="hja.npz is not there: set BAGWISE_DATA")
@pytest.mark.parametrize("model", [MIMLfast(), MIMLSVM()], ids=["MIMLfast", "MIMLSVM"])
def test_bird_song_is_ranked_far_better_than_by_class_frequency(model):
    training, held_out = split(datasets.load("hja"), 5, 0, 0)
    truth = held_out.labels.value
    floor = ClassFrequency().fit(training.bags, training.labels).predict_proba(held_out.bags)
    ranked = model.fit(training.bags, training.labels).predict_proba(held_out.bags)
    assert metrics.average_precision(truth, ranked) > metrics.average_precision(truth, floor) + 0.3

"""Answers that point: what a learner makes of where a class is, and that undo, replay and snapshots cover it."""

import numpy as np
import pytest

from bagwise import ActiveLearner, BagwiseError, InstanceLabel, InstanceLabels, Labels, MIMLClassifier, datasets
from bagwise.learning import criteria
from bagwise.learning.questions import Question
from bagwise.model import solvers
from tests.oracles.model import softmax

DATA = datasets.load("digits").select(range(60))
UPDATES = list(solvers.available())


def make(update="replay", **options):
    labels = DATA.labels.hide(np.arange(4, 60))
    model = MIMLClassifier(transformer=DATA.transformer)
    return ActiveLearner(DATA.bags, DATA.classes, labels, model, update=update, **options)


def point(learner, question, rng=None):
    """The truth, with the instances that show it: the marked one is among them, or is said not to be one."""
    present = [bool(DATA.labels.value[question.bag, c]) for c in question.classes]
    start, stop = DATA.bags.offsets[question.bag : question.bag + 2]
    digits = DATA.instance_labels[start:stop]
    where = [
        np.flatnonzero(digits == c).tolist() if yes else [] for c, yes in zip(question.classes, present, strict=True)
    ]
    elsewhere = [
        [marked] if yes and digits[marked] != c else []
        for c, yes, marked in zip(question.classes, present, question.evidence, strict=True)
    ]
    learner.tell(question, present, where=where, elsewhere=elsewhere)


def state_of(learner):
    return learner.model.weights_.tobytes(), learner.labels, learner.answers


@pytest.mark.parametrize("update", UPDATES)
def test_undo_restores_every_state_and_a_replay_gives_the_same(update):
    learner = make(update)
    states = []
    for _ in range(12):
        states.append(state_of(learner))
        point(learner, learner.ask())
    assert len(learner.labels.instances) > 0
    replayed = make(update)
    replayed.replay(learner.answers)
    assert state_of(replayed) == state_of(learner)
    for expected in reversed(states):
        learner.undo()
        assert state_of(learner) == expected


@pytest.mark.parametrize("granularity", ["pair", "bag", "instance"])
def test_a_snapshot_goes_on_as_the_learner_would(granularity):
    learner = make(granularity=granularity)
    for _ in range(8):
        point(learner, learner.ask()) if granularity != "instance" else tell_truth(learner, learner.ask())
    again = make(granularity=granularity, snapshot=learner.snapshot())
    assert state_of(again) == state_of(learner)
    for _ in range(4):
        assert again.ask() == learner.ask()
        for one in (again, learner):
            point(one, one.ask()) if granularity != "instance" else tell_truth(one, one.ask())
    for _ in range(10):
        again.undo()
        learner.undo()
        assert state_of(again) == state_of(learner)


def tell_truth(learner, question):
    start = DATA.bags.offsets[question.bag]
    learner.tell(question, bool(DATA.instance_labels[start + question.instance] == question.classes[0]))


def test_a_question_about_an_instance_leaves_the_bag_open_after_a_no():
    learner = make(granularity="instance")
    bag, label_class = 10, next(c for c in range(10) if not DATA.labels.value[10, c])
    learner.tell(Question(bag, (label_class,), instance=1), False)
    assert learner.labels.instances.about(bag, label_class) == (InstanceLabel(1, label_class, False),)
    assert not learner.labels.known[bag, label_class]
    learner.tell(Question(bag, (label_class,), instance=0), True)
    assert learner.labels.value[bag, label_class]
    learner.undo()
    assert learner.labels.instances.about(bag, label_class) == (InstanceLabel(1, label_class, False),)
    learner.undo()
    assert len(learner.labels.instances) == 0


def test_instances_are_asked_once_and_at_last_their_bags():
    learner = make(granularity="instance", audit=0.0)
    asked = set()
    for _ in range(60):
        question = learner.ask()
        assert (question.bag, question.instance, question.classes) not in asked
        asked.add((question.bag, question.instance, question.classes))
        assert question.evidence == (question.instance,)
        tell_truth(learner, question)
    assert len(learner.labels.instances) == 60


def test_a_correction_replaces_what_was_pointed_at():
    learner = make()
    bag, label_class = 10, int(np.flatnonzero(DATA.labels.value[10])[0])
    learner.tell(Question(bag, (label_class,)), True, where=[0], elsewhere=[1])
    learner.revise(bag, label_class, True, where=[1])
    assert learner.labels.instances.about(bag, label_class) == (InstanceLabel(1, label_class, True),)
    assert learner.answers[-1].where == ((1,),)
    learner.revise(bag, label_class, False)
    assert len(learner.labels.instances) == 0
    learner.retract(bag, label_class)
    assert not learner.answers


@pytest.mark.parametrize("name", [name for name in criteria.available() if name != "random"])
def test_every_criterion_counts_what_is_known_of_instances(name):
    """A strip all of whose digits are known has nothing to ask about, whatever is still open."""
    learner = make(criterion=name, audit=0.0)
    bag, digits = 10, DATA.instance_labels[slice(*DATA.bags.offsets[10:12])]
    for c in np.unique(digits).tolist():
        learner.tell(Question(bag, (c,)), True, where=np.flatnonzero(digits == c).tolist())
    if name == "widening_uncertainty":
        learner.labels.known[0] = True
    scores = criteria.get(name)(learner.pool())
    assert np.abs(scores[bag]).max() == pytest.approx(0, abs=1e-9)
    assert scores[20].max() > 0


@pytest.mark.parametrize(
    ("answer", "where", "elsewhere", "message"),
    [
        (True, [99], None, "no instance 99"),
        (False, [0], None, "only where the class is present"),
        (True, [0], [0], "of the class and not"),
        (True, [[0], [1]], None, "for 2 classes"),
        (True, ["a"], None, "must be positions"),
    ],
)
def test_bad_pointing_is_refused_and_changes_nothing(answer, where, elsewhere, message):
    learner = make()
    before = state_of(learner)
    with pytest.raises(BagwiseError, match=message):
        learner.tell(Question(10, (3,)), answer, where=where, elsewhere=elsewhere)
    assert state_of(learner) == before


def gradient_if_absent(x, weights, label_class):
    """d log(1 - p_c) / d weights of one instance, flat, and p_c."""
    p = softmax((weights @ x)[None])[0]
    by_logit = p * p[label_class] / (1 - p[label_class])
    by_logit[label_class] = -p[label_class]
    return np.outer(by_logit, x).ravel(), p[label_class]


def test_what_is_said_of_an_instance_is_information(rng):
    """It counts as the label of a bag that has only this instance; the bag's own label is certain by it."""
    weights, x = rng.normal(size=(3, 2)), rng.normal(size=(4, 2))
    model = MIMLClassifier.from_weights(weights)
    labels = Labels.from_array([[1, np.nan, np.nan], [np.nan] * 3])
    pointed = labels.with_instances(InstanceLabels(3, {0: [InstanceLabel(1, 0, True)]}))
    scores = criteria.information_gain(model.pool([x[:3], x[3:]], pointed))
    said, p = gradient_if_absent(x[1], weights, 0)
    information = np.eye(6) + (1 - p) / p * np.outer(said, said)
    asked, p = gradient_if_absent(x[3], weights, 2)
    expected = np.log1p((1 - p) / p * asked @ np.linalg.solve(information, asked))
    assert scores[1, 2] == pytest.approx(expected)

import os
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from bagwise import ActiveLearner, Bags, BagwiseError, Labels, MIMLClassifier, NothingToAsk, Question, datasets
from bagwise.learning.granularity import GRANULARITIES
from bagwise.model import solvers

DATA = datasets.load("synthetic", bags=40, classes=4, features=5)
CLASSES = DATA.classes


def make(update="lbfgs", **rest):
    labels = DATA.labels.hide(np.arange(3, 40))
    return ActiveLearner(DATA.bags, CLASSES, labels, MIMLClassifier(), update=update, random_state=11, **rest)


def answer(learner, count, unsure_every=7):
    for number in range(count):
        question = learner.ask()
        truth = [bool(DATA.labels.value[question.bag, c]) for c in question.classes]
        learner.tell(question, [None] * len(truth) if number % unsure_every == unsure_every - 1 else truth)


def same(first, second):
    np.testing.assert_array_equal(first.model.weights_, second.model.weights_)
    assert first.model.n_steps_ == second.model.n_steps_
    assert first.labels == second.labels
    assert first.answers == second.answers
    assert first.ask(3) == second.ask(3)


@pytest.mark.parametrize("update", solvers.available())
@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_a_replay_of_the_answers_is_the_same_learner_exactly(update, granularity):
    live = make(update, granularity=granularity)
    answer(live, 20)
    fresh = make(update, granularity=granularity)
    fresh.replay(live.answers)
    same(fresh, live)


@pytest.mark.parametrize("update", ["lbfgs", "pair_sgd"])
@pytest.mark.parametrize("kept", [64, 2])
def test_undo_is_as_if_never_answered(update, kept, monkeypatch):
    monkeypatch.setattr("bagwise.learning.learner.UNDO_AT_ONCE", kept)
    short, longer = make(update), make(update)
    answer(short, 10)
    answer(longer, 16)
    for _ in range(6):
        longer.undo()
    same(longer, short)


def test_undo_to_the_start_and_no_further():
    learner = make()
    first = learner.ask()
    answer(learner, 3)
    for _ in range(3):
        learner.undo()
    assert learner.ask() == first
    with pytest.raises(BagwiseError, match="no answer to undo"):
        learner.undo()


def test_unsure_is_recorded_never_used_and_not_asked_again():
    learner = make()
    question = learner.ask()
    before = learner.model.weights_.copy(), learner.labels.copy()
    learner.tell(question, None)
    np.testing.assert_array_equal(learner.model.weights_, before[0])
    assert learner.labels == before[1]
    assert learner.answers[-1].present == (None,)
    assert (question.bag, question.classes) not in {(q.bag, q.classes) for q in learner.ask(1000)}


@pytest.mark.parametrize("update", solvers.available())
def test_a_pickled_learner_goes_on_the_same(update):
    learner = make(update)
    answer(learner, 8)
    again = pickle.loads(pickle.dumps(learner))
    same(again, learner)
    for one in (learner, again):
        answer(one, 3)
        one.undo()
    same(again, learner)


def test_asking_changes_nothing_and_several_questions_differ():
    learner = make(audit=0.3)
    first = learner.ask(25)
    assert learner.ask(25) == first
    assert learner.ask() == first[0]
    assert len({(q.bag, q.classes) for q in first}) == 25


def test_evidence_is_the_instance_that_carries_the_class():
    bags = Bags.from_list([[[-3.0]], [[3.0]], [[-3.0], [2.9], [-2.8]]])
    learner = ActiveLearner(bags, ["low", "high"], [[1, 0], [0, 1], [np.nan, np.nan]], audit=0, granularity="bag")
    question = learner.ask()
    assert question.bag == 2
    assert question.evidence[question.classes.index(1)] == 1
    assert question.evidence[question.classes.index(0)] == 0


def test_it_starts_from_no_label_at_all():
    learner = ActiveLearner(DATA.bags, CLASSES, random_state=1)
    answer(learner, 30)
    assert learner.labels.n_known == 26
    assert np.isfinite(learner.model.predict_proba(DATA.bags)).all()


def test_audit_questions_are_a_random_share():
    learner = make("bag_sgd", audit=0.25)
    audits = []
    for _ in range(120):
        question = learner.ask()
        audits.append(question.audit)
        learner.tell(question, bool(DATA.labels.value[question.bag, question.classes[0]]))
    assert 0.1 < np.mean(audits) < 0.4
    assert not any(make(audit=0).ask(20)[i].audit for i in range(20))
    assert all(q.audit for q in make(audit=1).ask(20))


def test_uniform_audits_do_not_depend_on_the_model():
    """Whatever was learned, the next audit question is the same draw."""
    one, other = make(audit=1), make(audit=1)
    one.model.set_state(solvers.State(one.model.weights_ * 5))
    assert [(q.bag, q.classes) for q in one.ask(10)] == [(q.bag, q.classes) for q in other.ask(10)]


def test_learning_beats_guessing():
    learner = make()
    before = learner.model.score(DATA.bags, DATA.labels)
    answer(learner, 80, unsure_every=10**9)
    assert learner.model.score(DATA.bags, DATA.labels) > before + 0.1


def test_whole_bags_cost_by_their_classes():
    question = Question(0, (0, 1, 2, 3, 4), (0,) * 5)
    assert question.cost() == 5
    assert question.cost(classes_per_query=2) == 3


def test_the_given_labels_and_model_are_not_changed():
    labels, model = DATA.labels.hide(np.arange(3, 40)), MIMLClassifier()
    before = labels.copy()
    answer(ActiveLearner(DATA.bags, CLASSES, labels, model), 5)
    assert labels == before
    assert not hasattr(model, "weights_")


def test_order_of_bags_does_not_matter(rng):
    order = rng.permutation(40)
    hidden = DATA.labels.hide(np.arange(3, 40))
    how = {"criterion": "random", "random_state": 2}
    straight = ActiveLearner(DATA.bags, CLASSES, hidden, **how)
    shuffled = ActiveLearner(DATA.bags.select(order), CLASSES, hidden.select(order), **how)
    assert [(order[q.bag], q.classes) for q in shuffled.ask(30)] == [(q.bag, q.classes) for q in straight.ask(30)]


def test_nothing_left_to_ask():
    learner = ActiveLearner(DATA.bags, CLASSES, DATA.labels)
    assert learner.exhausted
    with pytest.raises(NothingToAsk, match="nothing left"):
        learner.ask()


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: ActiveLearner(DATA.bags, []), "no classes"),
        (lambda: ActiveLearner(DATA.bags, ["a", "b", "a"]), "class a is named more than once"),
        (lambda: ActiveLearner(DATA.bags, ["a", "b"], DATA.labels), "4 columns for 2 classes"),
        (lambda: ActiveLearner(DATA.bags, CLASSES, Labels.unknown(3, 4)), "labels for 3 bags but 40"),
        (lambda: ActiveLearner(DATA.bags, CLASSES, criterion="magic"), "no criterion 'magic'"),
        (lambda: ActiveLearner(DATA.bags, CLASSES, update="magic"), "no solver 'magic'"),
        (lambda: ActiveLearner(DATA.bags, CLASSES, audit=2), "audit=2"),
        (lambda: ActiveLearner(DATA.bags, "abcd"), "give a list"),
        (lambda: ActiveLearner(DATA.bags, CLASSES, random_state=None), "random_state=None"),
        (lambda: ActiveLearner(DATA.bags, CLASSES, model="lbfgs"), "must be a MIMLClassifier"),
        (
            lambda: ActiveLearner(DATA.bags, CLASSES, model=MIMLClassifier(objective="joint"), update="bag_sgd"),
            "needs one of gd, lbfgs, replay",
        ),
        (lambda: ActiveLearner(DATA.bags, ["a"], model=MIMLClassifier(background=False)), "single class"),
    ],
)
def test_mistakes_get_one_clear_sentence(act, words):
    with pytest.raises(BagwiseError, match=words):
        act()


@pytest.mark.parametrize("answer", ["n", "yes", np.nan, -1, 2, 0.5, ["n"], [np.nan], {}, object()])
def test_an_answer_is_never_guessed(answer):
    learner = make()
    with pytest.raises(BagwiseError, match="is invalid: use True"):
        learner.tell(learner.ask(), answer)
    assert not learner.answers


@pytest.mark.parametrize("answer", [True, 1, np.True_, np.int64(1), [True], (1,), np.array([True])])
def test_ways_to_say_yes(answer):
    learner = make()
    learner.tell(learner.ask(), answer)
    assert learner.answers[0].present == (True,)


@pytest.mark.parametrize("question", [(-3, (0,)), (99, (0,)), (5, (-1,)), (5, (4,)), (5, (0, 0))])
def test_questions_about_nothing_are_refused(question):
    learner = make("bag_sgd")
    bag, classes = question
    with pytest.raises(BagwiseError, match="The question names"):
        learner.tell(Question(bag, classes, (0,) * len(classes)), [True] * len(classes))
    assert not learner.answers


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_answer_that_could_not_be_learned_leaves_no_trace(error, monkeypatch):
    learner, untouched = make(), make()
    answer(learner, 4)
    answer(untouched, 4)
    question = learner.ask()
    with monkeypatch.context() as patched:
        patched.setattr("bagwise.model.solvers.lbfgs.update", lambda *_: (_ for _ in ()).throw(error()))
        with pytest.raises(error):
            learner.tell(question, True)
    same(learner, untouched)
    learner.undo()
    untouched.undo()
    same(learner, untouched)


@pytest.mark.parametrize("count", [0, -1, 2.5, "3"])
def test_ask_for_a_whole_number(count):
    with pytest.raises(BagwiseError, match="`count` must be a whole number"):
        make().ask(count)


@pytest.mark.slow
def test_the_number_of_blas_threads_changes_nothing():
    """Many weights, so that BLAS would use its threads: the fitted model must be the same to the last bit."""
    code = """
import hashlib, numpy as np
from bagwise import ActiveLearner, Bags, MIMLClassifier
rng = np.random.default_rng(0)
bags = Bags(rng.normal(size=(60, 400)), np.arange(0, 61, 3))
labels = np.where(np.arange(20)[:, None] < 8, rng.random((20, 50)) < 0.1, np.nan)
for update in ("lbfgs", "gd"):
    learner = ActiveLearner(bags, [str(c) for c in range(50)], labels, MIMLClassifier(max_iter=5), update=update)
    for _ in range(2):
        learner.tell(learner.ask(), True)
    print(hashlib.sha256(learner.model.weights_.tobytes()).hexdigest())
"""
    digests = set()
    for threads in ("1", "2"):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "BAGWISE_THREADS": threads}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        digests.add(done.stdout)
    assert len(digests) == 1


def test_answers_must_fit_the_question():
    learner = make()
    question = learner.ask()
    with pytest.raises(BagwiseError, match="1 classes but 2 answers"):
        learner.tell(question, [True, False])
    learner.tell(question, np.True_)
    with pytest.raises(BagwiseError, match="answered already"):
        learner.tell(question, True)


def taught(small, update, count=12):
    bags, labels = small
    learner = ActiveLearner(bags, list("abcd"), labels, update=update)
    for number in range(count):
        learner.tell(learner.ask(), [True, False, None][number % 3])
    return learner


@pytest.mark.parametrize("update", solvers.available())
def test_a_memory_goes_on_as_the_learner_would(small, update):
    learner = taught(small, update)
    learner.revise(learner.answers[0].bag, learner.answers[0].classes[0], False)
    learner.tell(learner.ask(), True)
    bags, labels = small
    snapshot = {name: array.copy() for name, array in learner.snapshot().items()}
    again = ActiveLearner(bags, list("abcd"), labels, update=update, snapshot=snapshot)
    assert again.answers == learner.answers
    for _ in range(4):
        assert again.ask() == learner.ask()
        again.tell(again.ask(), True)
        learner.tell(learner.ask(), True)
    learner.undo()
    again.undo()
    assert np.array_equal(again.model.weights_, learner.model.weights_)
    assert all(np.array_equal(again.snapshot()[name], array) for name, array in learner.snapshot().items())


def test_the_probability_of_a_draw_stays_with_its_answer(small):
    bags, labels = small
    learner = ActiveLearner(bags, list("abcd"), labels, audit=0)
    drawn = [replace(learner.ask(), audit=True, probability=0.125)]
    learner.tell(drawn[0], True)
    learner.tell(learner.ask(), True)
    drawn += [replace(learner.ask(), audit=True, probability=0.25)]
    learner.tell(drawn[1], False)
    learner.revise(drawn[0].bag, drawn[0].classes[0], False)
    snapshot = learner.snapshot()
    again = ActiveLearner(bags, list("abcd"), labels, audit=0, snapshot=snapshot)
    assert [one.probability for one in learner.answers] == [0.125, None, 0.25]
    assert again.answers == learner.answers
    del snapshot["probability"]
    older = ActiveLearner(bags, list("abcd"), labels, audit=0, snapshot=snapshot)
    assert older.answers == tuple(replace(one, probability=None) for one in learner.answers)


@pytest.mark.parametrize("update", solvers.available())
def test_answers_can_be_revised_and_retracted(small, update):
    learner = taught(small, update)
    first, second, third = learner.answers[:3]
    learner.revise(first.bag, first.classes[0], False)
    assert not learner.labels.value[first.bag, first.classes[0]]
    learner.revise(second.bag, second.classes[0], None)
    assert not learner.labels.known[second.bag, second.classes[0]]
    known = learner.labels.n_known
    learner.retract(third.bag, third.classes[0])
    assert learner.labels.n_known == known, "an unsure answer was no label"
    asked = {(question.bag, question.classes) for question in learner.ask(100)}
    assert (third.bag, third.classes) in asked
    assert (second.bag, second.classes) not in asked
    with pytest.raises(BagwiseError, match="has no answer"):
        learner.retract(third.bag, third.classes[0])
    with pytest.raises(BagwiseError, match="cannot be undone, only retracted"):
        learner.undo()


def test_with_lbfgs_a_retracted_label_is_forgotten(small):
    """Up to the tolerance of the solver, as if it had never been answered."""
    bags, labels = small
    model = MIMLClassifier(tol=1e-10)
    learner = ActiveLearner(bags, list("abcd"), labels, model)
    question = learner.ask()
    learner.tell(question, True)
    before = learner.predict_proba(bags)
    learner.retract(question.bag, question.classes[0])
    fresh = ActiveLearner(bags, list("abcd"), labels, model).predict_proba(bags)
    assert np.abs(learner.predict_proba(bags) - fresh).max() < 0.02 < np.abs(before - fresh).max()

"""The model with scores of a classifier: the likelihood, the prior of the slopes, and scores that turn out useless."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from bagwise import ActiveLearner, Bags, BagwiseError, Labels, MIMLClassifier, criteria
from bagwise.data.metrics.bag_accuracy import bag_accuracy
from bagwise.data.scores import Scores
from bagwise.kernels import IGNORED, deviation_of, slopes
from bagwise.kernels.cpu.instances import SHARED_DEVIATION, SLOPE_DEVIATION
from bagwise.learning.pool import LocalPool
from bagwise.learning.top_k import scan
from bagwise.partitions import Partitions

CLASSES = 4


@pytest.fixture
def scores(small):
    values = np.random.default_rng(1).random((small[0].n_instances, CLASSES))
    values[:, 3] = np.nan
    return Scores(of_instances=values)


def probabilities(bags, weights, model, logits):
    """P(class is in bag), one instance after the other, from the formula of `data.scores`."""
    scaler = model.transformer_
    present = []
    own = weights[:CLASSES, -2]
    spread = (np.sqrt(SLOPE_DEVIATION**2 + CLASSES * SHARED_DEVIATION**2) - SLOPE_DEVIATION) / CLASSES
    b = 1 + SLOPE_DEVIATION * own + spread * own.sum()
    for bag in range(len(bags)):
        absent = np.ones(CLASSES)
        for row in range(*bags.offsets[bag : bag + 2]):
            x = (bags.instances[row] - scaler.mean_) / scaler.scale_
            z = weights[:, :-2] @ x + weights[:, -1]
            z[:CLASSES] += b * logits[row]
            p = np.exp(z - z.max())
            absent *= 1 - (p / p.sum())[:CLASSES]
        present.append(1 - absent)
    return np.array(present)


def prepared(small, scores, **options):
    bags = scores.attached_to(small[0])
    model = MIMLClassifier(**options).prepare(bags, CLASSES)
    return bags, model, model.objective_of(model.instances(bags), small[1])


def test_the_likelihood_is_that_of_the_formula(small, scores, rng):
    _, model, objective = prepared(small, scores)
    labels = small[1]
    weights = rng.normal(size=model.weights_.shape)
    expected = probabilities(small[0], weights, model, scores.logits(small[0]))
    model.weights_ = weights
    np.testing.assert_allclose(model.predict_proba(small[0], scores), expected, rtol=1e-9)
    of_labels = np.log(np.where(labels.value, expected, 1 - expected))[labels.known].sum()
    assert objective.log_likelihood(weights) == pytest.approx(of_labels)
    value = -of_labels / labels.n_known + objective.penalty / 2 * (weights**2).sum()
    assert objective(weights)[0] == pytest.approx(value)


def test_the_gradient_is_that_of_the_value(small, scores, rng):
    _, model, objective = prepared(small, scores)
    weights = rng.normal(size=model.weights_.shape)
    numeric = approx_fprime(weights.ravel(), lambda flat: objective(flat.reshape(weights.shape))[0], 1e-6)
    np.testing.assert_allclose(objective(weights)[1].ravel(), numeric, atol=1e-5)


def test_gradients_of_single_pairs_include_the_slopes(small, scores, rng):
    bags, model, _ = prepared(small, scores)
    model.weights_ = weights = rng.normal(size=model.weights_.shape)

    def log_absent(flat):
        model.weights_ = flat.reshape(weights.shape)
        return np.log(model.pool(bags).absent[2, 1])

    numeric = approx_fprime(weights.ravel(), log_absent, 1e-6)
    model.weights_ = weights
    np.testing.assert_allclose(model.pool(bags).gradients(2)[1], numeric, atol=1e-5)
    assert np.isfinite(criteria.information_gain(model.pool(bags, small[1]))).all()


def test_the_gradient_is_that_of_the_value_where_slopes_are_trusted_less(small, scores, rng):
    _, model, objective = prepared(small, scores)
    objective = replace(objective, slope_mean=0.25)
    weights = rng.normal(size=model.weights_.shape)
    numeric = approx_fprime(weights.ravel(), lambda flat: objective(flat.reshape(weights.shape))[0], 1e-6)
    np.testing.assert_allclose(objective(weights)[1].ravel(), numeric, atol=1e-5)


@pytest.mark.parametrize("mean", [1.0, 0.25])
def test_without_a_label_the_slopes_have_their_prior_mean(small, scores, mean):
    """Half a deviation from it costs a quarter of the penalty of a weight of 1, whatever the mean is."""
    bags, model, objective = prepared(small, scores)
    nothing = Labels.unknown(len(bags), CLASSES)
    objective = replace(objective, labels=nothing, counted=None, slope_mean=mean)
    weights = np.zeros(model.weights_.shape)
    weights[:CLASSES, -2] = deviation_of(mean, CLASSES)
    np.testing.assert_allclose(slopes(weights[:CLASSES, -2]), mean)
    value, gradient = objective(weights)
    assert value == 0
    assert not gradient.any()
    weights[0, -2] += mean / 2
    assert objective(weights)[0] == pytest.approx(objective.penalty / 8)


def test_scores_are_trusted_less_beside_an_embedding_the_more_is_known(rng):
    offsets, truth = np.arange(0, 121, 3), rng.random((40, CLASSES)) < 0.3
    wide, narrow = (Bags(rng.normal(size=(120, features)), offsets) for features in (200, 199))
    scores = Scores(of_bags=np.where(truth, 0.8, 0.1))
    found = {}
    for bags in (wide, narrow):
        bags = scores.attached_to(bags)
        for known in (10, 39):
            labels = Labels.from_array(truth.astype(float), missing=-1).hide(range(known, 40))
            model = MIMLClassifier().prepare(bags, CLASSES)
            found[bags.n_features, known] = model.objective_of(model.instances(bags), labels).slope_mean
    assert found == {(200, 10): 1 / 3, (200, 39): 1 / (1 + 39 / 5), (199, 10): 1, (199, 39): 1}


def test_slopes_deviate_together_and_each_on_its_own():
    jacobian = np.array([slopes(one) - slopes(np.zeros(5)) for one in np.eye(5)])
    np.testing.assert_allclose(
        jacobian.T @ jacobian, SLOPE_DEVIATION**2 * np.eye(5) + SHARED_DEVIATION**2 * np.ones((5, 5))
    )
    assert not slopes(np.full(5, IGNORED)).any()


@pytest.mark.parametrize("solver", ["lbfgs", "gd", "replay"])
def test_scores_of_zero_are_no_scores(small, solver):
    """A logit of 0 for every instance and class adds nothing, whatever the slopes are."""
    bags, labels = small
    plain = MIMLClassifier(solver).fit(bags, labels)
    zero = MIMLClassifier(solver).fit(bags.with_scores(np.zeros((bags.n_instances, CLASSES))), labels)
    np.testing.assert_allclose(zero.coef_, plain.coef_, atol=1e-9)
    np.testing.assert_allclose(zero.intercept_, plain.intercept_, atol=1e-9)


def made(count=150, useful=True, seed=0):
    """Bags whose features say something, and scores that are the truth with noise, or shuffled."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, count)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    kind = rng.choice(CLASSES + 1, offsets[-1], p=[0.1, 0.1, 0.1, 0.1, 0.6])
    x = rng.normal(size=(offsets[-1], 10))
    x[:, :CLASSES] += 3 * (kind[:, None] == np.arange(CLASSES))
    logits = np.where(kind[:, None] == np.arange(CLASSES), 2.0, -3.0) + rng.normal(size=(len(kind), CLASSES))
    probability = 1 / (1 + np.exp(-logits))
    truth = np.array([[(kind[a:b] == c).any() for c in range(CLASSES)] for a, b in pairwise(offsets)])
    named = Bags(x, offsets, [f"bag {number}" for number in range(count)])
    return named, truth, Scores(of_instances=probability if useful else rng.permuted(probability, axis=0))


def test_a_good_score_is_used_before_and_after_the_first_answers():
    bags, truth, scores = made()
    learner = ActiveLearner(bags, list("abcd"), scores=scores)
    assert bag_accuracy(truth, learner.predict_proba(bags, scores) > 0.5) > 0.7
    without = ActiveLearner(bags, list("abcd"))
    for one in (learner, without):
        for _ in range(30):
            question = one.ask()
            one.tell(question, [bool(truth[question.bag, c]) for c in question.classes])
    assert learner.model.uses_scores
    assert 0.5 < learner.model.slopes_.mean() < 2
    gain = bag_accuracy(truth, learner.predict_proba(bags, scores) > 0.5) - bag_accuracy(
        truth, without.predict_proba(bags) > 0.5
    )
    assert gain > 0.1


def test_useless_scores_are_ignored_completely():
    bags, truth, scores = made(useful=False)
    labels = Labels.from_array(np.where(np.arange(len(bags))[:, None] < 40, truth, -1), missing=-1)
    model = MIMLClassifier().fit(bags, labels, scores=scores)
    assert not model.uses_scores
    plain = MIMLClassifier().fit(bags, labels)
    np.testing.assert_allclose(model.predict_proba(bags, scores), plain.predict_proba(bags), rtol=1e-6)


def test_after_300_answers_shuffled_scores_cost_nothing():
    accuracy = {}
    for shuffled in (False, True):
        bags, truth, scores = made(count=200, useful=False, seed=5)
        learner = ActiveLearner(bags, list("abcd"), scores=scores if shuffled else None)
        for _ in range(300):
            question = learner.ask()
            learner.tell(question, [bool(truth[question.bag, c]) for c in question.classes])
        assert not learner.model.uses_scores
        accuracy[shuffled] = bag_accuracy(truth, learner.model.predict_proba(learner.bags) > 0.5)
    assert accuracy[True] >= accuracy[False] - 0.02


@pytest.mark.parametrize("criterion", ["uncertainty", "widening_uncertainty", "expected_gradient_length"])
def test_questions_are_those_of_a_search_through_everything(criterion):
    bags, truth, scores = made()
    labels = Labels.from_array(np.where(np.arange(len(bags))[:, None] < 8, truth, -1), missing=-1)
    learner = ActiveLearner(bags, list("abcd"), labels, criterion=criterion, audit=0, scores=scores, update="lbfgs")
    for _ in range(12):
        question = learner.ask()
        (best,) = scan(learner.pool(), criterion, 1)
        assert (question.bag, question.classes) == (best.bag, best.classes)
        learner.tell(question, bool(truth[question.bag, question.classes[0]]))


def test_a_device_and_partitions_ask_the_same_questions(tmp_path):
    torch = pytest.importorskip("torch")
    from bagwise.learning.top_k_gpu import GpuTopK

    bags, truth, scores = made()
    in_partitions = Partitions.write(
        tmp_path / "partitions", [bags.select(np.arange(80)), bags.select(np.arange(80, 150))]
    )
    labels = Labels.from_array(np.where(np.arange(len(bags))[:, None] < 8, truth, -1), missing=-1)
    on_device = LocalPool(scores.attached_to(bags), GpuTopK("cuda" if torch.cuda.is_available() else "cpu"))
    options = {"criterion": "uncertainty", "audit": 0}
    learners = [
        ActiveLearner(bags, list("abcd"), labels, scores=scores, **options),
        ActiveLearner(None, list("abcd"), labels, pool=on_device, **options),
        ActiveLearner(in_partitions.bags(bags.ids, bags.offsets), list("abcd"), labels, scores=scores, **options),
    ]
    for _ in range(8):
        first, *others = [learner.ask() for learner in learners]
        assert [(one.bag, one.classes) for one in others] == [(first.bag, first.classes)] * 2
        for learner in learners:
            learner.tell(first, bool(truth[first.bag, first.classes[0]]))


def test_a_snapshot_and_an_undo_restore_the_learner():
    bags, truth, scores = made()
    learner = ActiveLearner(bags, list("abcd"), scores=scores)
    for _ in range(12):
        question = learner.ask()
        before = learner.model.weights_
        learner.tell(question, [bool(truth[question.bag, c]) for c in question.classes])
    again = ActiveLearner(bags, list("abcd"), scores=scores, snapshot=learner.snapshot())
    assert again.ask() == learner.ask()
    learner.undo()
    np.testing.assert_array_equal(learner.model.weights_, before)


def test_a_model_with_scores_is_saved_and_needs_scores(small, scores, tmp_path):
    bags, labels = small
    model = MIMLClassifier().fit(bags, labels, scores=scores)
    model.save(tmp_path / "model.npz")
    again = MIMLClassifier.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict_proba(bags, scores), model.predict_proba(bags, scores))
    np.testing.assert_array_equal(again.slopes_, model.slopes_)
    with pytest.raises(BagwiseError, match="fitted with scores"):
        again.predict(bags)
    with pytest.raises(BagwiseError, match="fitted without scores"):
        MIMLClassifier().fit(bags, labels).predict(bags, scores)
    assert model.coef_.shape == (CLASSES + 1, 3)


def test_stochastic_solvers_and_pools_elsewhere_say_that_they_do_not_support_scores(small, scores):
    bags, labels = small
    with pytest.raises(BagwiseError, match="solver='bag_sgd' does not support scores"):
        MIMLClassifier("bag_sgd").fit(bags, labels, scores=scores)
    with pytest.raises(BagwiseError, match="update='pair_sgd' does not support scores"):
        ActiveLearner(bags, list("abcd"), update="pair_sgd", scores=scores)
    with pytest.raises(BagwiseError, match="does not support them"):
        ActiveLearner(classes=list("abcd"), pool=object(), scores=scores)


def test_bags_keep_their_scores_where_some_are_selected(small, scores):
    bags = scores.attached_to(small[0])
    chosen = bags.select([3, 1])
    expected = np.concatenate([bags.scores[slice(*bags.offsets[b : b + 2])] for b in (3, 1)])
    np.testing.assert_array_equal(chosen.scores, expected)
    model = MIMLClassifier().fit(bags, small[1])
    np.testing.assert_array_equal(model.predict_proba(chosen), model.predict_proba(bags)[[3, 1]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_other_precisions_are_supported(small, scores, dtype):
    bags, labels = small
    rounded = Bags(bags.instances.astype(dtype), bags.offsets)
    exact = Bags(rounded.instances.astype(float), bags.offsets)
    found, expected = (MIMLClassifier().fit(some, labels, scores=scores) for some in (rounded, exact))
    np.testing.assert_allclose(found.predict_proba(rounded, scores), expected.predict_proba(exact, scores), atol=1e-3)


def test_good_scores_are_kept_where_every_answer_was_yes():
    """A constant explains such answers as well as the scores do."""
    bags, truth, scores = made()
    likely = np.argwhere(truth & (scores.attached_to(bags).scores[bags.offsets[:-1]] > 1))[:15]
    known = np.zeros(truth.shape, bool)
    known[tuple(likely.T)] = True
    model = MIMLClassifier().fit(bags, Labels(truth, known), scores=scores)
    assert known.sum() == 15
    assert model.uses_scores

"""Labels drawn for the open pairs: what they must be whatever the data, and what audits must change."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bagwise import Labels, evaluation, metrics
from bagwise.evaluation import open_pairs

BAGS, CLASSES = 200, 3


def drawn_with(seed, known=0.4, bags=BAGS):
    """Predictions of which a fifth is wrong, and what is known of them."""
    rng = np.random.default_rng(seed)
    truth = rng.random((bags, CLASSES)) < 0.4
    right = rng.random(truth.shape) < 0.8
    probability = np.where(truth == right, 0.85, 0.15)
    return probability, truth, rng.random(truth.shape) < known, rng


def mean_errors(probability, labels, audit, seed=0, belief=None):
    """The mean share of wrong predictions among open pairs."""
    rng, believed = np.random.default_rng(seed), probability if belief is None else belief
    model = open_pairs.learn(probability, believed, labels, audit, 300, rng)
    sets = model.label_sets(probability, believed, labels, rng)
    return np.mean([((one != (probability > 0.5)) & ~labels.known).sum() / (~labels.known).sum() for one in sets])


@given(arrays.arrays(float, (12, 2), elements=st.floats(0, 1)), st.integers(0, 99))
def test_every_draw_has_the_known_labels(probability, seed):
    rng = np.random.default_rng(seed)
    labels = Labels(rng.random((12, 2)) < 0.5, rng.random((12, 2)) < 0.7)
    belief = rng.random((12, 2))
    model = open_pairs.learn(probability, belief, labels, labels.known & (rng.random((12, 2)) < 0.5), 5, rng)
    for one in model.label_sets(probability, belief, labels, rng):
        np.testing.assert_array_equal(one[labels.known], labels.value[labels.known])


def test_where_all_is_known_the_estimate_is_the_value_itself():
    probability, truth, _, _ = drawn_with(0)
    found = evaluation.estimate(probability, Labels(truth, np.ones_like(truth)), np.zeros_like(truth))
    for name, one in found.metrics.items():
        value = metrics.get(name)(truth, probability)
        assert (one.low, one.value, one.high) == pytest.approx((value, value, value))
    hits, predicted = (truth & (probability > 0.5)).sum(axis=0), (probability > 0.5).sum(axis=0)
    for c, one in enumerate(found.classes):
        assert one.precision.value == pytest.approx(hits[c] / predicted[c])
        assert one.recall.value == pytest.approx(hits[c] / truth[:, c].sum())
        assert one.prevalence.value == pytest.approx(truth[:, c].mean())


def test_audits_that_are_wrong_raise_the_errors_of_open_pairs_and_right_ones_lower_them():
    probability, truth, known, rng = drawn_with(1)
    audit, predicted = known & (rng.random(known.shape) < 0.3), probability > 0.5
    wrong, right = (np.where(audit, predicted ^ flip, truth) for flip in (True, False))
    fewer, usual, more = (
        mean_errors(probability, Labels(value & known, known), audit) for value in (right, truth, wrong)
    )
    assert fewer < usual - 0.03 < usual + 0.03 < more
    assert usual == pytest.approx((truth != predicted)[known].mean(), abs=0.05)


def test_chosen_answers_say_less_about_open_pairs_than_audits():
    probability, truth, known, _ = drawn_with(2)
    labels = Labels(truth & known, known)
    widths = [
        evaluation.estimate(probability, labels, audit).metrics["hamming_loss"]
        for audit in (known, np.zeros_like(known))
    ]
    assert widths[0].high - widths[0].low < widths[1].high - widths[1].low


def test_a_class_that_is_worse_than_the_others_is_told_by_its_audits():
    probability, truth, known, _ = drawn_with(3, known=0.5)
    truth[:, 2] = np.where(known[:, 2], probability[:, 2] < 0.5, truth[:, 2])
    found = evaluation.estimate(probability, Labels(truth & known, known), known).classes
    assert found[2].precision.high < min(found[0].precision.value, found[1].precision.value)


def test_thousands_of_audits_neither_overflow_nor_underflow():
    probability, truth, known, _ = drawn_with(4, known=0.7, bags=5000)
    found = evaluation.estimate(probability, Labels(truth & known, known), known).metrics["hamming_loss"]
    assert 0.2 in found
    assert found.high - found.low < 0.03


def test_answers_to_questions_that_were_chosen_for_a_belief_tell_of_pairs_with_that_belief():
    """Asked where the model was in doubt, and right to be; of open pairs it is sure, and right again."""
    rng = np.random.default_rng(5)
    probability = np.full((BAGS, CLASSES), 0.3)
    known = rng.random(probability.shape) < 0.4
    belief = np.where(known, rng.uniform(0.3, 0.7, known.shape), 0.02)
    truth = rng.random(known.shape) < belief
    labels, none = Labels(truth & known, known), np.zeros_like(known)
    without, given_belief = (mean_errors(probability, labels, none, belief=one) for one in (None, belief))
    errors = truth[~known].mean()
    assert errors < 0.05 < 0.3 < without
    assert abs(given_belief - errors) < 0.4 * abs(without - errors)
    audited = Labels(truth & known | (audit := known & (rng.random(known.shape) < 0.1)), known)
    assert mean_errors(probability, audited, audit, belief=belief) > 2 * given_belief, "audits may say otherwise"


def test_what_nobody_was_asked_about_is_believed_as_it_is_predicted():
    probability, truth, known, _ = drawn_with(6)
    labels, audit = Labels(truth & known, known), np.zeros_like(known)
    unknown = np.full(probability.shape, np.nan)
    assert evaluation.estimate(probability, labels, audit, belief=unknown) == evaluation.estimate(
        probability, labels, audit
    )


def test_where_few_open_pairs_are_predicted_those_are_wrong_more_often():
    few, many = np.zeros(100, bool), np.ones(100, bool)
    few[:8] = True
    assert open_pairs._shift_of_predicted(few) == pytest.approx(0.75, abs=0.1)
    assert open_pairs._shift_of_predicted(many) == open_pairs.FEWEST_AND_MOST[0]

"""The order of audits: what was open at each draw, and that this is what an unbiased estimate needs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from bagwise.evaluation.audit_history import NEVER, AuditDraw, AuditHistory, Closed
from bagwise.learning.questions import Answer

BAGS, CLASSES = 3, 2
PAIRS = list(np.ndindex(BAGS, CLASSES))

answers = some.lists(
    some.builds(
        lambda pair, present, audit, instance: Answer(
            pair[0], (pair[1],), (present,), audit, instance=instance, probability=0.25 if audit else None
        ),
        some.sampled_from(PAIRS),
        some.sampled_from([True, False, None]),
        some.booleans(),
        some.sampled_from([None, None, 0]),
    ),
    max_size=6,
    unique_by=lambda answer: (answer.bag, answer.classes),
)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(answers, some.lists(some.sampled_from(PAIRS), unique=True))
def test_answers_one_after_the_other(given_answers, from_the_start):
    """Open before an audit is what has neither a label from the start nor an answer before it."""
    known = np.zeros((BAGS, CLASSES), bool)
    for pair in from_the_start:
        known[pair] = True
    asked = [one for one in given_answers if not known[one.bag, one.classes[0]]]
    history = AuditHistory.of_answers(known, asked)
    audits = [(place, one) for place, one in enumerate(asked) if one.audit and one.labels_bag]
    assert [draw.after for draw in history.draws] == [place for place, _ in audits]
    for number, (place, one) in enumerate(audits):
        expected = ~known
        for earlier in asked[:place]:
            if earlier.labels_bag:
                expected[earlier.bag, earlier.classes[0]] = False
        np.testing.assert_array_equal(history.open_before(number), expected)
        assert (history.draws[number].pairs, history.draws[number].present) == (
            ((one.bag, one.classes[0]),),
            one.present,
        )
    labelled = {(one.bag, one.classes[0]) for _, one in audits if one.present[0] is not None}
    assert {pair for pair in PAIRS if history.audited[pair]} == labelled


def test_what_was_undone_was_closed_for_a_while():
    closed = np.full((2, 1), NEVER)
    draws = tuple(AuditDraw(0, (0,), (True,), 0.5, after) for after in (1, 2, 4))
    history = AuditHistory(draws, np.zeros((2, 1), np.int64), closed, (Closed((1, 0), 2, 4),))
    assert [history.open_before(place)[1, 0] for place in range(3)] == [True, False, True]


def test_some_bags_and_classes_in_another_order():
    whole = AuditDraw(2, (0, 1), (True, None), 0.5, 0)
    other = AuditDraw(0, (1,), (False,), 0.25, 1)
    opened, closed = np.arange(6).reshape(3, 2), np.arange(10, 16).reshape(3, 2)
    history = AuditHistory((whole, other), opened, closed, (Closed((2, 1), 3, 4), Closed((0, 0), 5, 6)))
    found = history.select([2, 1], [1, 0])
    assert found.draws == (AuditDraw(0, (0, 1), (None, True), 0.5, 0),)
    assert found.undone == (Closed((0, 0), 3, 4),)
    assert (found.opened.tolist(), found.closed.tolist()) == ([[5, 4], [3, 2]], [[15, 14], [13, 12]])


@pytest.mark.parametrize("chosen_first", [False, True])
def test_every_draw_estimates_a_total_without_bias(chosen_first):
    """The exact expectation over all draws, where probabilities and later questions depend on earlier answers."""
    truth = np.array([[1, 0], [0, 1], [1, 1]], bool)
    predicted = np.array([[0.9, 0.4], [0.2, 0.3], [0.5, 0.7]])
    expected, mass = np.zeros(2), 0.0

    def design(open_pairs, answered):
        weights = {
            pair: 1 + predicted[pair] + 2 * (truth[answered[-1]] if answered else 0) * pair[0] for pair in open_pairs
        }
        return {pair: weight / sum(weights.values()) for pair, weight in weights.items()}

    def told(pair, audit, probability=None):
        return Answer(pair[0], (pair[1],), (bool(truth[pair]),), audit, probability=probability)

    begin = [told((0, 0), False)] if chosen_first else []
    left = [pair for pair in PAIRS if not (chosen_first and pair == (0, 0))]
    for first, p in design(left, []).items():
        rest = [pair for pair in left if pair != first]
        # What is chosen next depends on what was drawn.
        chosen = rest[0] if truth[first] else rest[-1]
        rest = [pair for pair in rest if pair != chosen]
        for second, q in design(rest, [first, chosen]).items():
            done = [*begin, told(first, True, p), told(chosen, False), told(second, True, q)]
            history = AuditHistory.of_answers(np.zeros((BAGS, CLASSES), bool), done)
            mass += p * q
            for place, draw in enumerate(history.draws):
                is_open = history.open_before(place)
                ((bag, label_class, present),) = draw.labelled
                residual = (present - predicted[bag, label_class]) / draw.probability
                expected[place] += p * q * (truth[~is_open].sum() + predicted[is_open].sum() + residual)
    assert mass == pytest.approx(1)
    np.testing.assert_allclose(expected, truth.sum())


def test_audits_of_older_projects_were_as_likely_as_all_that_was_open():
    told = [
        Answer(0, (0,), (True,), audit=True),
        Answer(1, (0,), (False,)),
        Answer(1, (1,), (True,), audit=True, probability=0.125),
        Answer(2, (0, 1), (True, None), audit=True),
    ]
    known = np.zeros((BAGS, CLASSES), bool)
    known[0, 1] = True
    history = AuditHistory.of_answers(known, told)
    assert history.probabilities.tolist() == [1 / 5, 0.125, 1.0], "one of five pairs; stored; the only bag left"
    np.testing.assert_array_equal(history.probability, [[0.2, np.nan], [np.nan, 0.125], [1, np.nan]])
    np.testing.assert_array_equal(history.weights, [[5, 0], [0, 8], [1, 0]])
    np.testing.assert_array_equal(history.order, [[1, -np.inf], [2, 3], [4, 4]])
    older = AuditHistory.of_answers(known, [told[0], told[3]])
    np.testing.assert_array_equal(older.weights, older.audited, "in an older project all were drawn alike")

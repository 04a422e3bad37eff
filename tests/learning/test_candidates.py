"""Questions that are asked at the same time differ, audits come at their turns, and no more is read than it takes."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from bagwise.learning.candidates import Candidates, Overlap, diversify
from bagwise.learning.questions import Question


def is_like(question, pair):
    return (question.bag == pair[0]) != (pair[1] in question.classes)


def least_like(questions, asked):
    """The first of those that are least like what is asked, obviously."""
    return min(questions, key=lambda question: sum(is_like(question, pair) for pair in asked), default=None)


def is_anything(question):
    return True


questions = st.lists(
    st.builds(
        Question,
        bag=st.integers(0, 3),
        classes=st.sets(st.integers(0, 4), min_size=1, max_size=2).map(tuple),
        audit=st.booleans(),
    ),
    max_size=12,
    unique_by=lambda one: one.pairs,
)
pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=8)


def test_the_unlike_come_first_and_no_more_is_read_than_needed():
    choices = iter([Question(0, (0,)), Question(0, (1,)), Question(1, (0,)), Question(2, (1,)), Question(3, (3,))])
    assert [one.pairs for one in diversify(choices, 2)] == [((0, 0),), ((2, 1),)]
    assert next(choices).bag == 3


def test_being_asked_of_another_person_a_question_is_not_like_itself():
    choices = [Question(0, (0,)), Question(1, (0,)), Question(0, (1,))]
    assert Candidates(choices, Overlap([(0, 0)]), is_anything).best() is choices[0]


@given(questions, pairs)
def test_the_overlap_is_the_number_of_asked_pairs_that_are_alike(questions, asked):
    overlap = Overlap(asked)
    for question in questions:
        assert overlap.of(question) == sum(is_like(question, pair) for pair in asked)


@given(questions, st.integers(0, 6))
def test_diversify_is_the_obvious_search(questions, count):
    left, asked, expected = [one for one in questions if not one.audit], [], []
    while left and len(expected) < count:
        expected.append(least_like(left, asked))
        left.remove(expected[-1])
        asked += expected[-1].pairs
    assert diversify(iter(questions), count) == expected


takers = st.lists(st.tuples(st.booleans(), st.sets(st.integers(0, 3)), pairs), max_size=8)


@given(questions, pairs, st.integers(1, 2), takers)
def test_each_taker_gets_the_obvious_question(questions, asked, people, takers):
    """Takers who may not be asked about some bags, one after the other, each asked meanwhile of something else too."""
    overlap, asked = Overlap(asked), list(asked)

    def is_open(question):
        return all(overlap.pairs.get(pair, 0) < people for pair in question.pairs)

    candidates = Candidates(iter(questions), overlap, is_open)
    for audit, without, besides in takers:
        found = (candidates.drawn if audit else candidates.best)(
            lambda question, without=without: None if question.bag in without else question
        )
        times = Counter(asked)
        left = [one for one in questions if all(times[pair] < people for pair in one.pairs)]
        suited = [one for one in left if one.bag not in without and one.audit == audit]
        assert found == (next(iter(suited), None) if audit else least_like(suited, asked))
        for pair in (*besides, *(found.pairs if found is not None else ())):
            overlap.add([pair])
            asked.append(pair)


@given(questions, pairs, st.sets(st.integers(0, 3)), st.integers(1, 9))
def test_as_many_are_compared_as_suit_the_taker(questions, asked, without, most):
    def suited(question):
        return None if question.bag in without else question

    questions = [one for one in questions if not (one.audit and suited(one) is None)]
    compared = [one for one in questions if suited(one)][:most]
    chosen = [one for one in compared if not one.audit]
    best = Candidates(iter(questions), Overlap(asked), is_anything).best(suited, most)
    assert best == least_like(chosen, asked)
    drawn = Candidates(iter(questions), Overlap(asked), is_anything).drawn(suited, most)
    assert drawn == next((one for one in compared if one.audit), None)


def test_who_is_refused_thousands_of_questions_is_asked_the_next():
    """As where several are to be asked about each: the others' questions stay, and they are looked at but once."""
    looked_at, refused = Counter(), [Question(bag, (0,)) for bag in range(4000)]

    def suited(question):
        looked_at[question.bag] += 1
        return question if question.bag >= len(refused) else None

    candidates = Candidates([*refused, Question(5000, (0,)), Question(6000, (0,), audit=True)], Overlap(), is_anything)
    assert candidates.best(suited, 61).bag == 5000
    assert max(looked_at.values()) <= 2
    assert candidates.drawn(suited, 61).bag == 6000


def test_what_is_not_asked_after_all_counts_no_more():
    choices, overlap = [Question(0, (0,)), Question(1, (1,))], Overlap()
    candidates = Candidates(choices, overlap, is_anything)
    overlap.add([(0, 1), (5, 0)])
    assert candidates.best() is choices[1]
    overlap.add([(0, 1), (5, 0)], -1)
    assert candidates.best() is choices[0]


def test_who_may_not_be_asked_the_best_gets_the_next():
    choices, read = [Question(bag, (0,)) for bag in range(9)], []

    def questions():
        for question in choices:
            read.append(question.bag)
            yield question

    candidates = Candidates(questions(), Overlap([(7, 0)]), is_anything)
    assert candidates.best(most=3) is choices[0]
    assert read == [0, 1, 2]
    assert candidates.best(lambda one: one if one.bag > 3 else None, most=3) is choices[4]

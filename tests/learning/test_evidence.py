"""Evidence and belief of many pairs at once are those of each pair by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bagwise import Bags, MIMLClassifier
from bagwise.learning.evidence import evidence_and_belief, explain, strongest_instances, strongest_of
from bagwise.learning.questions import Question

# Few values, so that several instances are the strongest, and some are certain.
values = st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.75, 1.0])


@st.composite
def some_bags(draw):
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    probability = draw(st.lists(st.lists(values, min_size=3, max_size=3), min_size=sum(sizes), max_size=sum(sizes)))
    pairs = draw(st.lists(st.tuples(st.integers(0, len(sizes) - 1), st.integers(0, 2)), min_size=1, max_size=8))
    return np.array(probability, np.float32), np.concatenate([[0], np.cumsum(sizes)]), pairs


@given(some_bags())
def test_they_are_those_of_each_pair(drawn):
    probability, offsets, pairs = drawn
    bags, classes = zip(*pairs, strict=True)
    evidence, belief = evidence_and_belief(probability, offsets, bags, classes)
    for (bag, label_class), instance, believed in zip(pairs, evidence, belief, strict=True):
        column = probability[offsets[bag] : offsets[bag + 1], label_class].astype(float)
        assert instance == column.argmax()
        assert believed == pytest.approx(1 - np.prod(1 - column))


@given(some_bags())
def test_questions_get_what_is_theirs(drawn):
    probability, offsets, pairs = drawn
    places = {100 + place: place for place in range(len(offsets) - 1)}
    asked = [Question(100 + bag, (label_class, (label_class + 1) % 3)) for bag, label_class in pairs]
    asked += [Question(100 + bag, (label_class,), instance=0) for bag, label_class in pairs]
    for before, question in zip(asked, explain(asked, probability, offsets, places), strict=True):
        assert (question.bag, question.classes, question.instance) == (before.bag, before.classes, before.instance)
        first = offsets[places[question.bag]]
        of_bag = probability[first : offsets[places[question.bag] + 1]]
        if question.instance is None:
            assert question.evidence == tuple(of_bag[:, c].argmax() for c in question.classes)
        else:
            assert (question.evidence, question.belief) == ((0,), (of_bag[0, question.classes[0]],))
    assert explain([], probability, offsets, places) == []


def test_the_strongest_of_pairs_are_among_those_of_all(rng):
    bags = Bags.from_list([rng.standard_normal((size, 4)) for size in (3, 1, 6)])
    model = MIMLClassifier.from_weights(rng.standard_normal((5, 4)))
    pairs = [(bag, label_class) for bag in range(3) for label_class in range(5)]
    assert strongest_of(model, bags, pairs) == strongest_instances(model, bags).ravel().tolist()

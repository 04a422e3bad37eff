"""Scores of a classifier as logits of instances, and the names of classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bagwise import Bags, BagwiseError
from bagwise.data.class_names import ClassNames
from bagwise.data.scores import LEAST, Scores

BAGS = Bags.from_list([[[0.0]], [[1.0], [2.0], [3.0]]])


def softmax_with_background(logits):
    shares = np.exp(logits)
    return shares / (1 + shares.sum(axis=1, keepdims=True))


@given(st.floats(LEAST, 1 - LEAST), st.integers(1, 50))
def test_a_bag_gets_back_the_score_that_its_instances_share(probability, size):
    bags = Bags.from_list([np.zeros((size, 1))])
    of_instance = softmax_with_background(Scores(of_bags=[[probability]]).logits(bags))[:, 0]
    assert len(set(of_instance)) == 1
    assert 1 - np.prod(1 - of_instance) == pytest.approx(probability, rel=1e-9)


def test_a_score_is_the_probability_of_the_instance_beside_the_background():
    scores = Scores(of_instances=[[0.3], [0.9], [0.2], [0.5]])
    np.testing.assert_allclose(softmax_with_background(scores.logits(BAGS)), scores.of_instances)


@pytest.mark.parametrize("known", [0, 1, 3])
def test_what_is_unknown_keeps_the_probability_that_it_has_without_scores(known):
    values = np.full((4, 5), np.nan)
    values[:, :known] = LEAST
    found = softmax_with_background(Scores(of_instances=values).logits(BAGS))
    np.testing.assert_allclose(found[:, known:], 1 / 6, rtol=1e-3)
    if not known:
        assert not Scores(of_instances=values).logits(BAGS).any()


def test_a_score_of_a_bag_counts_where_its_instances_have_none():
    scores = Scores(of_instances=[[np.nan], [0.9], [np.nan], [np.nan]], of_bags=[[0.2], [0.5]])
    found = scores.logits(BAGS)[:, 0]
    assert found[0] == Scores(of_bags=[[0.2], [0.5]]).logits(BAGS)[0, 0]
    assert found[1] == pytest.approx(np.log(9))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"of_bags": [[1.5]]}, "between 0 and 1"),
        ({"of_bags": [0.5]}, "shape"),
        ({"of_bags": [["a"]]}, "numbers"),
        ({}, "no scores"),
        ({"of_bags": [[0.1, 0.2]], "classes": ["a"]}, "1 and 2 classes"),
    ],
)
def test_invalid_scores_are_refused(values, message):
    with pytest.raises(BagwiseError, match=message):
        Scores(**values)


def test_scores_of_other_bags_are_refused():
    with pytest.raises(BagwiseError, match="3 bags where the bags have 2"):
        Scores(of_bags=np.ones((3, 1))).logits(BAGS)


NAMES = ["Parus major_Great Tit", "Strix aluco_Tawny Owl", "Turdus merula_Common Blackbird", "noise"]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("parus major", 0),
        ("Great  Tit", 0),
        ("great-tit", 0),
        ("PARUS MAJOR_GREAT TIT", 0),
        ("Strix aluco", 1),
        ("Noise", 3),
        ("Great", -1),
        ("", -1),
    ],
)
def test_names_match_by_their_scientific_and_common_forms(name, place):
    assert ClassNames(NAMES).columns([name]).tolist() == [place]


def test_a_name_that_two_classes_have_matches_neither():
    assert ClassNames(["Parus major_tit", "Parus minor_tit"]).columns(["tit", "Parus minor"]).tolist() == [-1, 1]


def test_scores_are_put_in_the_order_of_the_model():
    scores = Scores(of_bags=[[0.1, 0.2, 0.3, 0.4]], classes=NAMES).matched(["tawny owl", "wren"])
    np.testing.assert_array_equal(scores.of_bags, [[0.2, np.nan]])

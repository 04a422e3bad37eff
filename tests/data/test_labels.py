import numpy as np
import pytest

from bagwise import BagwiseError, Labels


def test_both_conventions_say_the_same():
    by_nan = Labels.from_array([[1, 0, np.nan]])
    assert by_nan == Labels.from_array([[1, 0, -1]], missing=-1)
    assert by_nan.known.tolist() == [[True, True, False]]
    np.testing.assert_array_equal(by_nan.to_array(missing=-1), [[1, 0, -1]])
    assert Labels.from_array(by_nan.to_array()) == by_nan


def test_unknown_is_not_absent():
    labels = Labels.unknown(2, 3)
    assert labels.n_known == 0
    labels.record(1, 2, False)
    assert labels.n_known == 1
    assert labels.known[1, 2]
    labels.forget(1, 2)
    assert labels == Labels.unknown(2, 3)


def test_a_masked_label_is_unknown():
    masked = np.ma.array([[1, 0]], mask=[[False, True]])
    assert Labels.from_array(masked) == Labels.from_array([[1, np.nan]])


def test_what_is_not_known_may_be_anything():
    assert Labels([[1, -1]], [[True, False]]) == Labels.from_array([[1, np.nan]])


def test_the_given_array_is_not_changed():
    given = np.array([[True, False]])
    labels = Labels(given, given)
    labels.record(0, 1, True)
    assert given.tolist() == [[True, False]]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Labels.from_array([[1, 0], [0, -1]]), ["bag 1", "column 1", "-1"]),
        (lambda: Labels.from_array([[1, 2]], missing=-1), ["bag 0", "column 1", "2"]),
        (lambda: Labels.from_array([[1, 0.5]]), ["0.5"]),
        (lambda: Labels.from_array([1, 0]), ["2-dimensional"]),
        (lambda: Labels.from_array([["yes", "no"]]), ["numbers"]),
        (lambda: Labels.unknown(3, 0), ["no classes"]),
        (lambda: Labels([[1, 0]], [[1]]), ["shape"]),
        (lambda: Labels.of([[1, 0]], bags=2), ["1 bags", "2 bags"]),
        (lambda: Labels([[-1, 1]], [[1, 1]]), ["neither True nor False"]),
        (lambda: Labels([[np.nan, 1]], [[1, 1]]), ["neither True nor False"]),
        (lambda: Labels([["0", "1"]], [[1, 1]]), ["neither True nor False"]),
        (lambda: Labels([[0, 1]], [[2, 1]]), ["neither True nor False"]),
        (lambda: Labels.from_array([[1, 0], [1]]), ["differ in length"]),
    ],
)
def test_invalid_labels_are_an_error_of_one_sentence(make, words):
    with pytest.raises(BagwiseError) as refusal:
        make()
    for word in words:
        assert word in str(refusal.value)

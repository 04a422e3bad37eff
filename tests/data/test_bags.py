import numpy as np
import pytest

from bagwise import Bags, BagwiseError


def test_arrays_and_memory_maps_are_not_copied(tmp_path, rng):
    for dtype in (np.float32, np.float64):
        x = rng.normal(size=(6, 2)).astype(dtype)
        assert np.shares_memory(Bags(x, [0, 2, 6]).instances, x)
        np.save(tmp_path / "x.npy", x)
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
        bags = Bags(mapped, [0, 2, 6])
        assert np.shares_memory(bags.instances, mapped)
        assert np.shares_memory(bags[1], mapped)


def test_whole_numbers_become_float64():
    assert Bags([[1, 2]], [0, 1]).instances.dtype == np.float64


def test_select_keeps_instances_and_ids_together(rng):
    arrays = [rng.normal(size=(n, 2)) for n in (1, 3, 2, 4)]
    bags = Bags.from_list(arrays, ids=["a", "b", "c", "d"])
    chosen = bags.select([3, 1])
    assert chosen.ids.tolist() == ["d", "b"]
    np.testing.assert_array_equal(chosen[0], arrays[3])
    np.testing.assert_array_equal(chosen[1], arrays[1])
    assert chosen.keys.tolist() == [bags.keys[3], bags.keys[1]]
    assert bags.select(np.array([True, False, False, True])).ids.tolist() == ["a", "d"]


def test_keys_depend_on_the_id_alone():
    assert Bags([[0.0], [1.0]], [0, 1, 2], ids=["x", "y"]).keys[1] == Bags([[5.0]], [0, 1], ids=["y"]).keys[0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Bags([[1.0, np.nan], [0, 0]], [0, 1, 2], ids=["wren", "jay"]), ["'wren'", "column 1", "NaN"]),
        (lambda: Bags([[0, 0], [np.inf, 1.0]], [0, 1, 2], ids=["wren", "jay"]), ["'jay'", "column 0", "infinite"]),
        (lambda: Bags([[1.0], [2.0]], [0, 0, 2], ids=["wren", "jay"]), ["'wren'", "empty"]),
        (lambda: Bags.from_list([[[1.0]], np.empty((0, 1))], ids=["wren", "jay"]), ["'jay'", "empty"]),
        (lambda: Bags.from_list([[[1.0, 2.0]], [[1.0]]], ids=["wren", "jay"]), ["'jay'", "1 features", "2"]),
        (lambda: Bags([[1.0], [2.0]], [0, 1, 2], ids=["wren", "wren"]), ["wren", "unique"]),
        (lambda: Bags([[1.0], [2.0]], [0, 1, 2], ids=["wren"]), ["1 ids for 2 bags"]),
        (lambda: Bags([[1.0], [2.0]], [0, 1]), ["from 0 to 1", "2"]),
        (lambda: Bags([[1.0], [2.0]], [0, 2, 1, 2]), ["decrease", "1"]),
        (lambda: Bags([1.0, 2.0], [0, 2]), ["2-dimensional"]),
        (lambda: Bags([["a"]], [0, 1]), ["numbers"]),
        (lambda: Bags(np.empty((0, 3)), [0]), ["no bags"]),
        (lambda: Bags.from_list([]), ["no bags"]),
        (lambda: Bags.from_list([[[1, 2], [3]]], ids=["wren"]), ["'wren'", "different width"]),
        (lambda: Bags.from_list([[["a"]]], ids=["wren"]), ["'wren'", "numbers"]),
        (lambda: Bags.from_list([[[1.0]], [[1.0, 2.0]]], ids=["wren"]), ["1 ids for 2 bags"]),
        (lambda: Bags([[1.0], [2.0]], [0, 1, 2], ids=[None, "a"]), ["all be text"]),
        (lambda: Bags([[1.0], [2.0]], [0, 1, 2], ids=[1, "1"]), ["all be text"]),
        (lambda: Bags(np.ma.array([[1.0, 2.0]], mask=[[False, True]]), [0, 1]), ["masked"]),
        (lambda: Bags.from_list([[1.0, 2.0]]), ["2-dimensional"]),
        (lambda: Bags(np.empty((2, 0)), [0, 2]), ["feature"]),
    ],
)
def test_invalid_bags_are_an_error_of_one_sentence(make, words):
    with pytest.raises(BagwiseError) as refusal:
        make()
    for word in words:
        assert word in str(refusal.value)
    assert "\n" not in str(refusal.value)

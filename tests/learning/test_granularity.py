import numpy as np
import pytest

from bagwise import BagwiseError, Labels, ScoredPool
from bagwise.learning import criteria, granularity
from bagwise.learning.criteria import uncertainty

PRESENT = np.array([[0.5, 0.9, 0.1], [0.6, 0.6, 0.6], [0.0, 1.0, 0.5], [0.9, 0.9, 0.9]])


def choose(name, labels=None, count=1, present=PRESENT, **rest):
    pool = ScoredPool(present, labels=labels, **rest)
    return granularity.get(name)(pool, uncertainty(pool), count)


def known(*pairs):
    labels = Labels.unknown(*PRESENT.shape)
    for bag, label_class, value in pairs:
        labels.record(bag, label_class, value)
    return labels


def test_pair_takes_the_best_unknown_pair():
    labels = known((0, 0, True))
    (choice,) = choose("pair", labels)
    assert (choice.bag, choice.classes, choice.score) == (2, (2,), 0.5)


def test_pair_takes_several_best_first():
    choices = choose("pair", known((0, 0, True)), count=4)
    assert (choices[0].bag, choices[0].classes) == (2, (2,))
    assert {choice.bag for choice in choices[1:]} == {1}
    assert len({(choice.bag, choice.classes) for choice in choices}) == 4


def test_asking_for_more_than_there_is_gives_what_there_is():
    assert len(choose("pair", count=100)) == PRESENT.size
    assert len(choose("bag", count=100)) == 4


def test_bag_sums_over_unknown_classes_and_asks_all_of_them():
    (choice,) = choose("bag", known((1, 1, False)))
    assert (choice.bag, choice.classes) == (1, (0, 2))
    assert choice.score == pytest.approx(2 * 0.48)
    (other,) = choose("bag", known((1, 1, False), (1, 0, True)))
    assert other.bag == 0


def test_bag_then_class_looks_for_an_unlikely_number_of_classes():
    """Bag 2 is complete with one class; bags 1 and 3 predict three, bag 0 one. Bag 3 was asked before."""
    labels = known((2, 0, False), (2, 1, True), (2, 2, False), (3, 0, True))
    (choice,) = choose("bag_then_class", labels)
    assert choice.bag == 1
    nearer_half = PRESENT.copy()
    nearer_half[1] = [0.6, 0.55, 0.7]
    (choice,) = choose("bag_then_class", labels, present=nearer_half)
    assert choice.classes == (1,)


def test_bag_then_class_without_a_complete_bag_uses_the_share_of_known_positives():
    labels = known((0, 0, True), (1, 0, True), (2, 0, True))
    (choice,) = choose("bag_then_class", labels, present=np.array([[1, 0, 0], [0.9, 0.9, 0.9], [1, 1, 0], [0, 0, 0.6]]))
    assert choice.bag == 3, "three classes are expected, it predicts one and was never asked"


@pytest.mark.parametrize("name", granularity.GRANULARITIES)
def test_ties_are_broken_by_key_not_by_place(name, rng):
    tied = np.full((30, 4), 0.5)
    keys = np.arange(30, dtype=np.uint64)
    order = rng.permutation(30)
    (straight,), (shuffled,) = (choose(name, present=tied, keys=k, seed=3) for k in (keys, keys[order]))
    assert (order[shuffled.bag], shuffled.classes) == (straight.bag, straight.classes)
    bags = {choose(name, present=tied, keys=keys, seed=seed)[0].bag for seed in range(20)}
    assert len(bags) > 10, "another seed breaks ties another way"


def test_random_whole_bags_do_not_favour_those_with_much_unknown():
    labels = Labels.unknown(200, 10)
    labels.known[:100, 1:] = True
    choices = granularity.random_choice("bag", ScoredPool(np.full((200, 10), 0.5), labels=labels), 60)
    assert 15 < sum(choice.bag < 100 for choice in choices) < 45


def test_withdrawn_pairs_are_not_asked():
    withdrawn = np.zeros(PRESENT.shape, bool)
    withdrawn[[0, 2], [0, 2]] = True
    assert choose("pair", withdrawn=withdrawn)[0].bag == 1


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(BagwiseError, match="choose one of pair, bag, bag_then_class"):
        granularity.get("page")


def test_pairs_drawn_part_by_part_are_those_drawn_at_once(rng, monkeypatch):
    labels = Labels(np.zeros((50, 4), bool), rng.random((50, 4)) < 0.4)
    pool = ScoredPool(rng.random((50, 4)), labels=labels, seed=5)
    whole = granularity.random_choice("pair", pool, 30)
    monkeypatch.setattr(granularity, "DRAWN_AT_A_TIME", 12)
    assert granularity.random_choice("pair", pool, 30) == whole
    assert whole == granularity.pair(pool, criteria.random(pool), 30)

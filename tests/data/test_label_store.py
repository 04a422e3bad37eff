"""A ledger that counts as it changes has counted right, with a row for every bag or only for some."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bagwise.data.label_store import Ledger, SparseLedger, Told, Totals
from bagwise.data.labels import Labels

BAGS, CLASSES = 7, 3
CHANGES = st.lists(
    st.tuples(
        st.integers(0, BAGS - 1),
        st.integers(0, CLASSES - 1),
        st.sampled_from(["present", "absent", "doubtful", "withdrawn", "open"]),
    ),
    max_size=60,
)


def changed(ledger, changes):
    for bag, label_class, became in changes:
        if became == "withdrawn":
            ledger.withdraw(bag, label_class)
        elif became == "open":
            ledger.forget(bag, label_class)
        else:
            ledger.record(bag, label_class, became != "absent", 0.2 if became == "doubtful" else 0.0)
    return ledger


def same(one, other):
    return all(np.array_equal(value, vars(other)[name]) for name, value in vars(one).items() if name != "n_known")


def same_told(one, other):
    alike = np.array_equal(one.bags, other.bags) and np.array_equal(one.withdrawn, other.withdrawn)
    return alike and one.labels == other.labels


@given(CHANGES)
def test_what_is_counted_on_the_way_is_what_counting_anew_finds(changes):
    ledger = changed(Ledger(Labels.unknown(BAGS, CLASSES)), changes)
    assert same(ledger.totals, Totals.of(ledger.labels, ledger.withdrawn))
    assert np.array_equal(ledger.askable, ~(ledger.labels.known | ledger.withdrawn))
    assert ledger.labelled.tolist() == np.flatnonzero(ledger.labels.known.any(axis=1)).tolist()
    assert ledger.totals.n_open == np.count_nonzero(ledger.askable)


@given(CHANGES, st.integers(0, 60))
def test_rows_for_some_bags_say_what_rows_for_all_say(changes, cut):
    full = changed(Ledger(Labels.unknown(BAGS, CLASSES)), changes[:cut])
    sparse = changed(SparseLedger(BAGS, CLASSES), changes[:cut])
    again = SparseLedger(BAGS, CLASSES)
    again.remember(sparse.told())
    for ledger in (full, sparse, again):
        changed(ledger, changes[cut:])
    for ledger in (sparse, again):
        assert same(ledger.totals, full.totals)
        assert same_told(ledger.told(), full.told())
        assert ledger.labelled.tolist() == full.labelled.tolist()
        assert all(ledger.is_open(b, c) == full.is_open(b, c) for b in range(BAGS) for c in range(CLASSES))
        labelled = full.labelled.tolist()
        assert ledger.labels_of(labelled) == full.labels_of(labelled)
        inside = [bag for bag in full.told().bags.tolist() if 2 <= bag < 5]
        assert ledger.told_between(2, 5).bags.tolist() == inside


def test_more_bags_than_there_is_room_for_at_first():
    sparse = SparseLedger(1_000_000_000, 2)
    bags = range(999_999_999, 999_999_999 - 300, -1)
    for bag in bags:
        sparse.record(bag, bag % 2, True)
    assert sparse.labelled.tolist() == sorted(bags)
    assert sparse.totals.n_known == 300
    assert not sparse.is_open(999_999_900, 0)
    assert sparse.is_open(999_999_900, 1)


def test_what_was_told_can_be_taken_up():
    ledger = Ledger(Labels.unknown(4, 2))
    labels = Labels.from_array([[1, np.nan], [np.nan, 0]])
    ledger.remember(Told(np.array([1, 3]), labels, np.array([[False, True], [False, False]])))
    assert ledger.totals.asked.tolist() == [1, 2]
    assert ledger.labelled.tolist() == [1, 3]

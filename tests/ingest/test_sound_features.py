import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bagwise.ingest.segmenters import sound_regions, sound_windows
from bagwise.ingest.sound import region_features as features
from bagwise.ingest.sound.segmentation import Region, everything
from bagwise.ingest.sound.spectrograms import HERTZ, ROWS, mel_bands, power

MASKS = arrays(bool, st.tuples(st.integers(1, 8), st.integers(1, 8))).filter(lambda mask: mask.any())


def slow_perimeter(mask):
    """Cell by cell, as the paper says it."""
    rows, columns = mask.shape
    count = 0
    for row in range(-1, rows + 1):
        for column in range(-1, columns + 1):
            around = [
                0 <= r < rows and 0 <= c < columns and bool(mask[r, c])
                for r in range(row - 1, row + 2)
                for c in range(column - 1, column + 2)
            ]
            count += any(around) and not all(around)
    return count / 2


def named(region, above):
    return dict(zip(features.BRIGGS, features.briggs(region, above), strict=True))


@given(MASKS)
def test_the_perimeter_is_counted(mask):
    assert features.perimeter(mask) == slow_perimeter(mask)


@given(arrays(float, st.integers(1, 9), elements=st.integers(0, 9)).filter(lambda sums: sums.sum() > 0))
def test_a_profile_has_the_moments_of_its_distribution(sums):
    """Each place as often as its sum says."""
    places = np.linspace(0.1, 0.9, len(sums))
    drawn = np.repeat(places, sums.astype(int))
    gini, mean, *moments, largest = features.profile(sums, places)
    different = np.mean(drawn[:, None] != drawn[None, :])
    assert gini == pytest.approx(different)
    assert mean == pytest.approx(drawn.mean())
    assert moments == pytest.approx([np.mean((drawn - drawn.mean()) ** order) for order in (2, 3, 4)], abs=1e-12)
    assert sums[np.isclose(places, largest)] == sums.max()


def test_a_profile_of_nothing_is_even():
    assert features.profile(np.zeros(4), np.arange(4) / 4)[:2] == pytest.approx([0.75, 0.375])


@pytest.mark.parametrize("turn", range(16))
def test_a_slope_has_one_direction(turn):
    angle = 2 * np.pi * (turn + 0.5) / 16
    up, right = np.mgrid[:12, :12]
    slope = 3 * (np.sin(angle) * up + np.cos(angle) * right)
    inside = np.zeros((12, 12), bool)
    inside[1:-1, 1:-1] = True
    assert features.gradients(slope, inside) == pytest.approx(np.eye(16)[turn])


def test_what_is_flat_has_no_direction():
    assert not features.gradients(np.ones((5, 5)), np.ones((5, 5), bool)).any()


def test_the_shape_of_a_rectangle():
    above = np.zeros((ROWS, 100))
    above[64:74, 20:60] = 12.0
    found = named(Region(slice(64, 74), slice(20, 60), np.ones((10, 40), bool)), above)
    assert found["lowest frequency"] == 64 * HERTZ
    assert found["highest frequency"] == 73 * HERTZ
    assert found["bandwidth"] == 10 * HERTZ
    assert found["duration"] == pytest.approx(0.32)
    assert found["area"] == 400
    assert found["rectangularity"] == 1
    assert found["non-compactness"] == found["perimeter"] ** 2 / 400
    assert found["frequency gini"] == pytest.approx(0.9)
    assert found["time mean"] == pytest.approx(0.4875)
    assert found["frequency mean"] == pytest.approx(68.5 / (ROWS - 1))
    assert (found["mask mean"], found["mask deviation"]) == (12, 0)


def test_the_38_numbers_come_in_the_order_of_the_published_data():
    """The columns of `hja` satisfy our definitions, as far as that can be checked without its recordings."""
    from bagwise import datasets
    from bagwise.core.errors import BagwiseError

    try:
        x = datasets.load("hja_full").bags.instances
    except BagwiseError as missing:
        pytest.skip(str(missing))
    column = dict(zip(features.BRIGGS, x.T, strict=True))
    assert len(column) == 38
    np.testing.assert_allclose(column["bandwidth"], column["highest frequency"] - column["lowest frequency"])
    np.testing.assert_allclose(column["non-compactness"], column["perimeter"] ** 2 / column["area"], rtol=1e-5)
    rectangle = column["bandwidth"] * column["duration"]
    np.testing.assert_allclose(column["rectangularity"], column["area"] / rectangle, rtol=1e-4)
    np.testing.assert_allclose(sum(column[f"gradient {k}"] for k in range(16)), 1, atol=1e-4)
    low, high = (column[f"{edge} frequency"] / 255 for edge in ("lowest", "highest"))
    assert ((low <= column["frequency mean"]) & (column["frequency mean"] <= high)).all()
    assert ((low <= column["frequency max"] + 1e-4) & (column["frequency max"] <= high + 1e-4)).all()


def test_mel_bands_cover_everything_and_average():
    for count in (features.BANDS, sound_windows.BANDS):
        bands = mel_bands(count)
        assert bands.shape == (count, ROWS)
        np.testing.assert_allclose(bands.sum(axis=1), 1, rtol=1e-5)
        assert (np.diff(bands.argmax(axis=1)) > 0).all()
        covered = bands.sum(axis=0) > 0
        assert covered[int(200 / HERTZ) : -1].all()


def test_the_log_mel_spectrum_hears_only_the_region():
    above = np.zeros((ROWS, 50))
    above[100:110], above[300:310] = 20.0, 30.0
    lower = features.mel_spectrum(Region(slice(100, 110), slice(0, 50), np.ones((10, 50), bool)), above)
    alone = np.zeros((ROWS, 50))
    alone[100:110] = 20.0
    assert lower == pytest.approx(features.mel_spectrum(everything(alone), alone))
    assert 0 < lower.max() <= 20
    assert lower[features.BANDS :] == pytest.approx(0, abs=1e-6)


def test_the_power_of_a_tone_is_in_its_row():
    samples = np.sin(2 * np.pi * 1000 * np.arange(32000) / 32000).astype(np.float32)
    spectrogram = power(samples)
    assert spectrogram.shape == (ROWS, 126)
    assert (spectrogram[:, 4:-4].argmax(axis=0) == 1000 / HERTZ).all()
    frame = samples[10 * 256 - 512 : 10 * 256 + 512] * np.hanning(1025)[:-1]
    assert spectrogram[:, 10] == pytest.approx(np.abs(np.fft.rfft(frame)) ** 2, rel=1e-3, abs=1e-2)


def test_names_are_one_for_each_number():
    assert len(sound_regions.FEATURES) == len(set(sound_regions.FEATURES)) == 38 + 2 * features.BANDS
    assert len(sound_windows.FEATURES) == len(set(sound_windows.FEATURES)) == 2 * sound_windows.BANDS

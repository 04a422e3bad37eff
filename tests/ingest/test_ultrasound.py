"""Recordings of bats: calls are found where they are, up to half of any sample rate."""

import numpy as np
import pytest

from bagwise.core.errors import FileError
from bagwise.ingest import media, segmenters
from bagwise.ingest.pretrained.sounds import Windows
from bagwise.ingest.segmenters import sound_regions, sound_windows, ultrasound_regions
from tests.ingest.sounds import noise, with_tone, write

CALLS = [
    # start, seconds, from Hz, to Hz
    (0.100, 0.005, 80e3, 45e3),
    (0.210, 0.008, 60e3, 40e3),
    (0.350, 0.020, 82e3, 82e3),
    (0.500, 0.006, 46e3, 45e3),
    (0.720, 0.004, 88e3, 50e3),
    (1.500, 0.010, 30e3, 22e3),
]


def bats(rate, seconds, calls, seed=0):
    samples = np.random.default_rng(seed).normal(0, 0.003, round(rate * seconds))
    for start, length, high, low in calls:
        time = np.arange(round(length * rate)) / rate
        phase = 2 * np.pi * (high * time + (low - high) * time**2 / (2 * length))
        first = round(start * rate)
        samples[first : first + len(time)] += 0.1 * np.sqrt(np.hanning(len(time))) * np.sin(phase)
    return samples


@pytest.mark.parametrize("rate", [192_000, 256_000, 312_500, 500_000])
def test_every_call_is_a_region_within_a_few_milliseconds_and_kilohertz(rate, tmp_path):
    segments = ultrasound_regions.segment(write(tmp_path / "a.wav", bats(rate, 2.0, CALLS), rate))
    assert len(segments.places) == len(CALLS)
    for (start, length, top, bottom), (begin, end, low, high) in zip(CALLS, segments.places, strict=True):
        assert begin == pytest.approx(start, abs=0.003)
        assert end == pytest.approx(start + length, abs=0.003)
        # A sweep swells and fades: its loudest part is inside, and its faint ends may not be.
        inside = 0.25 * (top - bottom)
        assert bottom - 2500 < low < bottom + inside + 2500
        assert top - inside - 2500 < high < top + 2500


def test_a_recording_without_ultrasound_is_refused_with_a_reason(tmp_path):
    with pytest.raises(FileError, match="has 22050 samples per second: at least 32000 are needed"):
        ultrasound_regions.segment(write(tmp_path / "a.wav", noise(1.0), 22050))


def test_the_highest_calls_of_all_bats_are_seen(tmp_path):
    path = write(tmp_path / "a.wav", bats(500_000, 1.0, [(0.5, 0.004, 212e3, 200e3)]), 500_000)
    ((start, end, low, high),) = ultrasound_regions.segment(path).places
    assert 0.498 < start < 0.502 < end < 0.507
    assert 198e3 < low < 205e3 < high < 214e3


def test_calls_in_later_stretches_are_where_they_are(tmp_path):
    calls = [(second + 0.3, 0.006, 60e3, 45e3) for second in range(5)]
    places = ultrasound_regions.segment(write(tmp_path / "a.wav", bats(200_000, 5.2, calls), 200_000)).places
    np.testing.assert_allclose(places[:, 0], [start for start, *_ in calls], atol=0.003)


def test_features_are_finite_and_in_units_of_the_recording(tmp_path):
    segments = ultrasound_regions.segment(write(tmp_path / "a.wav", bats(256_000, 2.0, CALLS), 256_000))
    assert segments.features.dtype == np.float32
    assert np.isfinite(segments.features).all()
    names = list(ultrasound_regions.FEATURES)
    low, high, length = (
        segments.features[:, names.index(f"{one}")] for one in ("lowest frequency", "highest frequency", "duration")
    )
    np.testing.assert_allclose(low, segments.places[:, 2], atol=300)
    np.testing.assert_allclose(high, segments.places[:, 3], atol=300)
    np.testing.assert_allclose(length, segments.places[:, 1] - segments.places[:, 0], atol=1e-4)


@pytest.mark.parametrize("rate", [32_000, 44_100, 96_000])
@pytest.mark.parametrize(
    "samples", [np.zeros(8000), np.full(8000, np.nan), noise(0.25)], ids=["silent", "nan", "noise"]
)
def test_any_recording_gives_a_bag(rate, samples, tmp_path):
    path = write(tmp_path / "a.wav", samples, rate, subtype="FLOAT")
    segments = ultrasound_regions.segment(path)
    assert len(segments.places) >= 1
    assert np.isfinite(segments.features).all()
    assert not media.available()["sound"].misplaced(segments.places).any()
    assert not (segments.places[:, 3] > rate / 2).any()


@pytest.mark.parametrize("rate", [250_000, 312_500])
def test_ultrasound_is_not_folded_into_what_people_hear(rate, tmp_path):
    """Those that look at audible sound find the audible call, and nothing of a loud one above it."""
    samples = with_tone(noise(3.0, rate=rate), 4000, 1.0, 1.5, rate=rate)
    loud = with_tone(samples, 45_000, 2.0, 2.4, size=0.9, rate=rate)
    path, other = write(tmp_path / "a.wav", samples, rate), write(tmp_path / "b.wav", loud, rate)
    ((start, end, low, high),) = sound_regions.segment(other).places
    assert 0.9 < start < 1.1 < 1.4 < end < 1.6
    assert 3500 < low < 4000 < high < 4500
    np.testing.assert_allclose(sound_windows.segment(path).features, sound_windows.segment(other).features, atol=0.5)
    for preset in (Windows(48_000, 3.0), Windows(32_000, 5.0)):
        (((_, one)),), (((_, two)),) = list(preset.windows(path)), list(preset.windows(other))
        np.testing.assert_allclose(one, two, atol=2e-3)


def test_the_segmenter_is_recommended_by_the_rates_of_most_files(tmp_path):
    rates = {"a": 256_000, "b": 384_000, "c": 256_000, "d": 44_100, "e": 48_000}
    paths = {name: write(tmp_path / f"{name}.wav", np.zeros(100), rate) for name, rate in rates.items()}
    found = segmenters.recommend("sound", list(paths.values()))
    assert found.segmenter == "ultrasound_regions"
    assert found.reason.startswith("Most recordings have a sample rate for bats, such as 256 kHz")
    assert "up to 128 kHz" in found.reason
    assert "`--cut sound_regions`" in found.reason
    assert segmenters.recommend("sound", [paths["a"]]).reason.startswith("All recordings")
    for usual in (["d", "e"], []):
        assert segmenters.recommend("sound", [paths[name] for name in usual]) == segmenters.Recommendation(
            "sound_regions"
        )
    few = segmenters.recommend("sound", [paths["a"], paths["d"]])
    assert few.segmenter == "sound_regions"
    assert few.reason.startswith("Some recordings have a sample rate for bats, such as 256 kHz: `sound_regions` looks")
    assert segmenters.recommend("picture", list(paths.values())).segmenter == "superpixels"


def test_files_that_cannot_be_read_do_not_count(tmp_path):
    bad = tmp_path / "bad.wav"
    bad.write_text("not a recording")
    good = write(tmp_path / "a.wav", np.zeros(100), 256_000)
    assert segmenters.recommend("sound", [bad, bad, good]).segmenter == "ultrasound_regions"
    assert segmenters.recommend("sound", [bad]).segmenter == "sound_regions"

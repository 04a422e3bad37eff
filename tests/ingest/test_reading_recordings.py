import sys

import numpy as np
import pytest
import soundfile
from scipy.signal import resample_poly

from bagwise.core.errors import BagwiseError, FileError
from bagwise.ingest.media import available
from bagwise.ingest.segmenters import sound_regions, sound_windows
from bagwise.ingest.sound import recordings as recordings
from tests.ingest.sounds import RATE, noise, time_of, with_tone, write

SEGMENTERS = (sound_regions, sound_windows)


def call_in(path):
    """The region of the call of `recording`, among all that were found."""
    segments = sound_regions.segment(path)
    start, end, low, high = segments.places.T
    (found,) = np.flatnonzero((start < 1.5) & (end > 1.5) & (low < 2000) & (high > 2000))
    return segments.places[found]


def recording(rate, seconds=3.0):
    return with_tone(noise(seconds, rate=rate), 2000, 1.2, 1.8, rate=rate)


@pytest.mark.parametrize("rate", [8000, 11025, 22050, 44100, 48000, 96000, 192000])
def test_the_place_of_a_call_does_not_depend_on_the_rate(rate, tmp_path):
    start, end, low, high = call_in(write(tmp_path / "a.wav", recording(rate), rate))
    assert 1.15 < start < 1.3
    assert 1.7 < end < 1.85
    assert 1800 < low < 2000 < high < 2200


@pytest.mark.parametrize("rate", [8000, 16000])
def test_above_what_a_file_holds_there_is_nothing(rate, tmp_path):
    assert (sound_regions.segment(write(tmp_path / "a.wav", recording(rate), rate)).places[:, 3] <= rate / 2).all()


@pytest.mark.parametrize(("suffix", "rate"), [("wav", 44100), ("flac", 44100), ("ogg", 44100), ("mp3", 44100)])
def test_every_kind_of_file_is_read(suffix, rate, tmp_path):
    start, end, low, high = call_in(write(tmp_path / f"a.{suffix}", recording(rate), rate))
    assert start < 1.5 < end
    assert low < 2000 < high


def test_channels_are_mixed(tmp_path):
    both = np.column_stack([recording(RATE), np.zeros(3 * RATE)])
    assert call_in(write(tmp_path / "a.wav", both)) == pytest.approx(
        call_in(write(tmp_path / "b.wav", recording(RATE) / 2)), abs=0.05
    )


def test_loudness_and_offset_do_not_matter(tmp_path):
    usual = sound_regions.segment(write(tmp_path / "a.wav", recording(RATE), subtype="FLOAT"))
    for number, other in enumerate([1e-4 * recording(RATE), 3e4 * recording(RATE), recording(RATE) + 0.5]):
        segments = sound_regions.segment(write(tmp_path / f"{number}.wav", other, subtype="FLOAT"))
        np.testing.assert_allclose(segments.places, usual.places)
        np.testing.assert_allclose(segments.features, usual.features, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("segmenter", SEGMENTERS)
@pytest.mark.parametrize(
    "samples",
    [
        np.zeros(2 * RATE),
        np.full(2 * RATE, 0.7),
        np.full(2 * RATE, np.nan),
        np.where(time_of(2) % 0.5 < 0.001, np.inf, noise(2)),
        np.sign(recording(RATE)),
        np.zeros(round(0.06 * RATE)),
        np.eye(1, 2 * RATE, RATE)[0],
        np.concatenate([np.zeros(2 * RATE), recording(RATE)]),
    ],
    ids=["silent", "constant", "nan", "infinite", "clipped", "short", "one click", "half silent"],
)
def test_odd_recordings_give_a_bag_that_can_be_used(segmenter, samples, tmp_path):
    segments = segmenter.segment(write(tmp_path / "a.wav", samples, subtype="FLOAT"))
    assert segments.features.shape == (len(segments.places), len(segmenter.FEATURES))
    assert segments.features.dtype == np.float32
    assert len(segments.places) > 0
    assert np.isfinite(segments.features).all()
    assert not available()["sound"].misplaced(segments.places).any()
    assert segments.places[:, 1].max() <= len(samples) / RATE + 1e-9


@pytest.mark.parametrize("segmenter", SEGMENTERS)
def test_files_that_cannot_be_segmented_are_refused_with_a_reason(segmenter, tmp_path):
    (tmp_path / "empty.wav").write_bytes(b"")
    (tmp_path / "text.wav").write_text("not a recording")
    write(tmp_path / "nothing.wav", np.zeros(0))
    write(tmp_path / "blink.wav", np.zeros(100))
    write(tmp_path / "slow.wav", np.zeros(3000), 1000)
    flac = write(tmp_path / "whole.flac", noise(2)).read_bytes()
    (tmp_path / "torn.flac").write_bytes(flac[:60] + bytes(len(flac) - 60))
    for name, words in {
        "empty.wav": "is empty",
        "text.wav": "damaged",
        "torn.flac": "damaged",
        "missing.wav": "No such file",
        "nothing.wav": "holds no sound",
        "blink.wav": "shorter than",
        "slow.wav": "1000 samples per second",
    }.items():
        with pytest.raises(FileError, match=words) as refused:
            segmenter.segment(tmp_path / name)
        assert str(refused.value).startswith(str(tmp_path / name))


def test_a_file_that_ends_too_early_is_read_as_far_as_it_goes(tmp_path):
    whole = write(tmp_path / "a.wav", recording(RATE)).read_bytes()
    (tmp_path / "b.wav").write_bytes(whole[: 44 + 2 * 2 * RATE])
    assert sound_windows.segment(tmp_path / "b.wav").places[-1, 1] == pytest.approx(2)


@pytest.mark.parametrize("seconds", [5, 39.9, 40, 71.3])
def test_stretches_together_are_the_recording(seconds, tmp_path):
    samples = with_tone(noise(seconds, rate=16000), 2000, 1, seconds - 1, rate=16000).astype(np.float32)
    path = write(tmp_path / "a.wav", samples, 16000, subtype="FLOAT")
    found = list(recordings.stretches(path))
    np.testing.assert_allclose(np.concatenate([one.samples for one in found]), resample_poly(samples, 2, 1), atol=2e-4)
    assert [one.start for one in found] == [30.0 * number for number in range(len(found))]
    assert found[-1].end == pytest.approx(seconds)
    assert all(one.seconds < recordings.STRETCH + recordings.AHEAD for one in found)


def test_places_in_later_stretches_count_from_the_beginning(tmp_path):
    samples = with_tone(noise(45, rate=8000), 2000, 36, 36.5, rate=8000)
    start, end, low, high = sound_regions.segment(write(tmp_path / "a.wav", samples, 8000)).places[-1]
    assert 35.9 < start < end < 36.6
    assert low < 2000 < high


def test_the_same_file_gives_the_same_numbers(tmp_path):
    path = write(tmp_path / "a.wav", recording(RATE))
    one, other = sound_regions.segment(path), sound_regions.segment(path)
    assert np.array_equal(one.features, other.features)
    assert np.array_equal(one.places, other.places)


def test_without_soundfile_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(BagwiseError, match=r"bagwise\[audio\]"):
        sound_regions.segment(tmp_path / "a.wav")


def test_no_more_than_a_stretch_is_held(monkeypatch, tmp_path):
    """Whatever the length: so much of the file is asked for before the first stretch comes."""
    path = write(tmp_path / "a.wav", noise(100, rate=4000), 4000)
    asked = []
    read = soundfile.SoundFile.read

    def counted(self, frames, *arguments, **options):
        asked.append(frames)
        return read(self, frames, *arguments, **options)

    monkeypatch.setattr(soundfile.SoundFile, "read", counted)
    next(recordings.stretches(path))
    assert sum(asked) == (recordings.STRETCH + recordings.AHEAD) * 4000
    assert max(asked) <= 4000

import numpy as np
import pytest

from bagwise.core.errors import BagwiseError
from bagwise.ingest.segmenters import sound_regions, sound_windows
from bagwise.ingest.sound import segmentation
from benchmarks import recordings as measured
from benchmarks.soundscapes import Calls, clips, mix
from benchmarks.soundscapes import write as write_all
from tests.ingest.sounds import RATE, noise, with_tone, write


def test_two_calls_at_one_time_are_two_regions(tmp_path):
    samples = with_tone(with_tone(noise(4), 1500, 1.0, 1.6), 7000, 1.3, 2.2)
    places = sound_regions.segment(write(tmp_path / "a.wav", samples)).places
    assert len(places) == 2
    for (start, end, low, high), call in zip(places, [(1.0, 1.6, 1500), (1.3, 2.2, 7000)], strict=True):
        assert (start, end) == pytest.approx(call[:2], abs=0.08)
        assert low < call[2] < high < low + 400


def test_notes_that_follow_in_one_band_are_one_region(tmp_path):
    trill, two = noise(4), noise(4)
    for note in range(6):
        trill = with_tone(trill, 3000, 1 + 0.15 * note, 1.1 + 0.15 * note)
    for start in (1.0, 2.0):
        two = with_tone(two, 3000, start, start + 0.2)
    assert len(sound_regions.segment(write(tmp_path / "a.wav", trill)).places) == 1
    assert len(sound_regions.segment(write(tmp_path / "b.wav", two)).places) == 2


def test_overtones_of_one_voice_are_one_region(tmp_path):
    samples = noise(3)
    for overtone in (1, 2, 3):
        samples = with_tone(samples, 1200 * overtone, 1.0, 1.5)
    ((_, _, low, high),) = sound_regions.segment(write(tmp_path / "a.wav", samples)).places
    assert low < 1200
    assert high > 3600


def test_rain_and_hiss_are_no_calls(tmp_path):
    drops = noise(5)
    drops[np.random.default_rng(1).integers(0, len(drops), 60)] += 0.8
    ((start, end, low, high),) = sound_regions.segment(write(tmp_path / "a.wav", drops)).places
    assert (start, end) == (0, 5)
    assert np.isnan([low, high]).all()


def test_what_is_too_large_is_taken_apart():
    above = np.zeros((513, 900))
    above[100:120, 50:850] = 9.0
    above[100:120, 100:300] = above[100:120, 500:700] = 25.0
    found = segmentation.regions(above)
    # 1.5 % of the power is left out at each end.
    assert [(region.columns.start, region.columns.stop) for region in found] == [(102, 298), (502, 698)]


def test_regions_do_not_share_cells():
    above = np.random.default_rng(0).exponential(3, (513, 400))
    taken = np.zeros(above.shape, int)
    for region in segmentation.regions(above):
        taken[region.box] += region.mask
    assert taken.max() == 1


def test_windows_cover_the_recording_and_overlap(tmp_path):
    path = write(tmp_path / "a.wav", noise(10))
    places = sound_windows.segment(path).places
    assert places[:, 0] == pytest.approx([0, 1.5, 3, 4.5, 6, 7])
    assert places[:, 1] == pytest.approx([3, 4.5, 6, 7.5, 9, 10])
    assert np.isnan(places[:, 2:]).all()
    assert len(sound_windows.segment(path, seconds=1, overlap=0).places) == 10
    assert sound_windows.segment(path, seconds=20).places[:, :2].tolist() == [[0, 10]]
    for wrong in ({"seconds": 0}, {"seconds": 31}, {"overlap": 1}, {"overlap": -0.1}, {"seconds": float("nan")}):
        with pytest.raises(BagwiseError, match="Windows must be"):
            sound_windows.segment(path, **wrong)


def test_a_window_hears_what_is_in_it(tmp_path):
    segments = sound_windows.segment(write(tmp_path / "a.wav", with_tone(noise(9), 5000, 6.5, 8.5)))
    names = [name for name in sound_windows.FEATURES if name.endswith("mean")]
    louder = segments.features[-1, : len(names)] - segments.features[0, : len(names)]
    assert (louder > 3).sum() == 1 or np.diff(np.flatnonzero(louder > 3)).max() == 1
    assert np.abs(np.delete(louder, np.flatnonzero(louder > 1))).max() < 1


REAL = pytest.param(True, marks=pytest.mark.skipif(not clips.installed(), reason=f"run `{clips.PACKAGES}`"))


@pytest.mark.slow
@pytest.mark.parametrize("real", [False, REAL])
def test_nine_in_ten_calls_are_found_at_ten_decibels(real, tmp_path):
    """The full size is `python -m benchmarks.recordings`."""
    calls, false = [], 0
    for number in range(8):
        soundscape = mix(np.random.default_rng([7, number]), Calls(real), (10, 10))
        segments = sound_regions.segment(write_all(tmp_path, [soundscape])[0])
        here, wrong = measured.compared(soundscape, segments.places[~np.isnan(segments.places).any(axis=1)])
        calls += here
        false += wrong
    assert len(calls) > 20
    assert np.mean([as_one or as_notes for _, as_one, as_notes in calls]) >= 0.9
    assert false / 8 < 6


def test_the_ratio_of_a_mixed_call_is_what_it_says():
    """By the box of a call: its power beside that of a recording that is the same but for the calls."""
    quiet, loud = (mix(np.random.default_rng(3), Calls(False), (ratio, ratio), (1, 1), 0) for ratio in (-90, 12))
    before = np.s_[: int(RATE * min(call.start for call in loud.calls) / 2)]
    scale = np.sqrt(np.mean(loud.samples[before] ** 2) / np.mean(quiet.samples[before] ** 2))
    for call in loud.calls:
        window = np.s_[int(call.start * RATE) : int(call.end * RATE)]
        behind = scale * quiet.samples[window]
        frequency = np.fft.rfftfreq(len(behind), 1 / RATE)
        band = (frequency >= call.low) & (frequency <= call.high)
        alone = loud.samples[window] - behind
        powers = [np.sum(np.abs(np.fft.rfft(part)[band]) ** 2) for part in (alone, behind)]
        assert 10 * np.log10(powers[0] / powers[1]) == pytest.approx(12, abs=1)

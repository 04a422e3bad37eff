"""Clips: long recordings become bags of some seconds, segmented as if each were a file."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from bagwise.cli import app
from bagwise.core.errors import BagwiseError
from bagwise.ingest import folder as _folder
from bagwise.ingest.clips import Clipping
from bagwise.ingest.recipe import Recipe
from bagwise.ingest.worker import Task
from bagwise.ingest.worker_pool import segment_files
from bagwise.project import Project

RATE = 16_000


def tone(seconds, at, hertz=4000.0, rng=None):
    """Quiet noise with a tone of half a second at each of these times."""
    noise = (rng or np.random.default_rng(0)).normal(scale=0.003, size=int(seconds * RATE))
    for start in at:
        when = slice(int(start * RATE), int((start + 0.5) * RATE))
        noise[when] += 0.3 * np.sin(2 * np.pi * hertz * np.arange(noise[when].size) / RATE)
    return noise.astype(np.float32)


@pytest.fixture
def season(tmp_path, monkeypatch, one_process):
    """Two recordings of a minute and one of 12 seconds at two sites."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    for site, name, seconds, at in (
        ("north", "20260524_040000.wav", 64, (3.0, 31.0)),
        ("north", "20260524_050000.wav", 64, (15.0,)),
        ("south", "20260524_040000.wav", 12, (2.0,)),
    ):
        (tmp_path / "season" / site).mkdir(parents=True, exist_ok=True)
        soundfile.write(tmp_path / "season" / site / name, tone(seconds, at), RATE, subtype="FLOAT")
    (tmp_path / "species.txt").write_text("wren\nrobin\n")
    return tmp_path


def bagwise(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result.output if code == 0 else str(result.exception)


def init(*options):
    return bagwise("init", "project", "--from", "season", "--classes", "species.txt", *options)


@given(st.floats(0.1, 5000), st.sampled_from([0.5, 1.0, 3.0, 10.0, 60.0]), st.sampled_from([0.0, 0.1, 0.3, 0.499]))
def test_clips_cover_a_recording_and_have_half_to_one_and_a_half_of_their_length(seconds, length, share):
    clipping = Clipping(length, length * share)
    clips = clipping.clips("a.wav", seconds)
    if not clips:
        assert seconds <= 1.5 * length + 1e-9
        return
    assert clips[0].start == 0
    assert clips[-1].end == seconds
    assert all(one.end == pytest.approx(one.start + length) for one in clips[:-1])
    assert all(two.start == pytest.approx(one.end - clipping.overlap) for one, two in pairwise(clips))
    assert length / 2 < clips[-1].end - clips[-1].start <= 1.5 * length + 1e-9
    assert len({clip.id for clip in clips}) == len(clips)
    assert list(clips[1:3]) == list(clips)[1:3]


@pytest.mark.parametrize("text", ["", "ten", "-3s", "5 years", "0.1s", "2000min"])
def test_lengths_that_make_no_clip_are_refused(text):
    with pytest.raises(BagwiseError, match=r"--clip|Clips of"):
        Clipping.parse(text)


@pytest.mark.slow
def test_clips_have_the_instances_of_files_cut_alike_and_times_of_the_recording(season):
    assert "12 bags" not in (said := init())
    assert "The longest recording has 1.1 min, so recordings are cut into clips of 10 s" in said
    with Project.open("project") as project:
        ids = project.contents.ids.tolist()
        assert len(ids) == 6 + 6 + 1
        assert ids[:2] == ["north/20260524_040000.wav#0-10", "north/20260524_040000.wav#10-20"]
        assert ids[5] == "north/20260524_040000.wav#50-64"
        assert ids[-1] == "south/20260524_040000.wav"
        sound = soundfile.read("season/north/20260524_040000.wav", dtype="float32")[0]
        clips = [(0, 10), (10, 20), (20, 30), (30, 40), (40, 50), (50, 64)]
        cut = [season / f"cut-{start}.wav" for start, _ in clips]
        for file, (start, end) in zip(cut, clips, strict=True):
            soundfile.write(file, sound[start * RATE : end * RATE], RATE, subtype="FLOAT")
        # By a worker, as the clips: the last digit depends on the number of threads that BLAS may use.
        found = segment_files(Recipe.of("sound", "sound_regions"), [Task(file) for file in cut])
        for bag, (clip, (_, outcome)) in enumerate(zip(clips, found, strict=True)):
            (alone,) = outcome.segments
            assert project.medium(bag).clip == clip
            np.testing.assert_array_equal(project.bags[bag], alone.features)
            starts = [place["start"] for place in project.medium(bag).places]
            np.testing.assert_allclose(starts, alone.places[:, 0] + clip[0])
        assert any(abs(place["start"] - 31) < 0.1 for place in project.medium(3).places)
        source = project.source_of(4)
        assert (source.file.origin.site, str(source.recorded_at)) == ("north", "2026-05-24 04:00:40")
        assert project.source_of(12).clip is None
        assert {path.name for path in (season / "project" / "media").iterdir()} == {
            "0.wav",
            "6.wav",
            "12.wav",
            "places.npy",
        }


@pytest.mark.slow
def test_recordings_stay_whole_where_a_person_says_so_and_where_they_are_short(season):
    assert "3 bags" in init("--clip", "none")
    (season / "short").mkdir()
    soundfile.write(season / "short" / "a.wav", tone(20, (3,)), RATE)
    assert "1 bag," in bagwise("init", "other", "--from", "short", "--classes", "species.txt")
    assert "2 bags" in bagwise("init", "third", "--from", "short", "--classes", "species.txt", "--clip", "10s")


@pytest.mark.slow
def test_an_import_continues_in_the_middle_of_a_recording_and_adds_only_what_is_new(season, monkeypatch):
    monkeypatch.setattr(_folder, "CLIPS_AT_ONCE", 2)
    whole, seen = _folder.segment_files, []

    def interrupted(recipe, tasks, processes=None):
        for number, found in enumerate(whole(recipe, tasks, processes)):
            seen.append([clip.id for clip in found[0].clips])
            yield found
            if number == 1:
                raise KeyboardInterrupt

    monkeypatch.setattr(_folder, "segment_files", interrupted)
    CliRunner().invoke(app, ["init", "project", "--from", "season", "--classes", "species.txt"])
    assert not (season / "project").exists()
    assert len(seen) == 2
    monkeypatch.setattr(_folder, "segment_files", whole)
    init()
    soundfile.write(season / "season" / "south" / "20260524_060000.wav", tone(64, (5,)), RATE)
    assert "19 bags" in bagwise("import", "project", "--from", "season")
    with Project.open("project") as project:
        ids = project.contents.ids.tolist()
        assert len(set(ids)) == 19
        assert project.medium(18).path.name == "13.wav"
        assert project.contents.bag_files.names[-1] == "south/20260524_060000.wav"
    assert "Nothing new" in bagwise("import", "project", "--from", "season")
    assert "All is well" in bagwise("check", "project")


@pytest.mark.slow
def test_labels_of_a_recording_go_to_the_clips_at_their_times(season):
    init()
    (season / "calls.txt").write_text(
        "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)\tBegin File\tSpecies\n"
        "1\tSpectrogram 1\t1\t31.0\t31.5\t3500\t4500\t20260524_040000.wav\twren\n"
        "2\tSpectrogram 1\t1\t2.0\t2.5\t3500\t4500\tsouth/20260524_040000.wav\twren\n"
    )
    said = bagwise("import", "project", "--labels", "calls.txt", code=1)
    assert "20260524_040000.wav" in said  # Two recordings have that name: it is not clear which is meant.
    text = (season / "calls.txt").read_text()
    (season / "calls.txt").write_text(text.replace("\t20260524_040000.wav", "\tnorth/20260524_040000.wav"))
    bagwise("import", "project", "--labels", "calls.txt")
    with Project.open("project") as project:
        assert np.argwhere(project.contents.given == 1).tolist() == [[3, 0], [12, 0]]
        (label,) = project.contents.instance_labels.about(3, 0)
        assert abs(project.medium(3).places[label.instance]["start"] - 31) < 0.1


def test_what_is_absent_in_a_recording_is_absent_in_its_clips_and_what_is_present_needs_times(season):
    init()
    rows = {"bag": ["north/20260524_050000.wav"], "class": ["wren"], "label": ["absent"]}
    labels = pl.DataFrame(rows)
    labels.write_csv("labels.csv")
    bagwise("import", "project", "--labels", "labels.csv")
    with Project.open("project") as project:
        assert (project.contents.given[6:12, 0] == 0).all()
        assert (project.contents.given[:6] == -1).all()
    labels.with_columns(label=pl.lit("present"), bag=pl.lit("north/20260524_040000.wav")).write_csv("labels.csv")
    said = bagwise("import", "project", "--labels", "labels.csv", code=1)
    assert "is cut into 6 clips, and the label does not say in which wren is: give its times" in said


@pytest.mark.slow
def test_a_model_cuts_new_recordings_as_those_it_learned_from(season):
    init("--clip", "16s", "--overlap", "2s")
    with Project.open("project") as project:
        for answer in ("present", "absent", "present", "absent"):
            (lease,) = project.ask("ann")
            project.answer(lease.key, "ann", answer, seconds=1.0)
    bagwise("predict", "project", "--from", "season", "--to", "predictions.csv")
    bags = pl.read_csv("predictions.csv")["bag"].unique().to_list()
    assert "north/20260524_040000.wav#14-30" in bags
    assert "south/20260524_040000.wav" in bags


@pytest.mark.slow
def test_scores_of_windows_go_to_the_clips_that_have_them(season):
    init()
    (season / "birdnet.csv").write_text(
        "Start (s),End (s),Scientific name,Common name,Confidence,File\n"
        "30.0,33.0,Troglodytes troglodytes,wren,0.9,/media/card/north/20260524_040000.wav\n"
        "48.0,51.0,Troglodytes troglodytes,wren,0.7,north/20260524_050000.wav\n"
        "0.0,3.0,Erithacus rubecula,robin,0.5,south/20260524_040000.wav\n"
    )
    said = bagwise("import", "project", "--scores", "birdnet.csv")
    assert "2 of 2 classes" in said
    with Project.open("project") as project:
        opinions = [project.opinion((bag, 0)) for bag in range(13)]
        assert opinions[3].probability == pytest.approx(0.9)
        # Of the window from 48 to 51 s, two seconds are in the clip that ends at 50.
        assert opinions[10].probability == pytest.approx(0.7)
        assert opinions[11].probability < 0.5
        assert project.opinion((12, 1)).probability == pytest.approx(0.5)


@pytest.mark.slow
def test_recordings_that_were_cut_off_are_used_as_far_as_they_go(season):
    wav = season / "season" / "north" / "20260524_050000.wav"
    wav.write_bytes(wav.read_bytes()[: 4 * RATE * 34])
    flac = season / "season" / "south" / "20260524_060000.flac"
    soundfile.write(flac, tone(64, (5,)), RATE)
    whole = flac.read_bytes()
    flac.write_bytes(whole[: len(whole) // 2])
    (season / "season" / "south" / "empty.wav").write_bytes(b"")
    (season / "season" / "south" / "song.wav").write_text("not a sound at all, only words")
    said = init()
    assert "2 files skipped" in said
    assert "north/20260524_050000.wav: ends after" in said.replace("\n", " ")
    assert "south/20260524_060000.flac: " in said
    with Project.open("project") as project:
        files = {file.name: file.seconds for file in project.contents.bag_files.files}
        assert files["north/20260524_050000.wav"] == pytest.approx(34, abs=0.1)
        assert 20 < files["south/20260524_060000.flac"] < 50
        ids = project.contents.ids.tolist()
        assert sum(name.startswith("north/20260524_050000.wav#") for name in ids) == 3
        assert sum(name.startswith("north/20260524_040000.wav#") for name in ids) == 6


def test_bats_are_segmented_up_to_half_their_sample_rate_and_that_is_said(season):
    rate, when = 256_000, np.arange(256_000) / 256_000
    noise = np.random.default_rng(1).normal(scale=0.003, size=rate)
    call = (when > 0.4) & (when < 0.45)
    noise[call] += 0.3 * np.sin(2 * np.pi * 45_000 * when[call])
    (season / "bats").mkdir()
    soundfile.write(season / "bats" / "night.wav", noise, rate)
    said = bagwise("init", "project", "--from", "bats", "--classes", "species.txt")
    assert "sample rate for bats, such as 256 kHz" in said
    with Project.open("project") as project:
        places = project.medium(0).places
        assert any(
            abs(place["start"] - 0.4) < 0.01 and place["low"] < 45_000 < place["high"] < 60_000 for place in places
        )

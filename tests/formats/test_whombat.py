"""Annotations of whombat, written by the package with which whombat writes them."""

import datetime
import json

import numpy as np
import pytest
from soundevent import data, io, terms

from bagwise import formats
from bagwise.core.errors import FileError
from bagwise.formats import Source
from bagwise.project import Project

WREN, OWL, JAY = (data.Tag(term=terms.scientific_name, value=name) for name in ("wren", "owl", "jay"))
CALL = data.Tag(term=data.Term(name="call", label="call", definition="kind of call"), value="alarm")
BOX = data.BoundingBox(coordinates=[1.0, 1000.0, 2.5, 3000.0])


def recording(name, duration=30.0, **more):
    return data.Recording(path=name, duration=duration, channels=1, samplerate=48_000, **more)


def annotated(clip, *events, tags=()):
    """A clip with (geometry, tags) of sound events."""
    found = [
        data.SoundEventAnnotation(
            sound_event=data.SoundEvent(recording=clip.recording, geometry=geometry), tags=list(of)
        )
        for geometry, of in events
    ]
    return data.ClipAnnotation(clip=clip, sound_events=found, tags=list(tags))


def task(clip, *states):
    """A task whose states came one after another, written in another order."""
    badges = [
        data.StatusBadge(state=data.AnnotationState(state), created_on=datetime.datetime(2026, 5, 1 + day))
        for day, state in enumerate(states)
    ]
    return data.AnnotationTask(clip=clip, status_badges=badges[::-1])


def whole(name, **more):
    one = recording(name, **more)
    return data.Clip(recording=one, start_time=0, end_time=one.duration)


def save(path, clips, tasks=(), asked=()):
    tasks = tasks or [task(one.clip) for one in clips]
    io.save(data.AnnotationProject(name="m", clip_annotations=clips, tasks=tasks, annotation_tags=list(asked)), path)


def read(tmp_path, clips, tasks=(), asked=()):
    save(tmp_path / "marsh.json", clips, tasks, asked)
    return formats.read_labels(tmp_path / "marsh.json")


def parts(table):
    return {(one.bag, one.label_class, one.present, *one.place.values()) for one in table.placed}


def test_a_sound_event_is_a_place(tmp_path):
    table = read(tmp_path, [annotated(whole("site/a.wav"), (BOX, [WREN, CALL]), tags=[OWL])])
    assert formats.recognise(tmp_path / "marsh.json", "read_labels") is formats.available()["whombat"]
    assert parts(table) == {("site/a.wav", "wren", True, 1.0, 2.5, 1000.0, 3000.0)}
    assert set(table.triples()) == {("site/a.wav", "wren", "present"), ("site/a.wav", "owl", "present")}
    assert table.of_files


@pytest.mark.parametrize(
    ("geometry", "place"),
    [
        (data.TimeStamp(coordinates=3.0), {"start": 3, "end": 3}),
        (data.TimeInterval(coordinates=[1.0, 2.0]), {"start": 1, "end": 2}),
        (data.Point(coordinates=[1.0, 500.0]), {"start": 1, "end": 1, "low": 500, "high": 500}),
        (data.LineString(coordinates=[[1, 500], [2, 900], [3, 100]]), {"start": 1, "end": 3, "low": 100, "high": 900}),
        (data.Polygon(coordinates=[[[1, 5], [2, 9], [3, 1]]]), {"start": 1, "end": 3, "low": 1, "high": 9}),
        (data.MultiPoint(coordinates=[[1, 5], [4, 2]]), {"start": 1, "end": 4, "low": 2, "high": 5}),
    ],
)
def test_every_geometry_has_a_place(tmp_path, geometry, place):
    table = read(tmp_path, [annotated(whole("a.wav"), (geometry, [WREN]))])
    assert [one.place for one in table.placed] == [place]


def test_times_are_those_of_the_file(tmp_path):
    """A recording of bats that was slowed down tenfold: 3 s of it are 30 s of the file."""
    slow = whole("bat.wav", duration=3.0, time_expansion=10.0)
    table = read(tmp_path, [annotated(slow, (data.BoundingBox(coordinates=[0.1, 40_000, 0.2, 60_000]), [WREN]))])
    (found,) = table.placed
    assert found.place == pytest.approx({"start": 1.0, "end": 2.0, "low": 4000.0, "high": 6000.0})


def test_what_was_looked_for_in_a_finished_clip_and_not_found_is_absent(tmp_path):
    clips = {name: whole(f"{name}.wav") for name in ("done", "open", "again", "rejected")}
    part = data.Clip(recording=clips["open"].recording, start_time=5.0, end_time=10.0)
    found = [annotated(clip, (BOX, [WREN])) for clip in clips.values()]
    tasks = [
        task(clips["done"], "assigned", "completed"),
        task(clips["open"], "assigned"),
        task(clips["again"], "rejected", "verified"),
        task(clips["rejected"], "completed", "rejected"),
        task(part, "completed"),
    ]
    table = read(tmp_path, found, tasks, asked=[WREN, OWL])
    assert set(table.triples()) == {
        ("done.wav", "wren", "present"),
        ("done.wav", "owl", "absent"),
        ("open.wav", "wren", "present"),
        ("again.wav", "wren", "present"),
        ("again.wav", "owl", "absent"),
    }
    of_part = {one for one in parts(table) if not one[2]}
    assert of_part == {("open.wav", "wren", False, 5.0, 10.0), ("open.wav", "owl", False, 5.0, 10.0)}


def test_of_two_clips_of_a_recording_the_one_in_which_it_was_found_counts(tmp_path):
    twice = [whole("a.wav"), whole("a.wav")]
    twice[1] = data.Clip(recording=twice[0].recording, start_time=0, end_time=31.0)
    table = read(
        tmp_path,
        [annotated(twice[0], (BOX, [WREN])), annotated(twice[1])],
        [task(twice[0], "completed"), task(twice[1], "completed")],
        asked=[WREN],
    )
    assert set(table.triples()) == {("a.wav", "wren", "present")}


def test_tags_without_species_are_classes_by_their_values(tmp_path):
    table = read(tmp_path, [annotated(whole("a.wav"), (BOX, [CALL]))])
    assert table.classes == ["alarm"]


def test_annotations_of_whombat_become_labels_of_instances(tmp_path):
    """A recording named by its whole path, under Windows, is the bag that its path ends with."""
    spans = np.array([[0.0, 3.0], [3.0, 6.0], [0.0, 3.0]])
    ids = ["north/a.wav", "south/a.wav"]
    source = Source(
        tmp_path / "e", ids, np.array([0, 0, 1]), 2, np.dtype("f4"), lambda: iter([np.eye(3, 2)]), spans=spans
    )
    save(tmp_path / "m.json", [annotated(whole("x.wav"), (BOX, [WREN]))])
    text = (tmp_path / "m.json").read_text().replace('"x.wav"', json.dumps("D:\\rec\\north\\a.wav"))
    (tmp_path / "m.json").write_text(text)
    with Project.create(tmp_path / "p", source, formats.read_labels(tmp_path / "m.json")) as made:
        labels = [(bag, one.instance, one.present) for bag, one in made.contents.instance_labels]
        assert labels == [(0, 0, True)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(collection_type="dataset"), "holds 'dataset': export an annotation project from whombat"),
        (lambda d: d.update(recordings=5), "recordings is not a list"),
        (lambda d: d["recordings"][0].pop("uuid"), "one of its recordings has no uuid"),
        (lambda d: d["recordings"][0].pop("path"), "a recording has no path"),
        (lambda d: d["recordings"][0].update(duration="long"), "duration is 'long', not a number"),
        (lambda d: d["recordings"][0].update(time_expansion=0), "time_expansion that is not above 0"),
        (lambda d: d["clips"][0].update(recording="nowhere"), "refers to a recording that is not in it: 'nowhere'"),
        (lambda d: d.update(sound_events=[]), "refers to a sound_event that is not in it"),
        (lambda d: d["sound_events"][0].update(geometry=None), "without usable coordinates"),
        (lambda d: d["sound_events"][0]["geometry"].update(coordinates=[1, [2], "x"]), "without usable coordinates"),
        (lambda d: d["sound_events"][0]["geometry"].update(coordinates=[-1, 0, 2, 3]), "start is negative"),
        (lambda d: d["clip_annotations"][0].update(sound_events=[[]]), "refers to a sound_event_annotation"),
        (lambda d: d["tags"][0].update(value=3), "a tag has no key and value"),
        (lambda d: d.update(clip_annotations=[]), "no clip has an annotation with a tag, and none is finished"),
    ],
)
def test_damaged_annotations_of_whombat(tmp_path, change, words):
    read(tmp_path, [annotated(whole("a.wav"), (BOX, [WREN]))])
    path = tmp_path / "marsh.json"
    content = json.loads(path.read_text())
    change(content["data"])
    path.write_text(json.dumps(content))
    with pytest.raises(FileError, match=words) as error:
        formats.read_labels(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text", ['{"data": {"collection_type"', '{"collection_type": 3}', '{"data": {"collection_type": []}}']
)
def test_an_export_of_whombat_that_is_cut(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(FileError, match=r"is not JSON|no collection of soundevent"):
        formats.read_labels(tmp_path / "a.json")

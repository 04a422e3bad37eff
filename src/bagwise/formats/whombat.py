"""Annotations of whombat: the export of an annotation project (AOEF, the JSON of the package soundevent).

A recording is a bag. A tag of a sound event is present at its place: its times, and its frequencies where the geometry
has any; of a line or a polygon, the box around it. A tag of a clip is present in the clip. A class is the value of a
tag; where some tags are of a species (`SPECIES`), tags with other keys, as of the kind of call, are not classes.

A project lists the tags that annotators look for. What of them has no annotation in a clip that is *completed* or
*verified* is absent from the clip. Annotations of clips that were *rejected* are left out. Times are those of the file:
whombat divides them by the time expansion of the recording.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import FileError
from bagwise.formats._label_table import LabelTable, PlacedLabel
from bagwise.formats._text import looks_like_text
from bagwise.formats._values import Place, validated_place

DESCRIPTION = "annotations of whombat (AOEF, .json)"
SUFFIXES = (".aoef.json",)
COLLECTIONS = ("annotation_project", "annotation_set", "evaluation_set")
SPECIES = ("dwc:scientificName", "species", "scientific_name", "dwc:vernacularName", "common_name")
DONE, REJECTED = ("completed", "verified"), "rejected"
ONE_AXIS = ("TimeStamp", "TimeInterval")
START = 1 << 16


def recognises(path: Path) -> bool:
    """Return whether it is a JSON object with a collection of soundevent."""
    if not looks_like_text(path):
        return False
    with path.open("rb") as file:
        start = file.read(START).removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b"{") and (b'"collection_type"' in start or b'"clip_annotations"' in start)


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Read the tags of sound events and clips, and which tags are in none of a finished clip."""
    project = _Project(path, _data(path))
    said = [*project.present(), *project.absent()]
    present = {(one.bag, one.label_class) for one in said if one.present}
    whole = [
        (one.bag, one.label_class, float(one.present))
        for one in said
        # Of two clips of a whole recording, the one in which it was found counts.
        if not one.place and (one.present or (one.bag, one.label_class) not in present)
    ]
    placed = [one for one in said if one.place]
    if not whole and not placed:
        raise FileError(path, "no clip has an annotation with a tag, and none is finished.")
    return replace(LabelTable.from_triples(path, whole, placed=placed), of_files=True)


def _data(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise FileError(path, "is not UTF-8 text: save it as UTF-8.") from error
    except json.JSONDecodeError as error:
        raise FileError(path, f"is not JSON ({error.msg}).", error.lineno, error.colno) from error
    except (RecursionError, ValueError) as error:
        raise FileError(path, f"is not JSON that can be used ({type(error).__name__}).") from error
    data = content.get("data") if isinstance(content, dict) else None
    kind = data.get("collection_type") if isinstance(data, dict) else None
    if kind not in COLLECTIONS:
        what = f"holds {kind!r}" if isinstance(kind, str) else "holds no collection of soundevent"
        raise FileError(path, f"{what}: export an annotation project from whombat.")
    assert isinstance(data, dict)
    return data


@dataclass(frozen=True)
class _Clip:
    bag: str
    place: Place
    """Empty where it is the whole recording."""


class _Project:
    """The lists of a collection, by the keys that they refer to one another with."""

    def __init__(self, path: Path, data: dict[str, Any]) -> None:
        self.path = path
        self.recordings = self._by(data, "recordings")
        self.clips = {key: self._clip(one) for key, one in self._by(data, "clips").items()}
        self.sound_events = self._by(data, "sound_events")
        self.events = self._by(data, "sound_event_annotations")
        self.of_clips = list(self._by(data, "clip_annotations").values())
        self.classes = self._classes(data)
        self.asked = self._tags(data, "project_tags")
        self.states = dict(self._states(data))

    def present(self) -> Iterator[PlacedLabel]:
        """Yield the tags of clips and of sound events in them, but for those of clips that were rejected."""
        for annotation in self.of_clips:
            key = self._key(annotation.get("clip"), "clip", self.clips)
            if self.states.get(key) == REJECTED:
                continue
            clip = self.clips[key]
            for name in self._tags(annotation):
                yield PlacedLabel(clip.bag, name, True, None, clip.place)
            for bag, names, place in self._events_in(annotation):
                for name in names:
                    yield PlacedLabel(bag, name, True, None, place)

    def absent(self) -> Iterator[PlacedLabel]:
        """Yield the tags that were looked for in finished clips and not found."""
        found: dict[Any, set[str]] = {}
        for annotation in self.of_clips:
            names = found.setdefault(annotation["clip"], set())
            names.update(self._tags(annotation), *(of_event for _, of_event, _ in self._events_in(annotation)))
        for key, state in self.states.items():
            for name in self.asked if state in DONE else []:
                if name not in found.get(key, ()):
                    yield PlacedLabel(self.clips[key].bag, name, False, None, self.clips[key].place)

    def _events_in(self, annotation: dict[str, Any]) -> Iterator[tuple[str, list[str], Place]]:
        """Yield recording, tags and place of the sound events of a clip."""
        for given in self._list(annotation, "sound_events"):
            event = self.events[self._key(given, "sound_event_annotation", self.events)]
            sound = self.sound_events[self._key(event.get("sound_event"), "sound_event", self.sound_events)]
            recording = self.recordings[self._key(sound.get("recording"), "recording", self.recordings)]
            yield self._bag(recording), self._tags(event), self._place(sound.get("geometry"), recording)

    def _clip(self, clip: dict[str, Any]) -> _Clip:
        recording = self.recordings[self._key(clip.get("recording"), "recording", self.recordings)]
        start, end = (self._number(clip, name) for name in ("start_time", "end_time"))
        if start <= 0 and end >= self._number(recording, "duration"):
            return _Clip(self._bag(recording), {})
        return _Clip(self._bag(recording), self._in_file({"start": start, "end": end}, recording))

    def _place(self, geometry: Any, recording: dict[str, Any]) -> Place:
        kind = geometry.get("type") if isinstance(geometry, dict) else None
        numbers = np.array(list(_flat(geometry.get("coordinates"))) if isinstance(geometry, dict) else [], float)
        if not len(numbers) or not np.isfinite(numbers).all() or (kind not in ONE_AXIS and len(numbers) % 2):
            raise FileError(self.path, f"a sound event has a geometry ({kind}) without usable coordinates.")
        if kind in ONE_AXIS:
            return self._in_file({"start": numbers.min(), "end": numbers.max()}, recording)
        times, pitches = numbers[::2], numbers[1::2]
        box = {"start": times.min(), "end": times.max(), "low": pitches.min(), "high": pitches.max()}
        return self._in_file(box, recording)

    def _in_file(self, place: Mapping[str, float], recording: dict[str, Any]) -> Place:
        expansion = self._number(recording, "time_expansion", 1.0)
        if expansion <= 0:
            raise FileError(self.path, "a recording has a time_expansion that is not above 0.")
        scale = {"start": expansion, "end": expansion, "low": 1 / expansion, "high": 1 / expansion}
        return validated_place({name: float(value) * scale[name] for name, value in place.items()}, self.path)

    def _bag(self, recording: dict[str, Any]) -> str:
        name = recording.get("path")
        if not isinstance(name, str) or not name:
            raise FileError(self.path, "a recording has no path.")
        return name.replace("\\", "/")

    def _classes(self, data: dict[str, Any]) -> dict[Any, str]:
        """The classes by the id of their tag."""
        tags = self._by(data, "tags", "id")
        for tag in tags.values():
            if not isinstance(tag.get("key"), str) or not isinstance(tag.get("value"), str):
                raise FileError(self.path, "a tag has no key and value.")
        keys = {tag["key"] for tag in tags.values()}
        species = next((key for key in SPECIES if key in keys), None)
        return {number: tag["value"] for number, tag in tags.items() if species is None or tag["key"] == species}

    def _states(self, data: dict[str, Any]) -> Iterator[tuple[Any, str]]:
        """Yield the clip and the last state of every task that is finished or was rejected."""
        for task in self._by(data, "tasks").values():
            badges = [one for one in self._list(task, "status_badges") if isinstance(one, dict)]
            badges.sort(key=lambda badge: str(badge.get("created_on", "")))
            named = [badge.get("state") for badge in badges]
            for state in [one for one in named if one in (*DONE, REJECTED)][-1:]:
                yield self._key(task.get("clip"), "clip", self.clips), state

    def _tags(self, one: dict[str, Any], name: str = "tags") -> list[str]:
        numbers = self._list(one, name)
        return list(
            dict.fromkeys(self.classes[number] for number in numbers if _is_key(number) and number in self.classes)
        )

    def _list(self, one: dict[str, Any], name: str) -> list[Any]:
        value = one.get(name)
        if value is not None and not isinstance(value, list):
            raise FileError(self.path, f"{name} is not a list.")
        return value or []

    def _by(self, data: dict[str, Any], name: str, key: str = "uuid") -> dict[Any, dict[str, Any]]:
        found = self._list(data, name)
        if not all(isinstance(one, dict) and _is_key(one.get(key)) for one in found):
            raise FileError(self.path, f"one of its {name} has no {key}.")
        return {one[key]: one for one in found}

    def _key(self, key: Any, name: str, among: Mapping[Any, Any]) -> Any:
        if not _is_key(key) or key not in among:
            raise FileError(self.path, f"refers to a {name} that is not in it: {str(key)[:40]!r}.")
        return key

    def _number(self, one: dict[str, Any], name: str, default: float | None = None) -> float:
        value = one.get(name, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not np.isfinite(value):
            raise FileError(self.path, f"{name} is {str(value)[:40]!r}, not a number.")
        return float(value)


def _is_key(value: Any) -> bool:
    return isinstance(value, str | int)


def _flat(coordinates: Any) -> Iterator[float]:
    """The numbers of nested lists."""
    if isinstance(coordinates, list):
        for one in coordinates:
            yield from _flat(one)
    else:
        yield coordinates if isinstance(coordinates, int | float) and not isinstance(coordinates, bool) else np.nan

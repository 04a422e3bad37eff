"""Camtrap DP 1.0, the exchange format of camera traps, which takes sound too: `datapackage.json` and three tables.

A zip file, or a folder where a path without suffix is written. A site is a deployment, a raw file is a medium, and a
detection is an observation of it. The format needs the coordinates of every site and the time of every file. Its times
are whole seconds, so the place in the file is in `observationTags` as `start:12.5 | end:13.25`. Where the offset from
UTC is not known times are written as if it were 0, and `timestampIssues` of the deployment says so.

What people classified is read as labels; what machines did, with its probability, as scores.
"""

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import ceil
from pathlib import Path
from typing import Any

import polars as pl

from bagwise.core.errors import BagwiseError, FileError
from bagwise.data.class_names import BETWEEN
from bagwise.formats._detections import OF_INSTANCE, DetectionTable
from bagwise.formats._label_table import LabelTable, PlacedLabel
from bagwise.formats._types import RowLocator, Table
from bagwise.formats._values import ALWAYS_ALLOWED_BYTES, MAX_BYTES_PER_BYTE, PLACE_COLUMNS, place_from

DESCRIPTION = "Camtrap DP package (.zip)"
SUFFIXES = (".camtrap-dp.zip",)
PACKAGE, VERSION = "datapackage.json", "1.0"
ADDRESS = f"https://raw.githubusercontent.com/tdwg/camtrap-dp/{VERSION}"
TIMES = ("start", "end")
FIELDS = {
    "deployments": (
        "deploymentID locationID locationName latitude longitude coordinateUncertainty deploymentStart deploymentEnd "
        "setupBy cameraID cameraModel cameraDelay cameraHeight cameraDepth cameraTilt cameraHeading detectionDistance "
        "timestampIssues baitUse featureType habitat deploymentGroups deploymentTags deploymentComments"
    ),
    "media": (
        "mediaID deploymentID captureMethod timestamp filePath filePublic fileName fileMediatype exifData favorite "
        "mediaComments"
    ),
    "observations": (
        "observationID deploymentID mediaID eventID eventStart eventEnd observationLevel observationType "
        "cameraSetupType scientificName count lifeStage sex behavior individualID individualPositionRadius "
        "individualPositionAngle individualSpeed bboxX bboxY bboxWidth bboxHeight classificationMethod classifiedBy "
        "classificationTimestamp classificationProbability observationTags observationComments"
    ),
}
COLUMNS = {name: fields.split() for name, fields in FIELDS.items()}


def recognises(path: Path) -> bool:
    """Return whether it is a zip file with the description of a package and its observations."""
    if not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return {PACKAGE, "observations.csv", "media.csv"} <= set(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False


def read_labels(path: Path, bag_column: str | None = None) -> LabelTable:
    """Read what people classified: each animal is present at its place, or in the file where no place is known."""
    triples, lines, placed = [], [], []
    for line, row in _animals(path):
        if row.get("classificationMethod") != "human":
            continue
        place = _place(path, row, line)
        if place:
            placed.append(PlacedLabel(row["file"], row["scientificName"], True, None, place, line))
        else:
            triples.append((row["file"], row["scientificName"], 1.0))
            lines.append(line)
    if not triples and not placed:
        raise FileError(path, "no animal in it was classified by a human: import it with --scores.")
    return replace(LabelTable.from_triples(path, triples, lines, placed), of_files=True)


def read_table(path: Path) -> Table:
    """Read every animal with its file, class and probability, and start and end where they are known."""
    rows, lines = [], []
    for line, row in _animals(path):
        place = _place(path, row, line)
        times = ("" if name not in place else repr(place[name]) for name in TIMES)
        rows.append((row["file"], row["scientificName"], row.get("classificationProbability", ""), *times))
        lines.append(line)
    columns = dict.fromkeys(("file", "class", "probability", *TIMES), pl.String)
    return Table(pl.DataFrame(rows, columns, orient="row"), RowLocator(path, "line", lines.__getitem__))


def write_detections(table: DetectionTable, path: Path) -> None:
    """Write a package; raise a BagwiseError where the coordinates of a site or the time of a file are not known."""
    files = {row["file"]: row for row in table.files.iter_rows(named=True)}
    _validate_complete(files, path)
    tables = {
        "deployments": _deployments(files),
        "media": [_medium(row) for row in files.values()],
        "observations": _observations(table, files),
    }
    contents = {f"{name}.csv": _text(COLUMNS[name], rows) for name, rows in tables.items()}
    contents[PACKAGE] = json.dumps(_package(table, files), ensure_ascii=False, indent=2) + "\n"
    if path.suffix:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in contents.items():
                archive.writestr(name, text)
        return
    path.mkdir(parents=True, exist_ok=True)
    for name, text in contents.items():
        (path / name).write_text(text, encoding="utf-8")


def _validate_complete(files: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    needed = {"latitude": "coordinates", "longitude": "coordinates", "recorded_at": "time"}
    if not files:
        raise BagwiseError(
            f"{path.name}: Camtrap DP needs the files of the bags, and none is known. Choose another format."
        )
    for name, row in files.items():
        for column, word in needed.items():
            if row[column] in (None, ""):
                what = f"Camtrap DP needs the coordinates and the time of every file, and {name} has no {word}"
                raise BagwiseError(f"{path.name}: {what}. Choose another format.")


def _deployment(row: Mapping[str, Any]) -> str:
    return str(row["site"]) or "all"


def _moment(text: str, seconds: float = 0.0) -> datetime:
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)) + timedelta(seconds=seconds)


def _stamp(time: datetime) -> str:
    return time.replace(microsecond=0).isoformat().replace("+00:00", "Z")


def _deployments(files: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    by_site: dict[str, list[Mapping[str, Any]]] = {}
    for row in files.values():
        by_site.setdefault(_deployment(row), []).append(row)
    return [
        {
            "deploymentID": site,
            "locationName": site,
            "latitude": rows[0]["latitude"],
            "longitude": rows[0]["longitude"],
            "deploymentStart": _stamp(min(_moment(row["recorded_at"]) for row in rows)),
            "deploymentEnd": _stamp(max(_moment(row["recorded_at"], ceil(row["seconds"] or 0)) for row in rows)),
            "cameraModel": rows[0]["device"],
            "timestampIssues": str(any(_is_local(row) for row in rows)).lower(),
        }
        for site, rows in by_site.items()
    ]


def _is_local(row: Mapping[str, Any]) -> bool:
    """Whether the offset from UTC is not known."""
    return datetime.fromisoformat(row["recorded_at"]).tzinfo is None


def _medium(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "mediaID": row["file"],
        "deploymentID": _deployment(row),
        "captureMethod": "timeLapse",
        "timestamp": _stamp(_moment(row["recorded_at"])),
        "filePath": row["file"],
        "filePublic": "false",
        "fileName": row["file"].rsplit("/", 1)[-1],
        "fileMediatype": row["type"],
    }


def _observations(table: DetectionTable, files: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for number, (name, place, row) in enumerate(table.placed(), start=1):
        begins, is_human = files[name]["recorded_at"], row["confirmed"] == OF_INSTANCE
        rows.append(
            {
                "observationID": str(number),
                "deploymentID": _deployment(files[name]),
                "mediaID": name,
                "eventStart": _stamp(_moment(begins, place.get("start", 0.0))),
                "eventEnd": _stamp(_moment(begins, ceil(place.get("end", 0.0)))),
                "observationLevel": "media",
                "observationType": "animal",
                "scientificName": row["class"].partition(BETWEEN)[0],
                "classificationMethod": "human" if is_human else "machine",
                "classifiedBy": "" if is_human else f"Bagwise ({table.model})" if table.model else "Bagwise",
                "classificationProbability": row["probability"],
                "observationTags": " | ".join(f"{column}:{value!r}" for column, value in place.items()),
            }
        )
    return rows


def _package(table: DetectionTable, files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    starts = [_moment(row["recorded_at"]) for row in files.values()]
    places = sorted({(row["longitude"], row["latitude"]) for row in files.values()})
    classes = table.frame["class"].unique(maintain_order=True).to_list()
    return {
        "name": "bagwise-detections",
        "profile": f"{ADDRESS}/camtrap-dp-profile.json",
        "created": _stamp(datetime.now(UTC)),
        "description": "Written by Bagwise. Say who contributed and how the project was designed before publishing it.",
        "contributors": [{"title": "Unknown", "role": "contributor"}],
        "project": {
            "title": "Detections",
            "samplingDesign": "opportunistic",
            "captureMethod": ["timeLapse"],
            "individualAnimals": False,
            "observationLevel": ["media"],
        },
        "spatial": {"type": "MultiPoint", "coordinates": [list(one) for one in places]},
        "temporal": {"start": min(starts).date().isoformat(), "end": max(starts).date().isoformat()},
        "taxonomic": [{"scientificName": name.partition(BETWEEN)[0]} for name in classes],
        "resources": [
            {
                "name": name,
                "path": f"{name}.csv",
                "profile": "tabular-data-resource",
                "format": "csv",
                "mediatype": "text/csv",
                "encoding": "utf-8",
                "schema": f"{ADDRESS}/{name}-table-schema.json",
            }
            for name in COLUMNS
        ],
    }


def _text(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    written = io.StringIO(newline="")
    writer = csv.DictWriter(written, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return written.getvalue()


def _animals(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The observations of animals in single files: line, and row with the path of the file as `file`."""
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
            if unpacked > max(ALWAYS_ALLOWED_BYTES, MAX_BYTES_PER_BYTE * path.stat().st_size):
                raise FileError(path, f"would unpack to {unpacked / 1e9:.1f} GB: it is not read.")
            media, observations = (
                csv.DictReader(io.StringIO(archive.read(f"{name}.csv").decode("utf-8-sig"), newline=""))
                for name in ("media", "observations")
            )
            files = {row["mediaID"]: row["filePath"] for row in media}
            rows = list(enumerate(observations, start=2))
    except (KeyError, ValueError, OSError, csv.Error, zipfile.BadZipFile, NotImplementedError) as error:
        raise FileError(path, f"cannot be read as a Camtrap DP package ({type(error).__name__}).") from error
    found = [
        (line, {**{name: text or "" for name, text in row.items() if name}, "file": files[row["mediaID"]]})
        for line, row in rows
        if row.get("mediaID") in files and row.get("observationType") == "animal" and row.get("scientificName")
    ]
    if not found:
        raise FileError(path, "has no observation of an animal with a name in a file.")
    yield from found


def _place(path: Path, row: Mapping[str, str], line: int) -> dict[str, float]:
    """The place that our tags give; empty where there are none."""
    tags = dict(tag.strip().split(":", 1) for tag in row.get("observationTags", "").split("|") if ":" in tag)
    return place_from({name: text for name, text in tags.items() if name in PLACE_COLUMNS}, path, line)

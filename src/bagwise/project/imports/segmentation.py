"""How the raw files of a project were segmented, in its folder `cutting`: files added later are segmented alike.

recipe.json, state.npz      the segmenter and what it was fitted to
files.jsonl                 the fingerprint of every file when it was segmented
skipped.csv                 the files that the last run could not use, and why
scores/N.parquet            what a classifier thought of the bags of an import, N being the number of its first bag:
                            bag, instance (counted from 0 in its bag), class and confidence, the score, as in tables of
                            detections: what is not listed was below 0.0001
scores/classes.json         the classifier, the classes that it scored, whether or not any score was large enough, and
                            the lowest score that is stored
"""

import contextlib
import csv
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from bagwise import formats
from bagwise.formats import ScoreTable, marked
from bagwise.ingest import Fingerprint, Recipe, SegmentedFolder
from bagwise.ingest.types import LOWEST_SCORE, SCORE

FOLDER, FILES, SKIPPED = "cutting", "files.jsonl", "skipped.csv"
SCORES, CLASSES, TABLE = "scores", "classes.json", ".parquet"


def recipe_of(folder: Path) -> Recipe | None:
    """Return how the files of a project were segmented; None if it was made from a table."""
    return Recipe.read(folder / FOLDER)


def fingerprints(folder: Path) -> dict[str, Fingerprint]:
    """Return the fingerprints of the files of a project when they were segmented, by the ids of their bags."""
    found = {}
    with contextlib.suppress(FileNotFoundError):
        for line in (folder / FOLDER / FILES).read_text(encoding="utf-8").splitlines():
            # The last line may be incomplete; its bag is then not checked for changes.
            with contextlib.suppress(ValueError, TypeError, KeyError):
                fields = json.loads(line)
                name = str(fields.pop("id"))
                found[name] = Fingerprint(**fields)
    return found


def keep(folder: Path, segmented: SegmentedFolder, ids: Sequence[str]) -> None:
    """Write what the next import needs into a project whose bags are `ids`, and the scores of the new bags."""
    place = folder / FOLDER
    segmented.recipe.write(place)
    with (place / FILES).open("a", encoding="utf-8") as file:
        for name, fingerprint in segmented.fingerprints.items():
            file.write(json.dumps({"id": name, **asdict(fingerprint)}, ensure_ascii=False) + "\n")
    list_skipped(folder, segmented.skipped)
    if segmented.entries:
        write_scores(place / SCORES, segmented, list(ids).index(segmented.entries[0].id))


def score_files(folder: Path) -> tuple[list[str], list[Path]]:
    """Return the classes that a classifier scored, and the tables with its scores, in the order of the imports.

    A table has the columns bag, instance, class and confidence. What is not listed was below `LOWEST_SCORE`.
    """
    place = folder / FOLDER / SCORES
    try:
        classes = json.loads((place / CLASSES).read_text(encoding="utf-8"))["classes"]
    except FileNotFoundError:
        return [], []
    return classes, [path for _, path in sorted(_score_tables(place))]


def discard_scores(folder: Path, bags: int) -> None:
    """Remove the scores of an import that failed or was killed; the project has so many bags without it."""
    for number, path in _score_tables(folder / FOLDER / SCORES):
        if number >= bags:
            path.unlink()


def _score_tables(place: Path) -> Iterator[tuple[int, Path]]:
    return ((int(path.stem), path) for path in place.glob(f"*{TABLE}") if path.stem.isascii() and path.stem.isdigit())


def write_scores(place: Path, segmented: SegmentedFolder, first_bag: int = 0) -> Path | None:
    """Write what the embedder thinks of the bags into a folder; return the table, None where it scores no classes."""
    import polars as pl

    classes = segmented.recipe.scored_classes()
    if not classes:
        return None
    place.mkdir(exist_ok=True)
    scores = [segmented.scores(entry) for entry in segmented.entries]
    together = np.concatenate([np.empty(0, SCORE), *scores])
    bags = np.repeat(np.arange(len(scores)), [len(one) for one in scores])
    table = pl.DataFrame(
        {
            "bag": pl.Series([entry.id for entry in segmented.entries], dtype=pl.String).gather(bags),
            "instance": together["instance"],
            "class": pl.Series(classes, dtype=pl.String).gather(together["class"]),
            "confidence": together["score"],
        }
    )
    path = place / f"{first_bag}{TABLE}"
    table.write_parquet(path.with_suffix(".part"))
    path.with_suffix(".part").replace(path)
    source = segmented.recipe.fingerprint.partition(":")[0]
    about = {"source": source, "lowest_score": LOWEST_SCORE, "classes": list(classes)}
    (place / CLASSES).write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def read_scores(path: Path) -> ScoreTable:
    """Return a table that `write_scores` wrote, with the classes that have no score above the lowest as well."""
    about = json.loads((path.parent / CLASSES).read_text(encoding="utf-8"))
    table = formats.read_scores(path, about["source"])
    listed = set(table.classes)
    return replace(table, classes=[*table.classes, *(name for name in about["classes"] if name not in listed)])


def list_skipped(folder: Path, skipped: Mapping[str, str]) -> None:
    """Write the files that could not be used, with the reason."""
    with (folder / FOLDER / SKIPPED).open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "reason"])
        rows.writerows((marked(name), why) for name, why in skipped.items())


def cache_folder(folder: Path) -> Path:
    """Return the folder of the cache of an unfinished import into a project."""
    return folder / FOLDER / "unfinished"


def copy(folder: Path, target: Path) -> None:
    """Copy all of it to another project, except for unfinished imports."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copytree(folder / FOLDER, target / FOLDER, ignore=shutil.ignore_patterns("unfinished"))

"""How the raw files of a project were segmented, in the folder `cutting`: files added later are segmented the same way.

recipe.json, state.npz      the segmenter and what was fitted for it
files.jsonl                 size and fingerprint of every file when it was segmented
skipped.csv                 the files that the last run could not use, and why
"""

import contextlib
import csv
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from bagwise.formats import marked
from bagwise.ingest import Recipe, Seen, SegmentedFolder

FOLDER, FILES, SKIPPED = "cutting", "files.jsonl", "skipped.csv"


def recipe_of(folder: Path) -> Recipe | None:
    """Return how the files of this project were segmented; None where it was made from a table."""
    return Recipe.read(folder / FOLDER)


def seen_files(folder: Path) -> dict[str, Seen]:
    """Return size and fingerprint of every file, by the id of its bag."""
    found = {}
    with contextlib.suppress(FileNotFoundError):
        for line in (folder / FOLDER / FILES).read_text(encoding="utf-8").splitlines():
            # The last line may have been interrupted; its bag is then not checked for changes.
            with contextlib.suppress(ValueError, TypeError, KeyError):
                fields = json.loads(line)
                name = str(fields.pop("id"))
                found[name] = Seen(**fields)
    return found


def keep(folder: Path, cut: SegmentedFolder) -> None:
    """Store what the next segmentation has to know."""
    place = folder / FOLDER
    cut.recipe.write(place)
    with (place / FILES).open("a", encoding="utf-8") as file:
        for name, seen in cut.seen.items():
            file.write(json.dumps({"id": name, **asdict(seen)}, ensure_ascii=False) + "\n")
    list_skipped(folder, cut.skipped)


def list_skipped(folder: Path, skipped: Mapping[str, str]) -> None:
    """Write the list of files that could not be used."""
    with (folder / FOLDER / SKIPPED).open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "reason"])
        rows.writerows((marked(name), why) for name, why in skipped.items())


def unfinished(folder: Path) -> Path:
    """Return the folder in which an unfinished segmentation keeps its results."""
    return folder / FOLDER / "unfinished"


def copy(folder: Path, target: Path) -> None:
    """Copy to another project, without an unfinished segmentation."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copytree(folder / FOLDER, target / FOLDER, ignore=shutil.ignore_patterns("unfinished"))

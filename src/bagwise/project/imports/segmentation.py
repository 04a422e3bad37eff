"""How the raw files of a project were segmented, in its folder `cutting`: files added later are segmented alike.

recipe.json, state.npz      the segmenter and what it was fitted to
files.jsonl                 the fingerprint of every file when it was segmented
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
from bagwise.ingest import Fingerprint, Recipe, SegmentedFolder

FOLDER, FILES, SKIPPED = "cutting", "files.jsonl", "skipped.csv"


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


def keep(folder: Path, segmented: SegmentedFolder) -> None:
    """Write what the next import needs into a project."""
    place = folder / FOLDER
    segmented.recipe.write(place)
    with (place / FILES).open("a", encoding="utf-8") as file:
        for name, fingerprint in segmented.fingerprints.items():
            file.write(json.dumps({"id": name, **asdict(fingerprint)}, ensure_ascii=False) + "\n")
    list_skipped(folder, segmented.skipped)


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

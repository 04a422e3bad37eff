"""How the raw files of a project were cut, in the folder `cutting`: so that files added later are cut the same way.

recipe.json, state.npz      the way of cutting and what was fitted for it
files.jsonl                 what every file was when it was cut
skipped.csv                 what the last run could not use, and why
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
    """How this project's files were cut; None where it was made from a table."""
    return Recipe.read(folder / FOLDER)


def seen_files(folder: Path) -> dict[str, Seen]:
    """What every file was, by the id of its bag."""
    found = {}
    with contextlib.suppress(FileNotFoundError):
        for line in (folder / FOLDER / FILES).read_text(encoding="utf-8").splitlines():
            # The last line may have been interrupted; its bag is then not checked for changes.
            with contextlib.suppress(ValueError, TypeError, KeyError):
                said = json.loads(line)
                name = str(said.pop("id"))
                found[name] = Seen(**said)
    return found


def keep(folder: Path, cut: SegmentedFolder) -> None:
    """What the next cutting must know."""
    place = folder / FOLDER
    cut.recipe.write(place)
    with (place / FILES).open("a", encoding="utf-8") as file:
        for name, seen in cut.seen.items():
            file.write(json.dumps({"id": name, **asdict(seen)}, ensure_ascii=False) + "\n")
    list_skipped(folder, cut.skipped)


def list_skipped(folder: Path, skipped: Mapping[str, str]) -> None:
    """What could not be used this time."""
    with (folder / FOLDER / SKIPPED).open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "reason"])
        rows.writerows((marked(name), why) for name, why in skipped.items())


def unfinished(folder: Path) -> Path:
    """Where a cutting into this project keeps what it has so far."""
    return folder / FOLDER / "unfinished"


def copy(folder: Path, target: Path) -> None:
    """To another project, without what is unfinished."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copytree(folder / FOLDER, target / FOLDER, ignore=shutil.ignore_patterns("unfinished"))

"""Write recordings again (all, or `NAME ...`), or with `--compare` print how a replay on this processor differs."""

import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.recorded import BAGS, SETTINGS, make_bags, record, recorded, replayed, weights_of


def compare(name: str, folder: Path) -> bool:
    """Return whether the replay equals the recording; print the differences."""
    expected, weights = recorded(name)
    other, found = 0, weights
    for (row, project), known in zip(replayed(name, folder), expected, strict=True):
        other += row != known
        found = weights_of(project)
    print(
        f"{name}: {other} of {len(expected)} questions differ, weights by {np.abs(found - weights).max():.3g} at most"
    )
    return other == 0 and np.array_equal(found, weights)


def main(arguments: list[str]) -> int:
    """Write or compare."""
    with tempfile.TemporaryDirectory() as folder:
        chosen = [name for name in arguments if name in SETTINGS] or list(SETTINGS)
        if "--compare" in arguments:
            same = [compare(name, Path(folder) / name) for name in chosen]
            return 0 if all(same) else 1
        if not BAGS.exists():
            make_bags()
        for name in chosen:
            record(name, Path(folder) / name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Manuals: documents composed of paragraphs of SciPy's documentation, embedded by WordLlama.

A document has one to three paragraphs, each of another subject, which are packages of SciPy, among two to four about
none of them. Every paragraph is in one document only, without the names of packages and functions. The paragraphs are
the instances. The texts are those of the installed SciPy and NumPy, so another version makes another data set.
"""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np

from bagwise.datasets._embedding import Composed, Composition
from bagwise.datasets._types import Dataset

DESCRIPTION = "paragraphs of SciPy's documentation on 9 subjects, embedded by WordLlama (package wordllama)"
BAGS = 240
SUBJECTS = ("stats", "signal", "ndimage", "optimize", "linalg", "interpolate", "spatial.distance", "integrate", "fft")
OTHERS = ("numpy", "numpy.ma", "scipy.sparse", "scipy.special", "scipy.io", "numpy.random")
SUBJECTS_IN_DOCUMENT, OTHERS_IN_DOCUMENT = (1, 3), (2, 4)
SHORTEST, LONGEST = 120, 1200
HEADING = re.compile(r"^\s*-{3,}\s*$", re.MULTILINE)
PROSE = re.compile(r"^[A-Z`][^|>]*$", re.DOTALL)
TELLING = re.compile(r"`{1,2}[^`]*`{1,2}_?|:\w+:|\b(scipy|numpy|np)(\.\w+)*", re.IGNORECASE)


def composition(bags: int = BAGS) -> Composition:
    """Return how the data set is made."""
    import scipy

    version = f"1 {scipy.__version__} {np.__version__}"
    classes = [name.rpartition(".")[2] for name in SUBJECTS]
    return Composition("manuals", version, "wordllama", classes, bags, _compose)


def load(random_state: int = 0, bags: int = BAGS) -> Dataset:
    """Load the data set, built on first use; the seed has no effect."""
    return composition(bags).load()


def is_built() -> bool:
    """Return whether it is in the cache."""
    return composition().path().exists()


def _compose(folder: Path, bags: int) -> Iterator[Composed]:
    rng = np.random.default_rng(256)
    about = [_paragraphs([f"scipy.{name}"], rng) for name in SUBJECTS]
    others = _paragraphs(OTHERS, rng)
    for number in range(bags):
        left = np.array([len(parts) for parts in about], float)
        wanted = min(int(rng.integers(SUBJECTS_IN_DOCUMENT[0], SUBJECTS_IN_DOCUMENT[1] + 1)), int((left > 0).sum()))
        inside = rng.choice(len(about), wanted, replace=False, p=left / left.sum())
        parts = [(about[subject].pop(), subject) for subject in inside]
        count = int(rng.integers(OTHERS_IN_DOCUMENT[0], OTHERS_IN_DOCUMENT[1] + 1))
        parts += [(others.pop(), -1) for _ in range(min(count, len(others)))]
        order = rng.permutation(len(parts))
        path = folder / f"{number:04}.txt"
        path.write_text("\n\n".join(parts[place][0] for place in order), encoding="utf-8")
        labels = np.array([parts[place][1] for place in order])
        present = np.isin(np.arange(len(about)), labels)
        yield Composed(path, present, labels)


def _paragraphs(modules: tuple[str, ...] | list[str], rng: np.random.Generator) -> list[str]:
    """Return the prose in the documentation of some modules, in any order."""
    found: dict[str, None] = {}
    for name in modules:
        module = import_module(name)
        for member in sorted(getattr(module, "__all__", ())):
            text = getattr(getattr(module, member, None), "__doc__", None) or ""
            found |= dict.fromkeys(_prose(text))
    return [str(one) for one in rng.permutation(np.array(list(found), object))]


def _prose(text: str) -> Iterator[str]:
    for part in re.split(r"\n\s*\n", text):
        joined = TELLING.sub("it", " ".join(part.split()))
        if SHORTEST <= len(joined) <= LONGEST and not HEADING.search(part) and PROSE.match(joined):
            yield joined

"""Manuals: documents composed of paragraphs of the documentation of Python libraries, embedded by WordLlama.

A document has one to three subjects, with one to three paragraphs of each, among two to four paragraphs about none of
them. Every paragraph is in one document only, without the names of the modules that it is taken from. The paragraphs
are the instances. The texts are those of the installed Python, NumPy, SciPy and scikit-learn, so another version makes
another data set.
"""

import platform
import re
from collections.abc import Iterable, Iterator
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType

import numpy as np

from bagwise.datasets._embedding import Composed, Composition
from bagwise.datasets._types import Dataset

DESCRIPTION = "paragraphs of manuals on 10 subjects, embedded by WordLlama (package wordllama)"
BAGS = 240
SUBJECTS = {
    "statistics": ["scipy.stats"],
    "signals": ["scipy.signal", "scipy.fft"],
    "machine learning": ["sklearn.cluster", "sklearn.ensemble", "sklearn.linear_model", "sklearn.neighbors"],
    "optimisation": ["scipy.optimize"],
    "matrices": ["scipy.linalg", "numpy.linalg"],
    "interpolation": ["scipy.interpolate"],
    "network": ["asyncio", "socket", "ssl", "http.client", "urllib.request", "email.message", "smtplib", "imaplib"],
    "images": ["scipy.ndimage"],
    "dates and money": ["datetime", "decimal", "calendar", "locale"],
    "tests": ["unittest", "doctest", "pdb", "trace", "unittest.mock"],
}
"""Modules by subject, frequent subjects first."""
OTHERS = ("numpy", "numpy.ma", "scipy.sparse", "scipy.special", "scipy.io", "argparse", "collections", "pathlib")
SUBJECTS_IN_DOCUMENT, OTHERS_IN_DOCUMENT = (1, 3), (2, 4)
PARAGRAPHS_OF_SUBJECT = (1, 3)
SHORTEST, LONGEST = 120, 1200
HEADING = re.compile(r"^\s*-{3,}\s*$", re.MULTILINE)
PROSE = re.compile(r"^[A-Z`][^|>]*$", re.DOTALL)
ALIKE = "Array API"
"""In a paragraph that most functions of SciPy have."""
TELLING = re.compile(r":\w+:|\b(scipy|numpy|np|sklearn)(\.[a-z]+\.)?\.?", re.IGNORECASE)


def composition(bags: int = BAGS) -> Composition:
    """Return how the data set is made."""
    versions = [platform.python_version(), *(metadata.version(name) for name in ("numpy", "scipy", "scikit-learn"))]
    return Composition("manuals", f"2 {' '.join(versions)}", "wordllama", list(SUBJECTS), bags, _compose)


def load(random_state: int = 0, bags: int = BAGS) -> Dataset:
    """Load the data set, built on first use; the seed has no effect."""
    return composition(bags).load()


def is_built() -> bool:
    """Return whether it is in the cache."""
    return composition().path().exists()


def _compose(folder: Path, bags: int) -> Iterator[Composed]:
    rng = np.random.default_rng(256)
    about = [_paragraphs(modules, rng) for modules in SUBJECTS.values()]
    others = _paragraphs(OTHERS, rng)
    for number in range(bags):
        left = np.array([len(parts) for parts in about], float)
        wanted = min(int(rng.integers(SUBJECTS_IN_DOCUMENT[0], SUBJECTS_IN_DOCUMENT[1] + 1)), int((left > 0).sum()))
        shares = np.sqrt(left)
        inside = rng.choice(len(about), wanted, replace=False, p=shares / shares.sum())
        each = rng.integers(PARAGRAPHS_OF_SUBJECT[0], PARAGRAPHS_OF_SUBJECT[1] + 1, wanted)
        parts = [
            (about[subject].pop(), subject)
            for subject, count in zip(inside, each, strict=True)
            for _ in range(min(count, len(about[subject])))
        ]
        count = int(rng.integers(OTHERS_IN_DOCUMENT[0], OTHERS_IN_DOCUMENT[1] + 1))
        parts += [(others.pop(), -1) for _ in range(min(count, len(others)))]
        order = rng.permutation(len(parts))
        path = folder / f"{number:04}.txt"
        path.write_text("\n\n".join(parts[place][0] for place in order), encoding="utf-8")
        labels = np.array([parts[place][1] for place in order])
        present = np.isin(np.arange(len(about)), labels)
        yield Composed(path, present, labels)


def _paragraphs(modules: Iterable[str], rng: np.random.Generator) -> list[str]:
    """Return the prose in the documentation of some modules, in any order."""
    found: dict[str, None] = {}
    for name in modules:
        for text in _documentation(import_module(name)):
            found |= dict.fromkeys(_prose(text))
    return [str(one) for one in rng.permutation(np.array(list(found), object))]


def _documentation(module: ModuleType) -> Iterator[str]:
    """Yield the texts of a module, of its public members, and of the methods of its classes."""
    public = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    members = [module, *(getattr(module, name, None) for name in sorted(public))]
    methods = [vars(one)[name] for one in members if isinstance(one, type) for name in sorted(vars(one))]
    for member in (*members, *methods):
        text = getattr(member, "__doc__", None)
        if isinstance(text, str) and text != type(member).__doc__:
            yield text


def _prose(text: str) -> Iterator[str]:
    for part in re.split(r"\n\s*\n", text):
        joined = TELLING.sub("", " ".join(part.split()))
        if ALIKE in joined:
            continue
        if SHORTEST <= len(joined) <= LONGEST and not HEADING.search(part) and PROSE.match(joined):
            yield joined

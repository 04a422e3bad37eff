"""Which embedders exist, which one a text names, and how what it returns becomes segments."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.core.plugins import declared, discover
from bagwise.ingest.media import WIDTH, renderer_of
from bagwise.ingest.pretrained.preset import Preset
from bagwise.ingest.segmenters._registry import qualified_name
from bagwise.ingest.types import SegmentFunction, Segments, scores_of_rows
from bagwise.kernels import Array

Embedding = str | Callable[[Path], Any]
"""What a person types after `--embed`, or a function that maps a path to instances."""


def available() -> dict[str, Any]:
    """Return every embedder by name: the modules of this package and the entry points of `bagwise.embedders`.

    Returns
    -------
    dict of str to module, Preset or callable
        Members as described in `bagwise.ingest.embedders`; of a module with a `PRESET`, the preset, by its own name.

    Examples
    --------
    >>> available()["sentence-transformers"].medium
    'text'
    """
    found = discover("bagwise.ingest.embedders", "bagwise.embedders")
    presets = {name: getattr(member, "PRESET", member) for name, member in found.items()}
    return {preset.name if isinstance(preset, Preset) else name: preset for name, preset in presets.items()}


def fingerprint(embedding: Embedding) -> str:
    """Return a text that is equal exactly when the features are.

    Parameters
    ----------
    embedding : str or callable
        What is typed after `--embed`, or a function. A function has the fingerprint of its `MODULE:FUNCTION`.

    Returns
    -------
    str

    Raises
    ------
    BagwiseError
        If no embedder recognises the text.

    Examples
    --------
    >>> fingerprint("mymodule:function")
    'mymodule:function'
    """
    if callable(embedding):
        return qualified_name(embedding)
    member = _member(embedding)
    return str(member.fingerprint(embedding)) if hasattr(member, "fingerprint") else embedding


def embed_function(embedding: Embedding, segmenter: Any) -> SegmentFunction:
    """Return the function that segments a file and computes its features.

    Parameters
    ----------
    embedding : str or callable
        What is typed after `--embed`, or a function that maps a path to instances.
    segmenter : module
        The segmenter of the files, for embedders that embed its segments.

    Returns
    -------
    callable
        Maps the path of a file to `Segments`.

    Raises
    ------
    BagwiseError
        If no embedder recognises the text, or it cannot be loaded.

    Examples
    --------
    >>> embed = embed_function(lambda path: [[len(path.name), 0.0]], segmenter=None)
    >>> embed(Path("wren.txt")).features.tolist()
    [[8.0, 0.0]]
    """
    member = embedding if callable(embedding) else _member(embedding)
    embed = member.embedder(embedding, segmenter) if hasattr(member, "embedder") else member
    return lambda path: as_segments(path, embed(path))


def validate_medium(embedding: Embedding, medium: str) -> None:
    """Raise where an embedder is made for another medium.

    Parameters
    ----------
    embedding : str or callable
        What is typed after `--embed`, or a function.
    medium : str
        The medium of the files.

    Raises
    ------
    BagwiseError
        If it is for another medium.

    Examples
    --------
    >>> validate_medium("mymodule:function", "text")
    """
    member = embedding if callable(embedding) else _member(embedding)
    own = declared(member, "MEDIUM")
    if own is not None and own not in (medium, renderer_of(medium)):
        name = qualified_name(embedding) if callable(embedding) else embedding
        raise BagwiseError(f"--embed {name} is for {own}, not for {medium}.")


def licence_of(embedding: Embedding) -> str:
    """Return the licence of the model that an embedder runs; empty where it declares none.

    Parameters
    ----------
    embedding : str or callable
        What is typed after `--embed`, or a function.

    Returns
    -------
    str

    Examples
    --------
    >>> licence_of("birdnet").partition(":")[0]
    'CC BY-NC-SA 4.0'
    """
    return str(declared(embedding if callable(embedding) else _member(embedding), "LICENCE", ""))


def classes_of(embedding: Embedding) -> list[str]:
    """Return the names of the classes whose scores an embedder keeps; empty where it keeps none.

    Parameters
    ----------
    embedding : str or callable
        What is typed after `--embed`, or a function.

    Returns
    -------
    list of str

    Examples
    --------
    >>> classes_of("mymodule:function")
    []
    """
    if callable(embedding):
        return []
    member = _member(embedding)
    return list(member.classes(embedding)) if hasattr(member, "classes") else []


def described() -> list[dict[str, Any]]:
    """Return what every embedder says about itself, and what is missing to use it.

    Returns
    -------
    list of dict of str to any
        `name`, `typed` (what is typed after `--embed`), `description`, `licence`, `missing` (empty where nothing is),
        and what a preset declares.

    Examples
    --------
    >>> [one["sample_rate"] for one in described() if one["name"] in ("birdnet", "perch")]
    [48000, 32000]
    """
    return [_described(name, member) for name, member in available().items()]


def _described(name: str, member: Any) -> dict[str, Any]:
    return {
        "name": name,
        "typed": declared(member, "SYNTAX", name),
        "description": declared(member, "DESCRIPTION", ""),
        "medium": declared(member, "MEDIUM"),
        "licence": declared(member, "LICENCE", ""),
        "missing": member.missing(name) if hasattr(member, "missing") else "",
        **(member.describe() if hasattr(member, "describe") else {}),
    }


def as_segments(path: Path, instances: Any) -> Segments:
    """Return `Segments` from what an embedder returns for a file."""
    if isinstance(instances, Segments):
        return instances
    if isinstance(instances, Mapping):
        if "features" not in instances:
            raise FileError(path, f"there is no array features for it, only {', '.join(instances) or 'nothing'}.")
        instances = (instances["features"], instances.get("places"), instances.get("scores"))
    features, *others = instances if isinstance(instances, tuple) else (instances,)
    places, scores = (*others, None, None)[:2]
    rows = np.asarray(features, np.float32)
    if rows.ndim != 2:
        raise FileError(path, f"its instances are of shape {rows.shape}: they must be (instances x features).")
    dense = None if scores is None else np.asarray(scores, np.float32)
    if dense is not None and (dense.ndim != 2 or len(dense) != len(rows)):
        raise FileError(path, f"its scores are of shape {dense.shape} for {len(rows)} instances.")
    stored = None if dense is None else scores_of_rows(dense)
    return Segments(rows, _padded(path, places, len(rows)), scores=stored)


def _member(text: str) -> Any:
    named = available().get(text.partition(":")[0])
    if named is not None and not hasattr(named, "recognises"):
        return named
    for member in available().values():
        if hasattr(member, "recognises") and member.recognises(text):
            return member
    syntaxes = [declared(member, "SYNTAX", name) for name, member in available().items()]
    what = f"--embed {text}: give {', '.join(syntaxes[:-1])} or {syntaxes[-1]}"
    raise BagwiseError(f"{what}; `bagwise embeddings` lists them.")


def _padded(path: Path, places: Any, rows: int) -> Array:
    padded = np.full((rows, WIDTH), np.nan)
    if places is not None:
        given = np.asarray(places, np.float64)
        if given.ndim != 2 or len(given) != rows or given.shape[1] > WIDTH:
            raise FileError(path, f"its places are of shape {given.shape} for {rows} instances.")
        padded[:, : given.shape[1]] = given
    return padded

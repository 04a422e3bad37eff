"""Which embedders exist, which one a text names, and how what it returns becomes segments."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.core.plugins import discover
from bagwise.ingest.media import WIDTH
from bagwise.ingest.segmenters._registry import qualified_name
from bagwise.ingest.types import SegmentFunction, Segments
from bagwise.kernels import Array

Embedding = str | Callable[[Path], Any]
"""What a person types after `--embed`, or a function that maps a path to instances."""


def available() -> dict[str, Any]:
    """Return every embedder by name: the modules of this package and the entry points of `bagwise.embedders`.

    Returns
    -------
    dict of str to module or callable
        Members as described in `bagwise.ingest.embedders`.

    Examples
    --------
    >>> sorted(available())[:3]
    ['command', 'function', 'onnx']
    """
    return discover("bagwise.ingest.embedders", "bagwise.embedders")


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


def as_segments(path: Path, instances: Any) -> Segments:
    """Return `Segments` from what an embedder returns for a file."""
    if isinstance(instances, Segments):
        return instances
    if isinstance(instances, Mapping):
        if "features" not in instances:
            raise FileError(path, f"there is no array features for it, only {', '.join(instances) or 'nothing'}.")
        instances = (instances["features"], instances.get("places"))
    features, places = instances if isinstance(instances, tuple) else (instances, None)
    rows = np.asarray(features, np.float32)
    if rows.ndim != 2:
        raise FileError(path, f"its instances are of shape {rows.shape}: they must be (instances x features).")
    return Segments(rows, _padded(path, places, len(rows)))


def _member(text: str) -> Any:
    named = available().get(text.partition(":")[0])
    if named is not None and not hasattr(named, "recognises"):
        return named
    for member in available().values():
        if hasattr(member, "recognises") and member.recognises(text):
            return member
    syntaxes = [getattr(member, "SYNTAX", name) for name, member in available().items()]
    raise BagwiseError(f"--embed {text}: give {', '.join(syntaxes[:-1])} or {syntaxes[-1]}.")


def _padded(path: Path, places: Any, rows: int) -> Array:
    padded = np.full((rows, WIDTH), np.nan)
    if places is not None:
        given = np.asarray(places, np.float64)
        if given.ndim != 2 or len(given) != rows or given.shape[1] > WIDTH:
            raise FileError(path, f"its places are of shape {given.shape} for {rows} instances.")
        padded[:, : given.shape[1]] = given
    return padded

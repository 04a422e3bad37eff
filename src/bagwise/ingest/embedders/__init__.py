"""Embedders: ONE FILE = ONE EMBEDDER, found by its name or by what a person types after `--embed`.

An embedder computes the features of a file's instances in place of the segmenter's own. It is a module (or any object)
with

    DESCRIPTION                         in a few words
    embedder(text, segmenter) -> embed  `text` is what was typed, `segmenter` the segmenter of the files; `embed(path)`
                                        returns instances, as below

and may have

    SYNTAX                              what a person types, as "MODEL.onnx" (default: its name)
    recognises(text) -> bool            whether `text` is for it (default: its name, or `NAME:ANYTHING`)
    fingerprint(text) -> str            equal exactly when the features are (default: `text`); stored with the project
    MEDIUM                              the medium that it is for (default: any)
    LICENCE                             of the model, shown where a person chooses it
    missing(text) -> str                what has to be installed or given first; empty where nothing is missing
    classes(text) -> sequence of str    the classes of its scores, where instances come with scores

or it is a `Preset`, or a module with one as its `PRESET`: everything that has to be known about a trained model

or it is simply a function `embed(path)`, which is called by its name. Instances are an array (n x d), a pair of it and
their places, a mapping with `features`, `places` and `scores` (n x classes, from 0 to 1), or `Segments`. The columns of
places are those of the medium.

Another package adds an embedder with an entry point of the group `bagwise.embedders`; see docs/extending-data.md. In
Python, a function `embed(path)` of an importable module works wherever the text does.
"""

from bagwise.ingest.embedders._registry import (
    available,
    classes_of,
    described,
    embed_function,
    fingerprint,
    licence_of,
    validate_medium,
)

__all__ = [
    "available",
    "classes_of",
    "described",
    "embed_function",
    "fingerprint",
    "licence_of",
    "validate_medium",
]

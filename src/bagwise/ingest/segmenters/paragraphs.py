"""Paragraphs of a document, compared by their words (TF-IDF and a truncated singular value decomposition)."""

from collections.abc import Sequence
from pathlib import Path

from bagwise.ingest.text import passages as passages
from bagwise.ingest.text import spans as spans
from bagwise.ingest.types import Segmenter, State

MEDIUM = "text"
DESCRIPTION = "documents into paragraphs, by their words"
FEATURES = passages.names


def fit(paths: Sequence[Path]) -> State:
    """What words there are and which go together."""
    return passages.fit(paths, spans.paragraphs)


def segmenter(state: State) -> Segmenter:
    """Cuts one document."""
    return passages.segmenter(state, spans.paragraphs)

"""Sentences of a document, compared by their words (TF-IDF and a truncated singular value decomposition)."""

from collections.abc import Sequence
from pathlib import Path

from bagwise.ingest.text import passages, spans
from bagwise.ingest.types import SegmentFunction, State

MEDIUM = "text"
DESCRIPTION = "documents into sentences, by their words"
FEATURES = passages.names
SPANS = spans.sentences


def fit(paths: Sequence[Path]) -> State:
    """Return the vocabulary of the documents and the directions in which their passages differ."""
    return passages.fit(paths, spans.sentences)


def segmenter(state: State) -> SegmentFunction:
    """Return the function that segments one document."""
    return passages.segmenter(state, spans.sentences)

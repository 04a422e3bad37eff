"""Features of passages: TF-IDF of their words, reduced by a truncated singular value decomposition.

    weight of a word in a passage  =  (1 + log count) * (1 + log((1 + N) / (1 + passages with it))),   rows of length 1
    features                       =  weights @ components.T,                                          rows of length 1

Fitted to at most MAX_FITTED passages, drawn evenly from all files, and MAX_WORDS words, so that memory is bounded.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from bagwise.core.errors import BagwiseError, FileError
from bagwise.ingest.media import WIDTH
from bagwise.ingest.text.documents import open_document
from bagwise.ingest.types import SegmentFunction, Segments, State
from bagwise.kernels import Array

MAX_FITTED, MAX_FILES, MAX_WORDS, MAX_PASSAGES = 50_000, 5_000, 30_000, 20_000
MIN_VARIANCE_SHARE = 1e-3
FEATURES, FEWEST, PASSAGES_PER_FEATURE = 100, 10, 8
"""More directions than the passages support would be noise, and the model weighs each alike."""
# In scripts without spaces between words, every character is one.
WORD = "[\u3040-\u30ff\u3400-\u9fff]|\\w[\\w'\u2019-]+"

FindSpans = Callable[[str], Sequence[tuple[int, int]]]
"""Returns where the passages of a text begin and end."""


def fit(paths: Sequence[Path], spans: FindSpans) -> State:
    """Return the words, their weights and the directions in which passages differ most."""
    # Every process with a project imports this module, and few fit it.
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import CountVectorizer

    passages = list(_sample(paths, spans))
    if not passages:
        raise BagwiseError(f"None of the documents can be read as text; the first is {paths[0]}.")
    counter = CountVectorizer(token_pattern=WORD, max_features=MAX_WORDS, min_df=2 if len(passages) > 20 else 1)
    try:
        counts = counter.fit_transform(passages)
    except ValueError as error:
        raise BagwiseError("These documents contain no words.") from error
    with_word = np.bincount(counts.indices, minlength=counts.shape[1])
    idf = 1 + np.log((1 + len(passages)) / (1 + with_word))
    weights = _weighted(counts, idf)
    width = max(1, min(FEATURES, max(FEWEST, len(passages) // PASSAGES_PER_FEATURE), min(weights.shape) - 1))
    svd = TruncatedSVD(width, random_state=0).fit(weights)
    # Standardising would amplify directions with almost no variance, and new words with them.
    components = svd.components_[svd.explained_variance_ > MIN_VARIANCE_SHARE * svd.explained_variance_.max()]
    words = "\n".join(counter.get_feature_names_out()).encode()
    return {
        "words": np.frombuffer(words, np.uint8),
        "idf": idf.astype(np.float32),
        "components": components.astype(np.float32),
    }


def names(state: State) -> list[str]:
    """Return the names of the features."""
    return [f"topic {number}" for number in range(1, len(state["components"]) + 1)]


def segmenter(state: State, spans: FindSpans) -> SegmentFunction:
    """Return the function that segments a document into passages, with what `fit` returned."""
    from sklearn.feature_extraction.text import CountVectorizer

    words = state["words"].tobytes().decode().split("\n")
    counter = CountVectorizer(token_pattern=WORD, vocabulary={word: number for number, word in enumerate(words)})

    def segment(path: Path) -> Segments:
        document = open_document(path)
        found = validated_spans(path, document.text, spans)
        counts = counter.transform([document.text[first:end] for first, end in found])
        features = normalize(_weighted(counts, state["idf"]) @ state["components"].T)
        places = np.full((len(found), WIDTH), np.nan)
        places[:, :2] = np.array(found) - [0, 1]
        return Segments(features.astype(np.float32), places, shown=document.converted)

    return segment


def _weighted(counts: Any, idf: Array) -> Any:
    weights = counts.astype(np.float64)
    weights.data = (1 + np.log(weights.data)) * idf[weights.indices]
    return normalize(weights)


def validated_spans(path: Path, text: str, spans: FindSpans) -> Sequence[tuple[int, int]]:
    """Return where the passages of a text begin and end; raise a FileError where there are too many."""
    found = spans(text)
    if len(found) > MAX_PASSAGES:
        raise FileError(path, f"has {len(found)} passages, more than {MAX_PASSAGES}: split it into chapters.")
    return found


def _sample(paths: Sequence[Path], spans: FindSpans) -> Iterator[str]:
    """Yield passages of evenly spaced files; files that cannot be read are reported when they are segmented."""
    chosen = [paths[number] for number in np.linspace(0, len(paths) - 1, min(len(paths), MAX_FILES)).astype(int)]
    most = -(-MAX_FITTED // len(chosen))
    for path in chosen:
        try:
            text = open_document(path).text
            found = validated_spans(path, text, spans)
        except (FileError, OSError):
            continue
        for number in np.linspace(0, len(found) - 1, min(len(found), most)).astype(int):
            first, end = found[number]
            yield text[first:end]

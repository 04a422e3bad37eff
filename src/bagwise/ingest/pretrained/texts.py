"""Passages of text for a model: cut into tokens by the tokenizer that belongs to it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.ingest.media import WIDTH
from bagwise.ingest.pretrained.batches import Batch, ReadBatches, batch_size
from bagwise.ingest.pretrained.runtimes import Model
from bagwise.ingest.pretrained.weights import beside
from bagwise.ingest.text import passages, spans
from bagwise.ingest.text.documents import open_document
from bagwise.ingest.types import import_optional
from bagwise.kernels import Array

IDS, MASK = "input_ids", "attention_mask"
SETTINGS, LONGEST = "sentence_bert_config.json", "max_seq_length"


@dataclass(frozen=True)
class Passages:
    """The passages of the segmenter, paragraphs or sentences, as tokens.

    Parameters
    ----------
    longest : int
        The most tokens of a passage; the rest of it is left out. The model's own settings go before.
    tokenizer : tuple of str
        The files beside the model that may be its tokenizer, as the library `tokenizers` writes it.
    special_tokens : bool
        Whether the tokens that mark beginning and end are added.

    Examples
    --------
    >>> Passages().describe()
    {'tokens': 256}
    """

    longest: int = 256
    tokenizer: tuple[str, ...] = ("tokenizer.json",)
    special_tokens: bool = True

    @property
    def medium(self) -> str:
        """The name of the medium."""
        return "text"

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that a person may give: none."""
        return ()

    def configured(self, options: Mapping[str, str]) -> "Passages":  # noqa: ARG002 (there are none)
        """Return the same: there are no options.

        Parameters
        ----------
        options : mapping of str to str
            Those of the preset.

        Returns
        -------
        Passages
        """
        return self

    def reader(self, weights: Path, model: Model, segmenter: Any) -> ReadBatches:
        """Return the function that reads the batches of a document.

        Parameters
        ----------
        weights : Path
            The file of the model; its tokenizer lies beside it.
        model : Model
            It takes `input_ids` and usually `attention_mask` and `token_type_ids`.
        segmenter : module
            Its `SPANS` finds the passages; paragraphs where it has none.

        Returns
        -------
        callable

        Raises
        ------
        FileError
            If the model takes no tokens, or there is no tokenizer beside it.
        """
        names = [one.name for one in model.inputs]
        if IDS not in names:
            raise FileError(weights, f"takes {', '.join(names)}, and not {IDS}: it is not a model for text.")
        tokenizer = self._open_tokenizer(weights)
        find = getattr(segmenter, "SPANS", spans.paragraphs)

        def batches(path: Path) -> Iterator[Batch]:
            document = open_document(path)
            found = passages.validated_spans(path, document.text, find)
            places = np.full((len(found), WIDTH), np.nan)
            places[:, :2] = np.array(found) - [0, 1]
            size = batch_size(model)
            for first in range(0, len(found), size):
                texts = [document.text[begin:end] for begin, end in found[first : first + size]]
                encoded = tokenizer.encode_batch(texts, add_special_tokens=self.special_tokens)
                ids = np.array([one.ids for one in encoded], np.int64)
                mask = np.array([one.attention_mask for one in encoded], np.int64)
                known = {IDS: ids, MASK: mask}
                values: dict[str, Array] = {name: known.get(name, np.zeros_like(ids)) for name in names}
                yield Batch(values, places[first : first + size], mask, shown=document.converted)

        return batches

    def split(self, places: Array, rows: int, columns: int) -> Array:
        """Raise: tokens are not instances.

        Parameters
        ----------
        places : ndarray of shape (n, 4)
            Passages.
        rows, columns : int
            Their cells.

        Returns
        -------
        ndarray
            Never.

        Raises
        ------
        BagwiseError
            Always.
        """
        raise BagwiseError(f"Passages are not divided into {rows} x {columns} cells, as {len(places)} of them were.")

    def describe(self) -> dict[str, Any]:
        """Return what is declared, as plain values.

        Returns
        -------
        dict of str to any
        """
        return {"tokens": self.longest}

    def _open_tokenizer(self, weights: Path) -> Any:
        library = import_optional("tokenizers", "text")
        path = beside(weights, *self.tokenizer)
        if path is None:
            raise FileError(weights, f"has no {self.tokenizer[0]} beside it: put the model's tokenizer there.")
        try:
            tokenizer = library.Tokenizer.from_file(str(path))
        except Exception as error:
            raise FileError(path, f"is not a tokenizer: {error}.") from error
        if tokenizer.padding is None:
            tokenizer.enable_padding()
        else:
            tokenizer.enable_padding(**{**tokenizer.padding, "length": None})
        tokenizer.enable_truncation(self._longest(weights, tokenizer))
        return tokenizer

    def _longest(self, weights: Path, tokenizer: Any) -> int:
        settings = beside(weights, SETTINGS)
        if settings is not None:
            longest = json.loads(settings.read_text(encoding="utf-8")).get(LONGEST)
            if isinstance(longest, int):
                return longest
        return int(tokenizer.truncation["max_length"]) if tokenizer.truncation else self.longest

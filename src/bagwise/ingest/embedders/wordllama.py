"""WordLlama: a table of 256 numbers for each of 32,000 tokens, averaged over a passage (Miller 2024).

The package `wordllama` carries the table; nothing but NumPy is needed to use it.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from bagwise.core.errors import FileError
from bagwise.ingest.pretrained.outputs import Output
from bagwise.ingest.pretrained.preset import Form, Preset
from bagwise.ingest.pretrained.runtimes import Input, Model
from bagwise.ingest.pretrained.texts import IDS, Passages
from bagwise.ingest.pretrained.weights import Weights
from bagwise.kernels import Array

TOKENS, TABLE = "token_embeddings", "embedding.weight"


class _Table:
    """A model that looks its tokens up."""

    def __init__(self, table: Array) -> None:
        self._table = table
        self.inputs = [Input(IDS, (None, None))]
        self.outputs = [TOKENS]
        self.metadata: Mapping[str, str] = {}

    def run(self, inputs: Mapping[str, Array], outputs: Sequence[str]) -> list[Array]:
        """Return the rows of the tokens, (batch, tokens, 256), for each of the outputs."""
        return [self._table[inputs[IDS]] for _ in outputs]


def _open(path: Path) -> Model:
    """Read a safetensors file: the length of its heading, the heading as JSON, the arrays."""
    raw = path.read_bytes()
    try:
        (length,) = struct.unpack_from("<Q", raw)
        heading = json.loads(raw[8 : 8 + length])[TABLE]
        first, end = heading["data_offsets"]
        values = np.frombuffer(raw[8 + length + first : 8 + length + end], "<f2").reshape(heading["shape"])
    except (struct.error, ValueError, KeyError) as error:
        raise FileError(path, "is not WordLlama's table of tokens.") from error
    return _Table(values.astype(np.float32))


PRESET = Preset(
    name="wordllama",
    description="WordLlama: 256 numbers for a paragraph, or a sentence with --cut sentences; English, very fast",
    licence="MIT; its table is derived from Llama 2, whose own licence may apply",
    weights=Weights(
        variable="BAGWISE_WORDLLAMA",
        package="wordllama",
        file="weights/l2_supercat_256.safetensors",
        install="'bagwise[wordllama]'",
        modules=("tokenizers",),
    ),
    form=Form(
        Passages(longest=4096, tokenizer=("tokenizers/l2_supercat_tokenizer_config.json",), special_tokens=False),
        Output(TOKENS, unit=True),
    ),
    open=_open,
)

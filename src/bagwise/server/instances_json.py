"""The instances of bags as JSON, with no more digits than their type needs; those of examples are kept."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import orjson

from bagwise.kernels import Array

INSTANCES, NO_INSTANCES = b'"instances":', b'"instances":[]'
MOST_KEPT, LARGEST_KEPT = 256, 16 * 1024
"""How many examples' instances are kept as JSON, and the most bytes of those of one; 20 MB in all."""


def with_instances(json: bytes, instances: Sequence[bytes]) -> bytes:
    """The JSON of a model with bags, with the instances of each, which it lacks."""
    # Within a string every quotation mark is escaped, so this is nowhere else.
    first, *rest = json.split(NO_INSTANCES)
    pieces = [first]
    for encoded, piece in zip(instances, rest, strict=True):
        pieces += INSTANCES, encoded, piece
    return b"".join(pieces)


def instances_json(x: Array, keep: bool = False) -> bytes:
    """The instances of one bag; kept, where they are few, for the questions that show them again."""
    if keep and x.nbytes <= LARGEST_KEPT:
        return _kept(x.tobytes(), x.dtype.str, x.shape[1])
    return orjson.dumps(np.ascontiguousarray(x), option=orjson.OPT_SERIALIZE_NUMPY)


@lru_cache(maxsize=MOST_KEPT)
def _kept(content: bytes, dtype: str, features: int) -> bytes:
    return instances_json(np.frombuffer(content, dtype).reshape(-1, features))


def shortened(x: Array) -> list[list[float]]:
    """The numbers as Python has them, with no more digits than their type needs: 9 for float32, not 17."""
    found: list[list[float]] = orjson.loads(instances_json(x))
    return found

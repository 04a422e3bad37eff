"""The instances of bags as JSON, with no more digits than their type needs; those of examples are kept."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from pydantic import TypeAdapter

from bagwise.kernels import Array

INSTANCES, NO_INSTANCES = b'"instances":', b'"instances":[]'
MOST_KEPT, LARGEST_KEPT = 256, 16 * 1024
"""How many examples' instances are kept as JSON, and the most bytes of those of one; 20 MB in all."""
DIGITS = 9
"""Of a decimal number from which every float32 can be read again."""
VALUES = TypeAdapter(list[list[float]])


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
    encode = _kept if keep and x.nbytes <= LARGEST_KEPT else _encoded
    return encode(x.tobytes(), x.dtype.str, x.shape[1])


def _encoded(content: bytes, dtype: str, features: int) -> bytes:
    return VALUES.dump_json(shortened(np.frombuffer(content, dtype).reshape(-1, features)).tolist())


_kept = lru_cache(maxsize=MOST_KEPT)(_encoded)


def shortened(x: Array) -> Array:
    """Numbers with no more digits than their type needs: 9 for float32 where float64 would have 17."""
    if x.itemsize > np.dtype(np.float32).itemsize:
        return x
    exact = x.astype(np.float64)
    size = np.abs(exact)
    unit = 10.0 ** (DIGITS - 1 - np.floor(np.log10(size, out=np.zeros_like(size), where=size > 0)))
    return np.asarray(np.rint(exact * unit) / unit)

"""Random numbers that belong to a bag and a class, not to a place in a stream.

u(seed, bag, class) is the same whatever order, chunk, shard or thread asks for it (SplitMix64 on a mixed key).
"""

import hashlib

import numpy as np

from bagwise.kernels.compile import Array

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def mix(keys: Array) -> Array:
    """SplitMix64: a bijection of uint64 that looks random."""
    with np.errstate(over="ignore"):
        z = keys + _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
    mixed: Array = z ^ (z >> np.uint64(31))
    return mixed


def key_of(name: object) -> int:
    """64 bits of a name, the same in every process."""
    return int.from_bytes(hashlib.blake2b(repr(name).encode(), digest_size=8).digest(), "little")


def keyed_uniform(seed: int, bag_keys: Array, classes: Array) -> Array:
    """Numbers in [0, 1), one for every pair of the broadcast of `bag_keys` and `classes`."""
    seed_key = mix(np.array([seed & 0xFFFFFFFFFFFFFFFF], np.uint64))
    mixed = mix(mix(bag_keys.astype(np.uint64) ^ seed_key) ^ mix(classes.astype(np.uint64)))
    return (mixed >> np.uint64(11)) * 2.0**-53

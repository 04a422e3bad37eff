"""Random numbers that belong to a bag and a class, not to a place in a stream.

u(seed, bag, class) is the same whatever order, chunk, shard or thread asks for it (SplitMix64 on a mixed key).
"""

import hashlib

import numpy as np

from bagwise.kernels.arithmetic.compile import Array, kernel

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


def hash_of(name: object) -> int:
    """64 bits of a name, the same in every process."""
    return int.from_bytes(hashlib.blake2b(repr(name).encode(), digest_size=8).digest(), "little")


def hashed_uniform(seed: int, bag_keys: Array, classes: Array) -> Array:
    """Numbers in [0, 1), one for every pair of the broadcast of `bag_keys` and `classes`."""
    mixed = mix(_of_bags(seed, bag_keys) ^ mix(classes.astype(np.uint64)))
    return (mixed >> np.uint64(11)) * 2.0**-53


def hashed_grid(seed: int, bag_keys: Array, classes: int) -> Array:
    """The same for every bag with each of the first so many classes, (bags x classes)."""
    grid = np.empty((len(bag_keys), classes))
    _fill(_of_bags(seed, bag_keys), mix(np.arange(classes, dtype=np.uint64)), grid)
    return grid


def _of_bags(seed: int, bag_keys: Array) -> Array:
    return mix(bag_keys.astype(np.uint64) ^ mix(np.array([seed & 0xFFFFFFFFFFFFFFFF], np.uint64)))


@kernel
def _fill(bags: Array, classes: Array, grid: Array) -> None:
    for b in range(bags.shape[0]):
        for c in range(classes.shape[0]):
            z = (bags[b] ^ classes[c]) + _GOLDEN
            z = (z ^ (z >> np.uint64(30))) * _FIRST
            z = (z ^ (z >> np.uint64(27))) * _SECOND
            grid[b, c] = np.float64((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53

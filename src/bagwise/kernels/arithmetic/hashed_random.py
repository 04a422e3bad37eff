"""Random numbers that belong to a bag and a class, not to a place in a stream.

u(seed, bag, class) is the same whatever order, chunk, shard or thread asks for it (SplitMix64 on a mixed key).
"""

import hashlib

import numpy as np

from bagwise.kernels.arithmetic.compile import Array, kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_ALL_BITS = 0xFFFFFFFFFFFFFFFF


def mix(keys: Array) -> Array:
    """SplitMix64: a bijection of uint64 that looks random."""
    mixed = np.empty(keys.shape, np.uint64)
    _fill_mixed(keys.reshape(-1), mixed.reshape(-1))
    return mixed


def hash_of(name: object) -> int:
    """64 bits of a name, the same in every process."""
    return int.from_bytes(hashlib.blake2b(repr(name).encode(), digest_size=8).digest(), "little")


def hashed_uniform(seed: int, bag_keys: Array, classes: Array) -> Array:
    """Numbers in [0, 1), one for every pair of the broadcast of `bag_keys` and `classes`."""
    keys, numbers = bag_keys.astype(np.uint64), classes.astype(np.uint64)
    uniform = np.empty(np.broadcast(keys, numbers).shape or 1)
    if uniform.ndim > 1:
        keys, numbers = np.broadcast_arrays(keys, numbers)
    _fill_pairs(np.uint64(seed & _ALL_BITS), keys.reshape(-1), numbers.reshape(-1), uniform.reshape(-1))
    return uniform


def hashed_grid(seed: int, bag_keys: Array, classes: int) -> Array:
    """The same for every bag with each of the first so many classes, (bags x classes)."""
    grid = np.empty((len(bag_keys), classes))
    _fill_grid(np.uint64(seed & _ALL_BITS), bag_keys.astype(np.uint64), grid)
    return grid


@kernel
def _mixed(key: np.uint64) -> np.uint64:
    z = key + _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


@kernel
def _fill_mixed(keys: Array, mixed: Array) -> None:
    for i in range(keys.shape[0]):
        mixed[i] = _mixed(keys[i])


@kernel
def _uniform(mixed_key: np.uint64, mixed_class: np.uint64) -> float:
    return float(np.float64(_mixed(mixed_key ^ mixed_class) >> np.uint64(11)) * 2.0**-53)


@kernel
def _fill_pairs(seed: np.uint64, keys: Array, classes: Array, uniform: Array) -> None:
    of_seed = _mixed(seed)
    for i in range(uniform.shape[0]):
        key, number = keys[i if keys.shape[0] > 1 else 0], classes[i if classes.shape[0] > 1 else 0]
        uniform[i] = _uniform(_mixed(key ^ of_seed), _mixed(number))


@kernel
def _fill_grid(seed: np.uint64, keys: Array, grid: Array) -> None:
    of_seed = _mixed(seed)
    of_class = np.empty(grid.shape[1], np.uint64)
    for c in range(grid.shape[1]):
        of_class[c] = _mixed(np.uint64(c))
    for b in range(grid.shape[0]):
        of_bag = _mixed(keys[b] ^ of_seed)
        for c in range(grid.shape[1]):
            grid[b, c] = _uniform(of_bag, of_class[c])

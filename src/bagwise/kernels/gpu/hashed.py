"""The random numbers of `kernels.arithmetic.hashed_random` on a device: the same bits, as signed whole numbers."""

import numpy as np
import torch
from torch import Tensor

from bagwise.kernels.arithmetic.compile import Array

_GOLDEN, _FIRST, _SECOND = (
    int(np.uint64(value).astype(np.int64)) for value in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def as_signed(keys: Array, device: torch.device) -> Tensor:
    """Return keys of 64 bits on the device, which has signed whole numbers."""
    return torch.as_tensor(np.ascontiguousarray(keys).view(np.int64), device=device)


def _shifted(z: Tensor, bits: int) -> Tensor:
    """Return z / 2^bits as if it had no sign."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def _mix(keys: Tensor) -> Tensor:
    z = keys + _GOLDEN
    z = (z ^ _shifted(z, 30)) * _FIRST
    z = (z ^ _shifted(z, 27)) * _SECOND
    return z ^ _shifted(z, 31)


def hashed_bits(seed: int, keys: Tensor, classes: Tensor) -> Tensor:
    """53 bits for every pair of the broadcast of `keys` and `classes`: `hashed_uniform` times 2^53."""
    of_seed = int(np.array([seed & 0xFFFFFFFFFFFFFFFF], np.uint64).view(np.int64)[0])
    of_bags = _mix(keys ^ _mix(torch.full((1,), of_seed, dtype=torch.int64, device=keys.device)))
    return _shifted(_mix(of_bags ^ _mix(classes)), 11)


def uniform(bits: Tensor) -> Tensor:
    """Numbers in [0, 1) from 53 bits."""
    return bits.double() * 2.0**-53

"""The kernels on torch: the same functions on a GPU and, through the same code, on the CPU. Needs `bagwise[gpu]`."""

from bagwise.kernels.gpu.hashed import as_signed, hashed_bits, uniform
from bagwise.kernels.gpu.resident import Linear, Resident, device_called
from bagwise.kernels.gpu.scoring import (
    Spread,
    bag_probabilities,
    exact_kernels,
    expected_lengths,
    gradient_lengths,
    highest_lengths,
    highest_presence,
    highest_sides,
    label_variances,
)

__all__ = [
    "Linear",
    "Resident",
    "Spread",
    "as_signed",
    "bag_probabilities",
    "device_called",
    "exact_kernels",
    "expected_lengths",
    "gradient_lengths",
    "hashed_bits",
    "highest_lengths",
    "highest_presence",
    "highest_sides",
    "label_variances",
    "uniform",
]

"""The kernels on torch: the same functions on a GPU and, through the same code, on the CPU. Needs `bagwise[gpu]`."""

from bagwise.kernels.gpu.resident import Linear, Resident, device_called
from bagwise.kernels.gpu.scoring import bag_probabilities, expected_lengths, gradient_lengths, label_variances

__all__ = [
    "Linear",
    "Resident",
    "bag_probabilities",
    "device_called",
    "expected_lengths",
    "gradient_lengths",
    "label_variances",
]

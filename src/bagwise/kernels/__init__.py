"""Arrays in, arrays out. Kernels do not know what a project or a learner is, and import from no package but `core`."""

from bagwise.kernels.arithmetic.blocks import gather
from bagwise.kernels.arithmetic.compile import Array
from bagwise.kernels.arithmetic.hashed_random import hash_of, hashed_grid, hashed_uniform, mix
from bagwise.kernels.cpu.evidence import Evidence
from bagwise.kernels.cpu.gradient import log_likelihood_and_gradient
from bagwise.kernels.cpu.gradient_length import absent_gradients, gradient_lengths
from bagwise.kernels.cpu.instances import IGNORED, Instances, deviation_of, slopes
from bagwise.kernels.cpu.presence import bag_probabilities, instance_probabilities
from bagwise.kernels.cpu.sgd import EVERY_KNOWN_CLASS, sgd_steps

__all__ = [
    "EVERY_KNOWN_CLASS",
    "IGNORED",
    "Array",
    "Evidence",
    "Instances",
    "absent_gradients",
    "bag_probabilities",
    "deviation_of",
    "gather",
    "gradient_lengths",
    "hash_of",
    "hashed_grid",
    "hashed_uniform",
    "instance_probabilities",
    "log_likelihood_and_gradient",
    "mix",
    "sgd_steps",
    "slopes",
]

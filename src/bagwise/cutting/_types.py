"""What a way of cutting gives."""

from dataclasses import dataclass

from bagwise.kernels import Array


@dataclass(frozen=True)
class Cut:
    """The instances of one file: their features, and where in it they lie, nan where that is not known."""

    features: Array
    places: Array

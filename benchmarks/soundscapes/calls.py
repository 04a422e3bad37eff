"""All calls by class: those of real birds where the packages are installed, and those that are computed."""

from functools import cache

import numpy as np
from scipy.signal import resample_poly

from . import made_up
from .clips import RATE, clips, faded, installed

REAL = ("great tit", "storm petrel", "Bengalese finch", "chaffinch", "tree pipit", "cuckoo", "blackbird")
CLASSES = (*REAL, *made_up.MAKERS)
SPEEDS = (96, 98, 100, 102, 104)


@cache
def _clips() -> dict[str, list[np.ndarray]]:
    return clips()


class Calls:
    """Draws calls; without the packages (`real=False`) only computed ones."""

    def __init__(self, real: bool | None = None) -> None:
        self.real = installed() if real is None else real
        self.classes = CLASSES if self.real else tuple(made_up.MAKERS)

    def draw(self, name: str, rng: np.random.Generator) -> np.ndarray:
        """One call of this class (`other`: of none), of power 1, no two alike."""
        if name == "other":
            samples = made_up.other(rng)
        elif name in made_up.MAKERS:
            samples = made_up.MAKERS[name](rng)
        else:
            recorded = _clips()[name]
            samples = resample_poly(recorded[rng.integers(len(recorded))], 100, int(rng.choice(SPEEDS)))
        samples = faded(samples)
        return samples / np.sqrt(np.mean(samples**2))


__all__ = ["CLASSES", "RATE", "Calls"]

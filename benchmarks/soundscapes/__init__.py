"""Recordings made on the spot, of which is known what calls when, in which band, and how loud."""

from .calls import CLASSES, Calls
from .mixing import Inserted, Soundscape, mix, write

__all__ = ["CLASSES", "Calls", "Inserted", "Soundscape", "mix", "write"]

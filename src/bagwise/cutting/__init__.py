"""Cutting: ONE FILE = ONE WAY OF CUTTING a file of some medium into instances with features and places.

A module has MEDIUM (its name in `bagwise.media`), DESCRIPTION, FEATURES (names of the columns) and `cut(path) -> Cut`.
"""

from bagwise.cutting._types import Cut

__all__ = ["Cut"]

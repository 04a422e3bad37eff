"""Families of plug-ins: every module of a package is one member, found by its file name."""

import importlib
import pkgutil
from collections.abc import Mapping
from types import ModuleType
from typing import TypeVar

from bagwise.core.errors import BagwiseError

Member = TypeVar("Member")


def discover(package: str) -> dict[str, ModuleType]:
    """The public modules of `package` by name."""
    path = importlib.import_module(package).__path__
    names = sorted(module.name for module in pkgutil.iter_modules(path) if not module.name.startswith("_"))
    return {name: importlib.import_module(f"{package}.{name}") for name in names}


def choose(kind: str, name: str, members: Mapping[str, Member]) -> Member:
    """The member called `name`, or a sentence that lists those there are."""
    if name not in members:
        raise BagwiseError(f"There is no {kind} {name!r}: choose one of {', '.join(members)}.")
    return members[name]

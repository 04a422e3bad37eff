"""Plug-in families: a member is a module of a Bagwise package, or an entry point of another installed distribution.

Criteria, metrics, solvers, formats, data sets, media, segmenters, embedders and stopping rules are each a family. A
member is found by its name: the name of its file, or the name of its entry point in the family's group.

    [project.entry-points."bagwise.criteria"]
    margin = "my_package.margin:margin"
"""

import importlib
import pkgutil
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, TypeVar

from bagwise.core.errors import BagwiseError

Member = TypeVar("Member")


@cache
def discover(package: str, group: str) -> dict[str, Any]:
    """All members of a family by name: the public modules of `package`, then the entry points of `group`.

    Parameters
    ----------
    package : str
        The package whose modules are members; names that begin with an underscore are not.
    group : str
        The entry-point group for members of other distributions, as `bagwise.criteria`.

    Returns
    -------
    dict of str to module or object
        Modules for members of the package, whatever the entry point names for the others.
    """
    path = importlib.import_module(package).__path__
    names = sorted(module.name for module in pkgutil.iter_modules(path) if not module.name.startswith("_"))
    members: dict[str, Any] = {name: importlib.import_module(f"{package}.{name}") for name in names}
    for entry_point in sorted(entry_points(group=group), key=lambda one: one.name):
        if entry_point.name in members:
            raise BagwiseError(f"{_described(entry_point)} has a name that is taken: rename it.")
        members[entry_point.name] = _loaded(entry_point)
    return members


def member_function(name: str, member: Any) -> Any:
    """The function of a member that is one function: the member itself, or the function of its name in a module."""
    return member if callable(member) else getattr(member, name)


def choose(kind: str, name: str, members: Mapping[str, Member]) -> Member:
    """The member called `name`, or an error that lists those that exist."""
    if name not in members:
        raise BagwiseError(f"There is no {kind} {name!r}: choose one of {', '.join(members)}.")
    return members[name]


def _loaded(entry_point: EntryPoint) -> Any:
    try:
        return entry_point.load()
    except Exception as error:
        raise BagwiseError(f"{_described(entry_point)} cannot be imported: {error}") from error


def _described(entry_point: EntryPoint) -> str:
    package = entry_point.dist.name if entry_point.dist else "an installed package"
    return f"The plug-in {entry_point.name!r} ({entry_point.group}) of {package}"


def declared(member: Any, name: str, default: Any = None) -> Any:
    """What a member declares about itself: a constant of its module, or the attribute of a function.

    A module declares in capitals (`RISES_WITH`), a function by an attribute in lower case (`criterion.rises_with`) or
    by the constant of the module that defines it.
    """
    if isinstance(member, ModuleType):
        return getattr(member, name, default)
    module = sys.modules.get(getattr(member, "__module__", ""))
    return getattr(member, name.lower(), getattr(module, name, default))

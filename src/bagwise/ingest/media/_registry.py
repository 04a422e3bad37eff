"""Which media there are."""

from collections.abc import Iterable
from functools import cache
from types import ModuleType

from bagwise.core.plugins import discover
from bagwise.ingest.media._types import Type


@cache
def available() -> dict[str, ModuleType]:
    """Every medium by name."""
    return discover("bagwise.ingest.media", "bagwise.media")


@cache
def _by_suffix() -> dict[str, str]:
    return {suffix: name for name, module in available().items() for suffix in module.TYPES}


def suffixes() -> Iterable[str]:
    """The endings of all files that can be shown."""
    return _by_suffix()


def medium_of(suffix: str) -> str:
    """The name of the medium of files with this ending."""
    return _by_suffix()[suffix]


def type_of(suffix: str) -> Type:
    """What a file with this ending is sent as."""
    found: Type = available()[medium_of(suffix)].TYPES[suffix]
    return found


def columns_of(medium: str) -> tuple[str, ...]:
    """What says where an instance lies, in the order in which it is kept."""
    module = available()[medium]
    return (*module.PLACE, *module.OPTIONAL)

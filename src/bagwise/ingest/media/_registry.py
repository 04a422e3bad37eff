"""Which media exist, and which of them a file belongs to."""

from typing import Any

from bagwise.core.errors import BagwiseError
from bagwise.core.plugins import choose, discover
from bagwise.ingest.media._types import Type


def available() -> dict[str, Any]:
    """Return every medium by name: the modules of this package and the entry points of `bagwise.media`.

    Returns
    -------
    dict of str to module or object
        Members as described in `bagwise.ingest.media`.

    Examples
    --------
    >>> sorted(available())[:3]
    ['picture', 'sound', 'text']
    """
    return discover("bagwise.ingest.media", "bagwise.media")


def name_of(medium: str | Any) -> str:
    """Return the name of a medium given by its name, one of its aliases, or the member itself.

    Parameters
    ----------
    medium : str, module or object
        The medium.

    Returns
    -------
    str

    Raises
    ------
    BagwiseError
        If there is no such medium.

    Examples
    --------
    >>> name_of("audio")
    'sound'
    """
    if not isinstance(medium, str):
        for name, member in available().items():
            if member is medium:
                return name
        raise BagwiseError(f"{medium!r} is not a known medium: register it as an entry point of `bagwise.media`.")
    aliases = {alias: name for name, member in available().items() for alias in getattr(member, "ALIASES", ())}
    name = aliases.get(medium, medium)
    choose("medium", name, available())
    return name


def suffixes() -> tuple[str, ...]:
    """Return the suffixes of all files that can be shown, in lower case.

    Returns
    -------
    tuple of str
        As `.png`.

    Examples
    --------
    >>> ".flac" in suffixes(), ".docx" in suffixes()
    (True, False)
    """
    return tuple(suffix for member in available().values() for suffix in member.TYPES)


def medium_of(suffix: str) -> str:
    """Return the name of the medium of files with this suffix.

    Parameters
    ----------
    suffix : str
        One of `suffixes()`.

    Returns
    -------
    str

    Examples
    --------
    >>> medium_of(".flac")
    'sound'
    """
    return next(name for name, member in available().items() if suffix in member.TYPES)


def type_of(suffix: str) -> Type:
    """Return the content type of files with this suffix.

    Parameters
    ----------
    suffix : str
        One of `suffixes()`.

    Returns
    -------
    Type

    Examples
    --------
    >>> type_of(".png").content
    'image/png'
    """
    found: Type = available()[medium_of(suffix)].TYPES[suffix]
    return found


def columns_of(medium: str) -> tuple[str, ...]:
    """Return the columns of a place in a medium, in the order in which they are stored.

    Parameters
    ----------
    medium : str
        The name of the medium.

    Returns
    -------
    tuple of str
        At most four names: those that are required, then the optional ones.

    Examples
    --------
    >>> columns_of("sound")
    ('start', 'end', 'low', 'high')
    """
    member = available()[medium]
    return (*member.PLACE, *getattr(member, "OPTIONAL", ()))


def renderer_of(medium: str) -> str:
    """Return the renderer of the labelling page that draws a medium: `picture`, `sound` or `text`.

    Parameters
    ----------
    medium : str
        The name of the medium.

    Returns
    -------
    str

    Examples
    --------
    >>> renderer_of("text")
    'text'
    """
    return str(available()[medium].RENDERER)

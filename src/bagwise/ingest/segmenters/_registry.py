"""Which segmenters exist, and which one is used for a medium."""

from types import SimpleNamespace
from typing import Any

from bagwise.core.errors import BagwiseError
from bagwise.core.plugins import choose, discover
from bagwise.ingest import media


def available() -> dict[str, Any]:
    """Return every segmenter by name: the modules of this package and the entry points of `bagwise.segmenters`.

    Returns
    -------
    dict of str to module or object
        Members as described in `bagwise.ingest.segmenters`.

    Examples
    --------
    >>> available()["grid"].MEDIUM
    'picture'
    """
    return discover("bagwise.ingest.segmenters", "bagwise.segmenters")


def for_medium(medium: str, segmenter: str | Any | None = None) -> str | Any:
    """Return the segmenter to use for a medium, validated.

    Parameters
    ----------
    medium : str
        The name of the medium.
    segmenter : str, module or callable, optional
        Its name, or the segmenter itself; the default is the one that the medium declares.

    Returns
    -------
    str, module or callable
        The name of a registered segmenter; any other as it was given.

    Raises
    ------
    BagwiseError
        If there is no such segmenter, or if it is for another medium.

    Examples
    --------
    >>> for_medium("picture")
    'superpixels'
    """
    chosen = media.available()[medium].SEGMENTER if segmenter is None else segmenter
    of_medium = [name for name, member in available().items() if medium == member.MEDIUM]
    if isinstance(chosen, str) and chosen not in available():
        choose("segmenter", chosen, dict.fromkeys(of_medium))
    own_medium = member_of(chosen, medium).MEDIUM
    if own_medium != medium:
        what = f"The segmenter {name_of(chosen)} is for {own_medium}, not for {medium}"
        raise BagwiseError(f"{what}: choose one of {', '.join(of_medium)}.")
    # A registered segmenter is stored by its name.
    name = name_of(chosen)
    return name if name in available() else chosen


def member_of(segmenter: str | Any, medium: str) -> Any:
    """Return the segmenter given by its name, as a module, or as a function.

    Parameters
    ----------
    segmenter : str, module or callable
        The name of a segmenter, a module or object with `segment` or `fit`, or a function `path -> Segments`.
    medium : str
        The name of the medium that a function is for.

    Returns
    -------
    module or object
        With `MEDIUM`, and `segment` or `fit`.

    Raises
    ------
    BagwiseError
        If it is not a segmenter, or there is none of that name.

    Examples
    --------
    >>> member_of("grid", "picture") is available()["grid"]
    True
    >>> member_of(lambda path: None, "text").MEDIUM
    'text'
    """
    if isinstance(segmenter, str):
        return choose("segmenter", segmenter, available())
    if hasattr(segmenter, "segment") or hasattr(segmenter, "fit"):
        return segmenter
    if callable(segmenter):
        return SimpleNamespace(MEDIUM=medium, segment=segmenter)
    raise BagwiseError(f"{segmenter!r} is not a segmenter: it needs a function `segment` or `fit`.")


def name_of(segmenter: str | Any) -> str:
    """Return the name under which a segmenter is stored with a project.

    Parameters
    ----------
    segmenter : str, module or callable
        The segmenter, or its name.

    Returns
    -------
    str
        Its registered name, else `MODULE:NAME` of a function or the name of a module.

    Examples
    --------
    >>> name_of(available()["grid"])
    'grid'
    """
    if isinstance(segmenter, str):
        return segmenter
    registered = (name for name, member in available().items() if member is segmenter)
    return next(registered, None) or qualified_name(segmenter)


def qualified_name(member: Any) -> str:
    """Return `MODULE:NAME` of a function or class, or the name of a module.

    Examples
    --------
    >>> qualified_name(qualified_name)
    'bagwise.ingest.segmenters._registry:qualified_name'
    """
    if hasattr(member, "__qualname__"):
        return f"{member.__module__}:{member.__qualname__}"
    return str(getattr(member, "__name__", type(member).__name__))

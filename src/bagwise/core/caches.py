"""Folders for what can be made again."""

import os
from pathlib import Path


def user_cache_folder(part: str) -> Path:
    """Return the folder of the user's cache for one part of Bagwise; it need not exist.

    Parameters
    ----------
    part : str
        What is kept there, as "datasets".

    Returns
    -------
    Path
        Within `XDG_CACHE_HOME`, by default `.cache` of the home folder.

    Examples
    --------
    >>> user_cache_folder("datasets").name
    'datasets'
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bagwise" / part

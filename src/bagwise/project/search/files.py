"""A file that is not in the project becomes instances, segmented and embedded as the project's own files were."""

import tempfile
import unicodedata
from pathlib import Path

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.ingest import Cache, ExistingBags, Listing, Recipe, media, segment_folder
from bagwise.kernels import Array


def instances_of_file(path: Path, recipe: Recipe | None, width: int) -> Array:
    """Return the instances of a file; nothing of it is stored.

    Parameters
    ----------
    path : Path
        A recording, picture or document.
    recipe : Recipe or None
        How the files of the project were segmented, with its embedder; None where it was made from a table.
    width : int
        The number of features of an instance of the project.

    Returns
    -------
    ndarray, shape (n, width)
        The instances of the file, or of all clips of it.

    Raises
    ------
    BagwiseError
        If the project was made from a table, or the file cannot be segmented as its files were.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "page.txt"
    ...     _ = page.write_text("a wren")
    ...     try:
    ...         instances_of_file(page, None, 2)
    ...     except BagwiseError as error:
    ...         print(str(error).partition(":")[0])
    The project was made from a table of instances, so no file can be segmented as its bags were
    """
    if recipe is None:
        what = "The project was made from a table of instances, so no file can be segmented as its bags were"
        raise BagwiseError(f"{what}: search from a bag of it.")
    if not path.is_file():
        raise FileError(path, "is not a file.")
    suffix = path.suffix.lower()
    if suffix not in media.suffixes() or media.medium_of(suffix) != recipe.medium:
        known = media.available()[recipe.medium].DESCRIPTION
        raise FileError(path, f"cannot be segmented as the files of the project were. Known: {known}.")
    name = unicodedata.normalize("NFC", path.name)
    listing = Listing(path.parent, recipe.medium, {name: path}, {}, 0)
    with tempfile.TemporaryDirectory(prefix="bagwise-") as folder:
        cache = Cache(Path(folder))
        try:
            found = segment_folder(listing, recipe, cache, ExistingBags(width=width), lambda _: None, processes=1)
            if found.skipped:
                raise FileError(path, found.skipped[name])
            return np.concatenate(list(found.source.checked_blocks()))
        finally:
            cache.close()

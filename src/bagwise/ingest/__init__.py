"""Raw files become instances: ONE FILE = ONE WAY OF CUTTING, found by its name.

A module has

    MEDIUM              the name of the medium whose files it cuts
    DESCRIPTION         in a few words
    FEATURES            the names of the features, or `FEATURES(state)` where they depend on what was fitted
    cut(path) -> Cut    the instances of one file; what it cannot read it refuses with a FileError

and instead of `cut`, where all files must be seen before one can be cut,

    fit(paths) -> State             plain arrays, kept with the project and its models
    cutter(state) -> (path -> Cut)

A module may have `pieces(path, size)`, which gives what an ONNX model embeds; see `_onnx`.
"""

from bagwise.ingest.cache import Cache
from bagwise.ingest.fingerprints import Seen
from bagwise.ingest.folder import Before, CutFolder, CutPlaces, cut_folder, unfinished
from bagwise.ingest.listing import Listing, list_files
from bagwise.ingest.recipe import Recipe
from bagwise.ingest.segmenters._registry import available, medium_called, way_for
from bagwise.ingest.types import Cut, Cutter, State

__all__ = [
    "Before",
    "Cache",
    "Cut",
    "CutFolder",
    "CutPlaces",
    "Cutter",
    "Listing",
    "Recipe",
    "Seen",
    "State",
    "available",
    "cut_folder",
    "list_files",
    "medium_called",
    "unfinished",
    "way_for",
]

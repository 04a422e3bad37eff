"""Raw files become instances: media, segmenters and embedders; worker processes, a cache, and what was fitted."""

from bagwise.ingest.cache import Cache
from bagwise.ingest.fingerprints import Seen
from bagwise.ingest.folder import Before, SegmentedFolder, SegmentPlaces, segment_folder, unfinished
from bagwise.ingest.listing import Listing, list_files
from bagwise.ingest.recipe import Recipe
from bagwise.ingest.segmenters._registry import available, medium_named, segmenter_for
from bagwise.ingest.types import Segmenter, Segments, State

__all__ = [
    "Before",
    "Cache",
    "Listing",
    "Recipe",
    "Seen",
    "SegmentPlaces",
    "SegmentedFolder",
    "Segmenter",
    "Segments",
    "State",
    "available",
    "list_files",
    "medium_named",
    "segment_folder",
    "segmenter_for",
    "unfinished",
]

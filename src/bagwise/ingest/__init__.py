"""Raw files become instances: media, segmenters and embedders; worker processes, a cache, and what was fitted."""

from bagwise.ingest import embedders, media, segmenters
from bagwise.ingest.cache import Cache
from bagwise.ingest.fingerprints import Fingerprint
from bagwise.ingest.folder import ExistingBags, resumable_cache, segment_folder
from bagwise.ingest.listing import Listing, list_files
from bagwise.ingest.recipe import Recipe
from bagwise.ingest.segmented_folder import SegmentedFolder, SegmentPlaces
from bagwise.ingest.types import SegmentFunction, Segments, State

__all__ = [
    "Cache",
    "ExistingBags",
    "Fingerprint",
    "Listing",
    "Recipe",
    "SegmentFunction",
    "SegmentPlaces",
    "SegmentedFolder",
    "Segments",
    "State",
    "embedders",
    "list_files",
    "media",
    "resumable_cache",
    "segment_folder",
    "segmenters",
]

"""Media: ONE FILE = ONE MEDIUM, found by its name: what the raw file of a bag is, and how it is shown.

A medium is a module (or any object) with

    DESCRIPTION                 in a few words
    TYPES                       suffix -> Type: the content type of such a file, and the bytes it begins with
    PLACE                       the columns that say where in the file an instance is, all of them required
    misplaced(places) -> mask   which rows of `places` (n x 4: PLACE, then OPTIONAL) are invalid
    RULE                        the sentence for those
    BAG                         what a person calls one file, as "recording"
    SEGMENTER                   the name of the default segmenter
    RENDERER                    "picture", "sound" or "text": how the labelling page draws it; its places have the
                                columns of that medium

and may have

    OPTIONAL                    further columns of a place, which may be missing; at most four columns in all
    ALIASES                     other names for `--medium`
    validate(path)              raises a FileError for a file that its first bytes do not give away

Another package adds a medium with an entry point of the group `bagwise.media`; see docs/extending-data.md.
"""

from bagwise.ingest.media._files import Files, validate_media_file
from bagwise.ingest.media._places import WIDTH, Places, Spans
from bagwise.ingest.media._registry import (
    available,
    columns_of,
    medium_of,
    name_of,
    renderer_of,
    suffixes,
    type_of,
)
from bagwise.ingest.media._types import Type

__all__ = [
    "WIDTH",
    "Files",
    "Places",
    "Spans",
    "Type",
    "available",
    "columns_of",
    "medium_of",
    "name_of",
    "renderer_of",
    "suffixes",
    "type_of",
    "validate_media_file",
]

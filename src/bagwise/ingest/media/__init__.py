"""Media: ONE FILE = ONE MEDIUM, found by its name: what a bag was before it became numbers, and how it is shown.

A module has

    DESCRIPTION                 in a few words
    TYPES                       suffix -> Type: what such a file is sent as, and how it begins
    PLACE, OPTIONAL             the columns that say where in the file an instance lies, and those that may be missing
    misplaced(places) -> mask   which rows of (PLACE, OPTIONAL) lie nowhere
    RULE                        the sentence for those

and may have `refuse(path)`, for what the beginning of a file does not tell. The page has a module of the same name.
"""

from bagwise.ingest.media._files import Files, validate_media_file
from bagwise.ingest.media._places import WIDTH, Places, Spans
from bagwise.ingest.media._registry import available, columns_of, medium_of, suffixes, type_of
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
    "suffixes",
    "type_of",
    "validate_media_file",
]

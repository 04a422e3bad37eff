"""Segmenters: ONE FILE = ONE SEGMENTER, found by its name: how a raw file is split into instances.

A segmenter is a module (or any object) with

    MEDIUM                      the name of the medium whose files it segments
    DESCRIPTION                 in a few words
    FEATURES                    the names of the features, or `FEATURES(state)` where they depend on what was fitted;
                                without it they are numbered
    segment(path) -> Segments   the instances of one file; raises a FileError for a file that it cannot read

and instead of `segment`, where all files must be read before one can be segmented,

    fit(paths) -> State                         plain arrays, stored with the project and its models
    segmenter(state) -> (path -> Segments)

Another package adds a segmenter with an entry point of the group `bagwise.segmenters`; see docs/extending-data.md. In
Python, a module or a function `path -> Segments` works wherever a name does.
"""

from bagwise.ingest.segmenters._recommendation import Recommendation, recommend
from bagwise.ingest.segmenters._registry import available, for_medium, member_of, name_of

__all__ = ["Recommendation", "available", "for_medium", "member_of", "name_of", "recommend"]

"""Segmenters: ONE FILE = ONE SEGMENTER, found by its name: how a raw file is split into instances.

A module has

    MEDIUM                      the name of the medium whose files it segments
    DESCRIPTION                 in a few words
    FEATURES                    the names of the features, or `FEATURES(state)` where they depend on what was fitted
    segment(path) -> Segments   the instances of one file; raises a FileError for a file that it cannot read

and instead of `segment`, where all files must be read before one can be segmented,

    fit(paths) -> State                         plain arrays, kept with the project and its models
    segmenter(state) -> (path -> Segments)

A module may have `pieces(path, size)`, which gives what an ONNX model embeds; see `ingest.embedders.onnx`.
"""

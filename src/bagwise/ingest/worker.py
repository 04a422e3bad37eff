"""A process that cuts files, one after the other, with one thread. What a file does to it is its own business."""

import os
import signal
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from bagwise.core.errors import BagwiseError
from bagwise.ingest import media
from bagwise.ingest.fingerprints import Seen
from bagwise.ingest.recipe import Recipe
from bagwise.ingest.types import Segmenter, Segments


@dataclass(frozen=True)
class Done:
    """What became of a file: a cut and what the file was when it was made, or why there is none."""

    segment: Segments | None = None
    file: Seen | None = None
    why: str = ""


def work(pipe: Connection, recipe: Recipe) -> None:
    """Answer every path with what became of it, until nobody asks any more."""
    # The one who asks is interrupted, not those who are asked; and what a decoder mutters is not for a person.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    warnings.simplefilter("ignore")
    cutters: list[Segmenter] = []

    def segmenter() -> Segmenter:
        if not cutters:
            cutters.append(recipe.segmenter())
        return cutters[0]

    while True:
        try:
            path = pipe.recv()
        except (EOFError, OSError):
            return
        with threadpool_limits(1):
            pipe.send(segment_one(path, recipe.medium, segmenter))


def segment_one(path: Path, medium: str, segmenter: Callable[[], Segmenter]) -> Done:
    """Cut a file, whatever it is."""
    try:
        media.type_of(path.suffix.lower()).validate_same(path)
        file = Seen.of(path)
        segment = segmenter()(path)
        if segment.shown is None:
            media.validate_media_file(path)
        why = _wrong_with(segment, medium)
        return Done(why=why) if why else Done(segment, file)
    except BagwiseError as error:
        return Done(why=str(error).removeprefix(f"{path}: "))
    except MemoryError:
        return Done(why="does not fit into memory.")
    except OSError as error:
        return Done(why=f"cannot be read: {error.strerror or error}.")
    except Exception as error:
        return Done(why=f"cannot be read ({type(error).__name__}: {error}).")


def _wrong_with(segments: Segments, medium: str) -> str:
    rows = len(segments.features)
    if rows == 0:
        return "there is nothing in it to learn from."
    if segments.features.ndim != 2 or segments.places.shape != (rows, media.WIDTH):
        return f"{rows} instances came with places {segments.places.shape}: each needs {media.WIDTH} numbers."
    if not np.isfinite(segments.features).all():
        return "a feature of it is not a finite number."
    module = media.available()[medium]
    return str(module.RULE) if module.misplaced(segments.places).any() else ""

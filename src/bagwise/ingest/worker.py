"""What a worker does with a file: segment it, or report why it cannot."""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
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
    """The result of a file: its segments and the state of the file when they were made, or why there are none."""

    segment: Segments | None = None
    file: Seen | None = None
    why: str = ""


class SegmentFile:
    """The work of a worker: segments files by a recipe, whose segmenter is made once in every worker."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._segmenter: Segmenter | None = None

    def __call__(self, path: Path) -> Done:
        """Segment one file, with one thread."""
        with threadpool_limits(1):
            return segment_one(path, self._recipe.medium, self._get_segmenter)

    def _get_segmenter(self) -> Segmenter:
        if self._segmenter is None:
            self._segmenter = self._recipe.segmenter()
        return self._segmenter


def discard_messages() -> None:
    """Discard what decoders print and warn of: a file that cannot be read is reported in its `Done`."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    warnings.simplefilter("ignore")


def segment_one(path: Path, medium: str, segmenter: Callable[[], Segmenter]) -> Done:
    """Segment a file; what goes wrong is in the result."""
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

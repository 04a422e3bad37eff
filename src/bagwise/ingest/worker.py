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
from bagwise.ingest.fingerprints import Fingerprint
from bagwise.ingest.recipe import Recipe
from bagwise.ingest.types import SegmentFunction, Segments


@dataclass(frozen=True)
class Outcome:
    """The segments of a file and its fingerprint, or the reason why there are none."""

    segments: Segments | None = None
    fingerprint: Fingerprint | None = None
    reason: str = ""


class SegmentFile:
    """The work of a worker: segments files by a recipe, whose segmenter is made once in every worker."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._segment_function: SegmentFunction | None = None

    def __call__(self, path: Path) -> Outcome:
        """Segment one file, with one thread."""
        with threadpool_limits(1):
            return segment_one(path, self._recipe.medium, self._get_segment_function)

    def _get_segment_function(self) -> SegmentFunction:
        if self._segment_function is None:
            self._segment_function = self._recipe.segment_function()
        return self._segment_function


def discard_messages() -> None:
    """Discard what decoders print and warn of: a file that cannot be read is reported in its `Outcome`."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    warnings.simplefilter("ignore")


def segment_one(path: Path, medium: str, segment_function: Callable[[], SegmentFunction]) -> Outcome:
    """Segment a file; whatever is wrong with it becomes the reason of the outcome."""
    try:
        media.type_of(path.suffix.lower()).validate_same(path)
        fingerprint = Fingerprint.of(path)
        segments = segment_function()(path)
        if segments.shown is None:
            media.validate_media_file(path)
        reason = _invalid(segments, medium)
        return Outcome(reason=reason) if reason else Outcome(segments, fingerprint)
    except BagwiseError as error:
        return Outcome(reason=str(error).removeprefix(f"{path}: "))
    except MemoryError:
        return Outcome(reason="does not fit into memory.")
    except OSError as error:
        return Outcome(reason=f"cannot be read: {error.strerror or error}.")
    except Exception as error:
        return Outcome(reason=f"cannot be read ({type(error).__name__}: {error}).")


def _invalid(segments: Segments, medium: str) -> str:
    rows = len(segments.features)
    if rows == 0:
        return "has no instances."
    if segments.features.ndim != 2 or segments.places.shape != (rows, media.WIDTH):
        return f"{rows} instances came with places {segments.places.shape}: each needs {media.WIDTH} numbers."
    if not np.isfinite(segments.features).all():
        return "a feature of it is not a finite number."
    member = media.available()[medium]
    return str(member.RULE) if member.misplaced(segments.places).any() else ""

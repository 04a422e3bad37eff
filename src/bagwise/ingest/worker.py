"""What a worker does with a file: segment it, or report why it cannot."""

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from bagwise.core.errors import BagwiseError, FileError
from bagwise.ingest import media
from bagwise.ingest.clips import Clip
from bagwise.ingest.fingerprints import Fingerprint
from bagwise.ingest.recipe import Recipe
from bagwise.ingest.sound.decoding import open_sound, sound_remark
from bagwise.ingest.sound.writing import write_sound
from bagwise.ingest.types import SegmentFunction, Segments


@dataclass(frozen=True)
class Task:
    """A file to segment, or consecutive clips of it; the fingerprint of a file is computed with its first clips."""

    path: Path
    clips: Sequence[Clip] = ()

    @property
    def is_first(self) -> bool:
        """Whether it is the whole file, or has its first clip."""
        return not self.clips or self.clips[0].start == 0


@dataclass(frozen=True)
class Outcome:
    """The segments of a file, or of each clip, and the fingerprint of the file; or the reason why there are none.

    `remark` is what a person should know of a file that is used.
    """

    segments: tuple[Segments, ...] = ()
    fingerprint: Fingerprint | None = None
    reason: str = ""
    remark: str = ""


class SegmentFile:
    """The work of a worker: segments files by a recipe, whose segmenter is made once in every worker."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._segment_function: SegmentFunction | None = None

    def __call__(self, task: Task) -> Outcome:
        """Segment one file, or some clips of it, with one thread."""
        with threadpool_limits(1):
            return segment_one(task, self._recipe.medium, self._get_segment_function)

    def _get_segment_function(self) -> SegmentFunction:
        if self._segment_function is None:
            self._segment_function = self._recipe.segment_function()
        return self._segment_function


def discard_messages() -> None:
    """Discard what decoders print and warn of: a file that cannot be read is reported in its `Outcome`."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    warnings.simplefilter("ignore")


def segment_one(task: Task, medium: str, segment_function: Callable[[], SegmentFunction]) -> Outcome:
    """Segment a file, or clips of it; whatever is wrong with it becomes the reason of the outcome."""
    path = task.path
    try:
        media.type_of(path.suffix.lower()).validate_same(path)
        fingerprint = Fingerprint.of(path) if task.is_first else None
        if task.clips:
            segments = tuple(_segment_clips(task, segment_function()))
        else:
            segments = (segment_function()(path),)
            if segments[0].shown is None:
                media.validate_media_file(path)
        reason = next((why for one in segments if (why := _invalid(one, medium))), "")
        if reason:
            return Outcome(reason=reason)
        remark = sound_remark(path) if task.is_first and media.renderer_of(medium) == "sound" else ""
        return Outcome(segments, fingerprint, remark=remark)
    except BagwiseError as error:
        return Outcome(reason=str(error).removeprefix(f"{path}: "))
    except MemoryError:
        return Outcome(reason="does not fit into memory.")
    except OSError as error:
        return Outcome(reason=f"cannot be read: {error.strerror or error}.")
    except Exception as error:
        return Outcome(reason=f"cannot be read ({type(error).__name__}: {error}).")


def _segment_clips(task: Task, segment: SegmentFunction) -> Iterator[Segments]:
    """Segment each clip as if it were a file, so that every segmenter and embedder can; return times of the file."""
    with tempfile.TemporaryDirectory(prefix="bagwise-") as folder, open_sound(task.path) as sound:
        for clip in task.clips:
            file = Path(folder) / f"{task.path.stem}.wav"
            write_sound(file, sound.part(clip.start, clip.end), sound.rate)
            try:
                found = segment(file)
            except FileError as error:
                raise FileError(task.path, str(error).removeprefix(f"{file}: ")) from error
            places = found.places + np.array([clip.start, clip.start, 0.0, 0.0])
            places[:, 1] = np.minimum(places[:, 1], clip.end)
            yield replace(found, places=places)


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

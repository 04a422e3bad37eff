"""The files of the bags: sent with one of a fixed list of content types, found by the number of the bag alone.

Sound is also sent in parts, decoded here: a day of recording opens as fast as a clip of it, whatever its format.
"""

import io
import json
import wave
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import numpy as np
from fastapi import APIRouter, HTTPException, Query
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, Response
from pydantic import BaseModel

from bagwise.core.errors import FileError
from bagwise.ingest import media
from bagwise.ingest.sound.decoding import SoundInfo, open_sound, sound_info
from bagwise.kernels import Array
from bagwise.project import Project
from bagwise.project.imports.media import Kept
from bagwise.server.dependencies import REFUSED, CurrentProject, Person

# The URL has the version of the file, so a cached file stays valid.
KEPT_FOR_A_DAY = "private, max-age=86400, immutable"
HEADERS = {"Cache-Control": KEPT_FOR_A_DAY, "Cross-Origin-Resource-Policy": "same-origin"}
LONGEST_PART = 120.0
MOST_SAMPLES = 16_000_000
"""Of one part: 32 MB, which are 120 s up to 133 kHz, and 32 s of a bat detector's 500 kHz."""
LOUDEST = 32767
WAV = "audio/wav"

router = APIRouter(tags=["media"], responses=REFUSED)

BagNumber = Annotated[int, InPath(ge=0, lt=2**31)]
Seconds = Annotated[float, Query(ge=0, le=1e9, allow_inf_nan=False)]


class Sound(BaseModel):
    """From where to where the bag is in its recording, how long that is, in seconds, and its samples per second."""

    start: float
    end: float
    seconds: float
    rate: int


class Medium(BaseModel):
    """The file of a bag; `places` has the place of every instance in it, null where it is unknown.

    `outlines` is the address of the outlines of the instances, where boxes are not enough. `sound` is null where the
    bag is no sound, or in a format that only browsers decode.
    """

    kind: str
    url: str
    type: str
    bytes: int
    places: list[dict[str, float] | None]
    outlines: str | None
    sound: Sound | None


def medium_of(project: Project, bag: int) -> Medium | None:
    """Return the file of a bag and the places of its instances; None where it has none."""
    kept = project.medium(bag)
    if kept is None:
        return None
    found = kept.path.stat()
    version = f"?version={found.st_mtime_ns}-{found.st_size}"
    content = media.type_of(kept.path.suffix).content
    kind = media.renderer_of(kept.medium)
    return Medium(
        kind=kind,
        url=f"/media/{bag}{version}",
        type=content,
        bytes=found.st_size,
        places=kept.places,
        outlines=f"/media/{bag}/outlines{version}" if kept.outlines is not None else None,
        sound=_sound_of(kept, found.st_mtime_ns, found.st_size) if kind == "sound" else None,
    )


@router.get("/media/{bag}", response_class=FileResponse, responses={404: {"description": "It has no file."}})
def file_of(project: CurrentProject, _: Person, bag: BagNumber) -> FileResponse:
    """The picture, sound or text of the bag at this position, or the bytes of it that are asked for."""
    kept = project.medium(bag) if bag < len(project.bags) else None
    if kept is None:
        raise HTTPException(404, "This bag has no file.")
    return FileResponse(kept.path, media_type=media.type_of(kept.path.suffix).content, headers=HEADERS)


@router.get(
    "/media/{bag}/sound",
    response_class=Response,
    responses={200: {"content": {WAV: {}}}, 404: {"description": "It has no sound."}},
)
def sound_of(project: CurrentProject, _: Person, bag: BagNumber, start: Seconds, end: Seconds) -> Response:
    """Some seconds of the recording of the bag at this position, also before and after the bag.

    They come as WAV with one channel of 16 bits at the rate of the file. The loudest sample is full scale; the header
    `Bagwise-Peak` says what it is in the file, so that parts can be compared.
    """
    kept = project.medium(bag) if bag < len(project.bags) else None
    if kept is None or media.renderer_of(kept.medium) != "sound":
        raise HTTPException(404, "This bag has no sound.")
    try:
        with open_sound(kept.path) as sound:
            _validate_part(start, end, sound.info)
            sound.seek(start)
            samples = sound.read(round(end * sound.rate) - round(start * sound.rate))
            peak = float(np.max(np.abs(samples), initial=0.0)) or 1.0
            headers = {**HEADERS, "Bagwise-Peak": f"{peak:.9g}"}
            return Response(_wav(samples / peak, sound.rate), media_type=WAV, headers=headers)
    except FileError as error:
        raise HTTPException(404, "The recording of this bag cannot be decoded.") from error


@router.get("/media/{bag}/outlines", responses={404: {"description": "It has no outlines."}})
def outlines_of(project: CurrentProject, _: Person, bag: BagNumber) -> list[list[float]]:
    """The corners of every instance of the bag at this position: x, y, x, y, ... in pixels of the picture."""
    kept = project.medium(bag) if bag < len(project.bags) else None
    if kept is None or kept.outlines is None:
        raise HTTPException(404, "This bag has no outlines.")
    found: list[list[float]] = json.loads(kept.outlines.read_text(encoding="utf-8"))
    return found


@lru_cache(maxsize=4096)
def _info_of(path: Path, _modified: int, _size: int) -> SoundInfo | None:
    """What the header of this version of a file says; None where it cannot be decoded here."""
    try:
        return sound_info(path)
    except FileError:
        return None


def _sound_of(kept: Kept, modified: int, size: int) -> Sound | None:
    info = _info_of(kept.path, modified, size)
    if info is None:
        return None
    start, end = kept.clip or (0.0, info.seconds)
    return Sound(start=start, end=min(end, info.seconds), seconds=info.seconds, rate=info.rate)


def _validate_part(start: float, end: float, info: SoundInfo) -> None:
    longest = min(LONGEST_PART, MOST_SAMPLES / info.rate)
    if start >= info.seconds:
        raise _refused("start", f"The recording ends at {info.seconds:.3f} s: `start` must be before that.")
    if end <= start:
        raise _refused("end", "`end` must be later than `start`.")
    if end - start > longest:
        raise _refused("end", f"At most {longest:g} s of this recording are sent at once: ask for the rest next.")


def _refused(name: str, sentence: str) -> RequestValidationError:
    return RequestValidationError([{"loc": ("query", name), "msg": sentence, "type": "value_error"}])


def _wav(samples: Array, rate: int) -> bytes:
    target = io.BytesIO()
    with wave.open(target, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(np.round(samples * LOUDEST).astype("<i2").tobytes())
    return target.getvalue()

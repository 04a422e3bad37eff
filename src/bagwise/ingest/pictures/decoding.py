"""Pictures as they are shown: upright, one frame, red, green and blue, small enough to be cut quickly."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import FileError
from bagwise.ingest.types import needs
from bagwise.kernels import Array

MOST_PIXELS = 120_000_000
LONGEST = 384
"""Pixels of the longer side while regions are found and described; places are in the picture's own."""
SIXTEEN_BIT = 257.0
ORIENTATION = 0x0112
SIDEWAYS = (5, 6, 7, 8)
NEVER_TURNED = ("WEBP",)
"""Browsers turn pictures as their EXIF says, but not these."""


@dataclass(frozen=True)
class Picture:
    """Pixels (height x width x 3, from 0 to 1) and how many pixels of the shown picture one of them is."""

    pixels: Array
    width: int
    height: int

    @property
    def scale(self) -> tuple[float, float]:
        """Across and down."""
        height, width = self.pixels.shape[:2]
        return self.width / width, self.height / height


def open_picture(path: Path) -> Picture:
    """The picture that a browser shows for this file, made smaller; of one that moves, the first frame."""
    with _opened(path) as file:
        width, height = file.size
        if _turns(file) and file.getexif().get(ORIENTATION) in SIDEWAYS:
            width, height = height, width
        # JPEG is decoded at an eighth, a quarter or a half where that is enough.
        file.draft("RGB", (2 * LONGEST, 2 * LONGEST))
        image = _upright(file)
        image.thumbnail((LONGEST, LONGEST), reducing_gap=2.0)
        return Picture(np.asarray(image, np.float32) / 255, width, height)


def upright(path: Path) -> Any:
    """The same in its own size, as an image of Pillow."""
    with _opened(path) as file:
        return _upright(file)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    images = needs("PIL.Image", "image")
    # What a bomb is, is decided below and said in words.
    images.MAX_IMAGE_PIXELS = None
    try:
        with images.open(path) as file:
            width, height = file.size
            if width * height > MOST_PIXELS:
                what = f"has {width} x {height} pixels, more than {MOST_PIXELS // 10**6} million: make it smaller."
                raise FileError(path, what)
            yield file
    except images.UnidentifiedImageError as error:
        raise FileError(path, "is no picture that can be read: it is damaged or something else.") from error


def _turns(file: Any) -> bool:
    return file.format not in NEVER_TURNED


def _upright(file: Any) -> Any:
    return _in_eight_bits(needs("PIL.ImageOps", "image").exif_transpose(file) if _turns(file) else file)


def _in_eight_bits(image: Any) -> Any:
    images = needs("PIL.Image", "image")
    if image.mode[0] == "I":
        return images.fromarray((np.asarray(image) / SIXTEEN_BIT).clip(0, 255).astype(np.uint8)).convert("RGB")
    if image.mode in ("RGBA", "LA", "PA", "P", "La", "RGBa"):
        paper = images.new("RGBA", image.size, "white")
        return images.alpha_composite(paper, image.convert("RGBA")).convert("RGB")
    return image.convert("RGB")

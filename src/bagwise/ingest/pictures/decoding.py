"""Decoding pictures as browsers show them: upright, the first frame, RGB, small enough to be segmented quickly."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import FileError
from bagwise.ingest.types import import_optional
from bagwise.kernels import Array

MAX_PIXELS = 120_000_000
LONGER_SIDE = 384
"""Pixels of the longer side during segmentation; places are in pixels of the original."""
SIXTEEN_BIT = 257.0
ORIENTATION = 0x0112
SIDEWAYS = (5, 6, 7, 8)
WITHOUT_ORIENTATION = ("WEBP",)
"""Formats whose EXIF orientation browsers ignore."""


@dataclass(frozen=True)
class Picture:
    """A decoded picture: `pixels` (height x width x 3, from 0 to 1), and the size in which it is shown."""

    pixels: Array
    width: int
    height: int

    @property
    def scale(self) -> tuple[float, float]:
        """Pixels of the shown picture per pixel, horizontally and vertically."""
        height, width = self.pixels.shape[:2]
        return self.width / width, self.height / height


def open_picture(path: Path) -> Picture:
    """Return the picture that a browser shows for a file, reduced; of an animation, the first frame."""
    with _opened(path) as file:
        width, height = _size(file)
        # JPEG is decoded at an eighth, a quarter or a half of its size where that is enough.
        file.draft("RGB", (2 * LONGER_SIDE, 2 * LONGER_SIDE))
        image = _upright(file)
        image.thumbnail((LONGER_SIDE, LONGER_SIDE), reducing_gap=2.0)
        return Picture(np.asarray(image, np.float32) / 255, width, height)


def size_of(path: Path) -> tuple[int, int]:
    """Return width and height of a picture as a browser shows it, in pixels."""
    with _opened(path) as file:
        return _size(file)


def upright(path: Path) -> Any:
    """Return the picture in its original size, as a Pillow image."""
    with _opened(path) as file:
        return _upright(file)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    images = import_optional("PIL.Image", "image")
    # Decompression bombs are refused below, with a reason.
    images.MAX_IMAGE_PIXELS = None
    try:
        with images.open(path) as file:
            width, height = file.size
            if width * height > MAX_PIXELS:
                what = f"has {width} x {height} pixels, more than {MAX_PIXELS // 10**6} million: make it smaller."
                raise FileError(path, what)
            yield file
    except images.UnidentifiedImageError as error:
        raise FileError(path, "is not a picture that can be read: it is damaged or in another format.") from error


def _size(file: Any) -> tuple[int, int]:
    width, height = file.size
    turned = _has_orientation(file) and file.getexif().get(ORIENTATION) in SIDEWAYS
    return (height, width) if turned else (width, height)


def _has_orientation(file: Any) -> bool:
    return file.format not in WITHOUT_ORIENTATION


def _upright(file: Any) -> Any:
    return _in_eight_bits(
        import_optional("PIL.ImageOps", "image").exif_transpose(file) if _has_orientation(file) else file
    )


def _in_eight_bits(image: Any) -> Any:
    images = import_optional("PIL.Image", "image")
    if image.mode[0] == "I":
        return images.fromarray((np.asarray(image) / SIXTEEN_BIT).clip(0, 255).astype(np.uint8)).convert("RGB")
    if image.mode in ("RGBA", "LA", "PA", "P", "La", "RGBa"):
        white = images.new("RGBA", image.size, "white")
        return images.alpha_composite(white, image.convert("RGBA")).convert("RGB")
    return image.convert("RGB")

"""Pictures: an instance is a box, in pixels from the upper left corner of the picture as it is shown.

SVG is not among them: it is a document that can hold scripts.
"""

from bagwise.ingest.media._types import Type
from bagwise.kernels import Array

DESCRIPTION = "pictures (PNG, JPEG, WebP, GIF, AVIF, BMP)"
TYPES = {
    ".png": Type("image/png", rb"\x89PNG\r\n\x1a\n"),
    ".jpg": Type("image/jpeg", rb"\xff\xd8\xff"),
    ".jpeg": Type("image/jpeg", rb"\xff\xd8\xff"),
    ".webp": Type("image/webp", rb"RIFF.{4}WEBP"),
    ".gif": Type("image/gif", rb"GIF8[79]a"),
    ".avif": Type("image/avif", rb".{4}ftyp(avif|avis|mif1)"),
    ".bmp": Type("image/bmp", rb"BM"),
}
PLACE = ("x", "y", "width", "height")
ALIASES = ("image",)
BAG = "picture"
RENDERER = "picture"
SEGMENTER = "superpixels"
RULE = "x and y must not be negative, width and height must be more than 0."


def misplaced(places: Array) -> Array:
    """Return which boxes are outside of the picture or empty."""
    x, y, width, height = places.T
    found: Array = (x < 0) | (y < 0) | (width <= 0) | (height <= 0)
    return found

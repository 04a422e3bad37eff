"""Scenes: pictures composed of pieces of real photographs in grey, embedded by EfficientNet.

A picture has three to six regions, each a square of another photograph, turned, with another contrast, blur and grain.
Squares of the photograph of a class (brick, fur, the moon, ...) differ in where they were cut; 60 % of the regions are
from photographs of no class. The regions are the instances. The photographs come with scikit-image and scikit-learn,
one for each class, so the figures tell how well questions are asked, not how well a model knows bricks of other walls.
"""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from bagwise.datasets._embedding import Composed, Composition
from bagwise.datasets._types import Dataset, file_of_package
from bagwise.kernels import Array

DESCRIPTION = "pieces of photographs of 12 things, embedded by EfficientNet (scikit-image, efficientnet)"
BAGS = 300
PHOTOGRAPHS = {
    "brick": ("skimage", "brick.png", 0.20),
    "fur": ("skimage", "chelsea.png", 0.16),
    "grass": ("skimage", "grass.png", 0.14),
    "gravel": ("skimage", "gravel.png", 0.12),
    "temple": ("sklearn", "china.jpg", 0.10),
    "flower": ("sklearn", "flower.jpg", 0.08),
    "motorcycle": ("skimage", "motorcycle_left.png", 0.06),
    "tissue": ("skimage", "ihc.png", 0.05),
    "coins": ("skimage", "coins.png", 0.04),
    "moon": ("skimage", "moon.png", 0.02),
    "galaxies": ("skimage", "hubble_deep_field.jpg", 0.02),
    "page": ("skimage", "page.png", 0.01),
}
"""Package, file, and share among the regions of classes."""
OTHERS = ("astronaut.png", "rocket.jpg", "camera.png", "coffee.png", "retina.jpg", "color.png", "cell.png")
FOLDERS = {"skimage": ("data", "scikit-image"), "sklearn": ("datasets/images", "scikit-learn")}
REGIONS = (3, 6)
NO_CLASS = 0.6
SIDE = 96
PIECE = (80, 180)
"""Pixels of a photograph that a region shows, on each side."""
LEAST_CONTRAST = 8.0
"""Deviation of grey, of 255: squares with less show nothing."""


def composition(bags: int = BAGS) -> Composition:
    """Return how the data set is made."""
    regions = SimpleNamespace(segment=lambda path: SimpleNamespace(places=_boxes(path)))
    return Composition("scenes", "1", "efficientnet", list(PHOTOGRAPHS), bags, _compose, regions)


def load(random_state: int = 0, bags: int = BAGS) -> Dataset:
    """Load the data set, built on first use; the seed has no effect."""
    return composition(bags).load()


def is_built() -> bool:
    """Return whether it is in the cache."""
    return composition().path().exists()


def _compose(folder: Path, bags: int) -> Iterator[Composed]:
    from PIL import Image

    photographs = [_grey(package, file) for package, file, _ in PHOTOGRAPHS.values()]
    others = [_grey("skimage", file) for file in OTHERS]
    shares = np.array([share for *_, share in PHOTOGRAPHS.values()])
    for number in range(bags):
        rng = np.random.default_rng([number, 64])
        labels = rng.choice(len(photographs), rng.integers(REGIONS[0], REGIONS[1] + 1), p=shares / shares.sum())
        labels[rng.random(len(labels)) < NO_CLASS] = -1
        pieces = [
            _piece(photographs[label] if label >= 0 else others[rng.integers(len(others))], rng) for label in labels
        ]
        path = folder / f"{number:04}.png"
        Image.fromarray(np.concatenate(pieces, axis=1)).save(path)
        present = np.isin(np.arange(len(photographs)), labels)
        yield Composed(path, present, labels)


def _grey(package: str, file: str) -> Array:
    from PIL import Image

    folder, requirement = FOLDERS[package]
    with Image.open(file_of_package(package, f"{folder}/{file}", requirement, "'bagwise[efficientnet]'")) as image:
        return np.asarray(image.convert("L"), np.float64)


def _piece(photograph: Array, rng: np.random.Generator) -> Array:
    """Return a square of a photograph as `SIDE` x `SIDE` pixels."""
    from PIL import Image
    from scipy.ndimage import gaussian_filter

    height, width = photograph.shape
    side = int(rng.integers(*PIECE))
    for _ in range(20):
        y, x = rng.integers(0, height - side), rng.integers(0, width - side)
        square = photograph[y : y + side, x : x + side]
        if square.std() >= LEAST_CONTRAST:
            break
    square = np.rot90(square, int(rng.integers(4)))
    resized = np.asarray(Image.fromarray(square).resize((SIDE, SIDE)), np.float64)
    contrast, light = rng.uniform(0.5, 1.0), rng.uniform(90, 160)
    seen = light + contrast * (gaussian_filter(resized, rng.uniform(0, 1.0)) - resized.mean())
    grain = rng.normal(0, rng.uniform(0, 12), seen.shape)
    return np.asarray((seen + grain).clip(0, 255), np.uint8)


def _boxes(path: Path) -> Array:
    from PIL import Image

    with Image.open(path) as image:
        return np.array([[x, 0, SIDE, SIDE] for x in range(0, image.width, SIDE)], float)

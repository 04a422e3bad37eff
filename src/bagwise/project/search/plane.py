"""A map of the pool: instances on a plane, near to each other where they are alike.

Of more than `MOST_POINTS` instances an even sample is shown: every k-th row of the bags that were not removed. They are
compared as in a search (`nearest`): transformed by the model's map, and of length 1 where they are embeddings. Two
layouts are made of them:

directions      the two directions in which they differ most (principal components), which takes seconds; the largest
                weight of a direction is positive, so that it does not flip
neighbours      t-SNE of the first `DIRECTIONS` principal components, started from the two first and computed by one
                thread: what is alike lies together, and distances between groups mean little. 20,000 points take a few
                minutes

Both depend on the instances and their scaling alone, not on answers: the same data, the same map. It is stored in the
folder `map` of the project with a key, the hash of all that it depends on; a file with another key is made again.
"""

import hashlib
import json
import uuid
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.kernels import Array
from bagwise.project.search.nearest import COSINE, as_seen, lengths, measure_of, squares_of
from bagwise.project.storage.queries import Contents

FOLDER = "map"
DIRECTIONS_LAYOUT, NEIGHBOURS_LAYOUT = LAYOUTS = ("directions", "neighbours")
MOST_POINTS = 20_000
DIRECTIONS = 50
PERPLEXITY = 30
FEWEST_POINTS = 10
"""Of fewer points t-SNE makes nothing: both layouts are the same then."""
STEPS = 500
DIGITS = 4
VERSION = 1


@dataclass(frozen=True)
class Plane:
    """Some instances of a pool on a plane.

    Parameters
    ----------
    layout : {"directions", "neighbours"}
        How it was made.
    key : str
        Hash of what it was made from.
    bags, instances : ndarray of int, shape (n,)
        The position of the bag of each point, and of the instance in its bag.
    coordinates : ndarray, shape (n, 2)
        Where the points are, from -1 to 1 in steps of 0.0001.
    of : int
        The number of instances that they are a sample of.

    Examples
    --------
    >>> plane = Plane("directions", "", np.array([0, 0, 3]), np.array([0, 1, 0]), np.array([[0, 0], [1, 1], [0, 1]]), 3)
    >>> plane.points_in(-0.5, 0.5, -1.0, 2.0).tolist()
    [0, 2]
    """

    layout: str
    key: str
    bags: Array
    instances: Array
    coordinates: Array
    of: int

    def points_in(self, left: float, right: float, bottom: float, top: float) -> Array:
        """Return the points in a rectangle, its edges included.

        Parameters
        ----------
        left, right, bottom, top : float
            The edges.

        Returns
        -------
        ndarray of int
            Positions of points, in order.
        """
        x, y = self.coordinates.T
        return np.flatnonzero((x >= left) & (x <= right) & (y >= bottom) & (y <= top))


def key_of(contents: Contents, scaling: str) -> str:
    """Return the hash of all that a map depends on.

    Parameters
    ----------
    contents : Contents
        The bags of a project.
    scaling : str
        Its setting.

    Returns
    -------
    str
    """
    found = hashlib.sha256(contents.offsets.tobytes())
    about = [VERSION, MOST_POINTS, contents.project, contents.shape, contents.checksums, scaling]
    found.update(json.dumps([*about, sorted(contents.removed)]).encode())
    return found.hexdigest()[:32]


def sampled_rows(contents: Contents) -> tuple[Array, int]:
    """Return the rows of the instances that a map shows, and of how many they are an even sample.

    Parameters
    ----------
    contents : Contents
        The bags of a project.

    Returns
    -------
    rows : ndarray of int
    of : int
    """
    there = np.ones(int(contents.offsets[-1]), bool)
    for bag in contents.removed:
        there[contents.offsets[bag] : contents.offsets[bag + 1]] = False
    rows = np.flatnonzero(there)
    count = min(len(rows), MOST_POINTS)
    return rows[np.arange(count) * len(rows) // max(count, 1)], len(rows)


def directions(bags: Bags, transformer: Any, rows: Array) -> Array:
    """Return the coordinates of some instances along the directions in which they differ most.

    Parameters
    ----------
    bags : Bags
        The pool; read once, some rows at a time.
    transformer : StandardScaler or other transformer, or None
        The fitted map of the features.
    rows : ndarray of int, shape (n,)
        Which instances, in order.

    Returns
    -------
    ndarray, shape (n, k)
        k is at least 2 and at most `DIRECTIONS`; the first direction varies most.

    Examples
    --------
    >>> line = Bags.from_list([[[-3.0, 1.0]], [[0.0, 1.0]], [[3.0, 1.0]]])
    >>> directions(line, None, np.arange(3)).round(6).tolist()
    [[-3.0, 0.0], [0.0, 0.0], [3.0, 0.0]]
    """
    blocks = []
    for start, chunk in bags.chunks():
        wanted = rows[np.searchsorted(rows, start) : np.searchsorted(rows, start + len(chunk))] - start
        if len(wanted):
            blocks.append(as_seen(chunk[wanted], transformer).astype(np.float32))
    seen = np.concatenate(blocks)
    if measure_of(bags.n_features) == COSINE:
        seen /= lengths(squares_of(seen.astype(np.float64)))[:, None]
    seen -= seen.mean(axis=0, dtype=np.float64)
    scatter = seen.T.astype(np.float64) @ seen
    _, vectors = np.linalg.eigh(scatter)
    chosen = vectors[:, ::-1][:, :DIRECTIONS]
    largest = np.abs(chosen).argmax(axis=0)
    chosen = chosen * np.sign(chosen[largest, np.arange(chosen.shape[1])])
    found = np.zeros((len(seen), max(2, chosen.shape[1])))
    found[:, : chosen.shape[1]] = seen @ chosen
    return found


def neighbours(along: Array) -> Array:
    """Return a layout of points in which near ones stay near, by t-SNE.

    Parameters
    ----------
    along : ndarray, shape (n, k)
        Coordinates along principal components, as `directions` returns them.

    Returns
    -------
    ndarray, shape (n, 2)
    """
    from sklearn.manifold import TSNE

    if len(along) < FEWEST_POINTS:
        return along[:, :2]
    start = along[:, :2] / (np.std(along[:, 0]) or 1.0) * 1e-4
    made = TSNE(
        init=start.astype(np.float32),
        perplexity=min(PERPLEXITY, (len(along) - 1) / 3),
        max_iter=STEPS,
        random_state=0,
        n_jobs=1,
    )
    with threadpool_limits(1):
        found: Array = made.fit_transform(along.astype(np.float32))
    return found


def make(folder: Path, contents: Contents, bags: Bags, scaling: str, transformer: Any, layout: str) -> Plane:
    """Compute and store a layout of the pool of a project.

    Parameters
    ----------
    folder : Path
        The folder of the project.
    contents, bags, scaling
        The bags of the project, and the setting of their scaling.
    transformer : StandardScaler or other transformer, or None
        The fitted map of the features.
    layout : str
        One of `LAYOUTS`.

    Returns
    -------
    Plane
    """
    rows, of = sampled_rows(contents)
    bag_of = np.searchsorted(contents.offsets, rows, side="right") - 1
    along = directions(bags, transformer, rows)
    found = _within_one(along[:, :2] if layout == DIRECTIONS_LAYOUT else neighbours(along))
    plane = Plane(layout, key_of(contents, scaling), bag_of, rows - contents.offsets[bag_of], found, of)
    _write(folder, plane)
    return plane


def stored(folder: Path, key: str, layout: str) -> Plane | None:
    """Return a layout that was stored; None where there is none for these instances.

    Parameters
    ----------
    folder : Path
        The folder of the project.
    key : str
        As `key_of` returns it.
    layout : str
        One of `LAYOUTS`.

    Returns
    -------
    Plane or None
    """
    try:
        with np.load(folder / FOLDER / f"{layout}.npz", allow_pickle=False) as file:
            if str(file["key"]) != key:
                return None
            return Plane(layout, key, file["bags"], file["instances"], file["coordinates"], int(file["of"]))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def validate_layout(layout: str) -> None:
    """Raise an error unless there is such a layout."""
    if layout not in LAYOUTS:
        raise BagwiseError(f"There is no layout {layout!r}: choose one of {', '.join(LAYOUTS)}.")


def _within_one(found: Array) -> Array:
    """Coordinates around the middle, of which the largest is 1, in steps that are written without rounding."""
    centred = found - (found.max(axis=0) + found.min(axis=0)) / 2
    scaled: Array = (centred / (np.abs(centred).max() or 1.0)).astype(np.float64).round(DIGITS)
    return scaled


def _write(folder: Path, plane: Plane) -> None:
    place = folder / FOLDER
    unfinished = place / f".{uuid.uuid4().hex}.part"
    try:
        place.mkdir(exist_ok=True)
        with unfinished.open("wb") as file:
            np.savez(
                file,
                key=np.array(plane.key),
                bags=plane.bags,
                instances=plane.instances,
                coordinates=plane.coordinates,
                of=np.array(plane.of),
            )
        unfinished.replace(place / f"{plane.layout}.npz")
    except OSError as error:
        raise BagwiseError(f"{place} cannot be written: {error.strerror or error}.") from error

r"""Which instances of a bag the places of labels mean.

A region r and the place of an instance i are boxes: in time (and frequency) for sound, in pixels for pictures, in
characters for text. With their intersection r ∩ i,

    instance i matches region r    if  |r ∩ i| / min(|r|, |i|) > 1/2
    IoU(r, i)                       =  |r ∩ i| / (|r| + |i| - |r ∩ i|)

*Class c is present in r*: c is present in the bag. If one instance matches, it is of class c. If several match, the one
with the largest IoU is, provided that this is above 1/2 and no other has the same; else the region is ambiguous.
*Class c is not in r*: every instance with |r ∩ i| / |i| >= 0.95 is not of class c; the bag stays unknown.

An instance without frequencies is compared in time alone. A region without frequencies has all of them: its IoU with an
instance that has a band is 0, so that of two sounds at one time neither is taken for the one that is meant, unless the
times of exactly one are those of the region (an IoU in time of at least 0.999). A point lies in an instance or not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bagwise.formats import LabelTable, Place, PlacedLabel
from bagwise.ingest import media
from bagwise.kernels import Array

MATCHES = 0.5
COVERED = 0.95
SAME = 0.999
TIE = 1e-9

Located = tuple[str, Array]
"""The medium of a bag, and the places of its instances, (n, 4)."""

Locate = Callable[[int], Located | None]


@dataclass(frozen=True)
class Placement:
    """What became of the labels of instances and places of an import.

    Parameters
    ----------
    given : int
        Number of labels of instances and places.
    labels : int
        Number of instance labels that they gave.
    unmatched : int
        Places at which the bag has no instance, or whose bag has no places.
    ambiguous : int
        Places at which several instances are, none of them clearly meant.

    Examples
    --------
    >>> print(Placement(given=5, labels=3, unmatched=2).sentence)
    Labels that say where: 5. Labels of instances by them: 3. For the bag alone: 2 (at no instance).
    """

    given: int = 0
    labels: int = 0
    unmatched: int = 0
    ambiguous: int = 0

    @property
    def sentence(self) -> str:
        """Say it in words; empty where no label said where."""
        if not self.given:
            return ""
        whys = ((self.unmatched, "at no instance"), (self.ambiguous, "at several"))
        left = ", ".join(f"{count} ({why})" for count, why in whys if count)
        found = f"Labels that say where: {self.given}. Labels of instances by them: {self.labels}."
        return f"{found} For the bag alone: {left}." if left else found


def place_labels(
    tables: Sequence[LabelTable], ids: dict[str, int], classes: dict[str, int], offsets: Array, locate: Locate
) -> tuple[dict[tuple[int, int, int], bool], Placement]:
    """Return the labels of instances that tables give, by bag, instance and class, and what became of their places.

    Parameters
    ----------
    tables : sequence of LabelTable
        Their `placed` labels are placed.
    ids, classes : dict of str to int
        Positions by name.
    offsets : ndarray of int, shape (n_bags + 1,)
        Where the instances of each bag begin.
    locate : callable
        Returns the medium of a bag and the places of its instances; None where they are not known.

    Raises
    ------
    BagwiseError
        Where a label names an instance that its bag does not have.
    """
    said: dict[tuple[int, int, int], set[bool]] = {}
    given = unmatched = ambiguous = 0
    located: dict[int, Located | None] = {}
    for table in tables:
        for label in table.placed:
            given += 1
            bag = ids[label.bag]
            if label.instance is not None:
                size = int(offsets[bag + 1] - offsets[bag])
                if label.instance >= size:
                    what = (
                        f"bag {label.bag} has {size} instances, counted from 0: there is no instance {label.instance}."
                    )
                    raise table.fault(what, label.bag, label.line)
                instances = [label.instance]
            else:
                if bag not in located:
                    located[bag] = locate(bag)
                found = _instances_at(label, located[bag])
                unmatched += found is not None and not found
                ambiguous += found is None
                instances = found or []
            for instance in instances:
                said.setdefault((bag, instance, classes[label.label_class]), set()).add(label.present)
    # What two places of one file say of one instance teaches nothing where they contradict each other.
    labels = {key: values.pop() for key, values in said.items() if len(values) == 1}
    return labels, Placement(given, len(labels), unmatched, ambiguous)


def _instances_at(label: PlacedLabel, located: Located | None) -> list[int] | None:
    """The instances that a place means; None where it is not clear which."""
    if located is None:
        return []
    renderer = media.renderer_of(located[0])
    region = _box(renderer, label.place)
    if region is None:
        return []
    boxes = _boxes(renderer, located[1])
    of_region, of_instance, in_common = _shares(region, boxes)
    if not label.present:
        covered = of_instance >= COVERED
        if region.shape[0] > 1 and region[1, 0] > 0:
            covered &= ~np.isnan(boxes[:, 1, 0])
        return np.flatnonzero(covered).tolist()
    matching = np.flatnonzero(np.maximum(of_region, of_instance) > MATCHES)
    if len(matching) < 2:
        return matching.tolist()
    iou = _iou(of_region, of_instance)
    first, second = np.sort(iou[matching])[[-1, -2]]
    if first > MATCHES and first - second > TIE:
        return [int(np.argmax(iou))]
    same = np.flatnonzero(in_common >= SAME)
    return same.tolist() if len(same) == 1 else None


def _box(renderer: str, place: Place) -> Array | None:
    """The limits of a place in each direction, (d, 2); None where it is a place in another medium."""
    columns = media.columns_of(renderer)
    row = np.array([[place.get(column, np.nan) for column in columns] + [np.nan] * (media.WIDTH - len(columns))])
    box: Array = _boxes(renderer, row)[0]
    return None if np.isnan(box[0]).any() else box


def _boxes(renderer: str, places: Array) -> Array:
    """The limits of places in each direction, (n, d, 2); nan where they are not known."""
    one, two, three, four = places.T
    if renderer == "sound":
        limits = [(one, two), (three, four)]
    elif renderer == "picture":
        limits = [(one, one + three), (two, two + four)]
    else:
        limits = [(one, two + 1)]
    return np.stack([np.stack(pair, axis=-1) for pair in limits], axis=1)


def _shares(region: Array, boxes: Array) -> tuple[Array, Array, Array]:
    """|r ∩ i| / |r| and |r ∩ i| / |i| of every instance, and the IoU in the directions that both know; (n,) each."""
    n = len(boxes)
    of_region, of_instance = np.ones(n), np.ones(n)
    common_of_region, common_of_instance = np.ones(n), np.ones(n)
    for (first, last), limits in zip(region, np.swapaxes(boxes, 0, 1), strict=True):
        low, high = limits.T
        unknown = np.isnan(low)
        if np.isnan(first):
            of_region = np.where(unknown, of_region, 0.0)
            continue
        overlap = np.minimum(high, last) - np.maximum(low, first)
        inside = overlap >= 0
        with np.errstate(divide="ignore", invalid="ignore"):
            in_region = np.maximum(overlap, 0) / (last - first) if last > first else inside.astype(float)
            in_instance = np.maximum(overlap, 0) / (high - low)
        in_region, in_instance = (np.where(unknown, 1.0, share) for share in (in_region, in_instance))
        of_region, of_instance = of_region * in_region, of_instance * in_instance
        common_of_region, common_of_instance = common_of_region * in_region, common_of_instance * in_instance
    # An instance without a place matches nothing.
    nowhere = np.isnan(boxes[:, 0, 0])
    of_region[nowhere] = of_instance[nowhere] = common_of_region[nowhere] = 0.0
    return of_region, of_instance, _iou(common_of_region, common_of_instance)


def _iou(of_region: Array, of_instance: Array) -> Array:
    """The IoU from the shares of the intersection in both, 1 / (1 / s_r + 1 / s_i - 1)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = 1 / (1 / of_region + 1 / of_instance - 1)
    return np.where((of_region > 0) & (of_instance > 0), found, 0.0)

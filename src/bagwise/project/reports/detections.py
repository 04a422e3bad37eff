"""Detections: which instances are of which class, where and when they are, and how sure that is.

Of a bag b and a class c with the threshold t_c, the model's P(c in b) and P(i is c) of every instance i of b,

    c is in b       if people say so; where they do not say, if P(c in b) > t_c
    i is detected   if c is in b, nobody said that i is not c, and (P(i is c) > t_c or people said that i is c)

and if that gives no instance of a bag that c is in, the likeliest instance about which nobody said that it is not c; if
there is none, the bag itself. So a class that is predicted or confirmed in a bag has at least one detection in it, one
that is absent has none, and both agree with the predictions and labels of the bags.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.formats import OF_BAG, OF_INSTANCE, DetectionTable
from bagwise.kernels import Array
from bagwise.model import MIMLClassifier
from bagwise.project.imports.locations import Locations, file_row, moment, named_place
from bagwise.project.project import Project
from bagwise.project.storage.bag_filter import EVERYTHING, BagFilter
from bagwise.project.training.model_file import provenance_of

WHOLE_BAG = -1


@dataclass(frozen=True)
class Known:
    """What people said, or an import: of bags, and of single instances.

    Parameters
    ----------
    values : ndarray of shape (n_bags, n_classes)
        1 present, 0 absent, nan unknown.
    instances : dict of (int, int) to dict of int to bool
        By bag and class: whether each of some instances is of the class.

    Examples
    --------
    >>> Known(np.array([[1.0]]), {(0, 0): {2: False}}).instances[0, 0][2]
    False
    """

    values: Array
    instances: dict[tuple[int, int], dict[int, bool]] = field(default_factory=dict)

    @classmethod
    def of(cls, project: Project) -> "Known":
        """Return what is known of the bags of a project.

        Parameters
        ----------
        project : Project
            An open project.

        Returns
        -------
        Known
        """
        table, contents = project.labels(), project.contents
        values = np.full((len(contents.ids), len(project.classes)), np.nan)
        values[np.ix_(contents.kept_bags, contents.class_list.active)] = table.values
        position = {name: bag for bag, name in enumerate(contents.ids.tolist())}
        column = {name: number for number, name in enumerate(project.classes)}
        instances: dict[tuple[int, int], dict[int, bool]] = {}
        for one in table.placed:
            assert one.instance is not None
            pair = position[one.bag], column[one.label_class]
            instances.setdefault(pair, {})[one.instance] = one.present
        return cls(values, instances)


def detections_of(project: Project, threshold: float | None = None, wanted: BagFilter = EVERYTHING) -> DetectionTable:
    """Return the detections in all bags of a project that were not removed.

    Parameters
    ----------
    project : Project
        An open project.
    threshold : float, optional
        Used for all classes instead of the thresholds of the model.
    wanted : BagFilter
        Only in bags that were recorded there and then.

    Returns
    -------
    DetectionTable

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bagwise.formats import LabelTable, Source
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0], [9.0]]), np.array([[0.0]])], ["a", "b"])
    >>> labels = LabelTable(["a", "b"], ["high"], np.array([[1.0], [0.0]]))
    >>> with tempfile.TemporaryDirectory() as place, Project.create(f"{place}/p", source, labels) as project:
    ...     table = detections_of(project)
    >>> table.frame.select("bag", "class", "instance", "confirmed").rows()
    [('a', 'high', 1, 'bag')]
    """
    project.validate_known()
    model = project.model().classifier
    without = np.setdiff1d(np.arange(len(project.bags)), project.bags_passing(wanted)).tolist()
    table = detect(model, project.bags, project.classes, project.locations(), Known.of(project), threshold, without)
    return table.of_classes(project.active_classes)


def detect(
    model: MIMLClassifier,
    bags: Bags,
    classes: Sequence[str],
    locations: Locations,
    known: Known | None = None,
    threshold: float | None = None,
    without: Collection[int] = (),
) -> DetectionTable:
    """Return the detections in some bags.

    Parameters
    ----------
    model : MIMLClassifier
        Its thresholds decide what is detected.
    bags : Bags
        Where to look.
    classes : sequence of str
        The names of the model's classes.
    locations : Locations
        Where the bags are.
    known : Known, optional
        What people said.
    threshold : float, optional
        Used for all classes instead of the thresholds of the model.
    without : collection of int
        Positions of bags to leave out.

    Returns
    -------
    DetectionTable
        In the order of the bags and the instances in them.

    Raises
    ------
    BagwiseError
        If the threshold is not between 0 and 1.
    """
    if threshold is not None and not 0 <= threshold <= 1:
        raise BagwiseError(f"A threshold of {threshold:g}: it must be between 0 and 1.")
    limits = model.thresholds_ if threshold is None else np.full(len(classes), threshold)
    known = known or Known(np.full((len(bags), len(classes)), np.nan))
    searched, rows = np.ones(len(bags), bool), list[dict[str, Any]]()
    searched[list(without)] = False
    for positions in bags.portions():
        wanted = positions[searched[positions]]
        if not len(wanted):
            continue
        some = bags.select(wanted)
        of_bags, of_instances = model.predict_proba(some), model.predict_instance_proba(some)
        found = _detected(of_bags, of_instances, some.offsets, limits, known, wanted)
        located: tuple[int, Any] = (WHOLE_BAG, None)
        for b, instance, c in found:
            bag = int(wanted[b])
            if located[0] != bag:
                located = bag, locations.located(bag)
            span, source = locations.span(bag), locations.source(bag)
            place = span.place if instance == WHOLE_BAG else named_place(located[1], instance) or span.place
            is_known = known.instances.get((bag, c), {}).get(instance, False)
            of_bag = known.values[bag, c] == 1
            row = b if instance == WHOLE_BAG else int(some.offsets[b]) + instance
            rows.append(
                {
                    "file": span.file,
                    "site": span.site,
                    "recorded_at": "" if source is None else moment(source.file, place.get("start", source.start)),
                    **place,
                    "class": classes[c],
                    "probability": float((of_bags if instance == WHOLE_BAG else of_instances)[row, c]),
                    "threshold": float(limits[c]),
                    "bag": str(bags.ids[bag]),
                    "instance": None if instance == WHOLE_BAG else instance,
                    "bag_probability": float(of_bags[b, c]),
                    "confirmed": OF_INSTANCE if is_known else OF_BAG if of_bag else "",
                }
            )
    made = provenance_of(model)
    file_of = locations.files.file_of
    of_bags_searched = set(file_of[searched].tolist()) if len(file_of) else set()
    files = [file_row(file) for number, file in enumerate(locations.files.files) if number in of_bags_searched]
    return DetectionTable.of(rows, files, "" if made is None else made.name)


def _detected(
    of_bags: Array, of_instances: Array, offsets: Array, limits: Array, known: Known, bags: Array
) -> list[tuple[int, int, int]]:
    """The detections in some bags, by number among them, instance (or `WHOLE_BAG`) and class."""
    labels = known.values[bags]
    present = np.where(np.isnan(labels), of_bags > limits, labels == 1)
    said = np.full(of_instances.shape, np.nan)
    number = {int(bag): b for b, bag in enumerate(bags)}
    for (bag, c), instances in known.instances.items():
        if bag in number:
            for instance, is_of_class in instances.items():
                said[offsets[number[bag]] + instance, c] = is_of_class
    of_row = np.repeat(np.arange(len(bags)), np.diff(offsets))
    possible = present[of_row] & (said != 0)
    chosen = possible & ((of_instances > limits) | (said == 1))
    found = []
    for b, c in np.argwhere(present & ~np.logical_or.reduceat(chosen, offsets[:-1])).tolist():
        first, last = offsets[b : b + 2]
        if possible[first:last, c].any():
            likeliest = np.where(possible[first:last, c], of_instances[first:last, c], -1.0).argmax()
            chosen[first + likeliest, c] = True
        else:
            found.append((b, WHOLE_BAG, c))
    rows, columns = np.nonzero(chosen)
    instances_of_rows = rows - offsets[of_row[rows]]
    found += zip(of_row[rows].tolist(), instances_of_rows.tolist(), columns.tolist(), strict=True)
    return sorted(found)

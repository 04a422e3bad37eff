"""What the points of a map are coloured by: the labels of their bags, and what the model believes."""

from typing import Literal

import numpy as np

from bagwise.kernels import Array
from bagwise.project.project import Project
from bagwise.project.search.plane import Plane

BAGS_AT_A_TIME = 1000

Label = Literal["present", "absent", "unsure"]


def labels_of(project: Project, label_class: int) -> list[Label | None]:
    """Return what is known of every bag for a class.

    Parameters
    ----------
    project : Project
        The project.
    label_class : int
        Position of the class.

    Returns
    -------
    list of {"present", "absent", "unsure"} or None
        None where nothing is known, or the bag was removed.
    """
    values, unsure = project.known()
    words: dict[int, Label] = {1: "present", 0: "absent"}
    found: list[Label | None] = [None] * len(values)
    for bag in project.contents.kept_bags.tolist():
        found[bag] = "unsure" if unsure[bag, label_class] else words.get(int(values[bag, label_class]))
    return found


def beliefs_of_points(project: Project, plane: Plane, label_class: int) -> tuple[Array, Array]:
    """Return what the model of a project believes about the points of its map, computed for some bags at a time.

    Parameters
    ----------
    project : Project
        Its model (`Project.model`) has the beliefs.
    plane : Plane
        Its map.
    label_class : int
        Position of the class.

    Returns
    -------
    chance : ndarray, shape (n,)
        P(the instance is of the class).
    presence : ndarray, shape (n,)
        P(the class is in the bag of the instance).
    """
    model = project.model().classifier
    chance, presence = np.empty(len(plane.bags)), np.empty(len(plane.bags))
    edges = np.flatnonzero(np.diff(plane.bags, prepend=-1))
    for first in range(0, len(edges), BAGS_AT_A_TIME):
        last = edges[first + BAGS_AT_A_TIME] if first + BAGS_AT_A_TIME < len(edges) else None
        points = slice(edges[first], last)
        bags, of_bag = np.unique(plane.bags[points], return_inverse=True)
        some = project.bags.select(bags)
        chance[points] = model.predict_instance_proba(some)[some.offsets[of_bag] + plane.instances[points], label_class]
        presence[points] = model.predict_proba(some)[of_bag, label_class]
    return chance, presence

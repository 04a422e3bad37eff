"""A region of the map: a rectangle in a layout, and the bags that have an instance in it."""

import math
from dataclasses import dataclass

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.kernels import Array
from bagwise.project.project import Project


@dataclass(frozen=True)
class Region:
    """A rectangle on the map of a project.

    Parameters
    ----------
    layout : {"neighbours", "directions"}
        The layout that it is drawn in.
    left, right, bottom, top : float
        Its edges, in coordinates of the map.

    Examples
    --------
    >>> Region.parse("directions,-0.5,0.5,0,1").top
    1.0
    """

    layout: str
    left: float
    right: float
    bottom: float
    top: float

    @classmethod
    def parse(cls, text: str) -> "Region":
        """Return the region that is written as `LAYOUT,LEFT,RIGHT,BOTTOM,TOP`.

        Parameters
        ----------
        text : str
            As the page writes it.

        Returns
        -------
        Region

        Raises
        ------
        BagwiseError
            If it is not written so.
        """
        layout, *edges = text.split(",")
        try:
            numbers = [float(edge) for edge in edges]
        except ValueError:
            numbers = []
        if len(numbers) != 4 or not all(map(math.isfinite, numbers)):
            raise BagwiseError("A region of the map is written as LAYOUT,LEFT,RIGHT,BOTTOM,TOP, with four numbers.")
        return cls(layout, *numbers)

    def bags(self, project: Project) -> tuple[Array, Array]:
        """Return the bags with an instance in the region, and the first such instance of each.

        Parameters
        ----------
        project : Project
            The project; its map must have been computed.

        Returns
        -------
        bags : ndarray of int
            Positions of bags, in order.
        instances : ndarray of int
            Positions of instances in their bags.

        Raises
        ------
        BagwiseError
            If there is no such layout, or it is not computed yet.
        """
        plane = project.stored_map(self.layout)
        if plane is None:
            raise BagwiseError(
                "The map of these instances is not computed yet: open the map, and choose a region again."
            )
        points = plane.points_in(self.left, self.right, self.bottom, self.top)
        there, first = np.unique(plane.bags[points], return_index=True)
        return there, plane.instances[points][first]

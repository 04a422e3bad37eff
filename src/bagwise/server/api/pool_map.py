"""The map of the pool: where the instances are on a plane, their colours, and the bags of a region."""

from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Query
from pydantic import BaseModel

from bagwise.core.errors import BagwiseError
from bagwise.project.reports.review import position_of, still_open
from bagwise.project.search.colours import BAGS_AT_A_TIME, beliefs_of_points, labels_of
from bagwise.project.search.plane import LAYOUTS
from bagwise.project.search.region import Region
from bagwise.project.storage.bag_files import NO_SITE
from bagwise.server.api.review import BeliefOut, BeliefsOut, Count, Start
from bagwise.server.api.status import ModelOut
from bagwise.server.bags import bag_of
from bagwise.server.dependencies import REFUSED, CurrentMap, CurrentProject, Name, Person, Recorded, RegionText

DIGITS = 4

router = APIRouter(prefix="/api/map", tags=["map"], responses=REFUSED)

Layout = Literal["neighbours", "directions"]


class MapOut(BaseModel):
    """Points on a plane, from -1 to 1: the position of the bag of each, and of the instance in it.

    `layouts` are those that can be had now; `pending` says that others are being computed. `layout` is the one that
    the points are in, null while there is none. The points are all instances, or an even sample of `of`.
    """

    layouts: list[str]
    pending: bool
    layout: str | None
    of: int
    bags: list[int]
    instances: list[int]
    x: list[float]
    y: list[float]


class ColoursOut(BaseModel):
    """For each point: the label of its bag for the class (null: none), and what the model believes.

    `chance` is that the instance is of the class, `certainty` how sure the model is whether the class is in its bag,
    from 0 (a half) to 1, `site` the position in `sites` of where it was recorded (-1: not known), and `passing` whether
    it was recorded there and then.
    """

    labels: list[Literal["present", "absent", "unsure"] | None]
    chance: list[float]
    certainty: list[float]
    sites: list[str]
    site: list[int]
    passing: list[bool]


class RegionBagOut(BeliefOut):
    """A bag with an instance in the region (`evidence`), and its label for the class, null where it has none."""

    label: Literal["present", "absent", "unsure"] | None


class RegionOut(BeliefsOut):
    """Some of `of` bags with an instance in the region."""

    bags: list[RegionBagOut]  # type: ignore[assignment]


@router.get("")
def points(maps: CurrentMap, _: Person, layout: Layout | None = None) -> MapOut:
    """Return the map; where it is not computed yet, this starts it, and later requests find it."""
    found, pending = maps.newest()
    ready = [name for name in LAYOUTS if name in found]
    plane = found.get(layout or (ready[-1] if ready else ""))
    if plane is None:
        return MapOut(layouts=ready, pending=pending, layout=None, of=0, bags=[], instances=[], x=[], y=[])
    x, y = plane.coordinates.T.tolist()
    return MapOut(
        layouts=ready,
        pending=pending,
        layout=plane.layout,
        of=plane.of,
        bags=plane.bags.tolist(),
        instances=plane.instances.tolist(),
        x=x,
        y=y,
    )


@router.get("/colours")
def colours(
    project: CurrentProject, _: Person, recorded: Recorded, layout: Layout, class_name: Annotated[Name, Query()]
) -> ColoursOut:
    """Return what the points of a layout are coloured by."""
    plane, place = project.stored_map(layout), position_of(project, class_name)
    if plane is None:
        raise BagwiseError("The map is not computed yet: ask for it first.")
    chance, presence = beliefs_of_points(project, plane, place)
    labels = labels_of(project, place)
    files = project.contents.bag_files
    return ColoursOut(
        labels=[labels[bag] for bag in plane.bags.tolist()],
        chance=chance.round(DIGITS).tolist(),
        certainty=np.abs(2 * presence - 1).round(DIGITS).tolist(),
        sites=files.sites,
        site=files.site_of[plane.bags].tolist() if len(files.file_of) else [NO_SITE] * len(plane.bags),
        passing=recorded.mask(files)[plane.bags].tolist() if recorded else [True] * len(plane.bags),
    )


@router.get("/bags")
def bags_of_region(
    project: CurrentProject,
    person: Person,
    recorded: Recorded,
    region: RegionText,
    class_name: Annotated[Name, Query()],
    answered: Annotated[bool, Query(description="Also bags that have a label for the class.")] = False,
    order: Literal["most", "least"] = "most",
    start: Start = 0,
    count: Count = 20,
) -> RegionOut:
    """Return the bags with an instance in a region of the map, the most or the least likely first."""
    place, model = position_of(project, class_name), project.model()
    bags, instances = Region.parse(region).bags(project)
    wanted = recorded.mask(project.contents.bag_files) if answered else still_open(project, person, place, recorded)
    bags, instances = bags[wanted[bags]], instances[wanted[bags]]
    presence = np.concatenate(
        [
            np.empty(0),
            *(
                model.classifier.predict_proba(project.bags.select(bags[first : first + BAGS_AT_A_TIME]))[:, place]
                for first in range(0, len(bags), BAGS_AT_A_TIME)
            ),
        ]
    )
    by_belief = np.argsort(-presence if order == "most" else presence, kind="stable")
    labels = labels_of(project, place)
    shown = [
        RegionBagOut(
            bag=bag_of(project, int(bags[one])),
            belief=float(presence[one]),
            evidence=int(instances[one]),
            label=labels[int(bags[one])],
        )
        for one in by_belief[start : start + count].tolist()
    ]
    return RegionOut(of=len(bags), bags=shown, model=ModelOut.of(model.info))

"""The labels of a project with the instances that they are about, and where those are in the files of their bags."""

from dataclasses import replace

from bagwise.formats import LabelTable, PlacedLabel
from bagwise.ingest.extents import extent_of
from bagwise.project.project import Project
from bagwise.project.storage.bag_filter import EVERYTHING, BagFilter


def labels_with_places(project: Project, wanted: BagFilter = EVERYTHING) -> LabelTable:
    """Return the current labels, those of instances with their places, and the extents of the files of labelled bags.

    Parameters
    ----------
    project : Project
        An open project.
    wanted : BagFilter
        Only labels of bags that were recorded there and then.

    Returns
    -------
    LabelTable
        As `Project.labels` returns it; `placed` are the instances that answers pointed at or an import named, `extents`
        what is known of the files of bags with a label, and `spans` these files and the seconds that the bags are.
    """
    table, locations = project.labels(wanted), project.locations()
    position = {name: bag for bag, name in enumerate(project.contents.ids.tolist())}
    labelled = dict.fromkeys([*(bag for bag, _, _ in table.triples()), *(one.bag for one in table.placed)])
    media = {name: project.medium(position[name]) for name in labelled}
    extents = {name: extent for name, kept in media.items() if kept and (extent := extent_of(kept.medium, kept.path))}
    placed: list[PlacedLabel] = []
    for one in table.placed:
        kept = media[one.bag]
        place = None if kept is None or one.instance is None else kept.places[one.instance]
        placed.append(one if place is None else replace(one, place=place))
    spans = {name: locations.span(position[name]) for name in labelled} if locations.known else {}
    return replace(table, placed=placed, extents=extents, spans=spans)

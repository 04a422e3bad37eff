"""Bags are removed from a project and brought back; each time is noted with who and when, and nothing is deleted.

A removed bag is not asked about, not learned from, and in no export, prediction or estimate. What was said about it
stays among the answers and counts again once the bag is back.
"""

from collections.abc import Sequence

from bagwise.core.errors import BagwiseError
from bagwise.project.access.names import validate_name
from bagwise.project.state import ProjectState
from bagwise.project.storage import queries


def set_removed(state: ProjectState, names: Sequence[str], annotator: str, removed: bool) -> None:
    """Remove these bags, or bring them back; all or none. The model is fitted again to what is left."""
    validate_name(annotator)
    if not names:
        raise BagwiseError("Name at least one bag.")
    with state.lock, state.database.writing() as connection:
        contents = queries.contents(connection)
        bags = _positions(contents, names)
        for bag in bags:
            if (bag in contents.removed) == removed:
                reason = "was removed before" if removed else "was not removed"
                raise BagwiseError(f"The bag {contents.ids[bag]} {reason}.")
        if removed and len(contents.removed) + len(bags) == len(contents.ids):
            raise BagwiseError("This would remove every bag, and a project needs at least one.")
        queries.ensure_annotator(connection, annotator)
        queries.add_removals(connection, bags, annotator, removed)
    state.catch_up()


def _positions(contents: queries.Contents, names: Sequence[str]) -> list[int]:
    places = {name: place for place, name in enumerate(contents.ids.tolist())}
    missing = next((name for name in names if name not in places), None)
    if missing is not None:
        raise BagwiseError(f"There is no bag {missing} in the project.")
    return [places[name] for name in dict.fromkeys(names)]

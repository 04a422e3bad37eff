"""Remove and restore bags; each time is recorded with person and time, and nothing is deleted.

A removed bag is not asked about, not learned from, and not in any export, prediction or estimate. The answers about it
are kept and count again once the bag is restored.
"""

from collections.abc import Sequence

from bagwise.core.errors import BagwiseError
from bagwise.project.access.names import validate_name
from bagwise.project.state import ProjectState
from bagwise.project.storage import queries


def set_removed(state: ProjectState, names: Sequence[str], annotator: str, removed: bool) -> None:
    """Remove these bags, or restore them; all or none. The model is then fitted to the bags that are left.

    Raises
    ------
    BagwiseError
        Where a bag does not exist, was removed before (or was not), or none would be left.
    """
    validate_name(annotator)
    if not names:
        raise BagwiseError("Name at least one bag.")
    with state.lock, state.database.writing() as connection:
        contents = queries.contents(connection)
        bags = _positions(contents, names)
        for bag in bags:
            if (bag in contents.removed) == removed:
                reason = "was removed before" if removed else "was not removed"
                raise BagwiseError(f"Bag {contents.ids[bag]} {reason}.")
        if removed and len(contents.removed) + len(bags) == len(contents.ids):
            raise BagwiseError("This would remove every bag: a project needs at least one.")
        queries.ensure_annotator(connection, annotator)
        queries.add_removals(connection, bags, annotator, removed)
    state.catch_up()


def _positions(contents: queries.Contents, names: Sequence[str]) -> list[int]:
    positions = {name: position for position, name in enumerate(contents.ids.tolist())}
    missing = next((name for name in names if name not in positions), None)
    if missing is not None:
        raise BagwiseError(f"Bag {missing} does not exist in the project.")
    return [positions[name] for name in dict.fromkeys(names)]

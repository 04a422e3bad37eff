"""What is shown of a bag: its medium or its numbers, what is known of its instances, where and when it was recorded."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from pydantic import BaseModel

from bagwise.data.instance_labels import InstanceLabel
from bagwise.kernels import Array
from bagwise.project import Project
from bagwise.server.api.media import Medium, medium_of


class KnownInstance(BaseModel):
    """An instance that is known to be of the class, or not to be (`present` is false)."""

    instance: int
    class_name: str
    present: bool


class SourceOut(BaseModel):
    """Where and when a bag was recorded: the file, and the seconds of it; `words` says all that is known.

    `recorded_at` is when the bag begins, in local time of the recorder.
    """

    file: str
    start: float
    end: float | None
    site: str
    recorded_at: str | None
    words: str


class Bag(BaseModel):
    """What is shown of a bag: its medium, or else its instances, and the shape of one where it is a picture.

    `known` is what answers say of its instances; what people disagree about is left out.
    """

    id: str
    medium: Medium | None
    instances: list[list[float]]
    features: list[str]
    shape: tuple[int, int] | None
    known: list[KnownInstance]
    source: SourceOut | None


class Example(Bag):
    """A bag that has the class; `evidence` is the instance that shows it most, by the model."""

    evidence: int


def bag_of(project: Project, position: int) -> Bag:
    """A bag as it is shown."""
    fields = bag_fields(project, position, medium_of(project, position), project.known_instances(position))
    return Bag(**{**fields, "instances": shortened(fields["instances"])})


def bag_fields(
    project: Project, position: int, medium: Medium | None, known: Sequence[InstanceLabel]
) -> dict[str, Any]:
    """The fields of a `Bag`; its instances as an array."""
    shape = project.settings.picture
    return {
        "id": str(project.contents.ids[position]),
        "medium": medium,
        "instances": [] if medium else np.ascontiguousarray(project.bags[position]),
        "features": [] if medium or shape else project.contents.features,
        "shape": shape,
        "known": [
            {"instance": one.instance, "class_name": project.classes[one.label_class], "present": bool(one.present)}
            for one in known
        ],
        "source": source_of(project, position),
    }


def shortened(x: Array | list[Any]) -> list[list[float]]:
    """The numbers as Python has them, with no more digits than their type needs: 9 for float32, not 17."""
    found: list[list[float]] = orjson.loads(orjson.dumps(x, option=orjson.OPT_SERIALIZE_NUMPY))
    return found


def source_of(project: Project, position: int) -> SourceOut | None:
    """Where and when a bag was recorded, where its file is known."""
    source = project.source_of(position)
    if source is None:
        return None
    when = source.recorded_at
    return SourceOut(
        file=source.file.name,
        start=source.start,
        end=source.end,
        site=source.file.origin.site,
        recorded_at=None if when is None else when.isoformat(),
        words=source.words,
    )

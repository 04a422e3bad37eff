"""Find more like this: the bags nearest to an instance, to a bag, or to a file that is dropped on the page."""

import base64
import binascii
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from bagwise.core.errors import BagwiseError
from bagwise.project.reports.review import bag_named, position_of, still_open
from bagwise.server.api.review import BeliefOut, Count, Start
from bagwise.server.api.status import ModelOut
from bagwise.server.bags import bag_of
from bagwise.server.dependencies import REFUSED, CurrentProject, CurrentSearches, Name, Person, Recorded, Text
from bagwise.server.middleware import LARGEST_FILE

router = APIRouter(prefix="/api/similar", tags=["similar"], responses=REFUSED)

BagId = Annotated[str | None, Query(max_length=1000, description="Search from this bag.")]
InstanceOfBag = Annotated[
    int | None, Query(ge=0, lt=2**31, description="Search from this instance of the bag alone, counted from 0.")
]
FileKey = Annotated[str | None, Query(max_length=64, description="Search from a file that was sent before.")]


class SimilarBagOut(BeliefOut):
    """A bag, its nearest instance (`evidence`), how far that is, and what the model believes."""

    distance: float


class SimilarOut(BaseModel):
    """Some of `of` bags that this person could still decide for the class, the nearest first.

    `distance` is 1 minus the cosine where `measure` is cosine (embeddings), else euclidean.
    """

    of: int
    measure: str
    bags: list[SimilarBagOut]
    model: ModelOut


class FileIn(BaseModel):
    """A file to search for; its name says what it is, and its content is text of base 64."""

    name: Annotated[Text, Field(min_length=1, max_length=255)]
    content: Annotated[str, Field(max_length=LARGEST_FILE)]


class FileOut(BaseModel):
    """The key to search with, and how many instances the file became."""

    file: str
    name: str
    instances: int


@router.get("")
def similar(
    project: CurrentProject,
    searches: CurrentSearches,
    person: Person,
    recorded: Recorded,
    class_name: Annotated[Name, Query()],
    bag: BagId = None,
    instance: InstanceOfBag = None,
    file: FileKey = None,
    start: Start = 0,
    count: Count = 20,
) -> SimilarOut:
    """Return bags without an answer for the class, those with the nearest instance first."""
    if (bag is None) == (file is None):
        raise BagwiseError("Search from a bag or from a file: give one of both.")
    if instance is not None and bag is None:
        raise BagwiseError("Only of a bag of the project can one instance be searched for.")
    label_class = position_of(project, class_name)
    found = searches.similar(None if bag is None else bag_named(project, bag), instance, file, recorded)
    places = np.flatnonzero(still_open(project, person, label_class)[found.bags])
    shown, model = places[start : start + count], project.model()
    bags = found.bags[shown].tolist()
    beliefs = model.classifier.predict_proba(project.bags.select(bags))[:, label_class].tolist() if bags else []
    return SimilarOut(
        of=len(places),
        measure=found.measure,
        bags=[
            SimilarBagOut(
                bag=bag_of(project, position),
                belief=belief,
                evidence=int(found.instances[place]),
                distance=float(found.distances[place]),
            )
            for position, place, belief in zip(bags, shown, beliefs, strict=True)
        ],
        model=ModelOut.of(model.info),
    )


@router.post("/files")
def add_file(searches: CurrentSearches, _: Person, sent: FileIn) -> FileOut:
    """Segment and embed a file as those of the project were, to search for it; it does not become part of it."""
    try:
        content = base64.b64decode(sent.content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BagwiseError("The content is not text of base 64.") from error
    found = searches.add_file(sent.name, content)
    return FileOut(file=found.key, name=found.name, instances=len(found.instances))

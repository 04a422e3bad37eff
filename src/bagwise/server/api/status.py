"""Status of the project, and the model that predictions come from."""

from typing import Literal, Self

from fastapi import APIRouter
from pydantic import BaseModel

from bagwise.project import ModelInfo, status_of
from bagwise.server.dependencies import REFUSED, CurrentProject, CurrentSearches, Person

router = APIRouter(prefix="/api", tags=["progress"], responses=REFUSED)


class ClassOut(BaseModel):
    """The labels of a class: pairs known present and absent, unsure, and open."""

    name: str
    present: int
    absent: int
    unsure: int
    open: int


class ModelOut(BaseModel):
    """Which model predictions come from, as one `sentence` and by field.

    `kind` is `trained` while the model that `bagwise train` stored is current, else `online`; `stored` is the state of
    the stored model. `thresholds`: the probability above which each class is predicted; `metric`: what they are for.
    """

    kind: Literal["trained", "online"]
    answers: int
    thresholds: dict[str, float]
    metric: str | None
    stored: Literal["current", "outdated", "unusable", "none"]
    sentence: str

    @classmethod
    def of(cls, info: ModelInfo) -> Self:
        """Convert the description of a model."""
        return cls(**info.as_json())


class SiteOut(BaseModel):
    """A site: its recordings, bags, answers about these, and how many of their `pairs` are known.

    The name is empty for all bags of which the site is not known.
    """

    name: str
    recordings: int
    bags: int
    answers: int
    known: int
    pairs: int


class StatusOut(BaseModel):
    """Counts of the project; `agreement`: how often answers are what the model believed before, by the audits.

    `pointed` of the answers say of an instance whether it is of the class. `sites` is empty where none is known;
    `first_date` and `last_date` are the days of the first and the last recording. `accepts_files`: whether bags like a
    file can be searched for, which is segmented as those of the project were.
    """

    name: str
    annotator: str
    bag_word: str
    bags: int
    answers: int
    pointed: int
    filled: float
    agreement: float | None
    audits: int
    seconds_per_answer: float | None
    classes: list[ClassOut]
    model: ModelOut
    sites: list[SiteOut]
    first_date: str | None
    last_date: str | None
    accepts_files: bool


@router.get("/status")
def status(project: CurrentProject, searches: CurrentSearches, person: Person) -> StatusOut:
    """Return how many labels and answers there are, by class, and the model in use."""
    found = status_of(project)
    share = found.agreement
    return StatusOut(
        name=found.name,
        annotator=person,
        bag_word=project.settings.display.bag,
        bags=found.bags,
        answers=found.answers,
        pointed=found.pointed,
        filled=found.filled,
        agreement=None if share is None else share.value,
        audits=0 if share is None else share.of,
        seconds_per_answer=found.seconds_per_answer,
        classes=[ClassOut(**vars(one)) for one in found.classes],
        model=ModelOut.of(found.model),
        sites=[SiteOut(**vars(one)) for one in found.sites],
        first_date=found.first_date,
        last_date=found.last_date,
        accepts_files=searches.accepts_files,
    )

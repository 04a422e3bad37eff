"""A machine-learning backend of Label Studio: predictions in the order of the questions, annotations as answers.

Label Studio asks for predictions (`/predict`) and sends every annotation (`/webhook`). A task is a bag, found by the
names in its data. The score of a prediction is the place of the bag among the questions of the project, so that *lowest
score first* is the order in which Bagwise would ask. Annotations become events of the person who made them, by
`Project.annotate`. Label Studio does not send a webhook again that failed, but it sends the annotations of a task with
every request for its prediction: those that are not known are saved then.
"""

import datetime
import logging
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any
from urllib.parse import parse_qs, unquote, urlsplit

from fastapi import APIRouter, Depends, Request
from fastapi.security import HTTPBasic, HTTPBasicCredentials
from pydantic import BaseModel

from bagwise.core.errors import BagwiseError
from bagwise.formats import PlacedLabel, PredictionTable
from bagwise.formats.label_studio import Control, annotation_labels, controls, prediction_result
from bagwise.ingest.extents import extent_of
from bagwise.project import Annotation, NotAllowed, NotSignedIn, Project, predict
from bagwise.project.access.invitations import Shown
from bagwise.project.imports.bag_names import same_as_bags
from bagwise.server.dependencies import REFUSED, RESERVED, Bearer, CurrentProject, known_by

PREFIX = "/label-studio"
MODEL = "bagwise"
"""The version of all predictions: Label Studio orders tasks by those with the title of the backend as their version."""
RANKED = 2000
LONGEST_SECONDS = 86400.0
DELETED = ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED")
SAVED = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_UPDATED")
# An uploaded file is called as it was, after eight digits and a hyphen.
UPLOAD_DIGITS = 8

logger = logging.getLogger(__name__)

Json = dict[str, Any]
Basic = Annotated[
    HTTPBasicCredentials | None,
    Depends(HTTPBasic(auto_error=False, description="The name of an adjudicator, and the token as the password.")),
]


async def connected(request: Request, project: CurrentProject, bearer: Bearer, basic: Basic) -> str:
    """Return whose token Label Studio has. It answers for others, so where people sign in it takes an adjudicator's."""
    token = basic.password if basic is not None else bearer.credentials if bearer is not None else None
    name = await known_by(request, Shown(token))
    if name is None:
        annotator: str = request.app.state.annotator
        return annotator
    if basic is not None and basic.username != name:
        raise NotSignedIn(f"This token is not one of {basic.username}.")
    if name not in project.contents.adjudicators:
        raise NotAllowed(f"{name} is not an adjudicator: `bagwise invite DIR NAME --adjudicator` makes a token for it.")
    return name


router = APIRouter(prefix=PREFIX, tags=["label studio"], dependencies=[Depends(connected)], responses=REFUSED)


class HealthOut(BaseModel):
    """That the server runs."""

    status: str
    model_class: str


class VersionOut(BaseModel):
    """The version of the model: it changes with every answer, so that predictions are never out of date."""

    model_version: str


class PredictIn(BaseModel):
    """Tasks as Label Studio sends them, with their annotations, and the labelling configuration."""

    tasks: list[Json]
    label_config: str


class PredictionOut(BaseModel):
    """The prediction of one task; the lowest score is the most useful question."""

    result: list[Json]
    score: float
    model_version: str


class PredictionsOut(BaseModel):
    """One prediction for each task."""

    results: list[PredictionOut]
    model_version: str


class SavedOut(BaseModel):
    """How many events were saved."""

    events: int


@router.get("")
@router.get("/", include_in_schema=False)
@router.get("/health")
def health() -> HealthOut:
    """Say that the server runs."""
    return HealthOut(status="UP", model_class="Bagwise")


@router.post("/setup")
def setup(project: CurrentProject, _: Json) -> VersionOut:
    """Return the version of the model."""
    return VersionOut(model_version=_version(project))


def _version(project: Project) -> str:
    project.catch_up()
    return f"{MODEL}-{len(project.events)}"


@router.post("/predict")
def predictions(project: CurrentProject, sent: PredictIn) -> PredictionsOut:
    """Save annotations that are not known yet; return predictions whose scores are the order of the questions."""
    asked = controls(sent.label_config)
    bags = _bags_of(project, [_data(task) for task in sent.tasks])
    _catch_up(project, sent.tasks, bags, asked)
    known, scores = sorted({bag for bag in bags if bag is not None}), _scores(project)
    table = None
    if known and _has_learned(project):
        active = project.contents.class_list.active.tolist()
        table = predict(project.model().classifier, project.bags.select(known), project.classes, only=active)
    rows = {bag: row for row, bag in enumerate(known)}
    found = [
        PredictionOut(
            result=[] if bag is None or table is None else _result(project, asked, bag, rows[bag], table),
            score=1.0 if bag is None else scores.get(bag, 1.0),
            model_version=MODEL,
        )
        for bag in bags
    ]
    return PredictionsOut(results=found, model_version=_version(project))


def _has_learned(project: Project) -> bool:
    try:
        project.validate_known()
    except BagwiseError:
        return False
    return True


def _scores(project: Project) -> dict[int, float]:
    """The place of each bag among the best questions, from 0 to 1."""
    found: dict[int, float] = {}
    for place, question in enumerate(project.rank(RANKED).questions):
        found.setdefault(question.bag, place / RANKED)
    return found


def _result(project: Project, asked: Sequence[Control], bag: int, row: int, table: PredictionTable) -> list[Json]:
    """The predicted classes of a bag, and the places of the instances that show them most."""
    kept = project.medium(bag)
    likely, placed = [], []
    for label_class in table.predicted[row].nonzero()[0].tolist():
        name, instance = table.classes[label_class], int(table.evidence[row, label_class])
        likely.append(name)
        place = None if kept is None else kept.places[instance]
        if place is not None:
            label = PlacedLabel(table.ids[row], name, True, instance, place)
            placed.append((label, float(table.probability[row, label_class])))
    extent = extent_of(kept.medium, kept.path) if kept is not None and placed else None
    return prediction_result(asked, likely, placed, extent)


@router.post("/webhook")
@router.post("/train")
def webhook(project: CurrentProject, sent: Json) -> SavedOut:
    """Save what an annotation says, or undo what a deleted one said; other actions need nothing."""
    before, action = len(project.events), sent.get("action")
    if action in DELETED:
        for one in _several(sent.get("annotations", sent.get("annotation"))):
            project.annotate(Annotation(_id(one), 0, "", None))
    elif action in SAVED:
        asked = controls(_text(_dictionary(sent.get("project")).get("label_config")))
        annotations, tasks = _several(sent.get("annotation")), _several(sent.get("task"))
        if not annotations or len(tasks) != len(annotations):
            raise BagwiseError("The webhook has no annotation with its task: turn on *Send payload* in Label Studio.")
        for annotation, task, bag in zip(
            annotations, tasks, _bags_of(project, [_data(task) for task in tasks]), strict=True
        ):
            if bag is None:
                raise BagwiseError(
                    f"Task {task.get('id')} is no bag of the project: put its id into the data as `bag`."
                )
            project.annotate(_annotation(project, annotation, bag, asked))
    elif "annotations" in sent:
        tasks = _several(sent["annotations"])
        asked = controls(_text(sent.get("label_config")))
        _catch_up(project, tasks, _bags_of(project, [_data(task) for task in tasks]), asked)
    return SavedOut(events=len(project.events) - before)


def _catch_up(project: Project, tasks: Sequence[Json], bags: Sequence[int | None], asked: Sequence[Control]) -> None:
    """Save the annotations of tasks that are newer than what is known of them."""
    known = project.annotation_versions(RESERVED)
    for task, bag in zip(tasks, bags, strict=True):
        for annotation in _several(task.get("annotations")) if bag is not None else []:
            try:
                if _edited(annotation) > known.get(_id(annotation), -1):
                    project.annotate(_annotation(project, annotation, bag or 0, asked))
            except BagwiseError as error:
                logger.warning("an annotation of Label Studio was not saved: %s", error)


def _annotation(project: Project, sent: Json, bag: int, asked: Sequence[Control]) -> Annotation:
    """An annotation; one that was skipped says nothing."""
    number, name = _number(sent.get("id")), str(project.contents.ids[bag])
    skipped = bool(sent.get("was_cancelled"))
    labels = annotation_labels(name, number, [] if skipped else sent.get("result"), [] if skipped else asked)
    user, seconds = sent.get("completed_by"), sent.get("lead_time")
    timed = isinstance(seconds, int | float) and 0 <= seconds <= LONGEST_SECONDS
    person = project.settings.label_studio.name_of(_number(user.get("id") if isinstance(user, dict) else user))
    return Annotation(_id(sent), _edited(sent), person, labels, seconds if timed else None)


def _id(annotation: Json) -> str:
    return f"{RESERVED}{_number(annotation.get('id'))}"


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise BagwiseError(f"{value!r} is not the number of an annotation or of a user of Label Studio.")
    return value


def _edited(annotation: Json) -> int:
    """When the annotation was last changed, in microseconds: later versions are larger."""
    at = annotation.get("updated_at")
    try:
        moment = datetime.datetime.fromisoformat(_text(at))
    except ValueError as error:
        raise BagwiseError(f"{at!r} is not the time at which an annotation was updated.") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    since = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return max(since // datetime.timedelta(microseconds=1), 0)


def _bags_of(project: Project, tasks: Sequence[Json]) -> list[int | None]:
    """The bag of each task, by the names in its data: `bag`, `id`, or the name of a file; None where it has none."""
    position = {name: place for place, name in enumerate(project.contents.ids.tolist())}
    names = [list(_names(data)) for data in tasks]
    same = same_as_bags(list(dict.fromkeys(name for some in names for name in some)), position)
    return [next((position[same[name]] for name in some if same[name] in position), None) for some in names]


def _names(data: Json) -> Iterator[str]:
    """What the bag of a task may be called, the likeliest first."""
    for value in [*(data[key] for key in ("bag", "id") if key in data), *data.values()]:
        if isinstance(value, int) and not isinstance(value, bool):
            yield str(value)
        if not isinstance(value, str) or len(value) > 2000:
            continue
        yield value
        try:
            address = urlsplit(value)
        except ValueError:
            continue
        # Files of a local storage are named in the query: /data/local-files/?d=folder/marsh-3.wav.
        for path in (*parse_qs(address.query).get("d", []), unquote(address.path)):
            yield path
            file = PurePosixPath(path).name
            yield file
            digits, _, uploaded = file.partition("-")
            if len(digits) == UPLOAD_DIGITS and uploaded:
                yield uploaded


def _data(task: Any) -> Json:
    return _dictionary(_dictionary(task).get("data"))


def _dictionary(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _several(value: Any) -> list[Json]:
    """One object, or a list of them."""
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

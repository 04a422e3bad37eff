"""The API and the page. Everything the page does goes through the API, so a script can do it as well."""

from pathlib import Path
from typing import Annotated, Literal

from fastapi import FastAPI, HTTPException, Query
from fastapi.responses import FileResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, Field

from bagwise.errors import BagwiseError
from bagwise.project import AlreadyAnswered, Event, Project, status_of
from bagwise.server import quality
from bagwise.server.safety import Guard

STATIC = Path(__file__).parent / "static"
MOST_AT_ONCE = 20
EXAMPLES = 3

Key = Annotated[str, Field(min_length=1, max_length=64)]


class Bag(BaseModel):
    """What is shown of a bag: its instances, and the shape of one where it is a picture."""

    id: str
    instances: list[list[float]]
    shape: tuple[int, int] | None


class QuestionOut(BaseModel):
    """*Is the class in the bag?* `belief` is for those who ask for it."""

    key: str
    bag: Bag
    bag_word: str
    class_name: str
    evidence: int
    audit: bool
    belief: float
    examples: list[Bag]


class AnswerIn(BaseModel):
    """An answer to a question; sent twice it is saved once."""

    key: Key
    answer: Literal["present", "absent", "unsure", "skipped"]
    seconds: Annotated[float | None, Field(ge=0, le=86400)] = None
    highlighted: bool = True


class UndoIn(BaseModel):
    """Take back the last answer; sent twice it takes back one."""

    key: Key


class CorrectionIn(BaseModel):
    """Say anew what answer `number` said."""

    key: Key
    number: Annotated[int, Field(ge=1, lt=2**31)]
    answer: Literal["present", "absent", "unsure"]


class EventOut(BaseModel):
    """What was saved."""

    number: int
    kind: str
    bag_id: str
    class_name: str
    answer: str
    annotator: str
    at: str
    replaces: int | None


class ClassOut(BaseModel):
    """How far a class is."""

    name: str
    present: int
    absent: int
    unsure: int
    open: int


class StatusOut(BaseModel):
    """How far the project is; `quality` is how often the model was right about audit questions."""

    name: str
    annotator: str
    bag_word: str
    bags: int
    answers: int
    filled: float
    quality: float | None
    quality_low: float | None
    quality_high: float | None
    audits: int
    seconds_per_answer: float | None
    classes: list[ClassOut]


class Refusal(BaseModel):
    """One sentence."""

    detail: str


REFUSED = {code: {"model": Refusal} for code in (400, 403, 409, 411, 413, 415, 421)}


def application(project: Project, annotator: str) -> FastAPI:
    """The server of one project for one person on this machine."""
    app = FastAPI(title=f"Bagwise: {project.settings.name}", docs_url=None, redoc_url=None, responses=REFUSED)  # type: ignore[arg-type]
    app.add_middleware(Guard)

    @app.exception_handler(BagwiseError)
    async def refuse(_: object, error: BagwiseError) -> None:
        raise HTTPException(409 if isinstance(error, AlreadyAnswered) else 400, str(error))

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    @app.get("/favicon.ico", include_in_schema=False)
    def icon() -> RedirectResponse:
        return RedirectResponse("/static/icon.svg")

    app.include_router(quality.router(project))
    app.mount("/static", StaticFiles(directory=STATIC), name="static")

    @app.get("/api/questions/next")
    def next_questions(count: Annotated[int, Query(ge=1, le=MOST_AT_ONCE)] = 1) -> list[QuestionOut]:
        """Up to `count` questions; asking again without answering gives the same."""
        return [
            QuestionOut(
                key=one.key,
                bag=bag_of(one.bag),
                bag_word=project.settings.display.bag,
                class_name=one.class_name,
                evidence=one.evidence,
                audit=one.audit,
                belief=one.belief,
                examples=examples_of(one.label_class),
            )
            for one in project.ask(annotator, count)
        ]

    @app.post("/api/answers")
    def save_answer(said: AnswerIn) -> EventOut:
        """Save an answer; it is durable when this returns."""
        shown = "highlighted" if said.highlighted else "not highlighted"
        return event_out(project.answer(said.key, annotator, said.answer, said.seconds, shown))

    @app.post("/api/undo")
    def undo(said: UndoIn) -> EventOut:
        """Take back the last answer."""
        return event_out(project.undo(annotator, said.key))

    @app.post("/api/corrections")
    def correct(said: CorrectionIn) -> EventOut:
        """Correct an answer; both stay in the record."""
        return event_out(project.correct(said.number, annotator, said.answer, said.key))

    @app.get("/api/answers")
    def answers(count: Annotated[int, Query(ge=1, le=500)] = 50) -> list[EventOut]:
        """The newest answers that stand, newest first."""
        project.catch_up()
        return [event_out(event) for event in reversed(project.votes.all_effective()[-count:])]

    @app.get("/api/status")
    def status() -> StatusOut:
        """How far the project is."""
        found = status_of(project)
        share = found.agreement
        return StatusOut(
            name=found.name,
            annotator=annotator,
            bag_word=project.settings.display.bag,
            bags=found.bags,
            answers=found.answers,
            filled=found.filled,
            quality=None if share is None else share.value,
            quality_low=None if share is None else share.low,
            quality_high=None if share is None else share.high,
            audits=0 if share is None else share.of,
            seconds_per_answer=found.seconds_per_answer,
            classes=[ClassOut(**vars(one)) for one in found.classes],
        )

    def bag_of(position: int) -> Bag:
        instances = [[float(value) for value in row] for row in project.bags[position]]
        return Bag(id=str(project.contents.ids[position]), instances=instances, shape=project.settings.picture)

    def examples_of(label_class: int) -> list[Bag]:
        return [bag_of(position) for position in project.examples(label_class, EXAMPLES)]

    def event_out(event: Event) -> EventOut:
        return EventOut(
            number=event.number,
            kind=event.kind,
            bag_id=str(project.contents.ids[event.bag]),
            class_name=project.classes[event.label_class],
            answer=event.answer,
            annotator=event.annotator,
            at=event.at,
            replaces=event.replaces,
        )

    return app

"""Classes: what they are, and changing them while others answer; notes about bags and questions."""

import base64
import binascii
import tempfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query
from fastapi import Path as InPath
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field

from bagwise.core.errors import BagwiseError
from bagwise.ingest import media
from bagwise.project import Project
from bagwise.project.answers.notes import Note
from bagwise.project.classes import examples
from bagwise.project.reports.review import bag_named, position_of
from bagwise.project.storage.class_list import LabelClass
from bagwise.server.api.media import HEADERS
from bagwise.server.dependencies import REFUSED, CurrentProject, Key, Name, Person

LARGEST_EXAMPLE = examples.LARGEST // 3 * 4 + 8
"""Characters of an example in base64."""

router = APIRouter(prefix="/api", tags=["classes"], responses=REFUSED)

Description = Annotated[str, Field(max_length=10_000)]


class GuideOut(BaseModel):
    """What is said of a class: its other names, what belongs to it, and the address of an example.

    `example_kind` is `picture` or `sound`, null without one.
    """

    scientific_name: str
    common_name: str
    description: str
    example: str | None
    example_kind: str | None


class ClassDetailsOut(GuideOut):
    """A class; it is asked about where it is neither `retired` nor merged into another.

    `members` are the names of the classes that it was merged from; `split`: it was, and they are apart again.
    """

    name: str
    retired: bool
    merged_into: str | None
    members: list[str]
    split: bool


class ClassesOut(BaseModel):
    """All classes, by position, and whether the person may change them."""

    classes: list[ClassDetailsOut]
    may_change: bool


class ClassIn(BaseModel):
    """A new class."""

    name: Name
    scientific_name: Name = ""
    common_name: Name = ""
    description: Description = ""


class NameIn(BaseModel):
    """A class, by name."""

    name: Name


class RenameIn(BaseModel):
    """A class and its new name."""

    name: Name
    to: Name


class MergeIn(BaseModel):
    """Two classes or more, and the name of the class that is made of them."""

    names: Annotated[list[Name], Field(min_length=2, max_length=100)]
    into: Name


class ExampleIn(BaseModel):
    """A picture or sound: the name of its file, whose suffix says what it is, and its bytes in base64."""

    file: Name
    content: Annotated[str, Field(max_length=LARGEST_EXAMPLE)]


class DescribeIn(BaseModel):
    """What is to be said of a class; what is left out stays as it is."""

    name: Name
    scientific_name: Name | None = None
    common_name: Name | None = None
    description: Description | None = None
    example: ExampleIn | None = None


class ClassChangeOut(BaseModel):
    """What a person did to a class, after which answer."""

    number: int
    at: str
    annotator: str
    class_name: str
    kind: str
    value: dict[str, Any]
    after: int


class NoteIn(BaseModel):
    """A note about a bag, or about a question; sent twice it is saved once."""

    key: Key
    bag: Name
    class_name: Name | None = None
    text: Annotated[str, Field(min_length=1, max_length=5000)]


class NoteOut(BaseModel):
    """A note."""

    number: int
    at: str
    annotator: str
    bag_id: str
    class_name: str | None
    text: str


@router.get("/classes")
def classes(project: CurrentProject, person: Person) -> ClassesOut:
    """List all classes, with what is said of them."""
    project.catch_up()
    return classes_out(project, person)


@router.get("/classes/changes")
def changes(project: CurrentProject, _: Person) -> list[ClassChangeOut]:
    """List what was done to classes, in order."""
    return [
        ClassChangeOut(
            number=one.number,
            at=one.at,
            annotator=one.annotator,
            class_name=project.classes[one.label_class],
            kind=one.kind,
            value=one.value,
            after=one.after,
        )
        for one in project.class_changes.history()
    ]


@router.get(
    "/classes/{position}/example",
    response_class=FileResponse,
    responses={404: {"description": "It has no example."}},
)
def example(project: CurrentProject, _: Person, position: Annotated[int, InPath(ge=0, lt=2**31)]) -> FileResponse:
    """The picture or sound that is an example of the class at this position."""
    class_list = project.contents.class_list
    name = class_list[position].example if position < len(class_list) else ""
    path = examples.path_of(project.folder, name)
    if not name or not path.is_file():
        raise HTTPException(404, "This class has no example.")
    return FileResponse(path, media_type=media.type_of(path.suffix).content, headers=HEADERS)


@router.post("/classes")
def add_class(project: CurrentProject, person: Person, sent: ClassIn) -> ClassesOut:
    """Add a class. Only an adjudicator, the owner or the only person may change classes."""
    project.class_changes.add(
        sent.name,
        person,
        scientific_name=sent.scientific_name,
        common_name=sent.common_name,
        description=sent.description,
    )
    return classes_out(project, person)


@router.post("/classes/rename")
def rename_class(project: CurrentProject, person: Person, sent: RenameIn) -> ClassesOut:
    """Give a class another name."""
    project.class_changes.rename(sent.name, sent.to, person)
    return classes_out(project, person)


@router.post("/classes/describe")
def describe_class(project: CurrentProject, person: Person, sent: DescribeIn) -> ClassesOut:
    """Say what belongs to a class, and give an example of it."""
    details = sent.model_dump(include={"scientific_name", "common_name", "description"}, exclude_none=True)
    if sent.example is None:
        project.class_changes.describe(sent.name, person, **details)
        return classes_out(project, person)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"example{Path(sent.example.file).suffix[:10].lower()}"
        try:
            path.write_bytes(base64.b64decode(sent.example.content, validate=True))
        except (binascii.Error, ValueError) as error:
            raise BagwiseError("The example is not base64.") from error
        project.class_changes.describe(sent.name, person, path, **details)
    return classes_out(project, person)


@router.post("/classes/merge")
def merge_classes(project: CurrentProject, person: Person, sent: MergeIn) -> ClassesOut:
    """Make one class of several."""
    project.class_changes.merge(sent.names, sent.into, person)
    return classes_out(project, person)


@router.post("/classes/split")
def split_class(project: CurrentProject, person: Person, sent: NameIn) -> ClassesOut:
    """Undo a merge."""
    project.class_changes.split(sent.name, person)
    return classes_out(project, person)


@router.post("/classes/retire")
def retire_class(project: CurrentProject, person: Person, sent: NameIn) -> ClassesOut:
    """Ask no more about a class."""
    project.class_changes.retire(sent.name, person)
    return classes_out(project, person)


@router.post("/classes/restore")
def restore_class(project: CurrentProject, person: Person, sent: NameIn) -> ClassesOut:
    """Ask about a retired class again."""
    project.class_changes.restore(sent.name, person)
    return classes_out(project, person)


@router.get("/notes")
def notes(
    project: CurrentProject, _: Person, bag: Annotated[Name | None, Query(description="Only about this bag.")] = None
) -> list[NoteOut]:
    """List what people noted, in order."""
    found = project.notes.all() if bag is None else project.notes.of(bag_named(project, bag))
    return [note_out(project, one) for one in found]


@router.post("/notes")
def add_note(project: CurrentProject, person: Person, sent: NoteIn) -> NoteOut:
    """Note something about a bag or a question; nothing is learned from it."""
    label_class = None if sent.class_name is None else position_of(project, sent.class_name)
    return note_out(project, project.notes.add(person, bag_named(project, sent.bag), sent.text, label_class, sent.key))


def note_out(project: Project, note: Note) -> NoteOut:
    """A note with the names of what it is about."""
    return NoteOut(
        number=note.number,
        at=note.at,
        annotator=note.annotator,
        bag_id=str(project.contents.ids[note.bag]),
        class_name=None if note.label_class is None else project.classes[note.label_class],
        text=note.text,
    )


def guide_of(position: int, one: LabelClass) -> GuideOut:
    """What is said of a class."""
    suffix = Path(one.example).suffix
    return GuideOut(
        scientific_name=one.scientific_name,
        common_name=one.common_name,
        description=one.description,
        # The name is that of the content, so a cached example stays valid.
        example=f"/api/classes/{position}/example?version={one.example[:12]}" if one.example else None,
        example_kind=media.renderer_of(media.medium_of(suffix)) if one.example else None,
    )


def classes_out(project: Project, person: str) -> ClassesOut:
    """All classes, and whether the person may change them."""
    class_list = project.contents.class_list
    return ClassesOut(
        classes=[
            ClassDetailsOut(
                **guide_of(place, one).model_dump(),
                name=class_list.names[place],
                retired=one.retired,
                merged_into=None if one.merged_into is None else class_list.names[one.merged_into],
                members=[class_list[member].name for member in class_list.members.get(place, ())],
                split=one.is_split,
            )
            for place, one in enumerate(class_list)
        ],
        may_change=project.class_changes.may_change(person),
    )

"""`bagwise classes` and `bagwise notes`: the classes of a project and what happened to them; what people noted."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from bagwise.cli._app import app, console, say
from bagwise.cli._projects import AsJson, Folder, Name, me_or
from bagwise.core.errors import BagwiseError
from bagwise.project import Project, status_of
from bagwise.project.classes.class_file import read_class_file
from bagwise.project.reports.review import bag_named, position_of
from bagwise.project.storage.class_list import ClassChange, LabelClass


@app.command()
def classes(
    folder: Folder,
    add: Annotated[str | None, typer.Option(metavar="CLASS", help="Add a class.")] = None,
    add_from: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Add those of a file that are new, and describe all."),
    ] = None,
    rename: Annotated[tuple[str, str], typer.Option(metavar="CLASS NAME", help="Give a class another name.")] = (
        "",
        "",
    ),
    describe: Annotated[str | None, typer.Option(metavar="CLASS", help="Set what is said of a class below.")] = None,
    merge: Annotated[
        list[str] | None, typer.Option(metavar="CLASS", help="A class to merge with others; several times.")
    ] = None,
    into: Annotated[str, typer.Option(metavar="NAME", help="The name of the merged class.")] = "",
    split: Annotated[str | None, typer.Option(metavar="CLASS", help="Undo a merge.")] = None,
    retire: Annotated[str | None, typer.Option(metavar="CLASS", help="Ask no more about a class.")] = None,
    restore: Annotated[str | None, typer.Option(metavar="CLASS", help="Ask about a retired class again.")] = None,
    text: Annotated[str | None, typer.Option(help="What belongs to the class and what does not.")] = None,
    scientific: Annotated[str | None, typer.Option(metavar="NAME", help="Its scientific name.")] = None,
    common: Annotated[str | None, typer.Option(metavar="NAME", help="Its common name.")] = None,
    example: Annotated[Path | None, typer.Option(help="A picture or sound of it.")] = None,
    history: Annotated[
        bool, typer.Option("--history", help="List what was done to classes, by whom and when.")
    ] = False,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """List the classes of a project, or change one: add, rename, describe, merge, split, retire, restore."""
    chosen = [add, add_from, rename[0] or None, describe, merge, split, retire, restore]
    if sum(one is not None for one in chosen) > 1:
        raise BagwiseError("Give one change at a time.")
    details = {"description": text, "scientific_name": scientific, "common_name": common}
    given = {key: value for key, value in details.items() if value is not None}
    if (given or example is not None) and add is None and describe is None:
        raise BagwiseError("Say with --describe CLASS or --add CLASS what that is said of.")
    with Project.open(folder) as project:
        changes, me = project.class_changes, me_or(name)
        if add is not None:
            changes.add(add, me, **given)
            if example is not None:
                changes.describe(add, me, example)
        elif add_from is not None:
            changes.add_all(read_class_file(add_from), me)
        elif rename[0]:
            changes.rename(*rename, me)
        elif describe is not None:
            changes.describe(describe, me, example, **given)
        elif merge is not None:
            changes.merge(merge, into or merge[0], me)
        elif split is not None:
            changes.split(split, me)
        elif retire is not None:
            changes.retire(retire, me)
        elif restore is not None:
            changes.restore(restore, me)
        if history:
            _show_history(project, as_json)
        else:
            _show_classes(project, as_json)


def _show_classes(project: Project, as_json: bool) -> None:
    counts = {one.name: one for one in status_of(project).classes}
    class_list = project.contents.class_list
    if as_json:
        rows = [
            {
                **vars(one),
                "name": class_list.names[place],
                "merged_into": None if one.merged_into is None else class_list.names[one.merged_into],
                "present": None if (known := counts.get(class_list.names[place])) is None else known.present,
                "absent": None if known is None else known.absent,
            }
            for place, one in enumerate(class_list)
        ]
        print(json.dumps(rows, indent=2))
        return
    table = Table("class", "other names", "present", "absent", "open", "description")
    for place in class_list.active.tolist():
        one, known = class_list[place], counts[class_list.names[place]]
        numbers = (str(number) for number in (known.present, known.absent, known.open))
        table.add_row(escape(one.name), escape(other_names(one)), *numbers, escape(one.description))
    console.print(table)
    gone = [class_list.names[place] for place, one in enumerate(class_list) if one.retired and not one.is_split]
    if gone:
        say(f"Retired: {escape(', '.join(gone))} (bagwise classes {escape(str(project.folder))} --restore CLASS).")
    for place, members in class_list.members.items():
        if class_list[place].is_active:
            names = ", ".join(class_list[member].name for member in members)
            say(f"{escape(class_list[place].name)} was merged from {escape(names)}.")


def other_names(one: LabelClass) -> str:
    """Return the scientific and the common name of a class, where they are not its name."""
    return ", ".join(name for name in (one.scientific_name, one.common_name) if name and name != one.name)


def _show_history(project: Project, as_json: bool) -> None:
    found = project.class_changes.history()
    if as_json:
        print(json.dumps([{**vars(one), "class": project.classes[one.label_class]} for one in found], indent=2))
        return
    table = Table("when", "who", "class", "what", "after answer")
    for one in found:
        words = _in_words(project, one)
        table.add_row(
            one.at[:19], escape(one.annotator), escape(project.classes[one.label_class]), words, str(one.after)
        )
    console.print(table if found else "No class was changed since the project was made.")


def _in_words(project: Project, change: ClassChange) -> str:
    value: dict[str, Any] = change.value
    if change.kind == "renamed":
        return f"renamed to {escape(value['name'])}"
    if change.kind == "merged":
        return f"merged into {escape(project.classes[value['into']])}"
    if change.kind == "described":
        return "described: " + ", ".join(key.replace("_", " ") for key in value)
    return change.kind


@app.command()
def notes(
    folder: Folder,
    add: Annotated[tuple[str, str], typer.Option(metavar="BAG TEXT", help="Note something about a bag.")] = ("", ""),
    label_class: Annotated[str | None, typer.Option("--class", help="The class that the note is about.")] = None,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """List what people noted about bags and questions, or note something."""
    with Project.open(folder) as project:
        if add[0]:
            place = None if label_class is None else position_of(project, label_class)
            project.notes.add(me_or(name), bag_named(project, add[0]), add[1], place)
        found = [
            {
                "at": one.at,
                "annotator": one.annotator,
                "bag": str(project.contents.ids[one.bag]),
                "class": None if one.label_class is None else project.classes[one.label_class],
                "text": one.text,
            }
            for one in project.notes.all()
            if label_class is None or add[0] or one.label_class == position_of(project, label_class)
        ]
    if as_json:
        print(json.dumps(found, indent=2))
        return
    table = Table("when", "who", "bag", "class", "note")
    for row in found:
        table.add_row(
            str(row["at"])[:19], *(escape(str(row[key] or "")) for key in ("annotator", "bag", "class", "text"))
        )
    console.print(table if found else "There are no notes yet.")

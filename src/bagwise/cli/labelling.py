"""Commands for those who label: answering, on a page or in the terminal, and deciding where people disagree."""

import json
import threading
import time
import uuid
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from bagwise import server
from bagwise.cli._app import app, console, say
from bagwise.cli._cluster import Cluster
from bagwise.cli._demo import make_demo
from bagwise.cli._keys import keys
from bagwise.cli._projects import AsJson, At, Folder, Name, me_or, open_trained, saved_in_words, undone_in_words
from bagwise.cli._whole_bag import checked, classes_with_keys, show_whole
from bagwise.core.errors import BagwiseError
from bagwise.core.logs import LogLevel, configure_logging
from bagwise.project import AlreadyAnswered, Event, Invitations, Lease, Project, Submission, whole_bag_answers
from bagwise.project.reports.review import bag_named, position_of

KEYS = {"y": "present", "n": "absent", "u": "unsure", "s": "skipped"}
SHOWN_FEATURES = 8


@app.command()
def answer(
    folder: Folder,
    name: Name = None,
    count: Annotated[int | None, typer.Option(min=1, help="Stop after so many answers.")] = None,
) -> None:
    """Answer questions in the terminal, one key each."""
    me = me_or(name)
    with open_trained(folder) as project, keys() as pressed:
        say(f"You are {escape(me)}. \\[y]es  \\[n]o  \\[u]nsure  \\[s]kip  \\[z] undo  \\[q]uit")
        given = 0
        while count is None or given < count:
            leases = project.ask(me)
            if not leases:
                console.print("Nothing is left to ask you.")
                break
            try:
                events = _answered(project, leases[0], me, pressed)
            except AlreadyAnswered as error:
                say(f"  {escape(str(error))}")
                continue
            if events is None:
                break
            given += len(events)
        say(f"{given} answers given; the project has {len(project.events)} events.")


def _answered(project: Project, lease: Lease, me: str, pressed: Iterator[str]) -> list[Event] | None:
    """Show a question and save the answer; nothing where an answer was undone, None to quit."""
    start, classes = time.monotonic(), classes_with_keys(lease.question)
    if len(classes) > 1:
        show_whole(project, lease.bag, classes)
        key, present = checked(classes, pressed)
    else:
        _show(project, lease)
        key = next((key for key in pressed if key in KEYS or key in "zq"), "q")
    if key == "q":
        return None
    if key == "z":
        _undo(project, me)
        return []
    answers = whole_bag_answers(classes, present, skip=key == "s") if len(classes) > 1 else (KEYS[key],)
    seconds = time.monotonic() - start
    events = project.submit(Submission(lease.key, me, answers, classes, lease.bag, seconds))
    if len(events) > 1:
        say(f"  {len(events)} answers, saved up to number {events[-1].number}")
    else:
        say(f"  {events[0].answer}, saved as number {events[0].number}")
    return events


@app.command()
def serve(
    folder: Folder,
    name: Name = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")] = 8765,
    host: Annotated[
        str, typer.Option(help="Address to listen on; for others than this machine, invite people first.")
    ] = ("127.0.0.1"),
    at: At = "",
    trust_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="A proxy, or network of proxies, whose X-Forwarded-For and -Proto are believed; several times.",
        ),
    ] = None,
    cluster: Cluster = "",
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    log_level: Annotated[LogLevel, typer.Option(help="The least severe messages shown on stderr.")] = LogLevel.WARNING,
) -> None:
    """Answer questions on a page in the browser."""
    configure_logging(log_level)
    site = server.Site(host, at, tuple(trust_proxy or ()))
    with Project.open(folder, apart=True, cluster=cluster) as project:
        server.validate_port(host, port)
        _serve(project, me_or(name), site, port, browser)


def _serve(project: Project, me: str, site: server.Site, port: int, browser: bool) -> None:
    server.validate_host(project, site)
    with console.status("Making ready; the first time takes half a minute"):
        project.make_ready()
    address = site.at or f"http://{f'[{site.host}]' if ':' in site.host else site.host}:{port}/"
    who = "those who were invited" if Invitations(project.database).any_invited() else me
    say(f"Bagwise is at {address} for {escape(who)}. Stop it with Ctrl-C; what was answered is saved.")
    if site.missing_tls is not None:
        say(f"[yellow]{escape(site.missing_tls)}[/]")
    if project.database.is_read_only:
        say("The folder is read-only: the project can be read, but answers cannot be saved.")
    if browser:
        threading.Timer(1.0, webbrowser.open, [address]).start()
    server.serve(project, me, site, port)


def demo_page(folder: Path, port: int, browser: bool) -> None:
    """The digits as a project, made at the first time, and its page."""
    configure_logging()
    server.validate_port("127.0.0.1", port)
    make_demo(folder)
    with Project.open(folder, apart=True) as project:
        _serve(project, me_or(None), server.Site(), port, browser)


def _show(project: Project, lease: Lease) -> None:
    instances, evidence = project.bags[lease.bag], lease.question.evidence[0]
    class_name, bag_id = project.classes[lease.label_class], str(project.contents.ids[lease.bag])
    values = ", ".join(f"{value:.3g}" for value in instances[evidence][:SHOWN_FEATURES])
    more = ", ..." if instances.shape[1] > SHOWN_FEATURES else ""
    say(f"Is [bold]{escape(class_name)}[/] in bag [bold]{escape(bag_id)}[/]?", end="  ")
    say(f"[dim]instance {evidence} (of {len(instances)}, from 0): {values}{more}[/]")


def _undo(project: Project, me: str) -> None:
    try:
        events = project.undo_together(me, uuid.uuid4().hex)
    except BagwiseError as error:
        say(f"  {escape(str(error))}")
    else:
        for event in events:
            say(f"  {escape(undone_in_words(project, event))}")


@app.command()
def annotator(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="Who.")],
    adjudicator: Annotated[
        bool | None, typer.Option("--adjudicator/--no-adjudicator", help="Their answer decides where others disagree.")
    ] = None,
) -> None:
    """Show a person's role in this project, or change it with an option."""
    with Project.open(folder) as project:
        if adjudicator is not None:
            project.set_role(name, "adjudicator" if adjudicator else "annotator")
        adjudicator = name in project.contents.adjudicators
    say(f"{escape(name)} is {'an adjudicator' if adjudicator else 'an annotator'}.")


@app.command()
def disagreements(folder: Folder, as_json: AsJson = False) -> None:
    """List the pairs about which people disagree, and the answer of each."""
    with Project.open(folder) as project:
        found = [
            (
                str(project.contents.ids[pair[0]]),
                project.classes[pair[1]],
                {event.annotator: event.answer for event in project.votes.answers_about(pair)},
                _decided(project, pair),
            )
            for pair in project.votes.disagreements()
        ]
    if as_json:
        print(json.dumps([dict(zip(("bag", "class", "said", "decided"), one, strict=True)) for one in found], indent=2))
        return
    table = Table("bag", "class", "answers", "counts as")
    for bag, name, answers, decided in found:
        words = ", ".join(f"{who}: {what}" for who, what in answers.items())
        table.add_row(escape(bag), escape(name), escape(words), decided)
    console.print(table if found else "There are no disagreements.")


def _decided(project: Project, pair: tuple[int, int]) -> str:
    decision = project.votes.decisions.get(pair)
    if decision is None:
        return "open"
    return "undecided" if decision.present is None else "present" if decision.present else "absent"


@app.command()
def correct(
    folder: Folder,
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="NUMBER|BAG CLASS",
            help="The number of an answer, as `export --what answers` has it; or bag and class of an imported label.",
        ),
    ],
    answer: Annotated[str, typer.Argument(metavar="ANSWER", help="present, absent, unsure or skipped.")],
    name: Name = None,
) -> None:
    """Correct an answer, or an imported label; both are kept. Others' answers take an adjudicator or the owner."""
    with Project.open(folder) as project:
        if len(what) == 1 and what[0].isdecimal():
            event = project.correct(int(what[0]), me_or(name), answer)
        elif len(what) == 2:
            event = project.correct_imported(_pair_named(project, *what), me_or(name), answer)
        else:
            raise BagwiseError("Give the number of an answer, or the bag and the class of an imported label.")
        saved = saved_in_words(project, event)
    say(f"{escape(saved)}.")


def _pair_named(project: Project, bag: str, label_class: str) -> tuple[int, int]:
    return bag_named(project, bag), position_of(project, label_class)


@app.command()
def adjudicate(
    folder: Folder,
    bag: Annotated[str, typer.Argument(help="The bag's id.")],
    label_class: Annotated[str, typer.Argument(metavar="CLASS", help="The class.")],
    answer: Annotated[str, typer.Argument(metavar="ANSWER", help="present, absent or unsure.")],
    name: Name = None,
) -> None:
    """Decide a pair about which people disagree."""
    with Project.open(folder) as project:
        event = project.adjudicate(_pair_named(project, bag, label_class), me_or(name), answer)
        saved = saved_in_words(project, event)
    say(f"{escape(saved)}.")

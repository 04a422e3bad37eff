"""Commands for those who label: answering, on a page or in the terminal, and deciding where people disagree."""

import json
import threading
import time
import uuid
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from bagwise import server
from bagwise.cli._app import app, console, say, show_table
from bagwise.cli._demo import make_demo
from bagwise.cli._folders import with_weights
from bagwise.cli._hardware import Cluster, Device
from bagwise.cli._keyed_answer import QUIT
from bagwise.cli._keys import keys
from bagwise.cli._one_class import INSTANCE_HELP, PLAIN_HELP, POINTING_HELP, answered_by_key, keys_of, show_one
from bagwise.cli._projects import (
    AnswerWord,
    AsJson,
    At,
    Embed,
    Folder,
    FromDate,
    HoursOfDay,
    Name,
    Sites,
    ToDate,
    WeightsFile,
    answer_in_words,
    answer_named,
    me_or,
    open_trained,
    saved_in_words,
    undone_in_words,
)
from bagwise.cli._whole_bag import WHOLE_HELP, checked, show_whole
from bagwise.core.errors import BagwiseError
from bagwise.core.logs import LogLevel, configure_logging
from bagwise.core.wording import counted
from bagwise.project import AlreadyAnswered, Event, Invitations, Lease, Project, Submission
from bagwise.project.access.address import DEFAULT_PORT, Address
from bagwise.project.reports.disagreements import Disagreement, disagreements_of
from bagwise.project.reports.review import bag_named, position_of
from bagwise.project.storage.bag_filter import BagFilter

Where = Annotated[
    list[int] | None, typer.Option(metavar="INSTANCE", help="An instance that is of the class, from 0; several times.")
]
Elsewhere = Annotated[
    list[int] | None, typer.Option(metavar="INSTANCE", help="An instance that is not of the class; several times.")
]


@app.command()
def answer(
    folder: Folder,
    name: Name = None,
    count: Annotated[int | None, typer.Option(min=1, help="Stop after so many answers.")] = None,
) -> None:
    """Answer questions in the terminal, one key each."""
    me = me_or(name)
    with open_trained(folder) as project, keys() as pressed:
        say(f"You are {escape(me)}.")
        given, shown = 0, ""
        while count is None or given < count:
            leases = project.ask(me)
            if not leases:
                console.print("Nothing is left to ask you.")
                break
            if shown != (shown := _help(project, leases[0])):
                say(shown)
            try:
                events = _answered(project, leases[0], me, pressed)
            except AlreadyAnswered as error:
                say(f"  {escape(str(error))}")
                continue
            if events is None:
                break
            given += len(events)
        say(f"{counted(given, 'answer')} given; the project has {counted(len(project.events), 'event')}.")


def _help(project: Project, lease: Lease) -> str:
    """Which keys there are for a question; a whole-bag question says so itself."""
    if len(lease.question.classes) > 1:
        return WHOLE_HELP
    if lease.question.instance is not None:
        return INSTANCE_HELP
    return POINTING_HELP if project.shows_instances(lease.bag) else PLAIN_HELP


def _answered(project: Project, lease: Lease, me: str, pressed: Iterator[str]) -> list[Event] | None:
    """Show a question and save the answer; nothing where an answer was undone, None to quit."""
    start, classes = time.monotonic(), lease.question.classes
    pointing = project.shows_instances(lease.bag)
    if len(classes) > 1:
        show_whole(project, lease, pointing)
        given = checked(lease, pressed, pointing)
    else:
        show_one(project, lease)
        given = answered_by_key(keys_of(lease, len(project.bags[lease.bag]), pointing), pressed)
    if given == QUIT:
        return None
    if isinstance(given, str):
        _undo(project, me)
        return []
    seconds = time.monotonic() - start
    events = project.submit(
        Submission(
            lease.key,
            me,
            given.answers,
            classes,
            lease.bag,
            seconds,
            where=given.where,
            elsewhere=given.elsewhere,
            instance=lease.question.instance,
        )
    )
    if len(events) > 1:
        say(f"  {len(events)} answers, saved up to number {events[-1].number}")
    else:
        say(f"  {answer_in_words(events[0])}, saved as number {events[0].number}")
    return events


@app.command()
def serve(
    folder: Folder,
    name: Name = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")] = DEFAULT_PORT,
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
    device: Device = "",
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    log_level: Annotated[LogLevel, typer.Option(help="The least severe messages shown on stderr.")] = LogLevel.WARNING,
    embed: Embed = "",
    weights: WeightsFile = None,
) -> None:
    """Answer questions on a page in the browser."""
    configure_logging(log_level)
    site = server.Site(host, at, tuple(trust_proxy or ()))
    with Project.open(folder, apart=True, cluster=cluster, device=device) as project:
        server.validate_port(host, port)
        _serve(project, me_or(name), site, port, browser, with_weights(embed, weights))


def _serve(project: Project, me: str, site: server.Site, port: int, browser: bool, embed: str = "") -> None:
    server.validate_host(project, site)
    with console.status("Finding the first question; kernels are compiled once on every machine, for some seconds"):
        project.make_ready()
    address = Address(site.host, port, site.at)
    address.remember(project.folder)
    invited = Invitations(project.database).any_invited()
    who = "those who were invited" if invited else me
    say(f"Bagwise is at {address.link} for {escape(who)}. Stop it with Ctrl-C; what was answered is saved.")
    if invited and address.is_loopback:
        say("It is reached from this machine only; for others: --host 0.0.0.0, or a proxy and --at ADDRESS.")
    if site.missing_tls is not None:
        say(f"[yellow]{escape(site.missing_tls)}[/]")
    if project.database.is_read_only:
        say("The folder is read-only: the project can be read, but answers cannot be saved.")
    if browser:
        threading.Timer(1.0, webbrowser.open, [address.link]).start()
    server.serve(project, me, site, port, embed)


def demo_page(folder: Path, port: int, browser: bool) -> None:
    """The digits as a project, made at the first time, and its page."""
    configure_logging()
    server.validate_port("127.0.0.1", port)
    make_demo(folder)
    with Project.open(folder, apart=True) as project:
        _serve(project, me_or(None), server.Site(), port, browser)


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
def disagreements(
    folder: Folder,
    as_json: AsJson = False,
    site: Sites = None,
    from_date: FromDate = None,
    to_date: ToDate = None,
    hours: HoursOfDay = None,
) -> None:
    """List the pairs about which, or about whose instances, people disagree, and the answer of each."""
    wanted = BagFilter.parse(site, from_date, to_date, hours)
    with Project.open(folder) as project:
        wanted.validate(project.contents.bag_files)
        found = [_in_words(project, one) for one in disagreements_of(project, wanted)]
    if as_json:
        print(json.dumps(found, indent=2))
        return
    table = Table("bag", "class", "answers", "counts as", "disputed instances")
    for one in found:
        words = "; ".join(f"{who}: {_pointed(what, one, who)}" for who, what in one["said"].items())
        disputed = ", ".join(map(str, one["disputed"]))
        table.add_row(escape(one["bag"]), escape(one["class"]), escape(words), one["decided"], disputed)
    if found:
        show_table(table, "bag", "class")
    else:
        say("There are no disagreements.")


def _in_words(project: Project, one: Disagreement) -> dict[str, Any]:
    bag, label_class = one.pair
    return {
        "bag": str(project.contents.ids[bag]),
        "class": project.classes[label_class],
        "said": {event.annotator: event.answer for event in one.answers},
        "decided": _decided(project, one.pair),
        "where": {event.annotator: list(event.where) for event in one.answers if event.where},
        "elsewhere": {event.annotator: list(event.elsewhere) for event in one.answers if event.elsewhere},
        "disputed": list(one.disputed),
    }


def _pointed(answer: str, one: dict[str, Any], who: str) -> str:
    here, not_here = (", ".join(map(str, one[name].get(who, ()))) for name in ("where", "elsewhere"))
    return f"{answer}{f', it is {here}' if here else ''}{f', it is not {not_here}' if not_here else ''}"


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
    answer: AnswerWord,
    name: Name = None,
    where: Where = None,
    elsewhere: Elsewhere = None,
) -> None:
    """Correct an answer, or an imported label; both are kept. Others' answers take an adjudicator or the owner."""
    said, here, not_here = answer_named(answer), where or (), elsewhere or ()
    with Project.open(folder) as project:
        if len(what) == 1 and what[0].isdecimal():
            event = project.correct(int(what[0]), me_or(name), said, None, here, not_here)
        elif len(what) == 2:
            event = project.correct_imported(_pair_named(project, *what), me_or(name), said, None, here, not_here)
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
    answer: AnswerWord,
    name: Name = None,
    where: Where = None,
    elsewhere: Elsewhere = None,
) -> None:
    """Decide a pair about which, or about whose instances, people disagree."""
    said = answer_named(answer)
    with Project.open(folder) as project:
        pair = _pair_named(project, bag, label_class)
        event = project.adjudicate(pair, me_or(name), said, where or (), elsewhere or ())
        saved = saved_in_words(project, event)
    say(f"{escape(saved)}.")

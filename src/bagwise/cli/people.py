"""`bagwise invite`: who may sign in and answer."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from bagwise.cli._app import app, say, show_table
from bagwise.cli._projects import AsJson, At, Folder
from bagwise.core.errors import BagwiseError
from bagwise.core.wording import counted
from bagwise.project import Invitations, Project
from bagwise.project.access.address import DEFAULT_PORT, Address
from bagwise.project.access.invitations import DEFAULT_DAYS, MOST_DAYS


@app.command()
def invite(
    folder: Folder,
    name: Annotated[str | None, typer.Argument(help="The person to invite.")] = None,
    days: Annotated[int, typer.Option(min=1, max=MOST_DAYS, help="How long the invitation is valid.")] = DEFAULT_DAYS,
    adjudicator: Annotated[bool, typer.Option(help="Their answers decide where others disagree.")] = False,
    at: At = "",
    listed: Annotated[bool, typer.Option("--list", help="List all invitations.")] = False,
    revoke: Annotated[str | None, typer.Option(metavar="NAME", help="End the invitation of this person.")] = None,
    as_json: AsJson = False,
) -> None:
    """Invite a person to answer: prints, once, the link and the token they sign in with."""
    if sum((name is not None, listed, revoke is not None)) != 1:
        raise BagwiseError("Give the name of a person to invite, or --list, or --revoke NAME.")
    with Project.open(folder) as project:
        people = Invitations(project.database)
        if name is not None:
            _invite(people, name, days, adjudicator, Address(at=at) if at else Address.last(folder), folder, as_json)
        elif revoke is not None:
            people.revoke(revoke)
            say(f"{escape(revoke)} is signed out and cannot sign in any more; their answers stay.")
        else:
            _list(people, as_json)


def _invite(
    people: Invitations, name: str, days: int, adjudicator: bool, served: Address, folder: Path, as_json: bool
) -> None:
    token = people.invite(name, days, adjudicator)
    link = f"{served.for_others.link}#token={token}"
    if as_json:
        print(json.dumps({"name": name, "token": token, "link": link}, indent=2))
        return
    say(f"{escape(name)} signs in for {counted(days, 'day')} with this link, or with the token on the page.", end=" ")
    say("It is shown only now:")
    say(f"  link   {escape(link)}")
    say(f"  token  {token}")
    if served.for_others.is_loopback:
        say("This machine is in no network: the link works on this machine only. Give what people type with --at.")
    elif served.is_loopback:
        port = "" if served.port == DEFAULT_PORT else f" --port {served.port}"
        say(f"Others can open it while `bagwise serve {escape(str(folder))} --host 0.0.0.0{port}` runs;", end=" ")
        say("without --host the page is for this machine only. Where people type another address, give it with --at.")


def _list(people: Invitations, as_json: bool) -> None:
    found = people.invitations()
    if as_json:
        print(json.dumps([vars(one) for one in found], indent=2))
        return
    table = Table("person", "invited", "until", "")
    for one in found:
        until = datetime.fromtimestamp(one.until, UTC).date().isoformat()
        table.add_row(escape(one.name), one.at[:10], until, one.state)
    if found:
        show_table(table, "person")
    else:
        say("Nobody was invited: no sign-in is needed, on this machine only.")

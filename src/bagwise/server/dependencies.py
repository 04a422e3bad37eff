"""What every route may ask for: the project, the person who calls, and the refusals it can answer with.

A group of routes is a module with a `router`, listed in `app.MODULES`; each route takes `Served` and `Person`.
"""

from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Header, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field

from bagwise.core.errors import BagwiseError
from bagwise.project import NotSignedIn, Project
from bagwise.project.access.invitations import Shown
from bagwise.project.reports.progress import ProgressOf
from bagwise.server.batcher import Batcher
from bagwise.server.rate_limit import RateLimit


class Refusal(BaseModel):
    """One sentence."""

    detail: str


REFUSALS = {
    400: "It makes no sense here.",
    401: "Nobody is signed in.",
    403: "It comes from another site, or it is another person's and you have no role to change it.",
    409: "Something else was saved before.",
    411: "It does not say how long it is.",
    412: "The header `Bagwise-Project` or `Bagwise-Person` names another project or person.",
    413: "It is too large.",
    415: "It is not JSON.",
    421: "The server does not go by this name.",
    429: "Too many wrong tokens came from this address: wait a minute.",
    503: "The database cannot be reached now, or the trainer is being started again: nothing was saved, try again.",
}
REFUSED: dict[int | str, dict[str, Any]] = {
    code: {"model": Refusal, "description": why} for code, why in REFUSALS.items()
}

# PostgreSQL keeps no NUL, and the other control characters have no use.
Text = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*$")]
Key = Annotated[Text, Field(min_length=1, max_length=64)]
KeyOfSeveral = Annotated[Text, Field(min_length=1, max_length=48)]
"""Of a request that may become several events: the key of each is this one and a short ending, 64 characters in all."""
Name = Annotated[str, Field(max_length=1000)]
"""Of a bag or a class."""

Bearer = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(HTTPBearer(auto_error=False, description="The token that `bagwise invite` printed.")),
]


async def served(request: Request) -> Project:
    """The project behind this server; a coroutine, since others are put into a thread."""
    project: Project = request.app.state.project
    return project


async def watched(request: Request) -> ProgressOf:
    """Its progress."""
    found: ProgressOf = request.app.state.progress
    return found


async def batcher(request: Request) -> Batcher:
    """Where people are served."""
    found: Batcher = request.app.state.batcher
    return found


Served = Annotated[Project, Depends(served)]
AtDesk = Annotated[Batcher, Depends(batcher)]
Watched = Annotated[ProgressOf, Depends(watched)]


def cookie_of(project: Project) -> str:
    """Its own for every project: a browser sends the cookies of a host to all its ports."""
    return f"bagwise-{project.contents.project[:8]}"


async def known_by(request: Request, shown: Shown) -> str | None:
    """Who shows this, None where nobody has to; whoever tries too many wrong tokens has to wait."""
    batcher: Batcher = request.app.state.batcher
    try:
        return await batcher.who(shown)
    except NotSignedIn:
        if shown.token is not None:
            rate_limit: RateLimit = request.app.state.rate_limit
            rate_limit.failed(request.client.host if request.client else "", shown.token)
        raise


class Replaced(BagwiseError):
    """The page was loaded from another project, or for another person, than are served here now."""


async def person(
    request: Request,
    bearer: Bearer,
    bagwise_project: Annotated[
        str | None, Header(description="Refuse the request if another project is served; `GET /api/me` has its id.")
    ] = None,
    bagwise_person: Annotated[
        str | None, Header(description="Refuse the request if another person is signed in; percent-encoded UTF-8.")
    ] = None,
) -> str:
    """Who calls: by a token, by a session, or, where nobody was ever invited, the one who serves."""
    state = request.app.state
    project: Project = state.project
    if bagwise_project not in (None, project.contents.project):
        raise Replaced("Another project is served here now: load the page again.")
    token = bearer.credentials if bearer is not None else None
    annotator: str = state.annotator
    name = await known_by(request, Shown(token, request.cookies.get(cookie_of(project)))) or annotator
    if bagwise_person is not None and unquote(bagwise_person) != name:
        raise Replaced(f"{name} is signed in here now: load the page again.")
    return name


Person = Annotated[str, Depends(person)]

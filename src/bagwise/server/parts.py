"""What every route may ask for: the project, the person who calls, and the refusals it can answer with.

A group of routes is a module with a `router`, listed in `app.MODULES`; each route takes `Served` and `Person`.
"""

from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field

from bagwise.project import NotSignedIn, Project
from bagwise.project.invitations import Shown
from bagwise.project.progress import ProgressOf
from bagwise.server.desk import Desk
from bagwise.server.patience import Patience


class Refusal(BaseModel):
    """One sentence."""

    detail: str


REFUSALS = {
    400: "It makes no sense here.",
    401: "Nobody is signed in.",
    403: "It comes from another site, or it is another person's and you have no role to change it.",
    409: "Something else was saved before.",
    411: "It does not say how long it is.",
    413: "It is too large.",
    415: "It is not JSON.",
    421: "The server does not go by this name.",
    429: "Too many wrong tokens came from this address: wait a minute.",
    503: "The database cannot be reached now: nothing was saved, try again.",
}
REFUSED: dict[int | str, dict[str, Any]] = {
    code: {"model": Refusal, "description": why} for code, why in REFUSALS.items()
}

Key = Annotated[str, Field(min_length=1, max_length=64)]

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


async def desk(request: Request) -> Desk:
    """Where people are served."""
    found: Desk = request.app.state.desk
    return found


Served = Annotated[Project, Depends(served)]
AtDesk = Annotated[Desk, Depends(desk)]
Watched = Annotated[ProgressOf, Depends(watched)]


def cookie_of(project: Project) -> str:
    """Its own for every project: a browser sends the cookies of a host to all its ports."""
    return f"bagwise-{project.contents.project[:8]}"


async def known_by(request: Request, shown: Shown) -> str | None:
    """Who shows this, None where nobody has to; whoever tries too many wrong tokens has to wait."""
    desk: Desk = request.app.state.desk
    patience: Patience = request.app.state.patience
    address = request.client.host if request.client else ""
    if shown.token is not None:
        patience.refuse(address)
    try:
        return await desk.who(shown)
    except NotSignedIn:
        if shown.token is not None:
            patience.failed(address)
        raise


async def person(request: Request, bearer: Bearer) -> str:
    """Who calls: by a token, by a session, or, where nobody was ever invited, the one who serves."""
    state = request.app.state
    token = bearer.credentials if bearer is not None else None
    annotator: str = state.annotator
    return await known_by(request, Shown(token, request.cookies.get(cookie_of(state.project)))) or annotator


Person = Annotated[str, Depends(person)]

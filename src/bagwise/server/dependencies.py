"""FastAPI dependencies of the routes: the project, the person who is signed in, and the errors that are documented.

A group of routes is a module of `api` with a `router` that documents `REFUSED`, listed in `app.API`. Each takes a
`CurrentProject`.
"""

import logging
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Header, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import AfterValidator, BaseModel, Field

from bagwise.core.errors import BagwiseError
from bagwise.project import NotSignedIn, Project
from bagwise.project.access.invitations import Shown
from bagwise.project.reports.progress import ProgressOf
from bagwise.project.search.plane_process import PlaneProcess
from bagwise.project.storage.bag_filter import BagFilter
from bagwise.server.batcher import Batcher
from bagwise.server.rate_limit import RateLimit
from bagwise.server.searches import Searches

logger = logging.getLogger(__name__)


class Refusal(BaseModel):
    """What is wrong, in one sentence."""

    detail: str


REFUSALS = {
    400: "Bad request: an unknown question, bag, class or instance, or a question of another person.",
    401: "Not signed in: the token or session is missing, wrong, revoked or expired.",
    403: "The request comes from another site, or changes another person's answer without the role for it.",
    409: "Conflict: another answer was saved before.",
    411: "The header `Content-Length` is missing.",
    412: "The header `Bagwise-Project` or `Bagwise-Person` names another project or person.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    421: "The server does not have this host name.",
    429: "Too many wrong tokens came from this address: retry after a minute.",
    503: "The database cannot be reached, or the training process is restarting: nothing was saved, retry.",
}
REFUSED: dict[int | str, dict[str, Any]] = {
    code: {"model": Refusal, "description": why} for code, why in REFUSALS.items()
}

RESERVED = "studio:"
"""What the keys of answers by annotations of Label Studio begin with: nobody else may take theirs."""


def _unreserved(key: str) -> str:
    if key.startswith(RESERVED):
        raise ValueError(f"must not begin with {RESERVED}")
    return key


# PostgreSQL keeps no NUL, and the other control characters have no use.
Text = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*$")]
Key = Annotated[Text, Field(min_length=1, max_length=64), AfterValidator(_unreserved)]
KeyOfSeveral = Annotated[Text, Field(min_length=1, max_length=48), AfterValidator(_unreserved)]
"""Key of a request that becomes several events: the key of each is this one and a suffix, 64 characters in all."""
Name = Annotated[str, Field(max_length=1000)]
"""Name of a bag or of a class."""
RegionText = Annotated[
    str, Query(max_length=200, description="A rectangle on the map, as `neighbours,LEFT,RIGHT,BOTTOM,TOP`.")
]

Bearer = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(HTTPBearer(auto_error=False, description="The token that `bagwise invite` printed.")),
]


async def served(request: Request) -> Project:
    """Return the project that is served. A coroutine, since FastAPI runs other functions in a thread."""
    project: Project = request.app.state.project
    return project


async def watched(request: Request) -> ProgressOf:
    """Return the progress of the project."""
    found: ProgressOf = request.app.state.progress
    return found


async def searched(request: Request) -> Searches:
    """Return the searches in the project."""
    found: Searches = request.app.state.searches
    return found


async def mapped(request: Request) -> PlaneProcess:
    """Return the maps of the project."""
    found: PlaneProcess = request.app.state.maps
    return found


CurrentProject = Annotated[Project, Depends(served)]
CurrentQuality = Annotated[ProgressOf, Depends(watched)]
CurrentSearches = Annotated[Searches, Depends(searched)]
CurrentMap = Annotated[PlaneProcess, Depends(mapped)]


def cookie_of(project: Project) -> str:
    """Return the name of the session cookie: its own for each project, as browsers ignore ports."""
    return f"bagwise-{project.contents.project[:8]}"


async def known_by(request: Request, shown: Shown, remembered: bool = False) -> str | None:
    """Return the person with this token or session, None where nobody has to sign in; wrong tokens are rate-limited."""
    batcher: Batcher[Any] = request.app.state.batcher
    try:
        return await batcher.who(shown, remembered)
    except NotSignedIn:
        if shown.token is not None:
            rate_limit: RateLimit = request.app.state.rate_limit
            address = request.client.host if request.client else ""
            rate_limit.failed(address, shown.token)
            logger.warning("sign-in refused: unknown or expired token from %s", address)
        raise


async def recorded(
    request: Request,
    site: Annotated[
        list[Name], Query(max_length=1000, description="Only bags of this site; several times for several.")
    ] = [],  # noqa: B006 (it is only read)
    from_date: Annotated[str, Query(max_length=10, description="Only from this day on, as in 2026-05-24.")] = "",
    to_date: Annotated[str, Query(max_length=10, description="Only until this day, itself included.")] = "",
    hours: Annotated[str, Query(max_length=20, description="Only this part of the day, as in 4-9 or 22:30-4.")] = "",
) -> BagFilter:
    """Return which bags are meant, by where and when they were recorded."""
    found = BagFilter.parse(site, from_date, to_date, hours)
    project: Project = request.app.state.project
    found.validate(project.contents.bag_files)
    return found


Recorded = Annotated[BagFilter, Depends(recorded)]


class Replaced(BagwiseError):
    """The page was loaded for another project or person than the server has now."""


ProjectHeader = Annotated[
    str | None, Header(description="Refuse the request if another project is served; `GET /api/me` has its id.")
]
PersonHeader = Annotated[
    str | None, Header(description="Refuse the request if another person is signed in; percent-encoded UTF-8.")
]


async def person(
    request: Request, bearer: Bearer, bagwise_project: ProjectHeader = None, bagwise_person: PersonHeader = None
) -> str:
    """Return who sent the request: by token, by session, or, where nobody was ever invited, the server's annotator."""
    return (await _signed_in(request, bearer, bagwise_project, bagwise_person)).name


Person = Annotated[str, Depends(person)]


@dataclass(frozen=True)
class SignedIn:
    """A person, the credentials by which they are known, and the batcher that serves them."""

    name: str
    shown: Shown
    batcher: Batcher[Any]


async def remembered_person(
    request: Request, bearer: Bearer, bagwise_project: ProjectHeader = None, bagwise_person: PersonHeader = None
) -> SignedIn:
    """Return who sent the request, perhaps as it is remembered: the batcher looks it up when it serves the request.

    Not where it is looked at before that which bags are meant: what is wrong with it says something about the project.
    """
    remembered = not request.scope["query_string"] or request.query_params.keys() <= {"count", "known"}
    return await _signed_in(request, bearer, bagwise_project, bagwise_person, remembered)


RememberedPerson = Annotated[SignedIn, Depends(remembered_person)]


async def _signed_in(
    request: Request,
    bearer: HTTPAuthorizationCredentials | None,
    expected_project: str | None,
    expected_person: str | None,
    remembered: bool = False,
) -> SignedIn:
    state = request.app.state
    project: Project = state.project
    if expected_project not in (None, project.contents.project):
        raise Replaced("The server has another project now: load the page again.")
    token = bearer.credentials if bearer is not None else None
    annotator: str = state.annotator
    shown = Shown(token) if token is not None else Shown(session=request.cookies.get(cookie_of(project)))
    name = await known_by(request, shown, remembered) or annotator
    if expected_person is not None and unquote(expected_person) != name:
        if remembered:
            return await _signed_in(request, bearer, expected_project, expected_person)
        raise Replaced(f"{name} is signed in now: load the page again.")
    return SignedIn(name, shown, state.batcher)

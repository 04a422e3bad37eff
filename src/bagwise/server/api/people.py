"""People: signing in and out, and the progress of each person."""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from bagwise.project import Invitations, Project, participants
from bagwise.project.access.invitations import DAY, SESSION_DAYS, Shown
from bagwise.server.dependencies import REFUSED, CurrentProject, Person, cookie_of, known_by

router = APIRouter(prefix="/api", tags=["people"], responses=REFUSED)


class TokenIn(BaseModel):
    """What `bagwise invite` printed."""

    token: Annotated[str, Field(min_length=1, max_length=200)]


class Nothing(BaseModel):
    """An empty object."""


class MeOut(BaseModel):
    """Who calls, and which project it is; `signed_in` is false where no sign-in is needed."""

    name: str
    project: str
    adjudicator: bool
    signed_in: bool


class PersonOut(BaseModel):
    """The progress of a person: answers in effect, median seconds, and when they last answered or signed in."""

    name: str
    adjudicator: bool
    invitation: str | None
    answers: int
    seconds_per_answer: float | None
    last_seen: str | None


@router.post("/sign-in")
async def sign_in(request: Request, response: Response, project: CurrentProject, sent: TokenIn) -> MeOut:
    """Start a session: the response sets a cookie that no script can read and no other site can send."""
    name = await known_by(request, Shown(sent.token)) or ""
    session = await run_in_threadpool(Invitations(project.database).sign_in, sent.token)
    response.set_cookie(
        cookie_of(project),
        session,
        max_age=int(SESSION_DAYS * DAY),
        secure=request.url.scheme == "https" or request.app.state.site.is_secure,
        httponly=True,
        samesite="strict",
    )
    return me_out(project, name, signed_in=True)


@router.post("/sign-out")
def sign_out(request: Request, response: Response, project: CurrentProject, _: Nothing) -> Nothing:
    """End the session."""
    session = request.cookies.get(cookie_of(project))
    if session is not None:
        Invitations(project.database).sign_out(session)
        response.delete_cookie(cookie_of(project), httponly=True, samesite="strict")
    return Nothing()


@router.get("/me")
def me(project: CurrentProject, person: Person) -> MeOut:
    """Who is signed in, and the project."""
    needed = Invitations(project.database).any_invited()
    return me_out(project, person, signed_in=needed)


def me_out(project: Project, name: str, signed_in: bool) -> MeOut:
    """A person's name and role in the project."""
    contents = project.contents
    return MeOut(name=name, project=contents.project, adjudicator=name in contents.adjudicators, signed_in=signed_in)


@router.get("/people")
def people(project: CurrentProject, _: Person) -> list[PersonOut]:
    """List everyone who answered or was invited."""
    return [
        PersonOut(
            name=one.name,
            adjudicator=one.role == "adjudicator",
            invitation=one.invitation,
            answers=sum(one.said.values()),
            seconds_per_answer=one.seconds_per_answer,
            last_seen=one.last_seen,
        )
        for one in participants(project)
    ]

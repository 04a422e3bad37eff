"""What every route may ask for: the project, the person who calls, and the refusals it can answer with.

A group of routes is a module with a `router`, listed in `app.ROUTERS`; each route takes `Served` and `Person`.
"""

from typing import Annotated, Any

from fastapi import Depends, Request
from pydantic import BaseModel, Field

from bagwise.project import Project


class Refusal(BaseModel):
    """One sentence."""

    detail: str


REFUSED: dict[int | str, dict[str, Any]] = {code: {"model": Refusal} for code in (400, 403, 409, 411, 413, 415, 421)}

Key = Annotated[str, Field(min_length=1, max_length=64)]


def served(request: Request) -> Project:
    """The project behind this server."""
    project: Project = request.app.state.project
    return project


def person(request: Request) -> str:
    """Who calls."""
    name: str = request.app.state.annotator
    return name


Served = Annotated[Project, Depends(served)]
Person = Annotated[str, Depends(person)]

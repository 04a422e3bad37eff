"""The files of the bags: sent with one of a fixed list of content types, found by the number of the bag alone."""

import json
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path
from fastapi.responses import FileResponse
from pydantic import BaseModel

from bagwise.ingest import media
from bagwise.project import Project
from bagwise.server.dependencies import CurrentProject, Person

# The URL has the version of the file, so a cached file stays valid.
KEPT_FOR_A_DAY = "private, max-age=86400, immutable"
HEADERS = {"Cache-Control": KEPT_FOR_A_DAY, "Cross-Origin-Resource-Policy": "same-origin"}

router = APIRouter(tags=["media"])


class Medium(BaseModel):
    """The file of a bag; `places` has the place of every instance in it, null where it is unknown.

    `outlines` is the address of the outlines of the instances, where boxes are not enough.
    """

    kind: str
    url: str
    type: str
    bytes: int
    places: list[dict[str, float] | None]
    outlines: str | None


def medium_of(project: Project, bag: int) -> Medium | None:
    """Return the file of a bag and the places of its instances; None where it has none."""
    kept = project.medium(bag)
    if kept is None:
        return None
    found = kept.path.stat()
    version = f"?version={found.st_mtime_ns}-{found.st_size}"
    content = media.type_of(kept.path.suffix).content
    return Medium(
        kind=media.renderer_of(kept.medium),
        url=f"/media/{bag}{version}",
        type=content,
        bytes=found.st_size,
        places=kept.places,
        outlines=f"/media/{bag}/outlines{version}" if kept.outlines is not None else None,
    )


@router.get("/media/{bag}", response_class=FileResponse, responses={404: {"description": "It has no file."}})
def file_of(project: CurrentProject, _: Person, bag: Annotated[int, Path(ge=0, lt=2**31)]) -> FileResponse:
    """The picture, sound or text of the bag at this position, or the bytes of it that are asked for."""
    kept = project.medium(bag) if bag < len(project.bags) else None
    if kept is None:
        raise HTTPException(404, "This bag has no file.")
    return FileResponse(kept.path, media_type=media.type_of(kept.path.suffix).content, headers=HEADERS)


@router.get("/media/{bag}/outlines", responses={404: {"description": "It has no outlines."}})
def outlines_of(project: CurrentProject, _: Person, bag: Annotated[int, Path(ge=0, lt=2**31)]) -> list[list[float]]:
    """The corners of every instance of the bag at this position: x, y, x, y, ... in pixels of the picture."""
    kept = project.medium(bag) if bag < len(project.bags) else None
    if kept is None or kept.outlines is None:
        raise HTTPException(404, "This bag has no outlines.")
    found: list[list[float]] = json.loads(kept.outlines.read_text(encoding="utf-8"))
    return found

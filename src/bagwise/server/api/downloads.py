"""Downloads: labels, predictions, answers and the model as files, as `bagwise export` writes them."""

import shutil
import tempfile
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse
from pydantic import BaseModel
from starlette.background import BackgroundTask

from bagwise.core.errors import BagwiseError
from bagwise.project.reports.exports import EXPORTS, exporter, forms_of
from bagwise.server.dependencies import Person, Served

router = APIRouter(prefix="/api/downloads", tags=["downloads"])


class DownloadOut(BaseModel):
    """Something to download, and its formats."""

    what: str
    forms: list[str]


@router.get("")
def downloads(_: Person) -> list[DownloadOut]:
    """What can be downloaded."""
    return [DownloadOut(what=what, forms=list(forms_of(what))) for what in EXPORTS]


@router.get("/{what}", response_class=FileResponse)
def download(
    project: Served,
    _: Person,
    what: Literal["labels", "predictions", "answers", "model"],
    form: Annotated[str, Query(max_length=40)],
) -> FileResponse:
    """Download the current labels, predictions, answers or model."""
    forms = forms_of(what)
    if form not in forms:
        raise BagwiseError(f"{form!r} is not a format of {what}: choose one of {', '.join(forms)}.")
    folder = Path(tempfile.mkdtemp(prefix="bagwise-"))
    to = folder / f"{what}{forms[form]}"
    try:
        exporter(what, to, form)(project)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    name = f"{project.settings.name}-{to.name}"
    return FileResponse(to, filename=name, background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True))

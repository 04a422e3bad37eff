"""Downloads: labels, predictions, detections, answers and the model as files, as `bagwise export` writes them."""

import shutil
import tempfile
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse
from pydantic import BaseModel
from starlette.background import BackgroundTask

from bagwise.core.errors import BagwiseError
from bagwise.project.reports.exports import EXPORTS, FROM_THE_MODEL, exporter, forms_of
from bagwise.server.api.status import ModelOut
from bagwise.server.dependencies import REFUSED, CurrentProject, Person, Recorded

router = APIRouter(prefix="/api/downloads", tags=["downloads"], responses=REFUSED)


class DownloadOut(BaseModel):
    """Something to download, its formats, and the model it comes from; null where it does not come from a model."""

    what: str
    forms: list[str]
    model: ModelOut | None


@router.get("")
def downloads(project: CurrentProject, _: Person) -> list[DownloadOut]:
    """List what can be downloaded."""
    model = ModelOut.of(project.model_info())
    return [
        DownloadOut(what=what, forms=list(forms_of(what)), model=model if what in FROM_THE_MODEL else None)
        for what in EXPORTS
    ]


@router.get("/{what}", response_class=FileResponse)
def download(
    project: CurrentProject,
    _: Person,
    recorded: Recorded,
    what: Literal["labels", "predictions", "detections", "answers", "model"],
    form: Annotated[str, Query(max_length=40)],
) -> FileResponse:
    """Return a file of labels, predictions, detections, answers or the model as they are now.

    With a site, days or hours, only what is about bags that were recorded there and then; a model is that of all bags.
    """
    forms = forms_of(what)
    if form not in forms:
        raise BagwiseError(f"There are no {what} as {form}: choose one of {', '.join(forms)}.")
    folder = Path(tempfile.mkdtemp(prefix="bagwise-"))
    to = folder / f"{what}{forms[form]}"
    try:
        exporter(what, to, form, wanted=recorded)(project)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    name = f"{project.settings.name}-{to.name}"
    return FileResponse(to, filename=name, background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True))

"""The API and the page. Everything the page does goes through the API, so a script can do it as well."""

from pathlib import Path

from fastapi import FastAPI, HTTPException
from fastapi.responses import FileResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles

from bagwise.errors import BagwiseError
from bagwise.project import AlreadyAnswered, Project
from bagwise.project.progress import ProgressOf
from bagwise.server import downloads, live, progress, questions, review
from bagwise.server.parts import REFUSED
from bagwise.server.safety import Guard

STATIC = Path(__file__).parent / "static"
ROUTERS = (questions.router, progress.router, live.router, review.router, downloads.router)


def application(project: Project, annotator: str) -> FastAPI:
    """The server of one project; without a sign-in, whoever calls is `annotator`."""
    app = FastAPI(
        title=f"Bagwise: {project.settings.name}",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        responses=REFUSED,
    )
    app.state.project, app.state.annotator = project, annotator
    app.state.progress = ProgressOf(project)
    app.add_middleware(Guard)
    for router in ROUTERS:
        app.include_router(router)

    @app.exception_handler(BagwiseError)
    async def refuse(_: object, error: BagwiseError) -> None:
        raise HTTPException(409 if isinstance(error, AlreadyAnswered) else 400, str(error))

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    @app.get("/favicon.ico", include_in_schema=False)
    def icon() -> RedirectResponse:
        return RedirectResponse("/static/icon.svg")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app

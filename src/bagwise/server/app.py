"""The API and the page. Everything the page does goes through the API, so a script can do it as well."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles

from bagwise.errors import BagwiseError
from bagwise.project import AlreadyAnswered, DatabaseError, NotAllowed, NotSignedIn, Project
from bagwise.project.progress import ProgressOf
from bagwise.server import downloads, live, media, people, progress, quality, questions, review
from bagwise.server.desk import Desk
from bagwise.server.parts import REFUSED, cookie_of
from bagwise.server.patience import Patience, TooManyTries
from bagwise.server.safety import Guard, Site

STATIC = Path(__file__).parent / "static"
MODULES = (questions, progress, live, quality, review, downloads, people, media)
CODES = {AlreadyAnswered: 409, NotAllowed: 403, NotSignedIn: 401, TooManyTries: 429, DatabaseError: 503}


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    app.state.progress.close()
    app.state.desk.close()


def application(project: Project, annotator: str, site: Site | None = None) -> FastAPI:
    """The server of one project; where nobody was ever invited, whoever calls is `annotator`."""
    site = site or Site()
    app = FastAPI(
        title=f"Bagwise: {project.settings.name}",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        responses=REFUSED,
        lifespan=_lifespan,
    )
    app.state.project, app.state.annotator = project, annotator
    app.state.progress, app.state.desk = ProgressOf(project), Desk(project)
    app.state.site, app.state.patience = site, Patience()
    app.add_middleware(Guard, site=site)
    for module in MODULES:
        app.include_router(module.router)

    @app.exception_handler(BagwiseError)
    def refuse(_: object, error: BagwiseError) -> JSONResponse:
        response = JSONResponse({"detail": str(error)}, CODES.get(type(error), 400))
        if isinstance(error, NotSignedIn):
            response.headers["WWW-Authenticate"] = "Bearer"
            response.delete_cookie(cookie_of(project), httponly=True, samesite="strict")
        return response

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    @app.get("/favicon.ico", include_in_schema=False)
    def icon() -> RedirectResponse:
        return RedirectResponse("/static/icon.svg")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app

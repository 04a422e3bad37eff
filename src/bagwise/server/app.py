"""The FastAPI application: the API and the page. The page uses nothing but the API, so a script can do all it does."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles

from bagwise.core.errors import BagwiseError
from bagwise.project import AlreadyAnswered, DatabaseError, NotAllowed, NotSignedIn, Project, TrainerStopped
from bagwise.project.reports.progress import ProgressOf
from bagwise.project.search.plane_process import PlaneProcess
from bagwise.server.api import (
    classes,
    downloads,
    label_studio,
    media,
    people,
    pool_map,
    progress,
    quality,
    questions,
    review,
    similar,
    status,
)
from bagwise.server.batcher import Batcher, Traffic
from bagwise.server.dependencies import Replaced, cookie_of
from bagwise.server.middleware import SecurityMiddleware, TrafficMiddleware
from bagwise.server.question_encoder import QuestionEncoder
from bagwise.server.rate_limit import SECONDS, RateLimit, TooManyAttempts
from bagwise.server.routing import LeanRoutes
from bagwise.server.searches import Searches
from bagwise.server.site import Site

STATIC = Path(__file__).parent / "static"
CODES = {
    AlreadyAnswered: 409,
    NotAllowed: 403,
    NotSignedIn: 401,
    Replaced: 412,
    TooManyAttempts: 429,
    DatabaseError: 503,
    TrainerStopped: 503,
}
RETRY_AFTER = {429: round(SECONDS), 503: 2}
"""Seconds after which a client should retry, by status."""

logger = logging.getLogger(__name__)


# Made once, since routes of an application of its own would take a third of a second; and not included, since every
# request would look for its route three times.
API = [
    route
    for module in (
        questions, classes, status, progress, quality, review, similar, pool_map, downloads, people, media,
    )
    for route in module.router.routes
]  # fmt: skip


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    logger.info("application started for %s", app.state.project.folder)
    yield
    logger.info("application stops")
    app.state.progress.close()
    app.state.maps.close()
    app.state.batcher.close()


def application(project: Project, annotator: str, site: Site | None = None, embed: str = "") -> FastAPI:
    """Return the web application of one project.

    Parameters
    ----------
    project : Project
        An open project; it is not closed with the application.
    annotator : str
        Who answers where nobody was ever invited, and so nobody signs in.
    site : Site, optional
        Where it is served; by default on this machine only.
    embed : str
        How dropped files are embedded, where those of the project were: what was typed after `--embed`.

    Returns
    -------
    FastAPI
        The routes of `bagwise.server.api`, the page at `/` and its files at `/static`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from bagwise.formats import Source
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    >>> with TemporaryDirectory() as folder, Project.create(f"{folder}/p", source, classes=["wren"]) as project:
    ...     app = application(project, "ann")
    >>> app.title, "/api/questions/next" in app.openapi()["paths"]
    ('Bagwise: p', True)
    """
    site = site or Site()
    app = FastAPI(
        title=f"Bagwise: {project.settings.name}",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        routes=[*API, *(label_studio.router.routes if project.settings.label_studio.on else ())],
        lifespan=_lifespan,
        # Nothing is measured by OpenTelemetry: without this FastAPI looks for its providers at every request.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.project, app.state.annotator = project, annotator
    traffic = Traffic()
    app.state.progress, app.state.batcher = ProgressOf(project), Batcher(project, QuestionEncoder(), traffic)
    app.state.searches, app.state.maps = Searches(project, embed), PlaneProcess(project)
    app.state.site, app.state.rate_limit = site, RateLimit()
    app.add_middleware(LeanRoutes, routes=app.routes)
    app.add_middleware(SecurityMiddleware, site=site)
    app.add_middleware(TrafficMiddleware, traffic=traffic)

    @app.exception_handler(BagwiseError)
    def error_response(request: Request, error: BagwiseError) -> JSONResponse:
        status = next((code for kind, code in CODES.items() if isinstance(error, kind)), 400)
        severity = logging.WARNING if status == 503 else logging.DEBUG
        logger.log(severity, "%s %r: %d, %s", request.method, request.url.path, status, error)
        response = JSONResponse({"detail": str(error)}, status)
        if status in RETRY_AFTER:
            response.headers["Retry-After"] = str(RETRY_AFTER[status])
        if isinstance(error, NotSignedIn):
            response.headers["WWW-Authenticate"] = "Bearer"
            response.delete_cookie(cookie_of(project), httponly=True, samesite="strict")
        return response

    @app.exception_handler(RequestValidationError)
    def validation_response(_: object, error: RequestValidationError) -> JSONResponse:
        # Without `input`, which FastAPI would send back: NaN, infinity and lone surrogates cannot be written as JSON.
        found = [{key: one[key] for key in ("loc", "msg", "type")} for one in error.errors()]
        return JSONResponse({"detail": found}, 422)

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    @app.get("/favicon.ico", include_in_schema=False)
    def icon() -> RedirectResponse:
        return RedirectResponse("/static/icon.svg")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app

"""The API and the page. Everything the page does goes through the API, so a script can do it as well."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles

from bagwise.core.errors import BagwiseError
from bagwise.project import AlreadyAnswered, DatabaseError, NotAllowed, NotSignedIn, Project, TrainerStopped
from bagwise.project.reports.progress import ProgressOf
from bagwise.server.api import downloads, media, people, progress, quality, questions, review, status
from bagwise.server.batcher import Batcher
from bagwise.server.dependencies import REFUSED, Replaced, cookie_of
from bagwise.server.rate_limit import SECONDS, RateLimit, TooManyAttempts
from bagwise.server.security import SecurityMiddleware, Site

STATIC = Path(__file__).parent / "static"
MODULES = (questions, status, progress, quality, review, downloads, people, media)
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
"""Seconds after which it is worth trying again."""


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    app.state.progress.close()
    app.state.batcher.close()


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
    app.state.progress, app.state.batcher = ProgressOf(project), Batcher(project)
    app.state.site, app.state.rate_limit = site, RateLimit()
    app.add_middleware(SecurityMiddleware, site=site)
    for module in MODULES:
        app.include_router(module.router)

    @app.exception_handler(BagwiseError)
    def refuse(_: object, error: BagwiseError) -> JSONResponse:
        status = next((code for kind, code in CODES.items() if isinstance(error, kind)), 400)
        response = JSONResponse({"detail": str(error)}, status)
        if status in RETRY_AFTER:
            response.headers["Retry-After"] = str(RETRY_AFTER[status])
        if isinstance(error, NotSignedIn):
            response.headers["WWW-Authenticate"] = "Bearer"
            response.delete_cookie(cookie_of(project), httponly=True, samesite="strict")
        return response

    @app.exception_handler(RequestValidationError)
    def validate_fields(_: object, error: RequestValidationError) -> JSONResponse:
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

"""Middleware: requests of other sites, to other hosts or with large bodies are refused; slow ones are logged."""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import SplitResult, urlsplit

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bagwise.server.batcher import Traffic
from bagwise.server.site import Site

LARGEST_BODY = 64 * 1024
LARGEST_OF_LABEL_STUDIO = 64 * 1024 * 1024
"""Label Studio sends all tasks of a project in one request, with their data and annotations."""
LABEL_STUDIO = "/label-studio/"
LARGEST_FILE = 96 * 1024 * 1024
LARGEST_BODIES = {"/api/classes/describe": 14 * 1024 * 1024, "/api/similar/files": LARGEST_FILE}
"""Of requests that bring a file, as text of base 64, by path: an example of 10 MB, a dropped file of 72 MB."""
SLOW_SECONDS = 5.0
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
"""Of every response, but where a route has its own, as the page to print has."""
ENCODED_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]

logger = logging.getLogger(__name__)


class TrafficMiddleware:
    """Count the requests in progress, and log slow ones, without their query, which may name people and bags."""

    def __init__(self, app: ASGIApp, traffic: Traffic) -> None:
        self.app, self.traffic = app, traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and measure it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = time.monotonic()
        self.traffic.requests += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.traffic.requests -= 1
            seconds = time.monotonic() - start
            if seconds > SLOW_SECONDS:
                logger.warning("slow request: %s %r took %.1f s", scope["method"], scope["path"], seconds)


class SecurityMiddleware:
    """Refuse requests of other sites, and set the headers that keep other sites from framing or reading the page."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app, self.site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on with a limit on its body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = message.get("headers", ())
                names = {name.lower() for name, _ in given}
                message["headers"] = [*given, *(one for one in ENCODED_HEADERS if one[0] not in names)]
            await send(message)

        # Of several headers with one name the first.
        headers = {name: value.decode("latin-1") for name, value in reversed(scope["headers"])}
        refusal = _refusal(self.site, scope["method"], scope["path"], headers)
        if refusal is not None:
            status, detail = refusal
            logger.info("refused %s %r with %d: %s", scope["method"], scope["path"], status, detail)
            await JSONResponse({"detail": detail}, status)(scope, receive, send_with_headers)
            return
        await self.app(scope, _limited(receive, largest_body(scope["path"])), send_with_headers)


def _refusal(site: Site, method: str, path: str, headers: Mapping[bytes, str]) -> tuple[int, str] | None:
    """Status and detail of the response to a request that is refused; None where it is not."""
    host = headers.get(b"host", "")
    if not site.answers_to(_name_of(host)):
        return 421, "This server does not have this host name: `bagwise serve --at ADDRESS` gives it one."
    if headers.get(b"sec-fetch-site") == "cross-site" and path.startswith(("/api/", LABEL_STUDIO)):
        return 403, "This request comes from another site."
    if method in SAFE_METHODS:
        return None
    origin = headers.get(b"origin")
    if origin is not None and not _same_origin(origin, host, site):
        return 403, "This request comes from another site."
    if headers.get(b"content-type", "").split(";")[0].strip() != "application/json":
        return 415, "The body must be JSON (`Content-Type: application/json`)."
    length = headers.get(b"content-length", "")
    if not length.isdigit():
        return 411, "The header `Content-Length` is required."
    if int(length) > largest_body(path):
        return 413, f"The body must have at most {largest_body(path)} bytes."
    return None


@lru_cache(maxsize=64)
def _name_of(host: str) -> str | None:
    """The name in the header `Host`, in lower case and without port."""
    split = _split(f"//{host}")
    return None if split is None else split.hostname


def _split(address: str) -> SplitResult | None:
    try:
        return urlsplit(address)
    except ValueError:
        return None


def _same_origin(origin: str, host: str, site: Site) -> bool:
    split = _split(origin)
    return split is not None and split.netloc != "" and split.netloc in (host, urlsplit(site.at).netloc)


def largest_body(path: str) -> int:
    """Return the most bytes that the body of a request to this path may have."""
    return LARGEST_OF_LABEL_STUDIO if path.startswith(LABEL_STUDIO) else LARGEST_BODIES.get(path, LARGEST_BODY)


def _limited(receive: Receive, largest: int) -> Callable[[], Awaitable[Any]]:
    """`receive`, which disconnects a client that sends more than `largest` bytes."""
    received = 0

    async def receive_limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > largest:
            return {"type": "http.disconnect"}
        return message

    return receive_limited

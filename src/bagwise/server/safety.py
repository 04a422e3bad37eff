"""What the server refuses before it looks at a request: other sites, other hosts, bodies that are too large."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 64 * 1024
READING = ("GET", "HEAD", "OPTIONS")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Guard:
    """Around the application: a page of another site cannot answer questions, nor read them under another name."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on with the headers that keep the page to itself."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = _refusal(scope["method"], Headers(scope=scope))
        if refusal is not None:
            status, sentence = refusal
            await JSONResponse({"detail": sentence}, status)(scope, receive, with_headers)
            return
        await self.app(scope, _bounded(receive), with_headers)


def _refusal(method: str, headers: Headers) -> tuple[int, str] | None:
    host = urlsplit(f"//{headers.get('host', '')}")
    if host.hostname not in LOOPBACK:
        return 421, "This server answers on this machine only."
    if method in READING:
        return None
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host.netloc:
        return 403, "This request comes from another site."
    if headers.get("content-type", "").split(";")[0].strip() != "application/json":
        return 415, "Send JSON."
    length = headers.get("content-length", "")
    if not length.isdigit():
        return 411, "Say how long the request is."
    if int(length) > LARGEST_BODY:
        return 413, f"A request has at most {LARGEST_BODY} bytes."
    return None


def _bounded(receive: Receive) -> Callable[[], Awaitable[Any]]:
    """Nobody sends more than was announced as allowed."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > LARGEST_BODY:
            return {"type": "http.disconnect"}
        return message

    return limited

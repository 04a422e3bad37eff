"""What the server refuses before it looks at a request: other sites, other hosts, bodies that are too large."""

import ipaddress
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bagwise.core.errors import BagwiseError

LARGEST_BODY = 64 * 1024
READING = ("GET", "HEAD", "OPTIONS")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


@dataclass(frozen=True)
class Site:
    """Where the server is: the address it listens on, and the one people type where that is another (`at`).

    `proxies` are the addresses or networks of the proxies in front of it: only what they say about who calls
    (`X-Forwarded-For`, `X-Forwarded-Proto`) is believed.
    """

    host: str = "127.0.0.1"
    at: str = ""
    proxies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for proxy in self.proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError as error:
                raise BagwiseError(
                    f"{proxy} is not the address of a proxy: write a number such as 127.0.0.1, or a network such as "
                    "10.0.0.0/8."
                ) from error

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        address = _address(self.host)
        return self.host == "localhost" or (address is not None and address.is_loopback)

    @property
    def is_secure(self) -> bool:
        """Whether what people type is encrypted on the way."""
        return self.at.startswith("https://")

    @property
    def missing_tls(self) -> str | None:
        """One sentence of warning where other machines are served without encryption."""
        if self.is_loopback or self.is_secure:
            return None
        return (
            f"Warning: what is sent to {self.host} is not encrypted, so others on the network can read tokens and "
            "answers: put a proxy with TLS in front (docs/projects.md shows how) and say `--at https://NAME`."
        )

    def answers_to(self, name: str | None) -> bool:
        """Whether it goes by this name. A foreign one may be led here by another site's name server; a number not."""
        if name is None:
            return False
        if name in LOOPBACK or name in (self.host, urlsplit(self.at).hostname):
            return True
        listens = _address(self.host)
        everywhere = listens is not None and listens.is_unspecified
        return everywhere and (_address(name) is not None or name == socket.gethostname().lower())


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


class SecurityMiddleware:
    """Around the application: a page of another site cannot answer questions, nor read them under another name."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app, self.site = app, site

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

        refusal = _refusal(self.site, scope["method"], scope["path"], Headers(scope=scope))
        if refusal is not None:
            status, sentence = refusal
            await JSONResponse({"detail": sentence}, status)(scope, receive, with_headers)
            return
        await self.app(scope, _bounded(receive), with_headers)


def _refusal(site: Site, method: str, path: str, headers: Headers) -> tuple[int, str] | None:
    host = _place(f"//{headers.get('host', '')}")
    if host is None or not site.answers_to(host.hostname):
        return 421, "This server does not go by this name: `bagwise serve --at ADDRESS` gives it one."
    if headers.get("sec-fetch-site") == "cross-site" and path.startswith("/api/"):
        return 403, "This request comes from another site."
    if method in READING:
        return None
    origin = headers.get("origin")
    if origin is not None and not _same(origin, host.netloc, site):
        return 403, "This request comes from another site."
    if headers.get("content-type", "").split(";")[0].strip() != "application/json":
        return 415, "Send JSON."
    length = headers.get("content-length", "")
    if not length.isdigit():
        return 411, "Say how long the request is."
    if int(length) > LARGEST_BODY:
        return 413, f"A request has at most {LARGEST_BODY} bytes."
    return None


def _place(address: str) -> SplitResult | None:
    try:
        return urlsplit(address)
    except ValueError:
        return None


def _same(origin: str, host: str, site: Site) -> bool:
    place = _place(origin)
    return place is not None and place.netloc != "" and place.netloc in (host, urlsplit(site.at).netloc)


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

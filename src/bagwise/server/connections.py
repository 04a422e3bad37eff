"""Limits on what a connection may cost before anyone has signed in: bytes, seconds, and connections at once.

uvicorn bounds none of them with its fast parser (`h11_max_incomplete_event_size` is for its slow one), so a header that
never ends fills the memory, and connections that send nothing stay open.
"""

import asyncio
import itertools
import json
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

KIB = 1024
# Not the loop's clock, which stands still while several connections are accepted at once.
ORDER = itertools.count()


class BoundedProtocol(HttpToolsProtocol):
    """A connection that ends when a request is too large or too slow.

    A request has `request_seconds` from its first byte (the first one: from the connection) to its last. Whoever does
    not read an answer for `sending_seconds` is cut off. When there are more than `most_connections`, the one that has
    been waiting for a request for longest makes room, so connections that do nothing never keep others out.
    """

    largest_head = 64 * KIB
    # More than any body that is accepted: who sends too much should hear so instead of being cut off.
    largest_request = 1024 * KIB
    request_seconds = 30.0
    sending_seconds = 60.0
    most_connections = 500
    # Requests sent before the answer to the one before: browsers send none, and each that waits takes memory.
    most_pipelined = 100

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline: asyncio.TimerHandle | None = None
        self._sending: asyncio.TimerHandle | None = None
        self._waits_from = 0
        self._in_head = self._in_request = False
        self._received = 0
        self._too_large = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, in the place of another connection where there are too many."""
        super().connection_made(transport)
        self._waits_from = next(ORDER)
        self._expect_request()
        if len(self.connections) > self.most_connections:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all clocks."""
        self._request_is_complete()
        self.resume_writing()
        super().connection_lost(exc)

    @property
    def is_answering(self) -> bool:
        """Whether a complete request is being answered."""
        if self.pipeline:
            return True
        return self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body

    def data_received(self, data: bytes) -> None:
        """Read it, unless it makes the request too large."""
        if self.transport.is_closing():
            return
        self._expect_request()
        request, in_head = self.scope, self._in_head
        super().data_received(data)
        # What came with the beginning of a request is not counted: it may be the end of the one before. So there may be
        # as much more as is read at once; the head as such is measured when it is complete.
        if self._in_request and self.scope is request:
            self._received += len(data)
            if in_head and self._in_head and self._received > self.largest_head:
                self._validate_header()
            elif self._received > self.largest_request:
                self.transport.abort()

    def on_message_begin(self) -> None:
        """Start counting."""
        super().on_message_begin()
        self._in_head = self._in_request = True
        self._received = 0
        self._expect_request()

    def on_headers_complete(self) -> None:
        """Go on with the body, if the head is not too large."""
        self._in_head = False
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > self.largest_head:
            self._too_large = True
            raise ValueError("The head is too large.")
        if len(self.pipeline) >= self.most_pipelined:
            raise ValueError("Too many requests at once.")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Stop the clock; answering takes as long as it takes."""
        self._in_request = False
        self._request_is_complete()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request; read it only when all that came before are being answered."""
        self._waits_from = next(ORDER)
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()

    def send_400_response(self, msg: str) -> None:
        """Say what was wrong with a request that could not be read."""
        if self._too_large:
            self._validate_header()
        else:
            super().send_400_response(msg)

    def pause_writing(self) -> None:
        """Give whoever does not read some time."""
        super().pause_writing()
        self._sending = self.loop.call_later(self.sending_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on."""
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None
        super().resume_writing()

    def _make_room(self) -> None:
        # One that is being closed is among the connections until the loop has come round.
        others = [
            one
            for one in self.connections
            if isinstance(one, BoundedProtocol) and one is not self and not one.transport.is_closing()
        ]
        if len(others) < self.most_connections:
            return
        idle = [one for one in others if not one.is_answering]
        if idle:
            min(idle, key=lambda one: one._waits_from).transport.abort()
        else:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "Too many connections: try again.")

    def _expect_request(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.request_seconds, self._request_is_late)

    def _request_is_complete(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _request_is_late(self) -> None:
        self._deadline = None
        if self.is_answering:
            self._expect_request()
        elif self._in_head or (self._in_request and not self.cycle.response_started):
            self._refuse(
                HTTPStatus.REQUEST_TIMEOUT, f"A request has to arrive within {self.request_seconds:g} seconds."
            )
        else:
            self.transport.close()

    def _validate_header(self) -> None:
        sentence = f"The address and the headers of a request have at most {self.largest_head} bytes."
        self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, sentence)

    def _refuse(self, status: HTTPStatus, sentence: str) -> None:
        if not self.is_answering:
            body = json.dumps({"detail": sentence}).encode()
            head = (
                f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()

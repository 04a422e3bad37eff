"""uvicorn's HTTP protocol with limits that hold before anyone has signed in: bytes, seconds, and open connections.

uvicorn bounds none of them with its fast parser (`h11_max_incomplete_event_size` is for its slow one), so a header that
never ends fills the memory, and connections that send nothing stay open.
"""

import asyncio
import itertools
import json
import logging
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

KIB = 1024
# Not the clock of the event loop, which does not advance while several connections are accepted at once.
ORDER = itertools.count()


class ResponseTransport:
    """Sends the head of one response together with what comes next of it: one system call and one packet, not two."""

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle, self._transport = cycle, cycle.transport
        self._head: bytes | None = None
        self._head_passed = False

    def write(self, data: bytes) -> None:
        """Send it, but the head of the response with what is written next."""
        if self._head is not None:
            head, self._head = self._head, None
            self._transport.writelines([head, data])
        elif self._cycle.response_started and not self._head_passed:
            self._head, self._head_passed = data, True
        else:
            self._transport.write(data)

    def is_closing(self) -> bool:
        """Whether the connection is closed, or will be."""
        return self._transport.is_closing()

    def close(self) -> None:
        """Close the connection when all is sent."""
        if self._head is not None:
            self.write(b"")
        self._transport.close()


class BoundedProtocol(HttpToolsProtocol):
    """A connection that is closed when a request is too large or too slow.

    A request has `request_seconds` from its first byte (the first one: from the connection) to its last. A client that
    does not read a response for `sending_seconds` is disconnected. When there are more than `most_connections`, the
    one that has been idle for longest is closed, so idle connections never keep others out.
    """

    largest_head = 64 * KIB
    # More than any body that is accepted: a client that sends too much should get a response before the end.
    largest_request = 1024 * KIB
    request_seconds = 30.0
    sending_seconds = 60.0
    most_connections = 500
    # Requests sent before the response to the previous one: browsers send none, and each that waits takes memory.
    most_pipelined = 100

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # Or uvicorn puts together for every response what would not be logged.
        self.access_log = self.access_log and self.access_logger.isEnabledFor(logging.INFO)
        self._deadline: asyncio.TimerHandle | None = None
        self._sending: asyncio.TimerHandle | None = None
        self._idle_since = 0
        self._in_head = self._in_request = False
        self._received = 0
        self._too_large = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request; where there are too many connections, close the one that has been idle for longest."""
        super().connection_made(transport)
        self._idle_since = next(ORDER)
        self._start_timer()
        if len(self.connections) > self.most_connections:
            self._close_idle()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel all timers."""
        self._cancel_timer()
        self.resume_writing()
        super().connection_lost(exc)

    @property
    def is_answering(self) -> bool:
        """Whether a complete request is being handled."""
        if self.pipeline:
            return True
        return self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body

    def data_received(self, data: bytes) -> None:
        """Parse the data, unless it makes the request too large."""
        if self.transport.is_closing():
            return
        self._start_timer()
        request, in_head = self.scope, self._in_head
        super().data_received(data)
        # What came with the start of a request is not counted: it may be the end of the one before. So a request may
        # exceed the limit by one read; the headers as such are measured when they are complete.
        if self._in_request and self.scope is request:
            self._received += len(data)
            if in_head and self._in_head and self._received > self.largest_head:
                self._refuse_headers()
            elif self._received > self.largest_request:
                self.transport.abort()

    def on_message_begin(self) -> None:
        """Start counting the bytes of a request."""
        super().on_message_begin()
        self._in_head = self._in_request = True
        self._received = 0
        self._start_timer()

    def on_headers_complete(self) -> None:
        """Go on with the body, if the headers are not too large."""
        self._in_head = False
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > self.largest_head:
            self._too_large = True
            raise ValueError("The headers are too large.")
        if len(self.pipeline) >= self.most_pipelined:
            raise ValueError("Too many requests at once.")
        super().on_headers_complete()
        # A response to `HEAD` is a head and nothing else.
        if self.scope["method"] != "HEAD":
            self.cycle.transport = ResponseTransport(self.cycle)  # type: ignore[assignment]

    def on_message_complete(self) -> None:
        """Cancel the timer; the response may take any time."""
        self._in_request = False
        self._cancel_timer()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request; read it only when all previous ones are being handled."""
        self._idle_since = next(ORDER)
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()

    def send_400_response(self, msg: str) -> None:
        """Respond to a request that cannot be parsed."""
        if self._too_large:
            self._refuse_headers()
        else:
            super().send_400_response(msg)

    def pause_writing(self) -> None:
        """Start the timer for a client that does not read."""
        super().pause_writing()
        self._sending = self.loop.call_later(self.sending_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Cancel the timer: the client reads again."""
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None
        super().resume_writing()

    def _close_idle(self) -> None:
        # One that is being closed stays in the set until the next iteration of the event loop.
        others = [
            one
            for one in self.connections
            if isinstance(one, BoundedProtocol) and one is not self and not one.transport.is_closing()
        ]
        if len(others) < self.most_connections:
            return
        idle = [one for one in others if not one.is_answering]
        if idle:
            min(idle, key=lambda one: one._idle_since).transport.abort()
        else:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "Too many connections: retry.")

    def _start_timer(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.request_seconds, self._request_timed_out)

    def _cancel_timer(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _request_timed_out(self) -> None:
        self._deadline = None
        if self.is_answering:
            self._start_timer()
        elif self._in_head or (self._in_request and not self.cycle.response_started):
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, f"A request must arrive within {self.request_seconds:g} seconds.")
        else:
            self.transport.close()

    def _refuse_headers(self) -> None:
        detail = f"The URL and the headers of a request must have at most {self.largest_head} bytes."
        self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, detail)

    def _refuse(self, status: HTTPStatus, detail: str) -> None:
        if not self.is_answering:
            body = json.dumps({"detail": detail}).encode()
            head = (
                f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()

"""Connections that send too much, too slowly or nothing at all are closed, and everyone else is served meanwhile."""

import asyncio
import contextlib
import http.client
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import uvicorn
from uvicorn.server import ServerState

from bagwise.server.http_protocol import BoundedProtocol
from tests.conftest import LONGEST
from tests.server.conftest import Running
from tests.support import example_media

MIB = 1024 * 1024
HALF = b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Endless: "


class Impatient(BoundedProtocol):
    request_seconds = sending_seconds = 3.0


class Crowded(BoundedProtocol):
    request_seconds = 600.0
    most_connections = 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("connections") / "digits"
    example_media.make_demo(folder)
    return folder


@pytest.fixture(scope="module")
def server(folder):
    running = Running(folder, protocol=Impatient)
    yield running
    with contextlib.suppress(Exception):
        running.stop()


@pytest.fixture
def connect(server):
    """Opens connections; all are closed in the end."""
    opened = []

    def connected(data=b""):
        opened.append(socket.create_connection(("127.0.0.1", server.port), timeout=LONGEST))
        opened[-1].sendall(data)
        return opened[-1]

    yield connected
    for one in opened:
        one.close()


def others_are_served(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LONGEST)
    connection.request("GET", "/api/status")
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status == 200


def until_closed(connection):
    """All that the server says before it closes the connection."""
    said = b""
    with contextlib.suppress(ConnectionError):
        while received := connection.recv(65536):
            said += received
    return said


def send_until_refused(connection, chunk, most, pause=0.0):
    """How many bytes went out before the server closed the connection."""
    sent = 0
    with contextlib.suppress(ConnectionError):
        while sent < most:
            connection.sendall(chunk)
            sent += len(chunk)
            time.sleep(pause)
    return sent


@pytest.mark.parametrize("beginning", [HALF, b"GET /", HALF + b"x\r\nX-Another-"])
def test_a_header_without_end_is_cut_off(server, connect, beginning):
    connection = connect(beginning)
    assert send_until_refused(connection, b"x" * 65536, 64 * MIB) < 64 * MIB
    assert until_closed(connection)[:12] in (b"", b"HTTP/1.1 431")
    assert others_are_served(server)


def test_a_complete_header_that_is_too_large_is_refused(server, connect):
    fields = b"".join(b"X-%d: %s\r\n" % (number, b"x" * 900) for number in range(80))
    said = until_closed(connect(b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\n" + fields + b"\r\n"))
    assert said[:12] in (b"", b"HTTP/1.1 431")
    large = connect(
        b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" + fields[:30_000] + b": y\r\n\r\n"
    )
    assert until_closed(large).startswith(b"HTTP/1.1 200")


def test_a_body_or_trailer_without_end_is_cut_off(server, connect):
    head = b"POST /api/answers HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    announced = connect(head + b"Content-Length: 1000000000\r\n\r\n")
    assert send_until_refused(announced, b"x" * 65536, 64 * MIB) < 64 * MIB
    trailing = connect(head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n")
    assert send_until_refused(trailing, b"X-Trailer: x\r\n" * 4096, 64 * MIB) < 64 * MIB
    assert others_are_served(server)


def test_requests_that_do_not_arrive_are_closed(server, connect):
    silent = [connect() for _ in range(10)]
    blank = [connect(b"\r\n") for _ in range(5)]
    half = [connect(HALF) for _ in range(10)]
    body = (
        b"POST /api/answers HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
    )
    waiting = [connect(body) for _ in range(5)]
    assert others_are_served(server)
    assert {until_closed(one)[:12] for one in silent + blank} == {b""}
    assert {until_closed(one)[:12] for one in half + waiting} == {b"HTTP/1.1 408"}


def test_a_request_in_time_is_answered_however_it_is_cut(server, connect):
    connection = connect()
    for byte in b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n":
        connection.sendall(bytes([byte]))
    assert until_closed(connection).startswith(b"HTTP/1.1 200")
    last = b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    several = connect(b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 20 + last)
    assert until_closed(several).count(b"HTTP/1.1 200") == 21


def test_requests_without_end_before_the_first_answer_are_cut_off(server, connect):
    connection = connect()
    assert (
        send_until_refused(connection, b"GET /static/page.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 999, 64 * MIB)
        < 64 * MIB
    )
    assert others_are_served(server)


def test_whoever_does_not_read_is_cut_off(server):
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(b"GET /api/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * Impatient.most_pipelined)
        assert others_are_served(server)
        assert send_until_refused(connection, b"\r\n", 20 * LONGEST, pause=0.1) < 20 * LONGEST


def test_connections_that_do_nothing_make_room(folder):
    running = Running(folder, protocol=Crowded)
    try:
        with contextlib.ExitStack() as stack:
            address = ("127.0.0.1", running.port)
            idle = [stack.enter_context(socket.create_connection(address, timeout=LONGEST)) for _ in range(30)]
            assert others_are_served(running)
            assert {until_closed(one) for one in idle[:20]} == {b""}, "the oldest"
            idle[-1].sendall(b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert idle[-1].recv(12) == b"HTTP/1.1 200", "the newest is still there"
    finally:
        running.stop()


def test_the_limits_are_on_without_asking_for_them(running):
    with socket.create_connection(("127.0.0.1", running.port), timeout=LONGEST) as connection:
        connection.sendall(HALF)
        assert send_until_refused(connection, b"x" * 65536, 64 * MIB) < 64 * MIB


async def streaming(scope, receive, send):
    """Sends what its path says, piece by piece."""
    assert scope["type"] == "http"
    if scope["path"] == "/continue":
        await receive()
    headers = [] if scope["path"] == "/chunks" else [(b"content-length", b"6")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["path"] == "/fails":
        raise RuntimeError("before the body")
    await send({"type": "http.response.body", "body": b"one", "more_body": True})
    await send({"type": "http.response.body", "body": b"two", "more_body": False})


class Written(asyncio.Transport):
    """A connection that keeps what is written, one item for each call."""

    def __init__(self):
        super().__init__({"peername": ("127.0.0.1", 5), "sockname": ("127.0.0.1", 6)})
        self.written, self.closed = [], False

    def write(self, data):
        self.written.append(bytes(data))

    def writelines(self, several):
        self.written.append(b"".join(several))

    def is_closing(self):
        return self.closed

    def close(self):
        self.closed = True

    def pause_reading(self):
        """Nothing is read."""

    resume_reading = pause_reading


def written(*requests):
    """What the protocol writes, after these requests on one connection."""

    async def connected():
        config = uvicorn.Config(streaming, http=BoundedProtocol, ws="none", log_config=None)
        config.load()
        protocol = BoundedProtocol(config=config, server_state=ServerState(), app_state={})
        transport = Written()
        protocol.connection_made(transport)
        for request in requests:
            protocol.data_received(request)
        while protocol.tasks:
            await asyncio.sleep(0)
        protocol.connection_lost(None)
        return transport

    # In a thread, since a browser of another test may have a loop in this one.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(connected())).result()


def request(method, path, more=b""):
    return b"%b %b HTTP/1.1\r\nHost: here\r\n%b\r\n" % (method, path, more)


def test_the_head_of_a_response_is_sent_with_the_beginning_of_its_body():
    first, second = written(request(b"GET", b"/")).written
    assert first.startswith(b"HTTP/1.1 200 OK\r\n")
    assert first.endswith(b"content-length: 6\r\n\r\none")
    assert second == b"two"


def test_pieces_without_a_length_are_sent_as_they_come():
    first, second = written(request(b"GET", b"/chunks")).written
    assert first.endswith(b"transfer-encoding: chunked\r\n\r\n3\r\none\r\n")
    assert second == b"3\r\ntwo\r\n0\r\n\r\n"


def test_a_response_to_head_is_sent_without_waiting_for_a_body():
    (head,) = written(request(b"HEAD", b"/")).written
    assert head.endswith(b"content-length: 6\r\n\r\n")


def test_requests_one_after_the_other_get_whole_responses():
    found = b"".join(written(request(b"GET", b"/") + request(b"HEAD", b"/") + request(b"GET", b"/")).written)
    bodies = [one.partition(b"\r\n\r\n")[2] for one in found.split(b"HTTP/1.1 ")[1:]]
    assert bodies == [b"onetwo", b"", b"onetwo"]


def test_who_waits_to_be_told_to_go_on_is_told_at_once():
    begun = request(b"POST", b"/continue", b"Content-Length: 2\r\nExpect: 100-continue\r\n")
    go_on, *response = written(begun, b"{}").written
    assert go_on == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert b"".join(response).endswith(b"onetwo")


def test_a_response_that_ends_with_an_error_is_not_complete(caplog):
    transport = written(request(b"GET", b"/fails"))
    assert transport.closed
    assert b"".join(transport.written).endswith(b"content-length: 6\r\n\r\n")
    assert "before the body" in caplog.text

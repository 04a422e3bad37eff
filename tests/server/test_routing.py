"""A lean route gives the same responses as any other."""

from typing import Annotated

import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from fastapi.testclient import TestClient
from pydantic import BaseModel, Field

from bagwise.server.api import questions
from bagwise.server.routing import LeanRoute, LeanRoutes


async def when(
    day: Annotated[str, Query(max_length=3)] = "mon",
    sites: Annotated[list[str], Query(max_length=2)] = [],  # noqa: B006
) -> tuple[str, int]:
    return day, len(sites)


async def who(bagwise_person: Annotated[str | None, Header(max_length=5)] = None) -> str:
    return bagwise_person or "nobody"


class Sent(BaseModel):
    count: Annotated[int, Field(ge=0)]
    names: list[str] = []
    score: float | None = None


class Received(BaseModel):
    person: str
    sent: Sent
    method: str


async def signed_in(
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))],
) -> str:
    if bearer is None:
        raise HTTPException(401, "Sign in.")
    return bearer.credentials


def client_of(route_class):
    router = APIRouter(route_class=route_class)

    @router.get("/optional")
    async def optional(
        person: Annotated[str, Depends(who)],
        recorded: Annotated[tuple[str, int], Depends(when)],
        count: Annotated[int, Query(ge=1, le=9)] = 1,
    ) -> list[str | int]:
        return [person, *recorded, count]

    @router.get("/styles")
    async def styles(
        many: Annotated[list[int], Query(default_factory=list)],
        count: int = Query(3),
        foo: Annotated[str, Header(alias="X-Foo")] = "none",
        other: Annotated[str, Header(validation_alias="x-other")] = "none",
    ) -> list[str | int]:
        return [*many, count, foo, other]

    @router.get("/required")
    async def required(person: Annotated[str, Depends(who)], name: str, count: int = 2) -> list[str | int]:
        return [person, name, count]

    @router.post("/body/{place}")
    async def body(place: int, sent: dict[str, int], person: Annotated[str, Depends(who)]) -> list[str | int]:
        return [person, place, *sent.values()]

    @router.post("/model", status_code=201)
    async def model(sent: Sent, person: Annotated[str, Depends(who)], request: Request) -> Received:
        return Received(person=person, sent=sent, method=request.method)

    @router.post("/response", response_model=list[int])
    async def response(sent: Sent, signed_in: Annotated[str, Depends(signed_in)]) -> Response:
        return JSONResponse([len(sent.names), len(signed_in)], 202)

    return TestClient(application_of(router))


def application_of(router):
    """As Bagwise has its routes: `include_router` would make others of them."""
    app = FastAPI(routes=router.routes)
    app.add_middleware(LeanRoutes, routes=app.routes)
    return app


@pytest.fixture(scope="module")
def clients():
    return [client_of(one) for one in (APIRoute, LeanRoute)]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Bagwise-Person": "ann"},
        {"BAGWISE-PERSON": "somebody"},
        {"Other": "x"},
        {"x-foo": "bar"},
        {"x-other": "y"},
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", f"/optional{query}") for query in ("", "?", "?count=3", "?count=0", "?day=monday&sites=a", "?x=1")),
        ("GET", "/optional?sites=a&sites=b&sites=c"),
        *(("GET", f"/required{query}") for query in ("", "?name=n", "?count=3", "?name=n&count=x")),
        *(("GET", f"/styles{query}") for query in ("", "?many=1", "?count=4")),
        ("POST", "/body/3"),
        ("POST", "/body/three"),
    ],
)
def test_responses_are_the_same(clients, method, path, headers):
    json = {"a": 1} if method == "POST" else None
    plain, lean = (client.request(method, path, headers=headers, json=json) for client in clients)
    assert (lean.status_code, lean.json()) == (plain.status_code, plain.json())


BODIES = [
    b'{"count": 3}',
    b'{"count": "3", "names": ["\\u00e9"], "score": 1}',
    b'{"count": 1e2, "other": null}',
    b'{"count": 1, "count": 2}',
    b'{"count": -1}',
    b'{"count": 1.5}',
    b'{"count": null}',
    b'{"count": 1, "score": NaN}',
    b'{"count": 1, "other": "\\ud800"}',
    *(b"{}", b"[]", b"null", b"", b"{", b"\xff\xfe"),
    b'\xef\xbb\xbf{"count": 1}',
    '{"count": 1}'.encode("utf-16"),
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("path", ["/model", "/response", "/model?x=1"])
@pytest.mark.parametrize("headers", [{}, {"Bagwise-Person": "ann"}, {"Bagwise-Person": "somebody"}])
def test_bodies_are_understood_the_same(clients, path, body, headers):
    sent = {"Content-Type": "application/json", "Authorization": "Bearer abc", **headers}
    plain, lean = (client.post(path, headers=sent, content=body) for client in clients)
    assert (lean.status_code, lean.content) == (plain.status_code, plain.content)
    assert lean.headers["content-type"] == plain.headers["content-type"]


def test_who_may_not_send_it_is_told_so_first(clients):
    _, lean = (client.post("/response", json={"count": 1}) for client in clients)
    assert lean.status_code == 401
    assert [client.post("/response", json={}).status_code for client in clients] == [401, 401]


def test_the_routes_that_are_asked_often_are_lean():
    routes = {(route.path, *route.methods): route for route in questions.router.routes}
    for often in (("/api/questions/next", "GET"), ("/api/answers", "POST"), ("/api/answers/whole", "POST")):
        assert routes[often].direct() is not None, often


def test_all_is_documented(clients):
    plain, lean = (client.get("/openapi.json").json() for client in clients)
    assert lean == plain


def test_what_a_request_lacks_is_not_looked_for():
    """FastAPI makes a copy of every default; a function that is called without the parameter has its own."""
    default = ["mon"]
    router = APIRouter(route_class=LeanRoute)

    @router.get("/")
    async def is_its_own(days: Annotated[list[str], Query()] = default) -> bool:
        return days is default

    client = TestClient(application_of(router))
    assert [client.get(path).json() for path in ("/", "/?x=1", "/?days=mon")] == [True, True, False]

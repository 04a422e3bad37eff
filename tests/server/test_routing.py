"""A lean route gives the same responses as any other."""

from typing import Annotated

import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, Query
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from bagwise.server.routing import LeanRoute


async def when(
    day: Annotated[str, Query(max_length=3)] = "mon",
    sites: Annotated[list[str], Query(max_length=2)] = [],  # noqa: B006
) -> tuple[str, int]:
    return day, len(sites)


async def who(bagwise_person: Annotated[str | None, Header(max_length=5)] = None) -> str:
    return bagwise_person or "nobody"


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

    # As the application has its routes: `include_router` would make others of them.
    return TestClient(FastAPI(routes=router.routes))


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

    client = TestClient(FastAPI(routes=router.routes))
    assert [client.get(path).json() for path in ("/", "/?x=1")] == [True, False]

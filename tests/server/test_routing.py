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

    @router.get("/required")
    async def required(person: Annotated[str, Depends(who)], name: str, count: int = 2) -> list[str | int]:
        return [person, name, count]

    @router.post("/body/{place}")
    async def body(place: int, sent: dict[str, int], person: Annotated[str, Depends(who)]) -> list[str | int]:
        return [person, place, *sent.values()]

    app = FastAPI()
    app.include_router(router)
    return TestClient(app)


@pytest.fixture(scope="module")
def clients():
    return [client_of(one) for one in (APIRoute, LeanRoute)]


@pytest.mark.parametrize("headers", [{}, {"Bagwise-Person": "ann"}, {"BAGWISE-PERSON": "somebody"}, {"Other": "x"}])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", f"/optional{query}") for query in ("", "?", "?count=3", "?count=0", "?day=monday&sites=a", "?x=1")),
        ("GET", "/optional?sites=a&sites=b&sites=c"),
        *(("GET", f"/required{query}") for query in ("", "?name=n", "?count=3", "?name=n&count=x")),
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

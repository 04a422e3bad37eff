"""Batching: requests that arrive while others are being served are served together, in one transaction.

The database takes as long for twenty requests as for one, so twenty people wait hardly longer than one.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from bagwise.project import Event, Invitations, Lease, LeaseRequest, NotSignedIn, Project, Submission
from bagwise.project.access.invitations import Shown
from bagwise.project.queue.leases import none_left

LONGEST_PAUSE = 0.05
"""Seconds for which the event loop waits for a batch that is served, at most."""
ITERATIONS = 3
"""Of the event loop, from the bytes of a request to the call of a batch."""
MOST_REMEMBERED = 10_000

Request = TypeVar("Request")
Response = TypeVar("Response")
Shows = TypeVar("Shows")

Results = Iterable[tuple[int, Any]]
"""Places in a batch, and for each the response or the error."""


@dataclass
class Traffic:
    """How many requests are in progress, and how many of them wait for a batch."""

    requests: int = 0
    waiting: int = 0


class Batch(Generic[Request, Response]):
    """Calls `serve`, in this thread, with all that came in since the last time; it yields results as they are there.

    While a batch is served the event loop pauses, unless a request is in progress that does not wait for a batch: two
    threads share one interpreter, and beside this one the other would take a third longer.
    """

    def __init__(
        self, thread: ThreadPoolExecutor, serve: Callable[[list[Request]], Iterable[Results]], traffic: Traffic
    ) -> None:
        self._serve, self._thread, self._traffic = serve, thread, traffic
        self._waiting: list[tuple[Request, asyncio.Future[Response]]] = []
        self._serving: asyncio.Task[None] | None = None

    async def __call__(self, request: Request) -> Response:
        """The response to this request."""
        served: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, served))
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve_all())
        self._traffic.waiting += 1
        try:
            return await served
        finally:
            self._traffic.waiting -= 1

    async def _serve_all(self) -> None:
        while self._waiting:
            await self._arrived()
            batch, self._waiting = self._waiting, []
            left: Exception = RuntimeError("A batch was served without a result for each request.")
            try:
                serving = self._thread.submit(self._serve_batch, batch, asyncio.get_running_loop())
                if self._traffic.requests <= self._traffic.waiting:
                    wait([serving], LONGEST_PAUSE)
                await asyncio.wrap_future(serving)
            except Exception as error:
                left = error
            finally:
                # Whatever happened, no request waits for ever.
                _resolve(batch, [(place, left) for place in range(len(batch))])

    async def _arrived(self) -> None:
        """Let the event loop read what has arrived meanwhile."""
        seen = 0
        while seen < len(self._waiting):
            seen = len(self._waiting)
            for _ in range(ITERATIONS):
                await asyncio.sleep(0)

    def _serve_batch(
        self, batch: Sequence[tuple[Request, asyncio.Future[Response]]], loop: asyncio.AbstractEventLoop
    ) -> None:
        for results in self._serve([request for request, _ in batch]):
            loop.call_soon_threadsafe(_resolve, batch, list(results))


def _resolve(batch: Sequence[tuple[Any, asyncio.Future[Any]]], results: Results) -> None:
    for place, result in results:
        _, served = batch[place]
        if served.done():
            continue
        if isinstance(result, Exception):
            served.set_exception(result)
        else:
            served.set_result(result)


@dataclass(frozen=True)
class QuestionsRequest:
    """A request for questions; those with `known` keys the person has, and they are not shown again."""

    request: LeaseRequest
    known: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Signed:
    """What a person sent, and the credentials by which they were known; `make` makes what the project is asked."""

    shown: Shown
    make: Callable[[], Submission | QuestionsRequest]


class Batcher(Generic[Shows]):
    """Batches the requests to one project; `show` makes what is sent of the leases of a batch.

    Who sent an answer, or asks, is remembered, and looked up again with the batch in which the request is served.
    """

    def __init__(
        self, project: Project, show: Callable[[Project, Sequence[Lease]], list[Shows]], traffic: Traffic
    ) -> None:
        self.project, self._show = project, show
        self._invitations = Invitations(project.database)
        signing_in, working = (ThreadPoolExecutor(1, f"bagwise-{name}") for name in ("sign-in", "project"))
        self._look_up = Batch[Shown, str | None](signing_in, self._people, traffic)
        # In one thread: they hold the same lock, and two threads would wait for each other more often than they work.
        self._batch = Batch[Signed, Any](working, self._serve, traffic)
        self._threads = signing_in, working
        self._remembered: dict[Shown, str] = {}

    async def who(self, shown: Shown, remembered: bool = False) -> str | None:
        """The person with these credentials, None where no person was ever invited; perhaps as it is remembered."""
        known = self._remembered.get(shown) if remembered else None
        if known is not None:
            return known
        try:
            name = await self._look_up(shown)
        except NotSignedIn:
            self._remembered.pop(shown, None)
            raise
        if name is not None:
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[shown] = name
        return name

    async def submit(self, shown: Shown, make: Callable[[], Submission]) -> list[Event]:
        """As `Project.submit`, what `make` returns, for the person with these credentials."""
        events: list[Event] = await self._batch(Signed(shown, make))
        return events

    async def ask(self, shown: Shown, request: LeaseRequest, known: frozenset[str] = frozenset()) -> list[Shows]:
        """As `Project.ask`, for who showed these credentials, but what is shown of the leases that are not known."""
        wanted = QuestionsRequest(request, known)
        for tried in range(request.tries):
            for published, seconds in self.project.waits(request.count, tried):
                await asyncio.wait([asyncio.wrap_future(published)], timeout=seconds)
            leased: list[Shows] | None = await self._batch(Signed(shown, lambda: wanted))
            if leased is not None:
                return leased
        none_left(request)
        return []

    def _people(self, shown: Sequence[Shown]) -> Iterator[Results]:
        yield enumerate(self._invitations.who(shown))

    def _serve(self, requests: Sequence[Signed]) -> Iterator[Results]:
        """What each request gets: the events of an answer, what is shown of leases, or the error.

        Answers come first: who sent one, which is saved by then, does not wait for the questions of others, but for a
        pause of the event loop.
        """
        made: dict[int, Submission | QuestionsRequest] = {}
        refused = dict[int, Exception]()
        for place, name in enumerate(self._invitations.who([request.shown for request in requests])):
            try:
                made[place] = self._made(requests[place], name)
            except Exception as error:
                refused[place] = error
        yield refused.items()
        answers = {place: one for place, one in made.items() if isinstance(one, Submission)}
        yield zip(answers, _each(self.project.submit_all, list(answers.values())), strict=True)
        asking = {place: one for place, one in made.items() if isinstance(one, QuestionsRequest)}
        yield zip(asking, _each(self._lease, list(asking.values())), strict=True)

    def _made(self, request: Signed, name: str | NotSignedIn | None) -> Submission | QuestionsRequest:
        """What is asked of the project, unless the person has signed out meanwhile, or was revoked."""
        if isinstance(name, NotSignedIn):
            self._remembered.pop(request.shown, None)
            raise name
        return request.make()

    def _lease(self, asking: Sequence[QuestionsRequest]) -> list[list[Shows] | None]:
        leased = self.project.lease([one.request for one in asking])
        new = [
            None if leases is None else [lease for lease in leases if lease.key not in one.known]
            for leases, one in zip(leased, asking, strict=True)
        ]
        shown = iter(self._show(self.project, [lease for leases in new for lease in leases or ()]))
        return [None if leases is None else list(islice(shown, len(leases))) for leases in new]

    def close(self) -> None:
        """Stop serving."""
        for thread in self._threads:
            thread.shutdown()


def _each(serve: Callable[[list[Any]], Sequence[Any]], requests: list[Any]) -> Sequence[Any]:
    """What each of these gets; the error where they fail together, so that others who are served with them do not."""
    try:
        return serve(requests) if requests else []
    except Exception as error:
        return [error] * len(requests)

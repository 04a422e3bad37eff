"""Batching: requests that arrive while others are being served are served together, in one transaction.

The database takes as long for twenty requests as for one, so twenty people wait hardly longer than one.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, Generic, TypeVar

from bagwise.project import Event, Invitations, Lease, LeaseRequest, NotSignedIn, Project, Submission
from bagwise.project.access.invitations import Shown
from bagwise.project.queue.leases import none_left

STANDS_STILL = 0.05
"""Seconds for which the event loop waits for a batch that is served, at most."""
ITERATIONS = 3
"""Of the event loop, from the bytes of a request to the call of a batch."""

MOST_REMEMBERED = 10_000

Signed = tuple[Shown, Submission | LeaseRequest]
"""A request, and the credentials it came with."""

Request = TypeVar("Request")
Response = TypeVar("Response")
Shows = TypeVar("Shows")


class Batch(Generic[Request, Response]):
    """Calls `serve`, in this thread, with all that came in since the last time."""

    def __init__(
        self, thread: ThreadPoolExecutor, serve: Callable[[list[Request]], Sequence[Response | Exception]]
    ) -> None:
        self._serve, self._thread = serve, thread
        self._waiting: list[tuple[Request, asyncio.Future[Response]]] = []
        self._serving: asyncio.Task[None] | None = None

    async def __call__(self, request: Request) -> Response:
        """The response to this request."""
        served: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, served))
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve_all())
        return await served

    async def _all_in(self) -> None:
        """Let the event loop read what has arrived meanwhile."""
        seen = 0
        while seen < len(self._waiting):
            seen = len(self._waiting)
            for _ in range(ITERATIONS):
                await asyncio.sleep(0)

    async def _serve_all(self) -> None:
        while self._waiting:
            await self._all_in()
            batch, self._waiting = self._waiting, []
            try:
                serving = self._thread.submit(self._serve, [request for request, _ in batch])
                # Two threads share one interpreter: beside this one, the other would take a third longer.
                wait([serving], STANDS_STILL)
                found = serving.result() if serving.done() else await asyncio.wrap_future(serving)
            except Exception as error:
                found = [error] * len(batch)
            for (_, served), result in zip(batch, found, strict=True):
                if served.done():
                    continue
                if isinstance(result, Exception):
                    served.set_exception(result)
                else:
                    served.set_result(result)


class Batcher(Generic[Shows]):
    """Batches the requests to one project; `show` makes what is sent of the leases of a batch.

    Who sent an answer, or asks, is remembered, and looked up again with the batch in which the request is served.
    """

    def __init__(self, project: Project, show: Callable[[Project, Sequence[Lease]], list[Shows]]) -> None:
        self.project, self._show = project, show
        self._invitations = Invitations(project.database)
        signing_in, working = (ThreadPoolExecutor(1, f"bagwise-{name}") for name in ("sign-in", "project"))
        self._look_up = Batch[Shown, str | None](signing_in, self._invitations.who)
        # In one thread: they hold the same lock, and two threads would wait for each other more often than they work.
        self._serve = Batch[Signed, Any](working, self._served)
        self._threads = signing_in, working
        self._remembered: dict[Shown, str | None] = {}

    async def who(self, shown: Shown, remembered: bool = False) -> str | None:
        """The person with these credentials, None where no person was ever invited; perhaps as it is remembered."""
        if remembered and shown in self._remembered:
            return self._remembered[shown]
        name = await self._look_up(shown)
        if len(self._remembered) >= MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[shown] = name
        return name

    async def submit(self, shown: Shown, submission: Submission) -> list[Event]:
        """As `Project.submit`, for the person with these credentials."""
        events: list[Event] = await self._serve((shown, submission))
        return events

    async def ask(self, shown: Shown, request: LeaseRequest) -> list[Shows]:
        """As `Project.ask`, for the person with these credentials, but what is shown of the leases."""
        for tried in range(request.tries):
            for published, seconds in self.project.waits(request.count, tried):
                await asyncio.wait([asyncio.wrap_future(published)], timeout=seconds)
            leased: list[Shows] | None = await self._serve((shown, request))
            if leased is not None:
                return leased
        none_left(request)
        return []

    def _served(self, requests: Sequence[Signed]) -> list[Any]:
        """What each request gets: the events of an answer, what is shown of leases, or the error."""
        names = self._invitations.who([shown for shown, _ in requests])
        found: list[Any] = [self._refused(*one, name) for one, name in zip(requests, names, strict=True)]
        for kind, serve in ((Submission, self.project.submit_all), (LeaseRequest, self._leased)):
            places = [
                place for place, (_, one) in enumerate(requests) if isinstance(one, kind) and found[place] is None
            ]
            for place, result in zip(places, _each(serve, [requests[place][1] for place in places]), strict=True):
                found[place] = result
        return found

    def _refused(
        self, shown: Shown, request: Submission | LeaseRequest, name: str | NotSignedIn | None
    ) -> NotSignedIn | None:
        """The error of a request whose person has signed out meanwhile, or was revoked."""
        if name in (None, request.annotator):
            return None
        self._remembered.pop(shown, None)
        return (
            name if isinstance(name, NotSignedIn) else NotSignedIn("Another person is signed in: load the page again.")
        )

    def _leased(self, requests: Sequence[LeaseRequest]) -> list[list[Shows] | None]:
        found = self.project.lease(requests)
        shown = iter(self._show(self.project, [lease for leases in found for lease in leases or ()]))
        return [None if leases is None else list(islice(shown, len(leases))) for leases in found]

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

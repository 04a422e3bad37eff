"""People who come while others are being served are served together."""

import asyncio
import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from bagwise.core.errors import BagwiseError
from bagwise.project import LeaseRequest, Submission, TrainerStopped
from bagwise.project.access.invitations import Shown
from bagwise.server import batcher
from bagwise.server.batcher import ITERATIONS, Batch, Batcher, Traffic


def run(work):
    # In a thread, since Playwright leaves an event loop running in this one.
    found = []
    thread = threading.Thread(target=lambda: found.append(asyncio.run(work())))
    thread.start()
    thread.join(600)
    return found[0]


def test_all_who_wait_are_served_at_once_each_with_their_own():
    served, goes_on = [], threading.Event()

    def serve(wishes):
        served.append(list(wishes))
        assert goes_on.wait(600)
        yield enumerate(BagwiseError(f"not {wish}") if wish == 3 else 10 * wish for wish in wishes)

    async def work():
        together = Batch(thread, serve, Traffic())
        waiting = [asyncio.create_task(together(0))]
        await asyncio.sleep(0.05)
        waiting += [asyncio.create_task(together(wish)) for wish in range(1, 6)]
        await asyncio.sleep(0.05)
        goes_on.set()
        return await asyncio.gather(*waiting, return_exceptions=True)

    with ThreadPoolExecutor(1) as thread:
        found = run(work)
    assert served == [[0], [1, 2, 3, 4, 5]]
    assert [one for one in found if isinstance(one, int)] == [0, 10, 20, 40, 50]
    with pytest.raises(BagwiseError, match="not 3"):
        raise found[3]


def test_what_fails_for_all_fails_for_all_and_the_next_are_served():
    def serve(wishes):
        if "bad" in wishes:
            raise BagwiseError("The database is gone.")
        yield enumerate(wishes)

    async def work():
        together = Batch(thread, serve, Traffic())
        found = await asyncio.gather(together("bad"), together("good"), return_exceptions=True)
        return [*found, await together("later")]

    with ThreadPoolExecutor(1) as thread:
        *failed, later = run(work)
    assert [str(one) for one in failed] == ["The database is gone."] * 2
    assert later == "later"


def test_what_is_saved_does_not_wait_for_what_is_served_with_it():
    goes_on = threading.Event()

    def serve(wishes):
        yield [(wishes.index("answer"), "saved")]
        assert goes_on.wait(600)
        yield [(wishes.index("question"), "asked")]

    async def work():
        together = Batch(thread, serve, Traffic())
        question, answer = (asyncio.create_task(together(wish)) for wish in ("question", "answer"))
        saved = await answer
        waits = not question.done()
        goes_on.set()
        return saved, waits, await question

    with ThreadPoolExecutor(1) as thread:
        assert run(work) == ("saved", True, "asked")


def test_nobody_waits_for_ever_whatever_happens():
    class Worse(BaseException):
        pass

    def serve(wishes):
        if "worse" in wishes:
            raise Worse
        yield [(0, "first")]

    async def work():
        together = Batch(thread, serve, Traffic())
        forgotten = await asyncio.gather(together(1), together(2), return_exceptions=True)
        worse = await asyncio.gather(together("worse"), return_exceptions=True)
        thread.shutdown()
        return [*forgotten, *worse, *await asyncio.gather(together(3), return_exceptions=True)]

    with ThreadPoolExecutor(1) as thread:
        first, *errors = run(work)
    assert first == "first"
    assert [type(one) for one in errors] == [RuntimeError] * 3


def test_requests_that_are_being_read_are_served_together():
    served = []

    def serve(wishes):
        served.append(len(wishes))
        yield enumerate(wishes)

    async def later(together):
        for _ in range(ITERATIONS):
            await asyncio.sleep(0)
        return await together("later")

    async def work():
        together = Batch(thread, serve, Traffic())
        return await asyncio.gather(together("now"), later(together))

    with ThreadPoolExecutor(1) as thread:
        assert run(work) == ["now", "later"]
    assert served == [2]


@pytest.mark.parametrize("others", [0, 1])
def test_the_event_loop_pauses_unless_somebody_else_needs_it(monkeypatch, others):
    """A file that is sent takes many turns of the loop: they go on while a batch is served."""
    turns, needed = itertools.count(), threading.Event()

    def serve(wishes):
        before = next(turns)
        assert not others or needed.wait(60)
        time.sleep(0.01)
        yield enumerate([next(turns) > before + 1] * len(wishes))

    async def turn():
        while True:
            await asyncio.sleep(0)
            if next(turns) > 100:
                needed.set()

    async def work():
        turning = asyncio.create_task(turn())
        found = await Batch(thread, serve, Traffic(requests=1 + others))("answer")
        turning.cancel()
        return found

    monkeypatch.setattr(batcher, "LONGEST_PAUSE", 120.0)
    with ThreadPoolExecutor(1) as thread:
        assert run(work) is bool(others)


def test_answers_are_acknowledged_although_nothing_can_be_asked(project, monkeypatch):
    """They are served together, but saved before the next questions are chosen."""
    (question,) = project.ask("ann")

    def stopped(_):
        raise TrainerStopped

    async def work():
        return await asyncio.gather(
            together.submit(Shown(), partial(Submission, question.key, "ann", ("absent",))),
            together.ask(Shown(), LeaseRequest("bea")),
            return_exceptions=True,
        )

    together = Batcher(project, lambda _, leases: list(leases), Traffic())
    monkeypatch.setattr(project, "lease", stopped)
    saved, refused = run(work)
    together.close()
    assert [event.number for event in saved] == [1]
    assert isinstance(refused, TrainerStopped)

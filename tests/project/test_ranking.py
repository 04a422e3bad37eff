"""Whoever is interrupted while waiting for questions leaves nothing behind that others would wait for."""

import signal
import time
from concurrent.futures import Future

import pytest

from bagwise.project.queue.ranking import wait_for


class Interrupted(Exception):
    pass


@pytest.fixture
def interrupted_soon():
    def interrupt(*_):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("interrupted_soon")
def test_an_interrupted_wait_leaves_no_lock_behind():
    published = Future()
    with pytest.raises(Interrupted):
        wait_for(published, None)
    assert published._waiters == [], "the one who publishes would take the lock of each of them"
    published.set_result(None)


def test_what_is_there_is_not_waited_for_and_patience_ends():
    published = Future()
    start = time.monotonic()
    wait_for(published, 0.02)
    assert time.monotonic() - start >= 0.02
    published.set_result(None)
    wait_for(published, None)

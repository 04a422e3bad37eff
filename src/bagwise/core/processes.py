"""How worker processes are started on this platform."""

import multiprocessing
from collections.abc import Sequence
from multiprocessing.context import BaseContext


def worker_context(preload: Sequence[str]) -> BaseContext:
    """Return the context that starts worker processes: a fork server where the platform has one, else `spawn`.

    A fork of a process that has threads may hang. The fork server has no threads and has imported the modules of
    `preload`, so each of its children starts in no time; on Windows every child imports them itself.

    Parameters
    ----------
    preload : sequence of str
        Names of the modules that the workers need.

    Returns
    -------
    multiprocessing.context.BaseContext
        Has `Process`, `Pipe` and `Queue`.

    Examples
    --------
    >>> worker_context(["bagwise.core.errors"]).get_start_method() in ("forkserver", "spawn")
    True
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", *preload])
    return context

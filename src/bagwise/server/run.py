"""Start the server: checks of host and port, the configuration of uvicorn, and the loop that serves."""

import contextlib
import gc
import logging
import socket
import sys

import uvicorn
from fastapi import FastAPI

from bagwise.core.errors import BagwiseError
from bagwise.kernels.arithmetic.blocks import single_threaded_blas
from bagwise.project import Invitations, Project
from bagwise.server.app import application
from bagwise.server.http_protocol import BoundedProtocol
from bagwise.server.site import Site

# Every statement to the database releases the interpreter lock and has to get it back from the thread that learns: the
# 5 ms that Python lets a thread keep it add up.
SWITCH_SECONDS = 0.0005
# What requests leave behind is found among the new objects. To look for garbage among the old ones too, every second as
# Python would do, stops everyone for a tenth of a second where there are 20,000 answers, all of which stay. New objects
# are looked through in small parts: one look at twenty times 20,000 took 48 ms.
GARBAGE_THRESHOLDS = 10_000, 4, 2_000

logger = logging.getLogger(__name__)


def validate_host(project: Project, site: Site) -> None:
    """Raise an error where other machines would be served without signing in.

    Parameters
    ----------
    project : Project
        The project to serve.
    site : Site
        Where it is to be served.

    Raises
    ------
    BagwiseError
        Where the host is not a loopback address and nobody was ever invited.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from bagwise.formats import Source
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    >>> with TemporaryDirectory() as folder, Project.create(f"{folder}/p", source, classes=["wren"]) as project:
    ...     validate_host(project, Site("127.0.0.1"))
    ...     try:
    ...         validate_host(project, Site("0.0.0.0"))
    ...     except BagwiseError as error:
    ...         print(str(error).partition(":")[0])
    0.0.0.0 can be reached from other machines, and no person is invited yet
    """
    if not site.is_loopback and not Invitations(project.database).any_invited():
        raise BagwiseError(
            f"{site.host} can be reached from other machines, and no person is invited yet: "
            f"invite people with `bagwise invite {project.folder} NAME`, or serve 127.0.0.1."
        )


def validate_port(host: str, port: int) -> None:
    """Raise an error where the port cannot be bound, before the project is prepared for it.

    Parameters
    ----------
    host : str
        The address to listen on.
    port : int
        The port; 0 for any that is free.

    Raises
    ------
    BagwiseError
        Where another process listens on the port, or this one may not.

    Examples
    --------
    >>> with socket.create_server(("127.0.0.1", 0)) as busy:
    ...     try:
    ...         validate_port("127.0.0.1", busy.getsockname()[1])
    ...     except BagwiseError as error:
    ...         print(str(error).partition(": ")[2])
    choose another with --port.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise BagwiseError(f"Port {port} cannot be used ({error.strerror}): choose another with --port.") from error


def configuration(
    app: FastAPI, site: Site, port: int, protocol: type[BoundedProtocol] = BoundedProtocol
) -> uvicorn.Config:
    """Return how uvicorn serves the application: with limits, and trusting only the site's proxies.

    Parameters
    ----------
    app : FastAPI
        The application.
    site : Site
        Where it is served.
    port : int
        The port on `site.host`.
    protocol : type
        The HTTP protocol with its limits.

    Returns
    -------
    uvicorn.Config

    Examples
    --------
    >>> configured = configuration(FastAPI(), Site(), port=8765)
    >>> configured.host, configured.port, configured.proxy_headers
    ('127.0.0.1', 8765, False)
    """
    return uvicorn.Config(
        app,
        host=site.host,
        port=port,
        http=protocol,
        ws="none",
        proxy_headers=bool(site.proxies),
        forwarded_allow_ips=list(site.proxies),
        # Messages go to the handlers of this process (`bagwise.core.logs`).
        log_config=None,
    )


def serve(project: Project, annotator: str, site: Site | None = None, port: int = 8765, embed: str = "") -> None:
    """Serve a project until the process is interrupted.

    Parameters
    ----------
    project : Project
        An open project.
    annotator : str
        Who answers where nobody was ever invited.
    site : Site, optional
        Where it is served; by default on this machine only.
    port : int
        The port on `site.host`.
    embed : str
        How files that are dropped on the page are embedded, where those of the project were.

    Raises
    ------
    BagwiseError
        Where the host can be reached from other machines and nobody was invited.

    Examples
    --------
    It does not return before the process is interrupted, unless it cannot serve:

    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from bagwise.formats import Source
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    >>> with TemporaryDirectory() as folder, Project.create(f"{folder}/p", source, classes=["wren"]) as project:
    ...     try:
    ...         serve(project, "ann", Site("0.0.0.0"))
    ...     except BagwiseError as error:
    ...         print(str(error).partition(":")[0])
    0.0.0.0 can be reached from other machines, and no person is invited yet
    """
    site = site or Site()
    validate_host(project, site)
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    logger.info("serving %s on %s port %d", project.folder, site.host, port)
    # BLAS is limited to one thread once, since doing it for every question takes time.
    with single_threaded_blas(), contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(configuration(application(project, annotator, site, embed), site, port)).run()
    logger.info("stopped serving %s", project.folder)

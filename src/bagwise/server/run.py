"""Start the server."""

import contextlib
import socket
import sys

import uvicorn
from fastapi import FastAPI

from bagwise.core.errors import BagwiseError
from bagwise.kernels.arithmetic.blocks import single_threaded_blas
from bagwise.project import Invitations, Project
from bagwise.server.app import application
from bagwise.server.connections import BoundedProtocol
from bagwise.server.security import Site

# Every statement to the database lets go of the interpreter and has to get it back from the thread that learns: the
# 5 ms that Python lets it keep each time add up.
SWITCH_SECONDS = 0.0005


def validate_host(project: Project, site: Site) -> None:
    """Other machines are served only where people sign in."""
    if not site.is_loopback and not Invitations(project.database).any_invited():
        raise BagwiseError(
            f"{site.host} can be reached by others, and nobody was invited yet: "
            f"invite them with `bagwise invite {project.folder} NAME`, or serve 127.0.0.1."
        )


def validate_port(host: str, port: int) -> None:
    """Say so before anything else is done."""
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
    """How uvicorn serves the application: with limits, and believing only the site's proxies about who calls."""
    return uvicorn.Config(
        app,
        host=site.host,
        port=port,
        http=protocol,
        ws="none",
        proxy_headers=bool(site.proxies),
        forwarded_allow_ips=list(site.proxies),
        log_level="warning",
    )


def serve(project: Project, annotator: str, site: Site | None = None, port: int = 8765) -> None:
    """Until interrupted."""
    site = site or Site()
    validate_host(project, site)
    sys.setswitchinterval(SWITCH_SECONDS)
    # Holding BLAS to one thread for all of the time spares every question the effort of doing it for a moment.
    with single_threaded_blas(), contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(configuration(application(project, annotator, site), site, port)).run()

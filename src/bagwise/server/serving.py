"""Start the server on this machine."""

import ipaddress
import socket

import uvicorn

from bagwise.errors import BagwiseError
from bagwise.project import Project
from bagwise.server.app import application


def refuse_other_machines(host: str) -> None:
    """Without a sign-in, only this machine may be served."""
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise BagwiseError(
            f"{host} can be reached by others, and there is no sign-in yet: use 127.0.0.1, or a tunnel (ssh -L)."
        )


def refuse_taken_port(host: str, port: int) -> None:
    """Say so before anything else is done."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise BagwiseError(f"Port {port} cannot be used ({error.strerror}): choose another with --port.") from None


def serve(project: Project, annotator: str, host: str = "127.0.0.1", port: int = 8765) -> None:
    """Until interrupted."""
    refuse_other_machines(host)
    uvicorn.run(application(project, annotator), host=host, port=port, log_level="warning")

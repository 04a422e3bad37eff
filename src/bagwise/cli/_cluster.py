"""The option of the commands that can work on a cluster."""

from typing import Annotated

import typer

from bagwise.cli._app import console

Cluster = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="Work on a Ray cluster: auto (the one of this machine), HOST:PORT, ray://HOST:10001; local starts one.",
    ),
]


def join(address: str) -> None:
    """Be on the cluster, or say why not."""
    from bagwise.cluster import connect

    with console.status(f"Joining the cluster {address}"):
        connect(address)

"""The option of the commands that can run on a cluster."""

from typing import Annotated

import typer

from bagwise.cli._app import console

Cluster = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="Run on a Ray cluster: auto (the one of this machine), HOST:PORT, ray://HOST:10001; local starts one.",
    ),
]


def join(address: str) -> None:
    """Connect to the cluster, or raise an error."""
    from bagwise.cluster import connect

    with console.status(f"Connecting to the cluster {address}"):
        connect(address)

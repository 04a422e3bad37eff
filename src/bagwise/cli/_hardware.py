"""The options of the commands that can run on a cluster or on a graphics card."""

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

Device = Annotated[
    str,
    typer.Option(
        metavar="cpu|cuda|auto", help="Search questions and learn on an NVIDIA card: cuda; auto: if there is one."
    ),
]


def join(address: str) -> None:
    """Connect to the cluster, or raise an error."""
    from bagwise.cluster import connect

    with console.status(f"Connecting to the cluster {address}"):
        connect(address)

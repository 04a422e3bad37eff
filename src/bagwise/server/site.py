"""The address of a server: where it listens, the address people type, and the proxies in front of it."""

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from bagwise.core.errors import BagwiseError
from bagwise.project.access.address import ip_address, is_loopback

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Site:
    """Where a server is reached.

    Parameters
    ----------
    host : str
        The address that it listens on.
    at : str
        The address that people type, where it is another: `https://label.org` behind a proxy.
    proxies : tuple of str
        Addresses or networks of the proxies in front of it. Only their `X-Forwarded-For` and `X-Forwarded-Proto` are
        trusted.

    Raises
    ------
    BagwiseError
        Where an entry of `proxies` is not an IP address or network.

    Examples
    --------
    >>> Site().is_loopback
    True
    >>> Site("0.0.0.0", at="https://label.org").missing_tls is None
    True
    """

    host: str = "127.0.0.1"
    at: str = ""
    proxies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for proxy in self.proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError as error:
                raise BagwiseError(
                    f"{proxy} is not the address of a proxy: write an IP address such as 127.0.0.1, or a network such "
                    "as 10.0.0.0/8."
                ) from error

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)

    @property
    def is_secure(self) -> bool:
        """Whether people reach it by https."""
        return self.at.startswith("https://")

    @property
    def missing_tls(self) -> str | None:
        """One sentence of warning where other machines are served without encryption."""
        if self.is_loopback or self.is_secure:
            return None
        return (
            f"Warning: what is sent to {self.host} is not encrypted, so others on the network can read tokens and "
            "answers: put a proxy with TLS in front (docs/projects.md shows how) and give `--at https://NAME`."
        )

    def answers_to(self, name: str | None) -> bool:
        """Whether `name` is a host name of this server.

        Another site's name server can lead any name to this address, but not an IP address: where the server listens
        on all addresses, each of them is accepted.

        Parameters
        ----------
        name : str or None
            The host name of a request, in lower case and without port; None where it has none.

        Returns
        -------
        bool
        """
        if name is None:
            return False
        if name in LOOPBACK or name in (self.host, urlsplit(self.at).hostname):
            return True
        listens = ip_address(self.host)
        everywhere = listens is not None and listens.is_unspecified
        return everywhere and (ip_address(name) is not None or name == socket.gethostname().lower())

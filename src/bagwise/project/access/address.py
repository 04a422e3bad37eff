"""The address at which a project is reached: what links of invitations begin with."""

import contextlib
import ipaddress
import json
import socket
from dataclasses import asdict, dataclass, replace
from pathlib import Path

DEFAULT_PORT = 8765
LOOPBACK = "127.0.0.1"
FILE = ".served.json"
ELSEWHERE = ("192.0.2.1", 9)
"""An address that no machine has (RFC 5737): the way there would begin at this machine's address in its network."""


@dataclass(frozen=True)
class Address:
    """Where a project is, or was last, served.

    Parameters
    ----------
    host : str
        The address that the server listens on.
    port : int
        The port.
    at : str
        The address that people type, where it is another: `https://label.org` behind a proxy.

    Examples
    --------
    >>> Address("label.local", 80).link, Address("::1").link, Address(at="https://label.org/").link
    ('http://label.local:80/', 'http://[::1]:8765/', 'https://label.org/')
    >>> Address().is_loopback, Address(at="https://label.org").is_loopback
    (True, False)
    """

    host: str = LOOPBACK
    port: int = DEFAULT_PORT
    at: str = ""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return not self.at and is_loopback(self.host)

    @property
    def link(self) -> str:
        """What is typed to get there; where the server listens everywhere, this machine's address in its network."""
        if self.at:
            return f"{self.at.rstrip('/')}/"
        address = ip_address(self.host)
        everywhere = address is not None and address.is_unspecified
        host = (network_address() or LOOPBACK) if everywhere else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    @property
    def for_others(self) -> "Address":
        """The address for people at other machines: this machine's in its network, where it has one."""
        return replace(self, host=network_address() or self.host) if self.is_loopback else self

    def remember(self, folder: Path) -> None:
        """Write it to the folder of the project, for the links of later invitations.

        Parameters
        ----------
        folder : Path
            The project's; where it cannot be written, nothing is remembered.
        """
        with contextlib.suppress(OSError):
            (folder / FILE).write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def last(cls, folder: Path) -> "Address":
        """Return where the project was served last; by default where `bagwise serve` serves it.

        Parameters
        ----------
        folder : Path
            The project's.

        Returns
        -------
        Address
        """
        try:
            return cls(**json.loads((folder / FILE).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return cls()


def network_address() -> str | None:
    """Return the address of this machine in its network; None where it is in none. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect(ELSEWHERE)
        except OSError:
            return None
        found = str(way.getsockname()[0])
    return None if is_loopback(found) else found


def is_loopback(host: str) -> bool:
    """Return whether an address is one of this machine alone.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    address = ip_address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def ip_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address that a text is; None where it is a name."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None

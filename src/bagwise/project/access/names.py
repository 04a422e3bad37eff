"""What may be the name of a person."""

from bagwise.core.errors import BagwiseError


def validate_name(name: str) -> None:
    """Names are shown, compared and stored: up to 200 printable characters."""
    if not name.strip() or len(name) > 200 or not name.isprintable():
        raise BagwiseError(f"{name[:40]!r} is no name of a person: write up to 200 printable characters.")

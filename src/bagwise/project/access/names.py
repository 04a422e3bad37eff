"""Validation of the names of people."""

from bagwise.core.errors import BagwiseError


def validate_name(name: str) -> None:
    """Raise an error where `name` cannot be the name of a person.

    Raises
    ------
    BagwiseError
        Where it is empty, longer than 200 characters or has characters that are not printable.
    """
    if not name.strip() or len(name) > 200 or not name.isprintable():
        raise BagwiseError(f"{name[:40]!r} is not a name of a person: use up to 200 printable characters.")

"""stub"""

from typing import Any


def fingerprint(embed: str) -> str:
    return embed


def cutter(embed: str, way: Any) -> Any: ...

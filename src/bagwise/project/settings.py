"""bagwise.toml: what a person may read and change about a project."""

import json
import tomllib
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from bagwise import criteria
from bagwise.errors import BagwiseError, FileError
from bagwise.model import solvers

FILE = "bagwise.toml"


@dataclass(frozen=True)
class Data:
    """What the instances look like; fixed by the first import."""

    features: int
    dtype: str


@dataclass(frozen=True)
class Learning:
    """How it learns and chooses. A change takes effect at the next start, which then replays all answers."""

    criterion: str = "balanced_uncertainty"
    update: str = "replay"
    background: bool = True
    prior: float = 1.0
    step_size: float = 0.1
    audit: float = 0.1
    seed: int = 0


@dataclass(frozen=True)
class Asking:
    """Who is asked what: seconds a question stays with one person; people asked about each pair of a share of them."""

    lease_seconds: float = 300.0
    people: int = 1
    share: float = 1.0


@dataclass(frozen=True)
class Settings:
    """All of it; `database` is empty where the answers lie in the folder itself."""

    name: str
    data: Data
    learning: Learning = field(default_factory=Learning)
    asking: Asking = field(default_factory=Asking)
    database: str = ""

    def __post_init__(self) -> None:
        criteria.get(self.learning.criterion)
        solvers.get(self.learning.update)
        if not 0 <= self.learning.audit <= 1 or not 0 <= self.asking.share <= 1:
            raise BagwiseError("audit and share are shares: they must lie between 0 and 1.")
        if self.asking.people < 1 or self.asking.lease_seconds <= 0:
            raise BagwiseError("people must be at least 1 and lease_seconds more than 0.")

    def write(self, folder: Path) -> None:
        """As TOML with a word on every part."""
        sections: list[tuple[str, str, Any]] = [
            ("data", "Fixed by the first import.", self.data),
            ("learning", "A change takes effect at the next start, which then replays all answers.", self.learning),
            (
                "asking",
                "A question is leased to one person; each pair of the share is asked of so many people.",
                self.asking,
            ),
        ]
        lines = [
            "# A Bagwise project. This folder is all of it: move it and the project moves.",
            f"name = {_toml(self.name)}",
        ]
        if self.database:
            lines += ["# The answers are here, not in this folder.", f"database = {_toml(self.database)}"]
        for name, comment, section in sections:
            lines += ["", f"# {comment}", f"[{name}]"]
            lines += [f"{key} = {_toml(value)}" for key, value in asdict(section).items()]
        path = folder / FILE
        unfinished = path.with_suffix(".part")
        unfinished.write_text("\n".join(lines) + "\n", encoding="utf-8")
        if self.database:
            unfinished.chmod(0o600)
        unfinished.replace(path)

    @classmethod
    def read(cls, folder: Path) -> "Settings":
        """From the folder, or a sentence that says what is wrong with it."""
        path = folder / FILE
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise BagwiseError(f"{folder} is no Bagwise project: make one with `bagwise init`.") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FileError(path, f"is not TOML ({error}).") from None
        kinds = {"data": Data, "learning": Learning, "asking": Asking}
        for key in content:
            if key not in kinds and key not in ("name", "database"):
                raise FileError(path, f"there is no setting {key!r}.")
        sections = {name: _section(path, name, kind, content.get(name, {})) for name, kind in kinds.items()}
        return cls(name=str(content.get("name", folder.name)), database=str(content.get("database", "")), **sections)


def _section(path: Path, name: str, kind: type, given: dict[str, Any]) -> Any:
    known = {one.name: one.type for one in fields(kind)}
    if not isinstance(given, dict):
        raise FileError(path, f"{name} must be a section, [{name}].")
    for key, value in given.items():
        if key not in known:
            raise FileError(path, f"there is no setting {name}.{key}.")
        allowed: Any = {bool: bool, int: int, float: (int, float), str: str}[known[key]]  # type: ignore[index]
        if not isinstance(value, allowed) or (isinstance(value, bool) and known[key] is not bool):
            raise FileError(path, f"{name}.{key} = {value!r} must be a {getattr(known[key], '__name__', known[key])}.")
    try:
        return kind(**given)
    except TypeError as error:
        raise FileError(path, f"[{name}] is not complete ({error}).") from None


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

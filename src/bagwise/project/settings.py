"""bagwise.toml: what a person may read and change about a project."""

import json
import tomllib
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from bagwise.core.errors import BagwiseError, FileError
from bagwise.evaluation.stopping import Goal
from bagwise.learning import criteria
from bagwise.learning.granularity import Seconds
from bagwise.model import solvers

FILE = "bagwise.toml"
ESTIMATE = "estimate"
CURVED_SCALING = "curved"
GRANULARITIES = ("pair", "bag", "best_value")
SCALINGS = ("standardise", "centre", "none", CURVED_SCALING)


ALLOWED: dict[Any, Any] = {bool: bool, int: int, float: (int, float), str: str, float | str: (int, float, str)}


@dataclass(frozen=True)
class Data:
    """What the instances look like, fixed by the first import; `parts` is the folder they lie in where it is not here.

    A path that is not absolute begins in the project's folder.
    """

    features: int
    dtype: str
    parts: str = ""


@dataclass(frozen=True)
class Learning:
    """How it learns and chooses. A change takes effect at the next start, which then replays all answers."""

    criterion: str = "widening_uncertainty"
    update: str = "replay"
    background: bool = True
    prior: float = 1.0
    step_size: float = 0.1
    scaling: str = "standardise"
    audit: float = 0.1
    seed: int = 0
    noise: float | str = 0.0


@dataclass(frozen=True)
class Asking:
    """Who is asked what: seconds a question stays with one person; people asked about each pair of a share of them.

    `granularity` says whether a question is about a pair, about a whole bag, or about what is worth more per second;
    the three times are what an answer takes until enough are measured.
    """

    lease_seconds: float = 300.0
    people: int = 1
    share: float = 1.0
    granularity: str = "pair"
    pair_seconds: float = 4.0
    again_seconds: float = 2.0
    bag_seconds: float = 10.0


@dataclass(frozen=True)
class Display:
    """How a bag is shown: what it is called, and `picture = "8x8"` where an instance's features are its pixels."""

    bag: str = "bag"
    picture: str = ""


@dataclass(frozen=True)
class Settings:
    """All of it; `database` is empty where the answers lie in the folder itself."""

    name: str
    data: Data
    learning: Learning = field(default_factory=Learning)
    asking: Asking = field(default_factory=Asking)
    display: Display = field(default_factory=Display)
    database: str = ""
    stopping: Goal = field(default_factory=Goal)

    def __post_init__(self) -> None:
        criteria.get(self.learning.criterion)
        solvers.get(self.learning.update)
        if self.data.dtype not in ("float32", "float64"):
            raise BagwiseError(f"dtype = {self.data.dtype!r} must be float32 or float64.")
        if not 0 <= self.learning.audit <= 1 or not 0 <= self.asking.share <= 1:
            raise BagwiseError("audit and share are shares: they must lie between 0 and 1.")
        noise = self.learning.noise
        if noise != ESTIMATE and (isinstance(noise, str) or not 0 <= noise < 0.5):
            raise BagwiseError(f'noise = {noise!r} must be the share of wrong answers, less than 0.5, or "{ESTIMATE}".')
        if self.asking.people < 1 or self.asking.lease_seconds <= 0:
            raise BagwiseError("people must be at least 1 and lease_seconds more than 0.")
        if self.asking.granularity not in GRANULARITIES:
            raise BagwiseError(f"granularity must be one of {', '.join(GRANULARITIES)}.")
        Seconds(self.asking.pair_seconds, self.asking.again_seconds, self.asking.bag_seconds)
        if self.learning.scaling not in SCALINGS:
            raise BagwiseError(f"scaling must be one of {', '.join(SCALINGS)}.")
        shape = self.picture
        if shape is not None and shape[0] * shape[1] != self.data.features:
            raise BagwiseError(f"picture = {self.display.picture!r} does not have {self.data.features} pixels.")

    @property
    def shape(self) -> tuple[int, str]:
        """Features of an instance and their type, which never change."""
        return self.data.features, self.data.dtype

    @property
    def picture(self) -> tuple[int, int] | None:
        """Height and width of an instance that is a picture."""
        if not self.display.picture:
            return None
        height, _, width = self.display.picture.partition("x")
        if not (height.isdigit() and width.isdigit()):
            raise BagwiseError(f"picture = {self.display.picture!r} must be HEIGHTxWIDTH, as in 8x8.")
        return int(height), int(width)

    def write(self, folder: Path) -> None:
        """As TOML with a word on every part."""
        sections: list[tuple[str, str, Any]] = [
            (
                "data",
                "Fixed by the first import; parts is where the instances lie once they are partitioned.",
                self.data,
            ),
            ("learning", "A change takes effect at the next start, which then replays all answers.", self.learning),
            (
                "asking",
                "A question is leased to one person; each pair of the share is asked of so many people.",
                self.asking,
            ),
            ("display", "How the page shows a bag.", self.display),
            ("stopping", 'When to stop; 0 switches a rule off, and when = "all" waits for every rule.', self.stopping),
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
        unfinished.unlink(missing_ok=True)
        if self.database:
            # No other user may read the password, not even while it is being written.
            unfinished.touch(mode=0o600)
        unfinished.write_text("\n".join(lines) + "\n", encoding="utf-8")
        unfinished.replace(path)

    @classmethod
    def read(cls, folder: Path) -> "Settings":
        """From the folder, or a sentence that says what is wrong with it."""
        path = folder / FILE
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise BagwiseError(f"{folder} is no Bagwise project: make one with `bagwise init`.") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FileError(path, f"is not TOML ({error}).") from error
        kinds = {"data": Data, "learning": Learning, "asking": Asking, "display": Display, "stopping": Goal}
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
        allowed: Any = ALLOWED[known[key]]
        if not isinstance(value, allowed) or (isinstance(value, bool) and known[key] is not bool):
            raise FileError(path, f"{name}.{key} = {value!r} must be a {getattr(known[key], '__name__', known[key])}.")
    try:
        return kind(**given)
    except TypeError as error:
        raise FileError(path, f"[{name}] is not complete ({error}).") from error


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

"""bagwise.toml: the settings of a project, which a person may read and change.

The sections are plain frozen dataclasses; pydantic checks their types and ranges, in the file and in Python alike.
"""

import json
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass as validated_dataclass

from bagwise.core.errors import BagwiseError, FileError
from bagwise.evaluation.stopping import Goal
from bagwise.learning import criteria
from bagwise.learning.audits import DESIGNS
from bagwise.model import solvers
from bagwise.project.storage.bag_filter import BagFilter, Hours

FILE = "bagwise.toml"
ESTIMATE = "estimate"
CURVED_SCALING = "curved"
SPREADS = ("site", "site and hour")
GRANULARITIES = ("pair", "bag", "best_value", "instance")


def _one_of(*values: str) -> AfterValidator:
    def check(value: str) -> str:
        if value not in values:
            raise ValueError(f"must be one of {', '.join(value or '(empty)' for value in values)}")
        return value

    return AfterValidator(check)


def _criterion(name: str) -> str:
    criteria.get(name)
    return name


def _solver(name: str) -> str:
    solvers.get(name)
    return name


def _noise(value: object) -> object:
    is_rate = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 0.5
    if not is_rate and value != ESTIMATE:
        raise ValueError(f'must be the share of wrong answers, at least 0 and less than 0.5, or "{ESTIMATE}"')
    return value


def _picture(value: str) -> str:
    height, _, width = value.partition("x")
    if value and not (height.isdigit() and width.isdigit()):
        raise ValueError("must be HEIGHTxWIDTH, as in 8x8, or empty")
    return value


def _users(value: list[str]) -> list[str]:
    for one in value:
        user, _, name = one.partition("=")
        if not user.isdigit() or not name.strip():
            raise ValueError('must have the number of a user and a name in each entry, as "7=ann"')
    return value


def _hours(value: str) -> str:
    if value:
        Hours.parse(value)
    return value


Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


@dataclass(frozen=True)
class Data:
    """What the instances look like, fixed by the first import.

    Parameters
    ----------
    features : int
        Number of features of an instance.
    dtype : {"float16", "float32", "float64"}
        Type of a feature as it is stored; float16 is computed with as float32.
    parts : str
        Folder of the partitions, where the instances are partitioned; empty where they are one file of the project. A
        path that is not absolute starts in the project's folder.
    """

    features: int
    dtype: Annotated[str, _one_of("float16", "float32", "float64")]
    parts: str = ""


@dataclass(frozen=True)
class Learning:
    """How the model learns and chooses questions. A change takes effect at the next start, which replays all answers.

    Parameters
    ----------
    criterion, update : str
        Names of a criterion and of a solver.
    background : bool
        Whether the model has a class for instances of none of the classes.
    prior : float
        Precision of the prior on the weights.
    step_size : float
        First step of the stochastic solvers.
    scaling : {"standardise", "centre", "none", "curved"}
        Map of the instances before they are learned from; see `transformer` of `MIMLClassifier`.
    audit : float
        Share of questions drawn at random, between 0 and 1.
    audit_design : {"uniform", "balanced"}
        Whether every open pair is drawn alike, or uncertain pairs and rare classes more often.
    seed : int
        Of everything random.
    noise : float or "estimate"
        Share of wrong answers that the model allows for, less than 0.5.

    Examples
    --------
    >>> Learning(criterion="uncertainty", noise="estimate").update
    'replay'
    """

    criterion: Annotated[str, AfterValidator(_criterion)] = "widening_uncertainty"
    update: Annotated[str, AfterValidator(_solver)] = "replay"
    background: bool = True
    prior: float = 1.0
    step_size: float = 0.1
    scaling: Annotated[str, _one_of("standardise", "centre", "none", CURVED_SCALING)] = "standardise"
    audit: Share = 0.1
    seed: int = 0
    noise: Annotated[float | str, BeforeValidator(_noise)] = 0.0
    audit_design: Annotated[str, _one_of(*DESIGNS)] = "uniform"

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What digests are made from: everything that a model may depend on, which how audits are drawn is not."""
        return {name: value for name, value in asdict(self).items() if name != "audit_design"}


@dataclass(frozen=True)
class Asking:
    """Who is asked what.

    Parameters
    ----------
    lease_seconds : float
        Seconds for which a question is leased to one person.
    people : int
        People asked about each pair of a `share` of the pairs.
    share : float
        Between 0 and 1.
    granularity : {"pair", "bag", "best_value", "instance"}
        Whether a question is about a pair, about a whole bag, about what is worth more per second, or about one
        instance of a bag: for bags that are too long to be looked through.
    device : {"cpu", "cuda", "auto"}
        Where the best questions are searched; auto uses a GPU where there is one.
    pair_seconds, again_seconds, bag_seconds : float
        Time that an answer takes (about a pair, about the same bag again, about a whole bag) until enough are measured.
    pointed_seconds : float
        The same for an answer about a pair with a click on another instance than the marked one.
    sites : list of str
        Only bags of these sites are asked about; empty: of all.
    hours : str
        Only bags that begin in this part of the day are asked about, as "04:00-09:00"; empty: at any time.
    spread : {"", "site", "site and hour"}
        Questions are spread evenly over the sites, or over sites and hours of the day.

    Examples
    --------
    >>> Asking(people=2, share=0.1).lease_seconds
    300.0
    """

    lease_seconds: Annotated[float, Field(gt=0)] = 300.0
    people: Annotated[int, Field(ge=1)] = 1
    share: Share = 1.0
    granularity: Annotated[str, _one_of(*GRANULARITIES)] = "pair"
    device: Annotated[str, _one_of("cpu", "cuda", "auto")] = "cpu"
    pair_seconds: Seconds = 4.0
    again_seconds: Seconds = 2.0
    bag_seconds: Seconds = 10.0
    pointed_seconds: Seconds = 5.0
    sites: list[str] = field(default_factory=list)
    hours: Annotated[str, AfterValidator(_hours)] = ""
    spread: Annotated[str, _one_of("", *SPREADS)] = ""

    @property
    def filter(self) -> BagFilter:
        """Which bags are asked about."""
        return BagFilter.parse(self.sites, hours=self.hours)


@dataclass(frozen=True)
class Display:
    """How a bag is shown.

    Parameters
    ----------
    bag : str
        What the page calls a bag.
    picture : str
        HEIGHTxWIDTH, as in "8x8", where the features of an instance are its pixels; else empty.

    Examples
    --------
    >>> Display(bag="recording").picture
    ''
    """

    bag: str = "bag"
    picture: Annotated[str, AfterValidator(_picture)] = ""


@dataclass(frozen=True)
class LabelStudio:
    """Whether the server is a machine-learning backend of Label Studio, and who its users are.

    Parameters
    ----------
    on : bool
        Whether `bagwise serve` has the routes for it.
    people : list of str
        "ID=NAME" for users whose answers are those of a person of the project; user 7 is else called label-studio-7.

    Examples
    --------
    >>> LabelStudio(on=True, people=["7=ann"]).name_of(7), LabelStudio().name_of(7)
    ('ann', 'label-studio-7')
    """

    on: bool = False
    people: Annotated[list[str], AfterValidator(_users)] = field(default_factory=list)

    def name_of(self, user: int) -> str:
        """Return the name of the person who is this user of Label Studio.

        Parameters
        ----------
        user : int
            The id of the user.

        Returns
        -------
        str
        """
        names = dict(one.split("=", 1) for one in self.people)
        return names.get(str(user), f"label-studio-{user}")


@dataclass(frozen=True)
class _Heading:
    """What the file says before its first section."""

    name: str
    database: str = ""


@dataclass(frozen=True)
class Settings:
    """All settings of a project.

    Parameters
    ----------
    name : str
        Name of the project.
    data, learning, asking, display, stopping, label_studio : Data, Learning, Asking, Display, Goal, LabelStudio
        The sections of the file.
    database : str
        Address of the database; empty for a SQLite file in the project's folder.

    Raises
    ------
    BagwiseError
        Where a value has the wrong type or is out of range.

    Examples
    --------
    >>> Settings("birds", Data(12, "float32")).learning.criterion
    'widening_uncertainty'
    >>> Settings("birds", Data(12, "float32"), Learning(audit=2))
    Traceback (most recent call last):
    ...
    bagwise.core.errors.BagwiseError: [learning] audit = 2 must be less than or equal to 1.
    """

    name: str
    data: Data
    learning: Learning = field(default_factory=Learning)
    asking: Asking = field(default_factory=Asking)
    display: Display = field(default_factory=Display)
    database: str = ""
    stopping: Goal = field(default_factory=Goal)
    label_studio: LabelStudio = field(default_factory=LabelStudio)

    def __post_init__(self) -> None:
        for name, kind in SECTIONS.items():
            _validated(name, kind, asdict(getattr(self, name)))
        shape = self.picture
        if shape is not None and shape[0] * shape[1] != self.data.features:
            raise BagwiseError(
                f"[display] picture = {self.display.picture!r} must have {self.data.features} pixels, one per feature."
            )
        if self.asking.granularity == "instance" and criteria.rises_with(self.learning.criterion) is None:
            raise BagwiseError(
                f"[asking] granularity = 'instance' scores every instance as a bag of its own, which [learning] "
                f"criterion = {self.learning.criterion!r} does not support: choose one that declares RISES_WITH."
            )

    @property
    def shape(self) -> tuple[int, str]:
        """Number of features of an instance and their type, which never change."""
        return self.data.features, self.data.dtype

    @property
    def picture(self) -> tuple[int, int] | None:
        """Height and width of an instance that is a picture."""
        if not self.display.picture:
            return None
        height, width = self.display.picture.split("x")
        return int(height), int(width)

    def write(self, folder: Path) -> None:
        """Write the settings as TOML, with a comment on every section.

        Parameters
        ----------
        folder : Path
            The folder of the project.
        """
        sections: list[tuple[str, str, Any]] = [
            (
                "data",
                "Fixed by the first import; parts is the folder of the partitions, once the instances are partitioned.",
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
            (
                "label_studio",
                'Whether Label Studio may connect to `bagwise serve`; people = ["7=ann"] says who its users are.',
                self.label_studio,
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
        unfinished.unlink(missing_ok=True)
        if self.database:
            # No other user may read the password, not even while it is being written.
            unfinished.touch(mode=0o600)
        unfinished.write_text("\n".join(lines) + "\n", encoding="utf-8")
        unfinished.replace(path)

    @classmethod
    def read(cls, folder: Path) -> "Settings":
        """Return the settings of the project in `folder`.

        Parameters
        ----------
        folder : Path
            The folder of the project.

        Returns
        -------
        Settings

        Raises
        ------
        FileError
            Where the file is not TOML, or a setting is unknown, missing, of the wrong type or out of range.
        """
        path = folder / FILE
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise BagwiseError(f"{folder} is not a Bagwise project: make one with `bagwise init`.") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FileError(path, f"is not TOML ({error}).") from error
        tables = {name: content.pop(name, {}) for name in SECTIONS}
        try:
            heading = _validated("", _Heading, {"name": folder.name, **content})
            sections = {name: _validated(name, kind, tables[name]) for name, kind in SECTIONS.items()}
            return cls(name=heading.name, database=heading.database, **sections)
        except BagwiseError as error:
            raise FileError(path, str(error)) from error


SECTIONS: dict[str, type[Any]] = {
    "data": Data,
    "learning": Learning,
    "asking": Asking,
    "display": Display,
    "stopping": Goal,
    "label_studio": LabelStudio,
}


# Copies of the dataclasses whose constructors check types and ranges, and refuse further keys.
VALIDATORS: dict[Any, Callable[..., object]] = {
    kind: validated_dataclass(cast(type[Any], kind), config=ConfigDict(extra="forbid", strict=True), frozen=True)
    for kind in (_Heading, *SECTIONS.values())
}


def _validated(name: str, kind: type[Any], values: object) -> Any:
    """The section called `name` with these values, or an error that says which is invalid and what is expected."""
    if not isinstance(values, dict):
        raise BagwiseError(f"{name} must be a section, [{name}].")
    try:
        VALIDATORS[kind](**values)
    except ValidationError as error:
        raise BagwiseError(_described(name, kind, error)) from error
    return kind(**values)


def _described(name: str, kind: type[Any], error: ValidationError) -> str:
    found = error.errors()[0]
    section = f"[{name}] " if name else ""
    if not found["loc"]:
        return str(found["ctx"]["error"])
    key = found["loc"][0]
    if found["type"] == "unexpected_keyword_argument":
        known = ", ".join(one.name for one in fields(kind))
        return f"{section}{key} is not a setting: known are {known}."
    if found["type"] == "missing":
        return f"{section}{key} is missing."
    expected = found["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    between = " " if expected.startswith("must ") else ": "
    return f"{section}{key} = {found['input']!r}{between}{expected.rstrip('.')}."


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

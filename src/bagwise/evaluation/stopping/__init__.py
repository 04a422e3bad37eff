"""When to stop: ONE FILE = ONE RULE, found by its name: f(evidence, goal) -> Verdict, or None where it is switched off.

Active rules combine: with `when = "any"` one that stops is enough, with `when = "all"` every one must stop.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property

from bagwise.core.errors import BagwiseError
from bagwise.core.plugins import discover, member_function
from bagwise.data import metrics
from bagwise.evaluation.estimate import ClassQuality, Interval
from bagwise.evaluation.forecast import Curves, Point, curves_through

WHEN = ("any", "all")
GROUPS = ("", "site")


@dataclass(frozen=True)
class Goal:
    """What a project is to reach, and what for: each rule has settings of its own, and 0 switches it off.

    Parameters
    ----------
    metric : str
        The name of a metric that can be estimated.
    target : float
        The value to reach, between 0 and 1; 0 switches the rule off. A target of 0 for a loss would never be reached.
    budget : int
        The most answers to give; 0 switches the rule off.
    plateau : int
        For how many answers the gain is forecast; 0 switches the rule off.
    least_gain : float
        The smallest gain, between 0 and 1, for which these answers are worth giving.
    recall : float
        The share of the bags with a class that the model is to find, between 0 and 1; 0 switches the rule off.
    found : float
        The share of the bags with a class that people are to have found, between 0 and 1; 0 switches the rule off.
    prevalence_within : float
        How closely the share of bags with a class is to be known, between 0 and 1; 0 switches the rule off.
    prevalence_by : {"", "site"}
        Whether `prevalence_within` is about all bags, or about those of each site as well.
    classes : list of str
        The classes that `recall`, `found` and `prevalence_within` are about; empty: all.
    when : {"any", "all"}
        Whether one active rule that stops is enough, or every one must stop.

    Raises
    ------
    BagwiseError
        Where a value is outside of its range, or there is no such metric.

    Examples
    --------
    >>> goal = Goal(metric="hamming_loss", target=0.05, budget=1000)
    >>> round(goal.level, 3)
    0.95
    """

    metric: str = metrics.DEFAULT
    target: float = 0.9
    budget: int = 0
    plateau: int = 200
    least_gain: float = 0.01
    recall: float = 0.0
    found: float = 0.0
    prevalence_within: float = 0.0
    prevalence_by: str = ""
    classes: list[str] = field(default_factory=list)
    when: str = "any"

    def __post_init__(self) -> None:
        if self.metric not in metrics.estimable():
            raise BagwiseError(f"[stopping] metric = {self.metric!r} must be one of {', '.join(metrics.estimable())}.")
        if self.when not in WHEN:
            raise BagwiseError(f"[stopping] when = {self.when!r} must be any or all.")
        if self.prevalence_by not in GROUPS:
            raise BagwiseError(f"[stopping] prevalence_by = {self.prevalence_by!r} must be site, or empty.")
        for name in ("target", "least_gain", "recall", "found", "prevalence_within"):
            if not 0 <= getattr(self, name) <= 1:
                raise BagwiseError(f"[stopping] {name} = {getattr(self, name)} must be between 0 and 1.")
        if self.budget < 0 or self.plateau < 0:
            raise BagwiseError("[stopping] budget and plateau are numbers of answers: they cannot be negative.")

    @property
    def level(self) -> float:
        """The target on a scale where more is better."""
        return metrics.get(self.metric).goodness(self.target)

    @property
    def recall_level(self) -> float:
        """The recall that classes are forecast to reach: `recall`, or the level of the target; 0 where both are off."""
        return self.recall or (self.level if self.target else 0.0)


@dataclass(frozen=True)
class Evidence:
    """Number of answers so far, the estimates on the way, of which the last is the current one, and those of classes.

    Parameters
    ----------
    answers : int
        Number of answers.
    points : tuple of Point
        The estimates, in the order of their answers.
    classes : mapping of str to ClassQuality
        What is estimated of every class, by its name.
    bags : int
        Number of bags that the estimates are about.
    confirmed : mapping of str to int
        In how many of them people found the class, by its name.
    groups : mapping of str to mapping of str to Interval or None
        By the name of a group of bags and that of a class: the share of the bags of the group with the class; None
        where it is not known.

    Examples
    --------
    >>> from bagwise.evaluation import Interval
    >>> evidence = Evidence(100, (Point(100, Interval(0.8, 0.75, 0.85)),))
    >>> evidence.curves is None
    True
    """

    answers: int
    points: tuple[Point, ...]
    classes: Mapping[str, ClassQuality] = field(default_factory=dict)
    bags: int = 0
    confirmed: Mapping[str, int] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, Interval | None]] = field(default_factory=dict)

    def classes_of(self, goal: Goal) -> dict[str, ClassQuality]:
        """Return the estimates of the classes that the goal is about; nothing is known of one that is not there.

        Parameters
        ----------
        goal : Goal
            Its `classes`, or all.

        Returns
        -------
        dict of str to ClassQuality

        Examples
        --------
        >>> Evidence(100, ()).classes_of(Goal(classes=["wren"]))
        {'wren': ClassQuality(precision=None, recall=None, prevalence=None)}
        """
        return {name: self.classes.get(name, ClassQuality()) for name in goal.classes or self.classes}

    @cached_property
    def curves(self) -> Curves | None:
        """Curves through the estimates; None where there are too few."""
        return curves_through(self.points)


@dataclass(frozen=True)
class Verdict:
    """Whether to stop, and a sentence that says why.

    Parameters
    ----------
    stop : bool
        Whether to stop.
    why : str
        The sentence.

    Examples
    --------
    >>> Verdict(stop=False, why="Too few answers.").stop
    False
    """

    stop: bool
    why: str


Rule = Callable[[Evidence, Goal], Verdict | None]
MOST_LISTED = 3


def listed(estimates: Mapping[str, Interval | None]) -> str:
    """Return classes with their estimates for a sentence: unknown ones and the lowest first, and how many are left out.

    Parameters
    ----------
    estimates : mapping of str to Interval or None
        By the names of classes.

    Returns
    -------
    str

    Examples
    --------
    >>> listed({"wren": Interval(0.85, 0.7, 0.95), "robin": None})
    'robin unknown, wren 0.85 (0.70 to 0.95)'
    >>> listed({})
    'nothing is estimated yet'
    """
    ordered = sorted(estimates.items(), key=lambda one: -1.0 if one[1] is None else one[1].low)
    words = [
        f"{name} unknown" if one is None else f"{name} {one.value:.2f} ({one.low:.2f} to {one.high:.2f})"
        for name, one in ordered[:MOST_LISTED]
    ]
    more = len(ordered) - MOST_LISTED
    return ", ".join([*words, *([f"and {more} more"] if more > 0 else [])]) or "nothing is estimated yet"


@cache
def available() -> dict[str, Rule]:
    """Return every rule by name.

    Returns
    -------
    dict of str to callable
        Each is f(evidence, goal) -> Verdict, or None where the goal switches it off.

    Examples
    --------
    >>> list(available())
    ['budget', 'found', 'plateau', 'prevalence_within', 'recall', 'target']
    """
    return {name: member_function(name, one) for name, one in discover(__name__, "bagwise.stopping_rules").items()}


def decide(evidence: Evidence, goal: Goal) -> Verdict:
    """Return the combined verdict of the active rules.

    Parameters
    ----------
    evidence : Evidence
        The answers and estimates so far.
    goal : Goal
        What is to be reached, and which rules are active.

    Returns
    -------
    Verdict
        With the reasons of the rules that decide it.

    Examples
    --------
    >>> decide(Evidence(10, ()), Goal(target=0, plateau=0, budget=10))
    Verdict(stop=True, why='10 of 10 answers are given.')
    """
    verdicts = [verdict for rule in available().values() if (verdict := rule(evidence, goal)) is not None]
    if not verdicts:
        return Verdict(False, "No stopping rule is active.")
    stopping = [verdict for verdict in verdicts if verdict.stop]
    stop = bool(stopping) if goal.when == "any" else len(stopping) == len(verdicts)
    return Verdict(stop, " ".join(verdict.why for verdict in (stopping if stop else verdicts)))

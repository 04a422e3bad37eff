"""Prevalence within: stop when it is known closely enough how many bags have a class, for every class one needs.

With `prevalence_by = "site"` the same must hold at every site, where only the audits at that site count: a model may be
worse there than elsewhere.
"""

from bagwise.evaluation.estimate import Interval
from bagwise.evaluation.stopping import Evidence, Goal, Verdict, listed


def prevalence_within(evidence: Evidence, goal: Goal) -> Verdict | None:
    """Say whether the share of bags with every class of the goal is known closely enough.

    Parameters
    ----------
    evidence : Evidence
        The answers and estimates so far.
    goal : Goal
        The interval of the prevalence of each of `classes` must reach at most `prevalence_within` to either side; with
        `prevalence_by`, in each of the groups as well.

    Returns
    -------
    Verdict or None
        None where `goal.prevalence_within` is 0.

    Examples
    --------
    >>> from bagwise.evaluation import ClassQuality
    >>> wren = ClassQuality(prevalence=Interval(0.14, 0.11, 0.17))
    >>> prevalence_within(Evidence(100, (), {"wren": wren}), Goal(prevalence_within=0.05)).why
    'The share of bags with wren is known within 0.05.'
    """
    if goal.prevalence_within == 0:
        return None
    limit, classes = goal.prevalence_within, evidence.classes_of(goal)
    needed = {name: one.prevalence for name, one in classes.items()}
    if goal.prevalence_by:
        if not evidence.groups:
            return Verdict(False, f"The share of bags by {goal.prevalence_by} is not known: no bag has one.")
        needed |= {f"{name} at {group}": one.get(name) for group, one in evidence.groups.items() for name in classes}
    missing = {name: one for name, one in needed.items() if one is None or _half_width(one) > limit}
    if needed and not missing:
        where = f", at every {goal.prevalence_by} too" if goal.prevalence_by else ""
        return Verdict(True, f"The share of bags with {', '.join(classes)} is known within {limit:g}{where}.")
    return Verdict(False, f"The share of bags is not yet known within {limit:g}: {listed(missing)}.")


def _half_width(share: Interval) -> float:
    """Return how far the interval reaches to its farther side."""
    return max(share.value - share.low, share.high - share.value)

"""Prevalence within: stop when it is known closely enough how many bags have a class, for every class one needs."""

from bagwise.evaluation.stopping import Evidence, Goal, Verdict, listed


def prevalence_within(evidence: Evidence, goal: Goal) -> Verdict | None:
    """Say whether the share of bags with every class of the goal is known closely enough.

    Parameters
    ----------
    evidence : Evidence
        The answers and estimates so far.
    goal : Goal
        The interval of the prevalence of each of `classes` must reach at most `prevalence_within` to either side.

    Returns
    -------
    Verdict or None
        None where `goal.prevalence_within` is 0.

    Examples
    --------
    >>> from bagwise.evaluation import ClassQuality, Interval
    >>> wren = ClassQuality(prevalence=Interval(0.14, 0.11, 0.17))
    >>> prevalence_within(Evidence(100, (), {"wren": wren}), Goal(prevalence_within=0.05)).why
    'The share of bags with wren is known within 0.05.'
    """
    if goal.prevalence_within == 0:
        return None
    found = {name: one.prevalence for name, one in evidence.classes_of(goal).items()}
    limit = goal.prevalence_within
    missing = {
        name: one
        for name, one in found.items()
        if one is None or max(one.value - one.low, one.high - one.value) > limit
    }
    if found and not missing:
        return Verdict(True, f"The share of bags with {', '.join(found)} is known within {limit:g}.")
    return Verdict(False, f"The share of bags is not yet known within {limit:g}: {listed(missing)}.")

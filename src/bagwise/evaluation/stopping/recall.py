"""Recall: stop when enough of the bags with a class are found, with confidence, for every class one needs."""

from bagwise.evaluation.stopping import Evidence, Goal, Verdict, listed


def recall(evidence: Evidence, goal: Goal) -> Verdict | None:
    """Say whether the recall of every class of the goal is reached.

    Parameters
    ----------
    evidence : Evidence
        The answers and estimates so far.
    goal : Goal
        The low end of the recall of each of `classes` must be `recall` or more.

    Returns
    -------
    Verdict or None
        None where `goal.recall` is 0.

    Examples
    --------
    >>> from bagwise.evaluation import ClassQuality, Interval
    >>> wren = ClassQuality(recall=Interval(0.85, 0.7, 0.95))
    >>> recall(Evidence(100, (), {"wren": wren}), Goal(recall=0.9)).why
    'Recall is not yet 0.9 with confidence: wren 0.85 (0.70 to 0.95).'
    """
    if goal.recall == 0:
        return None
    found = {name: one.recall for name, one in evidence.classes_of(goal).items()}
    missing = {name: one for name, one in found.items() if one is None or one.low < goal.recall}
    if found and not missing:
        return Verdict(True, f"Recall of {', '.join(found)} is {goal.recall:g} or better with confidence.")
    return Verdict(False, f"Recall is not yet {goal.recall:g} with confidence: {listed(missing)}.")

"""Target: stop when the quality has been reached with confidence, that is, by the low end of its interval."""

from bagwise.evaluation.stopping import Evidence, Goal, Verdict


def target(evidence: Evidence, goal: Goal) -> Verdict | None:
    """Say whether the target is reached.

    Parameters
    ----------
    evidence : Evidence
        The answers and estimates so far.
    goal : Goal
        The low end of the last estimate must be `target` of `metric` or better.

    Returns
    -------
    Verdict or None
        None where `goal.target` is 0.

    Examples
    --------
    >>> from bagwise.evaluation import Interval
    >>> from bagwise.evaluation.forecast import Point
    >>> target(Evidence(100, (Point(100, Interval(0.95, 0.91, 0.97)),)), Goal(target=0.9)).stop
    True
    """
    if goal.target == 0:
        return None
    name = goal.metric.replace("_", " ")
    if not evidence.points:
        return Verdict(False, f"The {name} is not known yet: too few answers.")
    reached = evidence.points[-1].quality.low >= goal.level
    word = "is" if reached else "is not yet"
    return Verdict(reached, f"The {name} {word} {goal.target:g} or better with confidence.")

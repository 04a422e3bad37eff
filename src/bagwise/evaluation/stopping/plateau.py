"""Plateau: stop when the next answers are not expected to improve anything.

The curves through the estimates so far predict what the next `plateau` answers bring. It stops when nine of ten curves
agree that it is less than `least_gain`, and never before `plateau` answers were given.
"""

import numpy as np

from bagwise.evaluation.stopping import Evidence, Goal, Verdict

AGREEING = 0.9


def plateau(evidence: Evidence, goal: Goal) -> Verdict | None:
    """Say whether the curve has become flat.

    Parameters
    ----------
    evidence : Evidence
        The answers and estimates so far.
    goal : Goal
        `plateau` answers must be expected to bring less than `least_gain`.

    Returns
    -------
    Verdict or None
        None where `goal.plateau` is 0.

    Examples
    --------
    >>> from bagwise.evaluation import Interval
    >>> from bagwise.evaluation.forecast import Point
    >>> points = tuple(Point(n, Interval(0.8, 0.79, 0.81)) for n in (100, 200, 300))
    >>> plateau(Evidence(300, points), Goal(plateau=100)).stop
    True
    """
    if goal.plateau == 0:
        return None
    if evidence.curves is None or evidence.answers < goal.plateau:
        return Verdict(False, "It is too early to say what more answers will bring.")
    gains = evidence.curves.at(evidence.answers + goal.plateau) - evidence.curves.at(evidence.answers)
    gain = float(np.quantile(gains, AGREEING))
    flat = gain < goal.least_gain
    amount = f"less than {goal.least_gain:g}" if flat else f"up to {gain:.2g}"
    return Verdict(
        flat, f"{goal.plateau} more answers are expected to bring {amount} in {goal.metric.replace('_', ' ')}."
    )

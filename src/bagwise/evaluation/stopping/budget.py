"""Budget: stop after so many answers."""

from bagwise.evaluation.stopping import Evidence, Goal, Verdict


def budget(evidence: Evidence, goal: Goal) -> Verdict | None:
    """Say whether the budget is spent.

    Parameters
    ----------
    evidence : Evidence
        The answers and estimates so far.
    goal : Goal
        `budget` is the most answers.

    Returns
    -------
    Verdict or None
        None where `goal.budget` is 0.

    Examples
    --------
    >>> budget(Evidence(10, ()), Goal(budget=10)).stop
    True
    """
    if goal.budget == 0:
        return None
    return Verdict(evidence.answers >= goal.budget, f"{evidence.answers} of {goal.budget} answers are given.")

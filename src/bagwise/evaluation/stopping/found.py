"""Found: stop when people have found nearly all bags with a class, for every class one needs.

With k bags in which people found the class, and at most M of all B bags that have it, by the high end of the interval
of its prevalence,

    open ones  <=  M - k,     M = floor(B * high)
    found      >=  k / M

and the rule stops when that is `found` or more. In systematic reviews this is the rule *quant* with its confidence
interval (Yang, Lewis and Frieder: Heuristic stopping rules for technology-assisted review, 2021), which sums the
probabilities of what was not read; here the interval also allows for what random audits say about these probabilities.
Rules that use a random sample alone (Callaghan and Mueller-Hansen: Statistical stopping criteria for automated
screening in systematic reviews, 2020: a hypergeometric test) need no model, but so many audits of the class that a
project of many classes would never stop: with 40 found and 250 open, some 160 audits of it in which nothing is found,
for 0.95.

It differs from `recall`, which is about what the model finds by itself.
"""

from math import floor

from bagwise.evaluation.estimate import ClassQuality
from bagwise.evaluation.stopping import MOST_LISTED, Evidence, Goal, Verdict

ROUNDING = 1e-9


def found(evidence: Evidence, goal: Goal) -> Verdict | None:
    """Say whether people have found the wanted share of the bags with every class of the goal.

    Parameters
    ----------
    evidence : Evidence
        The answers and estimates so far, `bags` and what is `confirmed`.
    goal : Goal
        With confidence, at least `found` of the bags with each of `classes` must be confirmed.

    Returns
    -------
    Verdict or None
        None where `goal.found` is 0.

    Examples
    --------
    >>> from bagwise.evaluation import Interval
    >>> wren = ClassQuality(prevalence=Interval(0.14, 0.13, 0.15))
    >>> found(Evidence(100, (), {"wren": wren}, bags=300, confirmed={"wren": 41}), Goal(found=0.9)).why
    'At least 0.9 of the bags with wren are found: 41, and at most 4 are open.'
    """
    if goal.found == 0:
        return None
    classes = evidence.classes_of(goal)
    confirmed = {name: evidence.confirmed.get(name, 0) for name in classes}
    still_open = {name: _most_open(one, evidence.bags, confirmed[name]) for name, one in classes.items()}
    missing = {
        name: most
        for name, most in still_open.items()
        if most is None or confirmed[name] < goal.found * (confirmed[name] + most) - ROUNDING
    }
    if classes and not missing:
        known = sum(most for most in still_open.values() if most is not None)
        return Verdict(
            True,
            f"At least {goal.found:g} of the bags with {', '.join(classes)} are found: {sum(confirmed.values())}, "
            f"and at most {known} are open.",
        )
    return Verdict(False, f"Not yet {goal.found:g} are found with confidence: {_listed(confirmed, missing)}.")


def _most_open(one: ClassQuality, bags: int, confirmed: int) -> int | None:
    """Return how many bags with the class may not be found yet; None where that is not known."""
    if one.prevalence is None:
        return None
    return max(0, floor(one.prevalence.high * bags + ROUNDING) - confirmed)


def _listed(confirmed: dict[str, int], missing: dict[str, int | None]) -> str:
    """Return what is missing for a sentence: what is not known and what lacks most first."""
    ordered = sorted(missing.items(), key=lambda one: -float("inf") if one[1] is None else -one[1])
    words = [
        f"{name} unknown" if most is None else f"{name} {confirmed[name]}, and up to {most} are open"
        for name, most in ordered[:MOST_LISTED]
    ]
    more = len(ordered) - MOST_LISTED
    return "; ".join([*words, *([f"and {more} more"] if more > 0 else [])]) or "nothing is estimated yet"

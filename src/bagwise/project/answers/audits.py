"""The audits of a project in the order of their draws, for estimates that rest on how they were drawn."""

import numpy as np

from bagwise.evaluation.audit_history import NEVER, AuditDraw, AuditHistory
from bagwise.learning.questions import Pair
from bagwise.project.answers.current_labels import known_values
from bagwise.project.answers.events import Event
from bagwise.project.answers.votes import Votes
from bagwise.project.storage.queries import UNKNOWN, Contents


def audit_history(contents: Contents, votes: Votes) -> AuditHistory:
    """Return the audits that are in effect, and when every pair was open.

    An audit keeps its probability when its answer is corrected, decided by others, or undone and given again. Where it
    is asked again it counts as drawn then: what became known in between was open at the draw, and may count as known
    all the same. Pairs of imported labels are no audits.

    Parameters
    ----------
    contents : Contents
        Bags, classes and imported labels.
    votes : Votes
        The answers.

    Returns
    -------
    AuditHistory
        With the positions of the project, also of removed bags and of classes that are not asked any more.
    """
    opened = np.maximum(contents.bags_after[:, None], contents.classes_after[None, :])
    closed = np.full(opened.shape, NEVER)
    for pair, since in votes.decided_since.items():
        closed[pair] = since
    # Imported labels, and what follows for a merged class from those it was made of, were known from the start.
    values, unsure = known_values(contents, votes)
    given = contents.given != UNKNOWN
    from_the_start = given | (((values != UNKNOWN) | unsure) & (closed == NEVER))
    closed[from_the_start] = opened[from_the_start]
    bags, classes, after = contents.later_labels.T
    imported_later = given[bags, classes]
    closed[bags[imported_later], classes[imported_later]] = after[imported_later]
    return AuditHistory(_draws(contents, votes), opened, closed, tuple(votes.reopened))


def _draws(contents: Contents, votes: Votes) -> tuple[AuditDraw, ...]:
    """The draws; the pairs of a whole-bag question were drawn at once."""
    together: dict[str, list[tuple[Event, Pair]]] = {}
    for pair, decision in votes.decisions.items():
        if decision.audit and not contents.is_given(pair):
            asked = _asked(votes, pair)
            together.setdefault(asked.key.partition("-")[0], []).append((asked, pair))
    found = []
    for several in together.values():
        several.sort(key=lambda one: one[1])
        events, pairs = zip(*several, strict=True)
        draw = AuditDraw(
            pairs[0][0],
            tuple(label_class for _, label_class in pairs),
            tuple(votes.decisions[pair].present for pair in pairs),
            votes.decisions[pairs[0]].probability,
            min(event.number - 1 if event.asked_after is None else event.asked_after for event in events),
        )
        found.append((draw.after, min(event.number for event in events), draw))
    return tuple(draw for *_, draw in sorted(found, key=lambda one: one[:2]))


def _asked(votes: Votes, pair: Pair) -> Event:
    """The answer to the audit: the first event of the first answer that counts."""
    first = votes.answers_about(pair)[0]
    chain = votes.chain_with(first.number)
    assert chain is not None
    assert chain.first is not None
    return chain.first

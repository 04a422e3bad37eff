"""What each person has answered, how fast, and when they were last active."""

from collections import Counter
from dataclasses import dataclass
from statistics import median

from bagwise.project.access.invitations import Invitations
from bagwise.project.answers.events import Event
from bagwise.project.project import Project
from bagwise.project.storage import queries


@dataclass(frozen=True)
class Participation:
    """One person in a project.

    Parameters
    ----------
    name, role : str
        Who it is; `annotator` or `adjudicator`.
    invitation : str or None
        The state of the invitation; None where there is none.
    said : dict of str to int
        Answers in effect, by kind of answer.
    seconds_per_answer : float or None
        Median time per answer.
    last_seen : str or None
        When the person last answered or signed in (ISO 8601, UTC).

    Examples
    --------
    >>> ann = Participation("ann", "annotator", None, {"present": 2, "absent": 7}, 3.5, None)
    >>> sum(ann.said.values())
    9
    """

    name: str
    role: str
    invitation: str | None
    said: dict[str, int]
    seconds_per_answer: float | None
    last_seen: str | None


def participants(project: Project) -> list[Participation]:
    """Return everyone who answered or was invited, sorted by name.

    Parameters
    ----------
    project : Project
        An open project.

    Returns
    -------
    list of Participation

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from bagwise.formats import Source
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    >>> with TemporaryDirectory() as folder, Project.create(f"{folder}/p", source, classes=["wren"]) as project:
    ...     (lease,) = project.ask("ann")
    ...     _ = project.answer(lease.key, "ann", "present", seconds=2.0)
    ...     (ann,) = participants(project)
    >>> ann.name, ann.said, ann.seconds_per_answer
    ('ann', {'present': 1}, 2.0)
    """
    project.catch_up()
    with project.database.reading() as connection:
        roles = queries.annotators(connection)
    people = Invitations(project.database)
    invited = {one.name: one.state for one in people.invitations()}
    signed_in = people.last_signed_in()
    answers: dict[str, list[Event]] = {name: [] for name in roles}
    for event in project.votes.all_effective():
        answers.setdefault(event.annotator, []).append(event)
    return [
        _participation(name, roles.get(name, "annotator"), invited.get(name), events, signed_in.get(name))
        for name, events in sorted(answers.items())
    ]


def _participation(
    name: str, role: str, invitation: str | None, events: list[Event], signed_in: str | None
) -> Participation:
    times = [event.seconds for event in events if event.seconds is not None]
    seen = [event.at for event in events] + ([signed_in] if signed_in else [])
    return Participation(
        name,
        role,
        invitation,
        dict(Counter(event.answer for event in events)),
        median(times) if times else None,
        max(seen, default=None),
    )

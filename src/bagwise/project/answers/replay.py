"""Replay: the learner of a project is a function of its events, and this computes it.

    learner = fit(everything known at the last turning point), then every later event in its order

Turning points are every `REFIT_EVERY`th event and every change of the contents (an import, a new adjudicator, a class
that is added, merged or retired). At a turning point the model is fitted again to all that is known, so that a replay
never has to learn more than a few hundred answers one by one; where the settings ask for it, the error rates of the
annotators are estimated again, from all events up to it and nothing else. A snapshot (`snapshots`) saves time and
changes nothing: the learner is the same, bit for bit.
"""

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.preprocessing import StandardScaler

from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.kernels import Array
from bagwise.learning.learner import ActiveLearner, Snapshot
from bagwise.learning.pool import Pool
from bagwise.learning.questions import Answer, Pair
from bagwise.model import MIMLClassifier
from bagwise.model.features import CURVED, STANDARDISE
from bagwise.project.answers.annotator_noise import AnnotatorRates, examine, labels_of
from bagwise.project.answers.current_labels import KnownPair, fresh_votes, known_pair, known_values
from bagwise.project.answers.events import Event
from bagwise.project.answers.snapshots import Snapshots
from bagwise.project.answers.votes import Votes
from bagwise.project.settings import CURVED_SCALING, ESTIMATE, Learning, Settings
from bagwise.project.storage.queries import UNKNOWN, Contents

REFIT_EVERY = 500
SCALERS: dict[str, Callable[[], Any]] = {
    "standardise": lambda: STANDARDISE,
    "centre": lambda: StandardScaler(with_std=False),
    "none": lambda: None,
    CURVED_SCALING: lambda: CURVED,
}


class Replay:
    """Votes and, where bags are given, the learner trained on them, after `applied` events."""

    def __init__(
        self, contents: Contents, settings: Settings, bags: Bags | None = None, pool: Pool | None = None
    ) -> None:
        self.contents, self.settings, self.bags, self.pool = contents, settings, bags, pool
        self.votes = fresh_votes(contents, settings)
        self.people = AnnotatorRates.before(settings.learning.noise)
        self.learner: ActiveLearner | None = None
        self.applied = 0

    def count(self, events: Sequence[Event]) -> None:
        """Count events without learning them."""
        for event in events:
            self.votes.apply(event)
            self.applied = event.number

    def begin(self, snapshot: Snapshot | None = None) -> None:
        """Create the learner: fitted to what is known now, or from a snapshot."""
        assert self.bags is not None
        learning = self.settings.learning
        if snapshot is None:
            self.people = people_of(self.contents, self.votes, self.bags, learning)
        else:
            self.people = AnnotatorRates.restored(learning.noise, snapshot)
        labels = labels_of(self.contents, self.votes, self.people)
        from_nothing = not (self.contents.given != UNKNOWN).all(axis=1).any()
        bags = self.bags if self.pool is None else None
        self.learner = learner_of(
            bags,
            self.contents.classes,
            labels,
            self.settings,
            snapshot,
            from_nothing,
            self.pool,
            candidates_of(self.contents, self.settings),
        )
        if snapshot is None:
            withdrawn = self.known()[1]
            withdrawn[sorted(self.contents.removed)] = True
            withdrawn[:, [place for place, one in enumerate(self.contents.class_list) if not one.is_active]] = True
            self.learner.resume_from(withdrawn, self.votes.n_decided)

    def apply(self, event: Event) -> None:
        """Count the next event and learn what it changes."""
        pair = event.bag, self.contents.class_list.root(event.label_class)
        before = known_pair(self.contents, self.votes, pair)
        self.count([event])
        if self.learner is None:
            return
        if event.number % REFIT_EVERY == 0:
            self.begin()
        elif self.contents.class_list[pair[1]].is_active:
            # Imported labels and their corrections are taken to be right.
            decided = pair if pair in self.votes.decisions else event.pair
            flips = (0.0, 0.0) if self.contents.is_given(decided) else self.people.flips(self.votes, decided)
            update_learner(self.learner, pair, before, known_pair(self.contents, self.votes, pair, flips[1]), *flips)

    def show(self, contents: Contents) -> None:
        """Go on with contents that differ from those before only in what nothing is learned from."""
        self.contents = contents
        if self.learner is not None:
            self.learner.candidates = candidates_of(contents, self.settings)

    def skip_to(self, events: Sequence[Event]) -> None:
        """Count events up to a turning point and fit there: learning them one by one would be in vain."""
        self.count(events)
        self.begin()

    def known(self) -> tuple[Array, Array]:
        """Return 1, 0 or UNKNOWN for every pair, (B, C), and which pairs are unsure, (B, C) of bool."""
        return known_values(self.contents, self.votes)

    def snapshot(self) -> Snapshot:
        """Return the state of the learner and the error rates it assumes, as arrays."""
        assert self.learner is not None
        return {**self.learner.snapshot(), **self.people.snapshot()}


def people_of(contents: Contents, votes: Votes, bags: Bags, learning: Learning) -> AnnotatorRates:
    """Return the error rates of the annotators: as the settings have them, or estimated from all answers."""
    if learning.noise != ESTIMATE:
        return AnnotatorRates.before(learning.noise)
    return examine(contents, votes, bags, model_of(learning)).people


def update_learner(
    learner: ActiveLearner,
    pair: Pair,
    before: KnownPair,
    after: KnownPair,
    flip: float = 0.0,
    pointing_flip: float = 0.0,
) -> None:
    """Learn the change of what is known of a pair and of single instances about it.

    Undoing the very last answer restores the model before it; an older one is revised, and the model goes on from
    where it is.
    """
    if before.teaches_as(after):
        return
    bag, label_class = pair
    decision, said = after.decision, after.said
    changed = sorted({one for one, _ in before.said.items() ^ said.items()})
    added = all(one not in before.said for one in changed)
    if before.decision is None and decision is not None and added:
        where, elsewhere = ((some,) if some else () for some in (decision.where, decision.elsewhere))
        answer = Answer(
            bag,
            (label_class,),
            (decision.present,),
            decision.audit,
            flip,
            where,
            elsewhere,
            pointing_flip,
            probability=decision.probability,
        )
        learner.replay([answer])
    elif decision is not None:
        pointing = decision.where, decision.elsewhere, pointing_flip
        learner.revise(bag, label_class, decision.present, flip, *pointing, after.labels)
    elif before.decision is None and added and len(changed) == 1:
        (one,) = changed
        learner.replay([Answer(bag, (label_class,), (said[one],), pointing_flip=pointing_flip, instance=one)])
    elif _answered_last(learner, pair, changed, before):
        learner.undo()
        if {one.instance: one.present for one in learner.instance_labels(*pair)} != said:
            learner.retract(bag, label_class, after.labels)
    else:
        learner.retract(bag, label_class, after.labels)


def _answered_last(learner: ActiveLearner, pair: Pair, changed: Sequence[int], before: KnownPair) -> bool:
    """Whether the last answer decided the pair, or where it is open, said what alone has changed."""
    last = learner.last_answer
    if last is None or (last.bag, last.classes) != (pair[0], (pair[1],)):
        return False
    return last.labels_bag if before.decision is not None else changed == [last.instance]


def learner_of(
    bags: Bags | None,
    classes: Sequence[str],
    labels: Labels,
    settings: Settings,
    snapshot: Snapshot | None,
    from_nothing: bool,
    pool: Pool | None = None,
    candidates: Array | None = None,
) -> ActiveLearner:
    """Return a learner with the project's settings."""
    learning, asking = settings.learning, settings.asking
    return ActiveLearner(
        bags,
        list(classes),
        labels,
        model_of(learning),
        cold_start=from_nothing,
        criterion=learning.criterion,
        granularity=asking.granularity,
        update=learning.update,
        audit=learning.audit,
        audit_design=learning.audit_design,
        random_state=learning.seed,
        device=asking.device if pool is None else "cpu",
        snapshot=snapshot,
        pool=pool,
        candidates=candidates,
    )


def candidates_of(contents: Contents, settings: Settings) -> Array | None:
    """Return which bags may be asked about, (B,) of bool, where the settings limit it; else None."""
    wanted = settings.asking.filter
    return wanted.mask(contents.bag_files) if wanted else None


def model_of(learning: Learning) -> MIMLClassifier:
    """Return an unfitted model with the project's settings."""
    return MIMLClassifier(
        prior=learning.prior,
        background=learning.background,
        step_size=learning.step_size,
        transformer=SCALERS[learning.scaling](),
        random_state=learning.seed,
    )


def turning_point(contents: Contents, events: int) -> int:
    """The number of the event after which the learner was last fitted from scratch."""
    return max(contents.after, events // REFIT_EVERY * REFIT_EVERY)


def full(
    contents: Contents,
    bags: Bags,
    settings: Settings,
    events: Sequence[Event],
    progress: Callable[[int], None] = lambda _: None,
) -> Replay:
    """Replay all events, from the last turning point."""
    replay = begun(contents, bags, settings, events)
    progress(replay.applied)
    for event in events[replay.applied :]:
        replay.apply(event)
        progress(1)
    return replay


def begun(
    contents: Contents,
    bags: Bags,
    settings: Settings,
    events: Sequence[Event],
    snapshots: Snapshots | None = None,
    pool: Pool | None = None,
) -> Replay:
    """Begin a replay at the newest snapshot that fits, or at the last turning point: the later events are left."""
    start = turning_point(contents, len(events))
    found = snapshots.newest(events, start) if snapshots is not None else None
    done, snapshot = found if found is not None else (start, None)
    replay = Replay(contents, settings, bags, pool)
    replay.count(events[:done])
    replay.begin(snapshot)
    return replay

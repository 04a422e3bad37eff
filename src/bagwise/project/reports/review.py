"""Review: the answers and imported labels in effect, and what the model believes about open pairs."""

from dataclasses import dataclass

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.kernels import Array
from bagwise.learning.questions import Pair
from bagwise.project.answers.events import ANSWER_OF, VALUE, Event
from bagwise.project.project import Project, predict
from bagwise.project.reports.disagreements import disagreements_of
from bagwise.project.storage.bag_filter import EVERYTHING, BagFilter
from bagwise.project.storage.queries import UNKNOWN
from bagwise.project.training.model_file import ModelInfo

AT_ONCE = 10
LIKELY, LEAST_PRESENT = 0.8, 3
"""Of the ten likeliest bags 83 % to 100 % then have the class on five data sets, but 58 % after a single yes on one."""


@dataclass(frozen=True)
class AnswerFilter:
    """Which answers to show; None stands for all.

    Parameters
    ----------
    label_class, answer, annotator : str, optional
        Show only answers about this class, with this answer, of this person.
    disagreement : bool
        Show only answers to pairs about which people disagree.
    bags : BagFilter
        Show only answers about bags that were recorded there and then.
    """

    label_class: str | None = None
    answer: str | None = None
    annotator: str | None = None
    disagreement: bool = False
    bags: BagFilter = EVERYTHING


@dataclass(frozen=True)
class Belief:
    """What the model believes about a bag that has no answer for the class yet."""

    bag: int
    belief: float
    evidence: int


@dataclass(frozen=True)
class Beliefs:
    """Some of `of` bags, and the model that the beliefs come from."""

    of: int
    bags: list[Belief]
    model: ModelInfo


@dataclass(frozen=True)
class Likely:
    """A class that many bags without an answer are likely to have, and how many: they can be answered at once."""

    class_name: str
    bags: int


def position_of(project: Project, class_name: str) -> int:
    """Return the position of a class; raise `BagwiseError` where it does not exist."""
    found = project.contents.class_list.position(class_name)
    if found is None:
        raise BagwiseError(f"There is no class {class_name} in the project.")
    return found


def positions_of(project: Project, ids: list[str]) -> list[int]:
    """Return the positions of bags that were not removed; raise `BagwiseError` where one does not exist."""
    wanted, contents = set(ids), project.contents
    places = {str(contents.ids[place]): place for place in contents.kept_bags.tolist() if contents.ids[place] in wanted}
    missing = next((name for name in ids if name not in places), None)
    if missing is not None:
        raise BagwiseError(f"There is no bag {missing} in the project.")
    return [places[name] for name in ids]


def bag_named(project: Project, name: str) -> int:
    """Return the position of a bag; raise `BagwiseError` where it does not exist."""
    found = project.contents.bag_position(name)
    if found is None:
        raise BagwiseError(f"There is no bag {name} in the project.")
    return found


def history(project: Project, wanted: AnswerFilter) -> list[Event]:
    """Return the answers in effect that pass the filter, newest first."""
    project.catch_up()
    place = None if wanted.label_class is None else position_of(project, wanted.label_class)
    disputed = {one.pair for one in disagreements_of(project)} if wanted.disagreement else set()
    passing, class_list = wanted.bags.mask(project.contents.bag_files), project.contents.class_list
    return [
        event
        for event in reversed(project.votes.all_effective())
        if place in (None, event.label_class, class_list.root(event.label_class))
        and passing[event.bag]
        and wanted.answer in (None, event.answer)
        and wanted.annotator in (None, event.annotator)
        and (not wanted.disagreement or event.pair in disputed)
    ]


def imported(
    project: Project, class_name: str | None = None, answer: str | None = None, bags: BagFilter = EVERYTHING
) -> list[tuple[Pair, str]]:
    """Return the imported labels in effect as (pair, answer), by bag; those corrected since are answers."""
    project.catch_up()
    contents, corrected = project.contents, project.votes.corrected_imports()
    wanted = contents.given != UNKNOWN if answer is None else contents.given == VALUE[answer]
    wanted = wanted & bags.mask(contents.bag_files)[:, None]
    if class_name is not None:
        wanted = wanted & (np.arange(len(project.classes)) == position_of(project, class_name))
    pairs = [(int(bag), int(label_class)) for bag, label_class in np.argwhere(wanted)]
    return [(pair, ANSWER_OF[bool(contents.given[pair])]) for pair in pairs if pair not in corrected]


def beliefs(
    project: Project,
    annotator: str,
    class_name: str,
    start: int,
    count: int,
    likeliest_first: bool = True,
    bags: BagFilter = EVERYTHING,
) -> Beliefs:
    """Return some of the bags that this person could still decide for a class, sorted by the model's belief.

    Parameters
    ----------
    project : Project
        Its model (`Project.model`) has the beliefs.
    annotator, class_name : str
        Bags that this person answered for the class, or that have a label for it, are left out.
    start, count : int
        Which of the bags to return.
    likeliest_first : bool
        The order.
    bags : BagFilter
        Only bags that were recorded there and then.
    """
    place, model = position_of(project, class_name), project.model()
    column = model.classifier.predict_proba(project.bags)[:, place]
    order = np.argsort(-column if likeliest_first else column, kind="stable")
    open_ones = order[still_open(project, annotator, place, bags)[order]]
    page = open_ones[start : start + count].tolist()
    found = []
    if page:
        evidence = predict(model.classifier, project.bags.select(page), project.classes).evidence[:, place]
        found = [Belief(bag, float(column[bag]), int(one)) for bag, one in zip(page, evidence, strict=True)]
    return Beliefs(len(open_ones), found, model.info)


def still_open(project: Project, annotator: str, label_class: int, bags: BagFilter = EVERYTHING) -> Array:
    """Return for every bag whether this person could still decide it for a class.

    Parameters
    ----------
    project : Project
        The project.
    annotator : str
        Bags that this person answered for the class are not open.
    label_class : int
        Position of the class; bags that have a label for it are not open.
    bags : BagFilter
        Only bags that were recorded there and then are open.

    Returns
    -------
    ndarray of bool, shape (n_bags,)
    """
    undecided = _undecided(project, annotator, project.known()[0])[:, label_class]
    return np.asarray(undecided & bags.mask(project.contents.bag_files))


def likely(project: Project, annotator: str) -> Likely | None:
    """Return the class whose likeliest bags are best answered many at a time, if there is one.

    Parameters
    ----------
    project : Project
        Its model (`Project.model`) has the beliefs.
    annotator : str
        Bags that this person answered for a class, or that have a label for it, are left out.

    Returns
    -------
    Likely or None
        Of the classes with `LEAST_PRESENT` labels *present* and `AT_ONCE` open bags that have it with `LIKELY` or more,
        the one whose tenth is likeliest.
    """
    known = project.known()[0]
    present = np.count_nonzero(known == 1, axis=0)
    if len(project.contents.kept_bags) <= AT_ONCE or not (present >= LEAST_PRESENT).any():
        return None
    probability = project.model().classifier.predict_proba(project.bags)
    open_beliefs = np.where(_undecided(project, annotator, known), probability, 0.0)
    last = np.partition(open_beliefs, -AT_ONCE, axis=0)[-AT_ONCE]
    last[present < LEAST_PRESENT] = 0
    best = int(last.argmax())
    if last[best] < LIKELY:
        return None
    return Likely(project.classes[best], int(np.count_nonzero(open_beliefs[:, best] >= LIKELY)))


def _undecided(project: Project, annotator: str, known: Array) -> Array:
    """Which pairs of active classes this person could still decide, (bags, classes), given what is known of all."""
    contents, undecided = project.contents, np.zeros(known.shape, bool)
    open_ones = np.ix_(contents.kept_bags, contents.class_list.active)
    undecided[open_ones] = known[open_ones] == UNKNOWN
    for pair in list(project.votes.decisions):
        undecided[pair] = False
    for event in project.votes.all_effective():
        if event.annotator == annotator and project.votes.has_answered(event.pair, annotator):
            undecided[event.pair] = False
    return undecided

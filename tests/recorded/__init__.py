"""A recorded project: its bags, the events of three people, the questions it asked and its final weights.

A replay on any processor must ask the same questions and give the same weights, bit for bit. The recording is in the
files of this folder; after a change that is meant to change a model

    python -m tests.recorded

writes them again. Such a change must raise `LAYOUT` in `bagwise/project/answers/snapshots.py`, so that no snapshot of
an earlier model is used.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bagwise.formats import Source
from bagwise.project import Asking, Learning, Project
from bagwise.project.answers import replay
from bagwise.project.queue import leases, ranking

FOLDER = Path(__file__).parent
BAGS = FOLDER / "bags.npz"
CLASSES = ["wren", "robin", "thrush", "tit", "owl"]
ACTIONS = 170
PEOPLE = ("ann", "bob", "cyd")
RATES = {"ann": 0.0, "bob": 0.15, "cyd": 0.3}
SETTINGS = {
    "default": {},
    "noisy": {"learning": Learning(noise="estimate", scaling="centre"), "asking": Asking(people=2)},
    "curved": {"learning": Learning(scaling="curved", criterion="expected_gradient_length", update="lbfgs")},
    "stepwise": {"learning": Learning(update="bag_sgd", criterion="balanced_uncertainty")},
    "pointing": {},
}
"""Each takes another path from answers to weights and questions; in `pointing` people say which sound it is."""
TURNING_POINT = 60
"""Events after which a model is fitted again from scratch: fewer than in a real project, so that it happens."""


def drawn_sounds() -> tuple[np.random.Generator, np.ndarray, np.ndarray, np.ndarray]:
    """Return the generator after it drew: voices, sizes of the recordings, and the bird or noise of each sound."""
    rng = np.random.default_rng(15)
    voices = rng.integers(-4, 5, (len(CLASSES) + 1, 8))
    sizes = rng.integers(1, 7, 60)
    return rng, voices, sizes, rng.integers(0, len(CLASSES) + 1, sizes.sum())


def make_bags() -> None:
    """Write sixty recordings with one to six sounds of eight features each; each sound is a bird or noise."""
    rng, voices, sizes, sounds = drawn_sounds()
    instances = (voices[sounds] + rng.integers(-200, 201, (len(sounds), 8)) / 128).astype(np.float32)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    truth = np.array([np.bincount(bag, minlength=6)[:5] > 0 for bag in np.split(sounds, offsets[1:-1])])
    np.savez(BAGS, instances=instances, offsets=offsets, truth=truth)


class People:
    """What people point at: a true sound, or that the marked one is not; the marked one where they are wrong."""

    def __init__(self, name: str) -> None:
        _, _, sizes, sounds = drawn_sounds()
        self.sounds = np.split(sounds, np.cumsum(sizes)[:-1])
        self.point, self.rng = name == "pointing", np.random.default_rng(17)

    def pointing(self, bag: int, label_class: int, answer: str, marked: int) -> dict[str, list[int]]:
        """Return `where` and `elsewhere` of an answer."""
        if not self.point or answer != "present":
            return {}
        of_class = np.flatnonzero(self.sounds[bag] == label_class).tolist()
        choice = self.rng.random()
        if choice < 0.1:
            return {}
        if not of_class or marked in of_class:
            return {"where": [marked]}
        return {"where": of_class} if choice < 0.5 else {"elsewhere": [marked]}


def replayed(name: str, folder: Path) -> Iterator[tuple[list[str], Project]]:
    """Yield every event in order as a row of the recording, and the project after it."""
    replay.REFIT_EVERY, ranking.TIMEOUT, leases.RECENTLY = TURNING_POINT, 600.0, 0.0
    with np.load(BAGS) as file:
        instances, offsets, truth = file["instances"], file["offsets"], file["truth"]
    bags = np.split(instances, offsets[1:-1])
    source = Source.of_bags(Path("bags.npz"), bags, [f"recording {number}" for number in range(len(bags))])
    rng, people = np.random.default_rng(4), People(name)
    with Project.create(folder, source, classes=CLASSES, **SETTINGS[name]) as project:
        project.set_role("cyd", "adjudicator")
        for action in range(ACTIONS):
            who = PEOPLE[action % len(PEOPLE)]
            kind = rng.random()
            own = [event for event in project.votes.all_effective() if event.annotator == who]
            if kind < 0.08 and own:
                event = project.undo(who)
            elif kind < 0.16 and own:
                chosen = own[int(rng.integers(len(own)))]
                answer = "absent" if chosen.answer == "present" else "present"
                pointing = people.pointing(*chosen.pair, answer, 0)
                event = project.correct(chosen.number, who, answer, **pointing)
            else:
                (asked,) = project.ask(who)
                right = truth[asked.bag, asked.label_class] != (rng.random() < RATES[who])
                answer = "unsure" if kind > 0.95 else "present" if right else "absent"
                pointing = people.pointing(*asked.pair, answer, asked.question.evidence[0])
                event = project.answer(asked.key, who, answer, **pointing)
            row = [event.kind, who, str(event.bag), CLASSES[event.label_class], event.answer]
            where = [" ".join(map(str, some)) for some in (event.where, event.elsewhere)] if people.point else []
            yield [*row, *where], project


def weights_of(project: Project) -> np.ndarray:
    """Return the weights after all events."""
    project.catch_up()
    return np.array(project.learner.model.weights_)


def record(name: str, folder: Path) -> None:
    """Write the recording of one project."""
    rows = []
    for row, project in replayed(name, folder):
        rows.append(row)
        weights = weights_of(project)
    with (FOLDER / f"{name}.csv").open("w", newline="") as file:
        names = ["kind", "who", "bag", "class", "answer", "where", "elsewhere"]
        csv.writer(file).writerows([names[: len(rows[0])], *rows])
    np.save(FOLDER / f"{name}.npy", weights)


def recorded(name: str) -> tuple[list[list[str]], np.ndarray]:
    """Return the recorded events and the final weights."""
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return rows, np.load(FOLDER / f"{name}.npy")

"""Fitting a project's model from scratch to everything known."""

import copy
from pathlib import Path

from bagwise.core.errors import BagwiseError
from bagwise.model import MIMLClassifier, Trial, choose_settings
from bagwise.project.answers import replay
from bagwise.project.answers.annotator_noise import labels_of
from bagwise.project.imports import segmentation
from bagwise.project.storage.queries import UNKNOWN, Contents


def fit(counted: replay.Replay, folder: Path, trials: list[Trial] | None = None) -> MIMLClassifier:
    """Return a model fitted to the counted events and imported labels, which knows the names of its classes.

    Parameters
    ----------
    counted : Replay
        The events, counted, with the bags.
    folder : Path
        The project's folder.
    trials : list of Trial, optional
        With a list, prior, background and instance map are chosen by held-out labels, and every trial is appended.

    Raises
    ------
    BagwiseError
        Where no label is known.
    """
    assert counted.bags is not None
    validate_known(counted)
    learning = counted.settings.learning
    people = replay.people_of(counted.contents, counted.votes, counted.bags, learning)
    known = labels_of(counted.contents, counted.votes, people)
    model = replay.model_of(learning)
    if trials is not None:
        model, tried = choose_settings(model, counted.bags, known)
        trials += tried
    return named(model.fit(counted.bags, known), counted.contents, folder)


def validate_known(counted: replay.Replay) -> None:
    """Raise `BagwiseError` where no label is known, so that there is nothing to learn from."""
    if (counted.known()[0] == UNKNOWN).all():
        raise BagwiseError("Nothing is known yet: answer some questions or import labels first.")


def named(model: MIMLClassifier, contents: Contents, folder: Path) -> MIMLClassifier:
    """Return a copy of the model that knows its classes, its features and how raw files become instances."""
    found = copy.copy(model)
    found.class_names_, found.feature_names_ = list(contents.classes), list(contents.features)
    recipe = segmentation.recipe_of(folder)
    found.recipe_ = recipe.as_tree() if recipe is not None else None
    return found

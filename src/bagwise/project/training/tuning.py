"""Tuning: the project's learning settings are chosen by the labels known so far.

The choice (`bagwise.model.tuning`) is written to the project's settings, so that every replay of the answers uses it,
and logged in a file of the folder: what was changed, after how many events, and every trial.
"""

import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from bagwise.model import MIMLClassifier, Trial
from bagwise.model.features import CURVED
from bagwise.project.project import Project
from bagwise.project.settings import CURVED_SCALING, Learning, Settings
from bagwise.project.storage.creation import TUNED


@dataclass(frozen=True)
class Tuned:
    """The trials, and each setting that changed with its values before and after.

    Parameters
    ----------
    trials : list of Trial
        Empty where there were too few labels to choose.
    changed : dict of str to (any, any)
        The value before and after of each setting of `[learning]` that changed.

    Examples
    --------
    >>> Tuned([], {"prior": (1.0, 0.3)}).changed["prior"]
    (1.0, 0.3)
    """

    trials: list[Trial]
    changed: dict[str, tuple[Any, Any]]


def tune(project: Project) -> Tuned:
    """Choose prior, background class and instance map by held-out labels and write them to the project's settings.

    They take effect when the project is next opened; a trained model is outdated then.

    Parameters
    ----------
    project : Project
        An open project.

    Returns
    -------
    Tuned

    Raises
    ------
    BagwiseError
        If no label is known.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from bagwise.formats import LabelTable, Source
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    >>> labels = LabelTable(["a", "b"], ["wren"], np.array([[1.0], [0.0]]))
    >>> with TemporaryDirectory() as folder, Project.create(f"{folder}/p", source, labels) as project:
    ...     tune(project)  # too few labels to choose anything
    Tuned(trials=[], changed={})
    """
    trials: list[Trial] = []
    chosen = _settings_of(project.fit_model(trials), project.settings.learning)
    before, after = asdict(project.settings.learning), asdict(chosen)
    changed = {name: (before[name], value) for name, value in after.items() if value != before[name]}
    if changed:
        _log(project, trials, changed)
        replace(Settings.read(project.folder), learning=chosen).write(project.folder)
    return Tuned(trials, changed)


def _settings_of(model: MIMLClassifier, learning: Learning) -> Learning:
    curved = isinstance(model.transformer, str) and model.transformer == CURVED
    scaling = CURVED_SCALING if curved else learning.scaling
    assert model.prior is not None
    return replace(learning, prior=float(model.prior), background=bool(model.background), scaling=scaling)


def _log(project: Project, trials: list[Trial], changed: dict[str, tuple[Any, Any]]) -> None:
    entry = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "after": len(project.events),
        "changed": changed,
        "tried": [asdict(trial) for trial in trials],
    }
    with (project.folder / TUNED).open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")

"""Automatic choice of settings: the strength of the prior, the background class, and the map of the instances.

One after the other, each setting takes the value that predicts labels held out by bags best (three folds, fits from
scratch), measured by F = 2 TP / (2 TP + FP + FN) over all known labels. The likelihood of the held-out labels would
choose priors so strong that nothing is predicted any more. A value other than the current one must gain more than one
standard error, from resampled bags, so that few labels change nothing. The same labels give the same choice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.data.metrics import THRESHOLD
from bagwise.kernels import Array
from bagwise.model.classifier import DEFAULT_PRIOR, MIMLClassifier
from bagwise.model.cross_validation import out_of_fold
from bagwise.model.features import CURVED

FOLDS = 3
FEWEST_LABELS = 100
PRIORS = (0.1, 0.3, 1.0, 3.0, 10.0)
RESAMPLES = 200


@dataclass(frozen=True)
class Trial:
    """A value that was tried for a setting: F of held-out labels, and whether it was chosen.

    Parameters
    ----------
    setting : {"background", "transformer", "prior"}
        The parameter of `MIMLClassifier`.
    value : any
        The value of the parameter.
    score : float
        F, between 0 and 1, more is better.
    chosen : bool
        Whether the model gets this value.

    Examples
    --------
    >>> trial = Trial("prior", 0.3, score=0.8, chosen=True)
    >>> trial.value
    0.3
    """

    setting: str
    value: Any
    score: float
    chosen: bool


def choose_settings(
    model: MIMLClassifier, bags: Bags | Sequence[npt.ArrayLike], labels: Any
) -> tuple[MIMLClassifier, list[Trial]]:
    """Return an unfitted model with the settings that predict held-out labels best, and all trials.

    Parameters
    ----------
    model : MIMLClassifier
        The model whose settings are the starting point.
    bags : Bags, or sequence of array-like, each of shape (n_b, d)
        The bags.
    labels : Labels, or array-like of shape (B, C) with NaN for unknown
        The known labels.

    Returns
    -------
    model : MIMLClassifier
        Not fitted.
    trials : list of Trial
        Empty where there are too few labels to choose.

    Examples
    --------
    >>> bags = Bags.from_list([[[-2.0]], [[2.0]]])
    >>> choose_settings(MIMLClassifier(), bags, [[1, 0], [0, 1]])[1]  # too few labels to choose anything
    []
    """
    bags = Bags.of(bags)
    known = Labels.of(labels, len(bags))
    best: MIMLClassifier = clone(model)
    trials: list[Trial] = []
    if known.n_known < FEWEST_LABELS or np.count_nonzero(known.known.any(axis=1)) < FOLDS:
        return best, trials
    counts = _held_out(best, bags, known)
    for setting, values in _candidates(model):
        tried = {value: _held_out(_with(best, setting, value), bags, known) for value in values}
        winner = max(tried, key=lambda value: _f_score(tried[value]))
        better = _clearly_better(tried[winner], counts)
        trials.append(Trial(setting, _current(best, setting), _f_score(counts), not better))
        trials += [Trial(setting, value, _f_score(of), better and value == winner) for value, of in tried.items()]
        if better:
            best, counts = _with(best, setting, winner), tried[winner]
    return best, trials


def _candidates(model: MIMLClassifier) -> list[tuple[str, list[Any]]]:
    """The other values of every setting; a transformer that was given is kept."""
    priors = [] if model.penalty is not None else [value for value in PRIORS if value != _current(model, "prior")]
    maps = [CURVED] if isinstance(model.transformer, str) and model.transformer != CURVED else []
    every: list[tuple[str, list[Any]]] = [
        ("background", [not model.background]),
        ("transformer", maps),
        ("prior", priors),
    ]
    return [(setting, values) for setting, values in every if values]


def _current(model: MIMLClassifier, setting: str) -> Any:
    value = getattr(model, setting)
    return DEFAULT_PRIOR if setting == "prior" and value is None else value


def _with(model: MIMLClassifier, setting: str, value: Any) -> MIMLClassifier:
    changed: MIMLClassifier = clone(model).set_params(**{setting: value})
    return changed


def _f_score(counts: Array) -> float:
    true_positive, wrong = counts.sum(axis=0)
    return float(2 * true_positive / max(2 * true_positive + wrong, 1))


def _clearly_better(found: Array, before: Array) -> bool:
    draws = np.random.default_rng(0).integers(0, len(found), size=(RESAMPLES, len(found)))
    gains = [_f_score(found[drawn]) - _f_score(before[drawn]) for drawn in draws]
    return _f_score(found) - _f_score(before) > float(np.std(gains))


def _held_out(model: MIMLClassifier, bags: Bags, labels: Labels) -> Array:
    """True positives and wrong predictions in every labelled bag, by a model that did not see the bag's labels."""
    labelled = np.flatnonzero(labels.known.any(axis=1))
    known = labels.select(labelled)
    predicted = out_of_fold(model, bags.select(labelled), known, FOLDS) > THRESHOLD
    hits = predicted & known.value & known.known
    wrong = (predicted != known.value) & known.known
    return np.column_stack([hits.sum(axis=1), wrong.sum(axis=1)])

"""What the model must be able to do on real data; small enough for every run, the full table is `make accuracy`."""

import numpy as np
import pytest

from bagwise import BagwiseError, MIMLClassifier, datasets
from bagwise.data import metrics
from bagwise.research.experiments.curves import mean_curves
from bagwise.research.experiments.runner import run_all
from bagwise.research.experiments.simulation import Simulation, split


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "background", "accuracy", "precision"),
    [("hja", False, 0.62, 0.94), ("hja", True, 0.79, 0.94), ("carroll", True, 0.58, 0.80)],
)
def test_five_folds_on_all_labels(name, background, accuracy, precision):
    try:
        data = datasets.load(name)
    except BagwiseError as missing:
        pytest.skip(str(missing))
    scores = []
    for fold in range(5):
        training, held_out = split(data, 5, fold, seed=0)
        model = MIMLClassifier(penalty=1e-4, background=background).fit(training.bags, training.labels)
        probability = model.predict_proba(held_out.bags)
        truth = held_out.labels.value
        scores.append((metrics.bag_accuracy(truth, probability), metrics.average_precision(truth, probability)))
    assert np.mean(scores, axis=0)[0] >= accuracy
    assert np.mean(scores, axis=0)[1] >= precision


@pytest.mark.slow
@pytest.mark.usefixtures("one_process")
def test_the_default_learner_is_ahead_of_random_on_digits(tmp_path):
    simulations = [
        Simulation("digits", criterion, queries=500, initial=3, folds=4, evaluate_every=100)
        for criterion in ("balanced_uncertainty", "random")
    ]
    final = {
        row["strategy"]: row["mean"] for row in mean_curves(run_all(simulations, tmp_path), "bag_accuracy").to_dicts()
    }
    assert final["balanced_uncertainty · pair"] > final["random · pair"] + 0.02
    assert final["balanced_uncertainty · pair"] > 0.92

import json

import pytest

from bagwise.model import solvers
from bagwise.research.reproduction.training import STEP_SIZES, Training


@pytest.mark.parametrize("solver", solvers.available())
def test_epochs_are_shown_and_likelihood_grows(solver):
    rows = Training("synthetic", solver, epochs=12, folds=5).run()
    assert [row["asked"] for row in rows] == [0, 1, 2, 3, 5, 8, 12]
    likelihood = [row["log_likelihood"] for row in rows]
    assert likelihood[-1] > likelihood[0]
    assert rows[-1]["bag_accuracy"] > 0.3
    step = json.loads(rows[0]["parameters"]).get("step_size")
    assert step in STEP_SIZES if solvers.capabilities(solver).step_size else step is None


def test_two_solvers_have_two_keys():
    assert Training("frost", "gd").key != Training("frost", "bag_sgd").key

import json
from functools import partial

import pytest

from bagwise.datasets import synthetic
from bagwise.model import solvers
from bagwise.research.reproduction.training import Training


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(synthetic, "load", partial(synthetic.load, bags=60))


@pytest.mark.parametrize("solver", ["bag_sgd", "pair_sgd", "gd", "lbfgs"])
def test_epochs_are_shown_and_likelihood_grows(solver):
    rows = Training("synthetic", solver, epochs=12, most_epochs=12, folds=5).run()
    assert [row["asked"] for row in rows] == [0, 1, 2, 3, 5, 8, 12]
    likelihood = [row["log_likelihood"] for row in rows]
    assert likelihood[-1] > likelihood[0]
    assert rows[-1]["bag_accuracy"] > 0.3
    constants = json.loads(rows[0]["parameters"])
    assert set(constants) == ({"step_size", "offset"} if solvers.capabilities(solver).step_size else set())


def test_gradient_descent_goes_on_to_convergence():
    rows = Training("synthetic", "gd", epochs=5, most_epochs=4000, penalty=0.1, folds=5).run()
    assert 5 < rows[0]["ended"] < 4000
    assert rows[-1]["asked"] == rows[0]["ended"]
    minimum = Training("synthetic", "lbfgs", epochs=300, most_epochs=300, penalty=0.1, folds=5).run()[-1]
    assert rows[-1]["log_likelihood"] == pytest.approx(minimum["log_likelihood"], abs=1e-4)


def test_two_solvers_have_two_keys():
    assert Training("frost", "gd").key != Training("frost", "bag_sgd").key
    assert Training("frost", "bag_sgd").key != Training("frost", "bag_sgd", penalised=True).key

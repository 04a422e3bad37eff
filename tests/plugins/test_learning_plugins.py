"""Criteria, metrics, solvers and stopping rules of another distribution, as docs/extending-learning.md adds them."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from bagwise import ActiveLearner, BagwiseError, MIMLClassifier, criteria
from bagwise.model import solvers
from bagwise.model.solvers import gd

PAGE = (Path(__file__).parents[2] / "docs/extending-learning.md").read_text()
(PYPROJECT,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
MODULES = {path: block for block in BLOCKS for path in re.findall(r"\A# (\S+\.py)\n", block)}
(USE,) = [block for block in BLOCKS if block not in MODULES.values()]


def run(script):
    """In a process of its own: members are discovered once."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_page_adds_one_member_to_each_family(installed):
    entry_points = tomllib.loads(PYPROJECT)["project"]["entry-points"]
    assert len(entry_points) == len(MODULES) == 4
    installed("shoal", {"shoal/__init__.py": "", **MODULES}, entry_points)
    shown = """
print(metrics.get("subset_accuracy").title, "subset_accuracy" in metrics.estimable())
print(decide(Evidence(20, points), Goal(metric="subset_accuracy", plateau=0)).why)
from bagwise.evaluation import Quality
from bagwise.research.experiments import measures
from bagwise.server.api.quality import QualityOut
print("subset_accuracy" in QualityOut.model_fields, "subset_accuracy" in Quality(0, 0).metrics)
print(measures.title("subset_accuracy"), "subset_accuracy" in [one.name for one in measures.REPORTED])
"""
    assert run(USE + shown).splitlines() == [
        "subset accuracy True",
        "The interval of the subset_accuracy is 0.04 wide.",
        "True True",
        "subset accuracy True",
    ]


def test_an_entry_point_may_name_the_function_itself(installed):
    metric = {"odd.py": "def odd(truth, probability):\n    return 0.5\n\nodd.more_is_better = True\n"}
    installed("odd", metric, {"bagwise.metrics": {"odd": "odd:odd"}})
    script = (
        "from bagwise import metrics\ntry:\n    metrics.get('beauty')\nexcept ValueError as error:\n    print(error)"
    )
    assert "macro_f1, micro_f1, odd, one_error" in run(script)


def test_a_name_that_is_taken_is_an_error(installed):
    installed("late", {"late.py": ""}, {"bagwise.criteria": {"uncertainty": "late"}})
    script = (
        "try:\n    from bagwise.learning import criteria\nexcept ValueError as error:\n    print(type(error), error)"
    )
    assert "'uncertainty' (bagwise.criteria) of late has a name that is taken" in run(script)


def absence(pool):
    return np.asarray(pool.absent, float)


def test_a_function_works_as_a_criterion(small):
    bags, labels = small
    named = ActiveLearner(bags, list("abcd"), labels=labels, criterion="uncertainty", cold_start=False)
    given = ActiveLearner(bags, list("abcd"), labels=labels, criterion=criteria.uncertainty, cold_start=False)
    assert [named.ask(), *named.rank(5)] == [given.ask(), *given.rank(5)]
    other = ActiveLearner(bags, list("abcd"), labels=labels, criterion=absence, audit=0, cold_start=False)
    scores = np.where(labels.known, -np.inf, other.pool().absent)
    assert other.ask().score == scores.max()


def test_what_a_function_rises_with_is_its_attribute_or_a_constant_of_its_module():
    def scored(pool):
        return pool.present

    assert criteria.rises_with(criteria.uncertainty) == "nearest_side"
    assert criteria.rises_with(absence) is None
    scored.rises_with = "nearest_side"
    assert criteria.rises_with(scored) == "nearest_side"

    def wrong(pool):
        return pool.present

    wrong.rises_with = "the tide"
    with pytest.raises(BagwiseError, match=r"the tide.*nearest_side"):
        criteria.rises_with(wrong)


def test_a_module_works_as_a_solver(small, tmp_path):
    bags, labels = small
    named, given = (MIMLClassifier(solver=solver).fit(bags, labels) for solver in ("gd", gd))
    np.testing.assert_array_equal(named.weights_, given.weights_)
    learners = [
        ActiveLearner(bags, list("abcd"), labels=labels, model=MIMLClassifier(one), update=one) for one in ("gd", gd)
    ]
    assert learners[0].ask() == learners[1].ask()
    with pytest.raises(BagwiseError, match="entry point"):
        given.save(tmp_path / "model.npz")


def test_what_is_not_a_solver_is_an_error():
    with pytest.raises(BagwiseError, match="`fit` and `update`"):
        solvers.get(np)

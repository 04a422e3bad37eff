"""Every suite at a tiny size: figures exist, are finite, and name their floor."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax
from sklearn import metrics

from bagwise import datasets
from bagwise.core.errors import BagwiseError
from bagwise.learning import criteria
from bagwise.model import MIMLClassifier, solvers
from bagwise.research import bench
from bagwise.research.bench import environments, lbfgs_race, logistic_race, timing
from bagwise.research.bench.external.runners import formulas, logistic, loop
from bagwise.research.bench.pools import CRITERIA, PoolSize, RandomPool
from bagwise.research.bench.suites import gpu, kernels, learner, peers, scale, train, wide

TINY = PoolSize(60, instances=3, features=8, classes=4)
HERE = Path(sys.executable)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(timing, "PAUSE", 0.0)


def measured(suite, size):
    report = suite.measure(size, lambda _: None)
    assert report.suite == suite.__name__.rpartition(".")[2]
    assert len({figure.name for figure in report.figures}) == len(report.figures)
    for figure in report.figures:
        assert figure.floor
        assert np.isfinite([figure.ratio, figure.low, figure.high]).all()
        assert figure.low <= figure.ratio <= figure.high
    return report


def test_the_suites_are_found():
    assert set(bench.available()) == {"kernels", "learner", "train", "peers", "scale", "gpu", "wide"}
    assert all(suite.DESCRIPTION for suite in bench.available().values())


@pytest.mark.slow
def test_kernels():
    report = measured(kernels, kernels.Size(TINY, rounds=2, explicit_rounds=1))
    names = [figure.name for figure in report.figures]
    assert set(kernels.GOALS) <= set(names)
    assert float(report.notes[0].split(" by ")[1].split()[0]) < 1e-3


def test_learner_measures_every_update_with_both_criteria():
    report = measured(learner, learner.Size(TINY, rounds=2, warm=1))
    names = [figure.name for figure in report.figures]
    for update in solvers.available():
        assert {f"tell + ask, {update}, uncertainty", f"tell + ask, {update}, EGL"} <= set(names)
    assert {f"tell + ask, replay, {one}, with instance labels" for one in CRITERIA.values()} <= set(names)
    assert names[0] == learner.DEFAULT
    assert sum(figure.goal is not None for figure in report.figures) == 1 + len(CRITERIA)


@pytest.mark.slow
def test_wide_measures_both_types():
    report = measured(wide, wide.Size(TINY, (520,), rounds=2, warm=1))
    names = [figure.name for figure in report.figures]
    for dtype in wide.TYPES:
        name = f"tell + ask, 520 features, {dtype}"
        memory = f"peak memory while scoring, 520 features, {dtype}"
        assert {name, f"{name}, mean with a refit", memory} <= set(names)
    (project,) = [figure for figure in report.figures if figure.name.startswith("import of a project")]
    small, large = (float(part) for part in re.findall(r"[\d.]+", project.details["on disk"]))
    assert small <= large
    assert float(project.details["largest difference of probabilities"]) < 0.05


def test_scale_measures_growth_in_every_dimension():
    report = measured(scale, scale.Size(PoolSize(60, 2, 4, 3), (1, 2), rounds=2))
    assert len(report.figures) == len(scale.DIMENSIONS) * 2
    assert [figure.goal for figure in report.figures if "by bags" in figure.name] == [scale.MOST_IN_BAGS] * 2


def test_growth_is_the_slope_of_what_was_timed(monkeypatch):
    def squares(jobs, rounds, clock):
        return {size: [float(size) ** 2] * rounds for size in jobs}

    monkeypatch.setattr(scale, "time_alternating", squares)
    report = scale.measure(scale.Size(PoolSize(60, 2, 4, 3), (1, 2), rounds=2), lambda _: None)
    assert [figure.ratio for figure in report.figures] == pytest.approx([2.0] * 8)


@pytest.mark.slow
def test_train_reaches_the_same_objective_as_torch(monkeypatch):
    small = datasets.load("synthetic", bags=40, features=4)
    monkeypatch.setattr(lbfgs_race.datasets, "load", lambda _: small)
    report = measured(train, train.Size(("synthetic",), folds=5, runs=1, rounds=1, classifiers=()))
    (figure,) = report.figures
    assert figure.details["our F"] == pytest.approx(figure.details["its F"], rel=1e-3)


def test_logistic_regression_reaches_the_same_objective_as_scikit_learn():
    report = measured(train, train.Size((), folds=5, runs=1, rounds=1, classifiers=(), logistic=("frost",)))
    (figure,) = report.figures
    assert figure.details["our F"] == pytest.approx(figure.details["its F"], rel=logistic_race.CLOSE_ENOUGH)
    assert figure.details["our accuracy"] == figure.details["its accuracy"] > 0.6


def test_the_objective_of_logistic_regression_is_that_of_scikit_learn(rng):
    x, y, weights = rng.normal(size=(30, 4)), rng.integers(0, 3, 30), rng.normal(size=(3, 4))
    log_loss = metrics.log_loss(y, softmax(x @ weights.T, axis=1), labels=[0, 1, 2])
    expected = log_loss + logistic.PRIOR / 2 * (weights**2).sum() / len(x)
    assert logistic.objective(x, y, weights) == pytest.approx(expected, rel=1e-12)


def test_a_rung_is_ahead_only_if_it_is_in_everything():
    def figure(name, seconds, accuracy, loss):
        details = {train.ACCURACY: accuracy, train.LOSS: loss, train.WITH_PREDICTIONS: 1000 * seconds}
        return timing.peer_figure(f"birds: {name}", "", np.array([seconds]), np.array([1.0]), details)

    ours = [figure(f"{train.OURS}, 2 iterations", 0.1, 0.3, 0.2), figure(train.OURS, 1.0, 0.5, 0.1)]
    for theirs, expected in (
        (figure("slow", 4.0, 0.4, 0.2), "default: 0.25 of its time"),
        (figure("fast", 0.2, 0.2, 0.2), "2 iterations: 0.50 of its time"),
        (figure("fast and good", 0.2, 0.2, 0.15), "none"),
    ):
        assert train._beside_ours(theirs, ours).details[train.AHEAD] == expected


@pytest.mark.slow
def test_train_compares_fit_with_classifiers_on_the_same_folds(monkeypatch):
    """With our own fit in place of the others: the same folds and the same metric give the same accuracy."""
    kept = []

    def fitted(python, runner, task, *words):
        if runner == "ours_fit":
            kept.append(environments.run_external(python, runner, task, *words))
        return kept[0]

    monkeypatch.setattr(train, "environment_python", lambda *_: HERE)
    monkeypatch.setattr(train, "run_external", fitted)
    report = measured(train, train.Size((), folds=5, runs=1, rounds=1, classifiers=("tree",), rungs=(5,)))
    ours, rung, theirs = report.figures
    assert {name: theirs.details[name] for name in ours.details} == ours.details
    assert rung.name.endswith("5 iterations")
    assert 0 < ours.details["bag accuracy"] < 1


def test_train_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(lbfgs_race, "find_spec", lambda _: None)
    with pytest.raises(BagwiseError, match="torch is not installed"):
        train.measure(train.Size(("frost",), 5, 1, 1, classifiers=()), lambda _: None)


@pytest.fixture(scope="module")
def compared(request):
    """Bagwise, the formulas as they read, and a library (with `--full` all of them), by one run of each.

    In the environment of the tests, which has the libraries: a separate one would take a minute and 400 MB.
    """
    explicit = next(system for system in peers.FORMULAS if system.runner == "explicit_numpy")
    libraries = peers.LIBRARIES[: None if request.config.getoption("--full") else 1]
    size = peers.Size(("frost",), folds=5, runs=1, answers=6, systems=(explicit, *libraries))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "PAUSE", 0.0)
        patch.setattr(peers, "environment_python", lambda *_: HERE)
        return measured(peers, size)


@pytest.mark.slow
def test_the_formulas_as_they_read_ask_what_bagwise_asks(compared):
    *ours, theirs = compared.figures[:3]
    assert [figure.name for figure in ours] == ["frost: Bagwise", "frost: Bagwise as the paper"]
    assert theirs.details["same questions"] == "100%"
    assert theirs.details["bag accuracy"] == ours[1].details["bag accuracy"]


def test_numpy_torch_and_the_kernels_agree():
    torch = pytest.importorskip("torch")
    from bagwise.research.bench.external.runners import eager
    from bagwise.research.bench.external.runners.torch_autograd import log_absent

    pool = RandomPool(TINY)
    seen = MIMLClassifier.from_weights(pool.weights).pool(pool.bags)
    x, weights = torch.from_numpy(pool.bags.instances), torch.from_numpy(pool.weights)
    lengths = criteria.expected_gradient_length(seen)
    for found, expected in (
        (eager.uncertainty(x, weights, TINY.instances).numpy(), criteria.uncertainty(seen)),
        (eager.expected_gradient_length(x, weights, TINY.instances).numpy(), lengths),
        (formulas.expected_gradient_length(list(pool.bags), pool.weights, 0), lengths),
        (log_absent(weights, x[:3], torch.ones(3)).exp().numpy(), seen.absent[0]),
    ):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-6)


@pytest.mark.slow
def test_gpu_runs_wherever_torch_does():
    # Interpreted where there is no card, which takes a second a call.
    report = measured(gpu, gpu.Size(TINY, rounds=1, device="cpu"))
    assert {figure.floor for figure in report.figures} == {gpu.FLOOR, gpu.COPIED}


def test_gpu_without_a_gpu_says_what_it_needs(monkeypatch):
    monkeypatch.setattr(gpu, "find_spec", lambda _: None)
    with pytest.raises(BagwiseError, match=r"needs an NVIDIA GPU .*bagwise\[gpu\]"):
        gpu.measure(gpu.QUICK, print)


# Separate environments


@pytest.fixture
def fake_environment(monkeypatch, tmp_path):
    """Makes environments whose interpreter logs its arguments and exits with `status`."""

    log = tmp_path / "commands"

    def make(status):
        def create(folder, **_):
            (folder / "bin").mkdir(parents=True, exist_ok=True)
            python = folder / "bin" / "python"
            python.write_text(f'#!/bin/sh\necho "$@" >> {log}\necho no route to host >&2\nexit {status}\n')
            python.chmod(0o700)

        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.setattr(environments.venv, "create", create)
        return log

    return make


def test_an_environment_is_created_once_and_announced_first(fake_environment):
    commands, messages = fake_environment(status=0), []
    python = environments.environment_python(("some==1",), lambda text: messages.append((text, commands.exists())))
    assert environments.environment_python(("some==1",), messages.append) == python
    assert len(messages) == 1
    message, installed_before = messages[0]
    assert not installed_before
    assert "installing some==1 from your package index" in message
    assert commands.read_text().splitlines() == ["-m pip install --quiet --disable-pip-version-check some==1"]
    assert environments.environment_python(("some==2",), messages.append) != python


def test_without_a_network_the_error_says_so_and_the_next_run_retries(fake_environment):
    commands = fake_environment(status=1)
    for _ in range(2):
        with pytest.raises(BagwiseError, match=r"some==1 could not be installed .* network.* no route to host"):
            environments.environment_python(("some==1",), lambda _: None)
    assert len(commands.read_text().splitlines()) == 2


def test_a_runner_that_fails_is_named():
    with pytest.raises(BagwiseError, match=r"The runner nonsense failed"):
        environments.run_external(HERE, "nonsense", {})


class ByBagNumber(loop.BinaryProblems):
    """Scores by the number of the bag: which pairs are open is all that is tested."""

    def learn_and_score(self, label_class, y, open_bags):
        assert np.isnan(y[open_bags]).all()
        return open_bags + 0.1 * label_class


def test_one_problem_per_class_asks_every_open_pair_once(rng):
    truth = rng.random((5, 3)) < 0.5
    x, offsets = rng.normal(size=(10, 2)), np.arange(0, 11, 2)
    task = loop.Task(x, offsets, truth, np.array([0]), x, offsets, np.array(12), np.zeros((3, 3)), np.array(1.0))
    peer, asked = ByBagNumber(task), []
    for _ in range(12):
        asked.append(peer.ask())
        peer.tell(*asked[-1], present=True)
    assert asked == sorted(asked, reverse=True)
    assert set(asked) == {(b, c) for b in range(1, 5) for c in range(3)}


@pytest.mark.slow
def test_the_compared_libraries_still_run(compared):
    theirs = compared.figures[3:]
    assert theirs
    assert all(system.title in figure.name for system, figure in zip(peers.LIBRARIES, theirs, strict=False))
    assert all(figure.details["bag accuracy"] > 0 for figure in theirs)

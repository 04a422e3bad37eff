"""MIMLClassifier: the model of the paper as a scikit-learn estimator over bags."""

from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.data.metrics import THRESHOLD, bag_accuracy
from bagwise.kernels import Array, Instances
from bagwise.kernels.arithmetic.blocks import single_threaded_blas
from bagwise.model import persistence, solvers
from bagwise.model.features import STANDARDISE, Spread, fit_transformer, instances_of
from bagwise.model.objective import Counts, Objective
from bagwise.model.scored_pool import ScoredPool, Scorer
from bagwise.model.solvers import Settings, State

DEFAULT_PRIOR = 1.0
OBJECTIVES = ("marginal", "joint")


class MIMLClassifier(BaseEstimator):  # type: ignore[misc]
    """Multi-instance multi-label classifier that learns from incomplete bag labels.

    Each instance belongs to one class, P(class) = softmax(W x); a bag has a class when one of its instances has it.

    Parameters
    ----------
    solver : "lbfgs", "gd", "pair_sgd" or "bag_sgd".
    prior : precision of the Gaussian prior on the weights, beside the *sum* of the log-likelihood. Default 1.
    penalty : the same beside the *mean*, as in the paper. Give one of the two.
    objective : "marginal" (the sum over the known labels, as in the paper) or "joint" (all known labels of a bag
        together: exact, slower, with `lbfgs` and `gd` only; bags with more than 14 classes known present fall back).
    background : add a class that is never asked or predicted, for instances of none of the classes.
    transformer : "standardise", None, or any scikit-learn transformer of instances.
    fit_intercept : let every class have a constant; it is penalised like the other weights.
    max_iter : iterations (`lbfgs`) or epochs (the others); None for the solver's own limit.
    tol : stop when no entry of the gradient is larger.
    step_size : first step of the stochastic solvers, step_size / (penalty k + 1).
    random_state : order of the stochastic solvers' epochs.

    Attributes
    ----------
    coef_ : (classes [+ 1], features) weights on transformed features; the last row is the background's.
    intercept_ : (classes [+ 1],).
    thresholds_ : (classes,) above which probability a class is predicted; `quality.decisions` can learn them.
    log_likelihood_ : sum of log P over the known labels, at the start and after every iteration or epoch.

    >>> bags = Bags.from_list([[[-2.0]], [[2.0]], [[-2.1], [1.9]]])
    >>> clf = MIMLClassifier(background=False).fit(bags, [[1, 0], [0, 1], [1, np.nan]])
    >>> clf.predict(bags)
    array([[1, 0],
           [0, 1],
           [1, 1]])

    """

    def __init__(
        self,
        solver: str = "lbfgs",
        prior: float | None = None,
        penalty: float | None = None,
        objective: str = "marginal",
        background: bool = True,
        transformer: Any = STANDARDISE,
        fit_intercept: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-6,
        step_size: float = 0.1,
        random_state: int | None = None,
    ) -> None:
        self.solver = solver
        self.prior = prior
        self.penalty = penalty
        self.objective = objective
        self.background = background
        self.transformer = transformer
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.step_size = step_size
        self.random_state = random_state

    # Learning

    def fit(self, bags: Bags | Sequence[npt.ArrayLike], labels: Any) -> Self:
        """Learn from every known label; `labels` are Labels or an array with NaN for unknown."""
        bags, labels = self._checked(bags, labels)
        if labels.n_known == 0:
            raise BagwiseError("No label is known: fitting needs at least one.")
        self.prepare(bags, labels.n_classes)
        return self.learn(self.objective_of(self.instances(bags), labels))

    def partial_fit(self, bags: Bags | Sequence[npt.ArrayLike], labels: Any) -> Self:
        """Go on learning from these labels, from the present weights; the first call fixes the transformer.

        A stochastic solver takes one step per known pair or labelled bag; `lbfgs` and `gd` take a few iterations.
        """
        bags, labels = self._checked(bags, labels)
        if not hasattr(self, "weights_"):
            self.prepare(bags, labels.n_classes)
        elif labels.n_classes != self.n_classes_:
            raise BagwiseError(f"The labels have {labels.n_classes} classes but the model has {self.n_classes_}.")
        if labels.n_known:
            objective = self.objective_of(self.instances(bags), labels)
            known_bags, known_classes = np.nonzero(labels.known)
            with single_threaded_blas():
                state = solvers.get(self.solver).update(
                    objective, self.state, known_bags, known_classes, self.settings()
                )
            self.set_state(state)
        return self

    def prepare(self, bags: Bags, n_classes: int, spread: Spread | None = None) -> Self:
        """Fit the transformer and start from weights that know nothing; `bags` may be a few of those `spread`."""
        if n_classes == 1 and not self.background:
            raise BagwiseError(
                "A single class without background leaves every instance no choice: use background=True."
            )
        self._check_parameters()
        self.n_classes_ = n_classes
        self.n_features_in_ = bags.n_features
        self.has_intercept_ = bool(self.fit_intercept)
        self.transformer_ = fit_transformer(self.transformer, bags, spread)
        width = self.instances(bags.select([0])).width
        self.log_likelihood_: Array = np.empty(0)
        self.thresholds_: Array = np.full(n_classes, THRESHOLD)
        self.class_names_: list[str] = []
        self.feature_names_: list[str] = []
        self.recipe_: dict[str, Any] | None = None  # How the instances were made; the model does not look at it.
        self.provenance_: dict[str, Any] | None = None  # What it learned from; written and read by projects.
        return self.set_state(State(np.zeros((n_classes + self.background, width))))

    def learn(self, objective: Objective) -> Self:
        """Minimise it, from the present weights."""
        history = [objective.log_likelihood(self.weights_)]

        def record(weights: Array, value: float | None) -> None:
            history.append(objective.log_likelihood(weights, value))

        with single_threaded_blas():
            state = solvers.get(self.solver).fit(objective, self.weights_, self.settings(), record)
        self.log_likelihood_ = np.array(history)
        return self.set_state(state)

    def settings(self) -> Settings:
        """The parameters a solver looks at."""
        return Settings(self.max_iter, self.tol, self.step_size, np.random.default_rng(self.random_state or 0))

    def objective_of(self, instances: Instances, labels: Labels, counted: Counts | None = None) -> Objective:
        """What fitting these labels minimises."""
        prior = DEFAULT_PRIOR if self.prior is None and self.penalty is None else self.prior
        joint = self.objective == "joint"
        return Objective(instances, labels, len(self.weights_), prior, self.penalty, joint, counted)

    # Weights

    def set_state(self, state: State) -> Self:
        """Take over the weights of an online run."""
        self.weights_, self.n_steps_, self.moments_ = state.weights, state.steps, state.moments
        return self

    @property
    def state(self) -> State:
        """Where an online run stands."""
        return State(self.weights_, self.n_steps_, self.moments_)

    @property
    def coef_(self) -> Array:
        """(classes [+ 1], features)."""
        check_is_fitted(self, "weights_")
        return self.weights_[:, :-1] if self.has_intercept_ else self.weights_

    @property
    def intercept_(self) -> Array:
        """(classes [+ 1],)."""
        check_is_fitted(self, "weights_")
        return self.weights_[:, -1] if self.has_intercept_ else np.zeros(len(self.weights_))

    @classmethod
    def from_weights(cls, weights: npt.ArrayLike) -> "MIMLClassifier":
        """A fitted model whose (classes x features) weights act on the raw features.

        >>> MIMLClassifier.from_weights([[1.0], [0.0]]).predict_proba([[[0.0], [0.0]]])
        array([[0.75, 0.75]])
        """
        given = np.array(weights, dtype=float, ndmin=2)
        model = cls(background=False, transformer=None, fit_intercept=False)
        model.prepare(Bags(np.zeros((1, given.shape[1])), [0, 1]), len(given))
        return model.set_state(State(given))

    # Predicting

    def predict_proba(self, bags: Bags | Sequence[npt.ArrayLike]) -> Array:
        """P(class is in bag), (bags x classes)."""
        bags = Bags.of(bags)
        return np.concatenate([self._scorer(bags.select(some)).probabilities()[0] for some in bags.portions()])

    def predict(self, bags: Bags | Sequence[npt.ArrayLike]) -> Array:
        """1 where P(class is in bag) is above the class's threshold, (bags x classes)."""
        return (self.predict_proba(bags) > self.thresholds_).astype(int)

    def predict_instance_proba(self, bags: Bags | Sequence[npt.ArrayLike]) -> Array:
        """P(instance has class), (instances x classes); with a background class rows sum to less than 1."""
        return self._scorer(bags).instance_probabilities()

    def score(self, bags: Bags | Sequence[npt.ArrayLike], labels: Any) -> float:
        """Bag accuracy on fully known labels."""
        bags, labels = self._checked(bags, labels)
        if not labels.known.all():
            raise BagwiseError("Scoring needs every label: some are unknown.")
        return bag_accuracy(labels.value, self.predict(bags))

    def pool(self, bags: Bags | Sequence[npt.ArrayLike], labels: Any = None) -> ScoredPool:
        """What a criterion sees of these bags."""
        bags = Bags.of(bags)
        scorer = self._scorer(bags)
        known = Labels.unknown(len(bags), self.n_classes_) if labels is None else Labels.of(labels, len(bags))
        return self.pool_of(scorer, known, keys=bags.keys, seed=self.random_state or 0)

    def pool_of(self, scorer: Scorer, labels: Labels, **rest: Any) -> ScoredPool:
        """A pool over an existing scorer, with this model's prior."""
        pool = ScoredPool(labels=labels, scorer=scorer, **rest)
        if self.penalty is None:
            pool.prior = DEFAULT_PRIOR if self.prior is None else self.prior
        else:
            pool.prior = self.penalty * max(pool.label_counts.n_known, 1)
        return pool

    def instances(self, bags: Bags) -> Instances:
        """The bags as the model sees them."""
        check_is_fitted(self, "transformer_")
        if bags.n_features != self.n_features_in_:
            raise BagwiseError(
                f"The bags have {bags.n_features} features but the model was fitted with {self.n_features_in_}."
            )
        return instances_of(bags, self.transformer_, self.has_intercept_)

    def scorer(self, instances: Instances) -> Scorer:
        """The present weights on these instances."""
        return Scorer(instances, self.weights_, self.n_classes_)

    # Keeping

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one file, without pickle."""
        check_is_fitted(self, "weights_")
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        persistence.write(path, {"parameters": self.get_params(deep=False), "fitted": fitted})

    @classmethod
    def load(cls, path: str | Path) -> "MIMLClassifier":
        """Read a model that `save` wrote."""
        content = persistence.read(path)
        model = cls(**content["parameters"])
        model.thresholds_ = np.full(content["fitted"]["n_classes_"], THRESHOLD)  # older files have none
        model.provenance_ = None
        model.__dict__.update(content["fitted"])
        return model

    # Checking

    def _scorer(self, bags: Bags | Sequence[npt.ArrayLike]) -> Scorer:
        check_is_fitted(self, "weights_")
        return self.scorer(self.instances(Bags.of(bags)))

    def _checked(self, bags: Bags | Sequence[npt.ArrayLike], labels: Any) -> tuple[Bags, Labels]:
        bags = Bags.of(bags)
        return bags, Labels.of(labels, len(bags))

    def _check_parameters(self) -> None:
        solvers.get(self.solver)
        if self.objective not in OBJECTIVES:
            raise BagwiseError(f"There is no objective {self.objective!r}: choose one of {', '.join(OBJECTIVES)}.")
        if self.objective == "joint" and self.solver.endswith("sgd"):
            raise BagwiseError(f"solver={self.solver!r} steps on single labels: the joint objective needs lbfgs or gd.")
        if self.prior is not None and self.penalty is not None:
            raise BagwiseError("Both prior and penalty are given: they are two ways to say the same thing, give one.")
        for name in ("prior", "penalty", "step_size", "tol"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float | np.number) and 0 <= value < np.inf):
                raise BagwiseError(f"{name}={value!r} must be a number, not negative and not infinite.")
        if self.max_iter is not None and not (isinstance(self.max_iter, Integral) and self.max_iter >= 1):
            raise BagwiseError(f"max_iter={self.max_iter!r} must be a whole number, at least 1, or None.")
        if self.random_state is not None and not (isinstance(self.random_state, Integral) and self.random_state >= 0):
            raise BagwiseError(f"random_state={self.random_state!r} must be a whole number, not negative, or None.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

"""MIMLClassifier: the model of the paper as a scikit-learn estimator over bags."""

from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.data.instance_labels import InstanceLabels
from bagwise.data.labels import Labels
from bagwise.data.metrics import THRESHOLD
from bagwise.data.metrics.bag_accuracy import bag_accuracy
from bagwise.data.scores import Scores
from bagwise.kernels import Array, Instances, slopes
from bagwise.kernels.arithmetic.blocks import single_threaded_blas
from bagwise.model import persistence, solvers
from bagwise.model.features import STANDARDISE, Spread, fit_transformer, instances_of
from bagwise.model.objective import Counts, Objective
from bagwise.model.scored_pool import ScoredPool, Scorer
from bagwise.model.solvers import Settings, Solver, State
from bagwise.model.usefulness import slope_mean

DEFAULT_PRIOR = 1.0
OBJECTIVES = ("marginal", "joint")


class MIMLClassifier(BaseEstimator):  # type: ignore[misc]
    """Multi-instance multi-label classifier that learns from incomplete bag labels.

    Each instance belongs to one class, P(class) = softmax(W x); a bag has a class when one of its instances has it.

    Parameters
    ----------
    solver : str or module
        "lbfgs", "gd", "pair_sgd", "bag_sgd", "replay", the name of an installed plug-in, or a module with the functions
        `fit` and `update` (see `bagwise.model.solvers`).
    prior : float, optional
        Precision of the Gaussian prior on the weights, beside the *sum* of the log-likelihood (default: 1).
    penalty : float, optional
        The same beside the *mean*, as in the paper. Give one of the two.
    objective : {"marginal", "joint"}
        "marginal" is the sum over the known labels, as in the paper. "joint" takes all known labels of a bag together:
        exact, slower, not with the stochastic solvers; bags with more than 14 classes known present fall back.
    background : bool
        Add a class that is never asked or predicted, for instances of none of the classes.
    transformer : {"standardise", "nystroem"}, None, or a scikit-learn transformer of instances
        "standardise" gives every feature the variance 1; from 200 features on, it divides all by one number, see
        `bagwise.model.features`.
    fit_intercept : bool
        Let every class have a constant; it is penalised like the other weights.
    max_iter : int, optional
        Iterations (`lbfgs`) or epochs (the others); None for the solver's own limit.
    tol : float
        Stop when no entry of the gradient is larger.
    step_size : float
        First step of the stochastic solvers, step_size / (penalty k + 1).
    random_state : int, optional
        Seed of the order of the stochastic solvers' epochs.

    Attributes
    ----------
    coef_ : ndarray, shape (C [+ 1], d)
        Weights on transformed features; the last row is that of the background class.
    intercept_ : ndarray, shape (C [+ 1],)
    thresholds_ : ndarray, shape (C,)
        A class is predicted above its threshold; `bagwise.evaluation.thresholds.learn` can learn them.
    log_likelihood_ : ndarray
        Sum of log P over the known labels, at the start and after every iteration or epoch.

    Examples
    --------
    >>> bags = Bags.from_list([[[-2.0]], [[2.0]], [[-2.1], [1.9]]])
    >>> clf = MIMLClassifier(background=False).fit(bags, [[1, 0], [0, 1], [1, np.nan]])
    >>> clf.predict(bags)
    array([[1, 0],
           [0, 1],
           [1, 1]])
    """

    def __init__(
        self,
        solver: str | Solver | ModuleType = "lbfgs",
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

    def fit(
        self, bags: Bags | Sequence[npt.ArrayLike], labels: Any, instance_labels: Any = None, scores: Any = None
    ) -> Self:
        """Fit the model to every known label of bags and of instances.

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.
        labels : Labels, or array-like of shape (B, C) with NaN for unknown
            The known labels.
        instance_labels : InstanceLabels, or array-like of shape (N,) or (N, C), optional
            What is known of single instances: the class of each, -1 for none of the classes and NaN for unknown; or 1
            (it is of the class), 0 (it is not) and NaN for each class. They are added to those in `labels`.
        scores : Scores, or array-like of probabilities, shape (N, C) or (B, C), optional
            What a classifier thinks of the instances or bags; NaN for unknown. The model starts from them and
            learns how far they are right.

        Returns
        -------
        MIMLClassifier
            This model.

        Examples
        --------
        >>> MIMLClassifier().fit([[[0.0]], [[1.0]]], [[1, 0], [np.nan, 1]]).predict([[[0.0]]])
        array([[1, 0]])
        >>> two_sounds = [[[-2.0], [2.0]]]
        >>> model = MIMLClassifier().fit(two_sounds, [[1, 1]], instance_labels=[0, 1])
        >>> model.predict_instance_proba(two_sounds).argmax(axis=1)
        array([0, 1])
        >>> unlike = [[[0.0]], [[0.0]]]
        >>> model = MIMLClassifier().fit(unlike, [[1], [np.nan]], scores=[[0.9], [0.1]])
        >>> model.predict(unlike, scores=[[0.9], [0.1]])
        array([[1],
               [0]])
        """
        bags, labels = self._validated(bags, labels, scores)
        if instance_labels is not None:
            labels = labels.with_instances(_instance_labels(instance_labels, bags, labels))
        if labels.n_known == 0:
            raise BagwiseError("No label is known: fitting needs at least one.")
        self.prepare(bags, labels.n_classes)
        return self.learn(self.objective_of(self.instances(bags), labels))

    def partial_fit(self, bags: Bags | Sequence[npt.ArrayLike], labels: Any, scores: Any = None) -> Self:
        """Continue learning from these labels, from the current weights; the first call fits the transformer.

        A stochastic solver takes one step per known pair or labelled bag; `lbfgs` and `gd` take a few iterations.

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.
        labels : Labels, or array-like of shape (B, C) with NaN for unknown
            The known labels.
        scores : Scores, or array-like of probabilities, shape (N, C) or (B, C), optional
            What a classifier thinks of the instances or bags; NaN for unknown. Needed where the model was
            fitted with scores.

        Returns
        -------
        MIMLClassifier
            This model.

        Examples
        --------
        >>> model = MIMLClassifier().fit([[[0.0]], [[1.0]]], [[1, 0], [np.nan, 1]])
        >>> model.partial_fit([[[2.0]]], [[0, 1]]).predict([[[2.0]]])
        array([[0, 1]])
        """
        bags, labels = self._validated(bags, labels, scores)
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
        """Fit the transformer and set all weights to 0; `bags` may be a few of the bags that `spread` summarises.

        Parameters
        ----------
        bags : Bags
            The bags.
        n_classes : int
            Number of classes C.
        spread : Spread, optional
            Summaries of all instances, where they are distributed over several machines.

        Returns
        -------
        MIMLClassifier
            This model.
        """
        if n_classes == 1 and not self.background:
            raise BagwiseError(
                "A single class without a background class has probability 1 everywhere: use `background=True`."
            )
        self._validate_parameters()
        if bags.scores is not None:
            solvers.validate_scores("solver", self.solver)
            if bags.scores.shape[1] != n_classes:
                raise BagwiseError(
                    f"There are scores of {bags.scores.shape[1]} classes where the model has {n_classes}."
                )
        self.has_scores_ = bags.scores is not None
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
        """Minimise the objective from the current weights.

        Parameters
        ----------
        objective : Objective
            What to minimise, from `objective_of`.

        Returns
        -------
        MIMLClassifier
            This model.
        """
        history = [objective.log_likelihood(self.weights_)]

        def record(weights: Array, value: float | None) -> None:
            history.append(objective.log_likelihood(weights, value))

        with single_threaded_blas():
            start = objective.with_useful_scores(self.weights_)
            state = solvers.get(self.solver).fit(objective, start, self.settings(), record)
        self.log_likelihood_ = np.array(history)
        return self.set_state(state)

    def settings(self) -> Settings:
        """Return the parameters of the solver."""
        return Settings(self.max_iter, self.tol, self.step_size, self.random_state or 0)

    def objective_of(self, instances: Instances, labels: Labels, counted: Counts | None = None) -> Objective:
        """Return the objective that fitting these labels minimises.

        Parameters
        ----------
        instances : Instances
            The bags, from `instances`.
        labels : Labels
            The known labels, one row per bag.
        counted : Counts, optional
            Counts of the labels, where a label store has them; by default they are counted.

        Returns
        -------
        Objective
        """
        prior = DEFAULT_PRIOR if self.prior is None and self.penalty is None else self.prior
        joint = self.objective == "joint"
        known = labels.n_known if counted is None else counted.n_known
        trust = slope_mean(self.n_features_in_, known, self.n_classes_)
        return Objective.of(instances, labels, len(self.weights_), prior, self.penalty, joint, counted, trust)

    # Weights

    def set_state(self, state: State) -> Self:
        """Set the weights and the state of the solver.

        Parameters
        ----------
        state : State
            Its weights are (C [+ 1], features), as in `coef_` and `intercept_` side by side.

        Returns
        -------
        MIMLClassifier
            This model.
        """
        self.weights_, self.n_steps_, self.moments_ = state.weights, state.steps, state.moments
        return self

    @property
    def state(self) -> State:
        """Weights and state of the solver."""
        return State(self.weights_, self.n_steps_, self.moments_)

    @property
    def coef_(self) -> Array:
        """Weights on transformed features, shape (C [+ 1], d)."""
        check_is_fitted(self, "weights_")
        return self.weights_[:, : self.weights_.shape[1] - self.has_intercept_ - self.has_scores_]

    @property
    def intercept_(self) -> Array:
        """Constants of the classes, shape (C [+ 1],)."""
        check_is_fitted(self, "weights_")
        return self.weights_[:, -1] if self.has_intercept_ else np.zeros(len(self.weights_))

    @property
    def slopes_(self) -> Array:
        """Slopes of the scores, shape (C,): 1 where they are taken as they are, 0 where they are ignored."""
        check_is_fitted(self, "weights_")
        if not self.has_scores_:
            raise BagwiseError("The model was fitted without scores: it has no slopes.")
        return slopes(self.weights_[: self.n_classes_, self.coef_.shape[1]])

    @property
    def uses_scores(self) -> bool:
        """Whether scores of a classifier count: not where there are none, or they did not predict the labels."""
        return self.has_scores_ and bool(self.slopes_.any())

    @classmethod
    def from_weights(cls, weights: npt.ArrayLike) -> "MIMLClassifier":
        """Return a fitted model with these weights on the raw features: no scaling, intercept or background.

        Parameters
        ----------
        weights : array-like, shape (C, d)
            One row per class.

        Returns
        -------
        MIMLClassifier

        Examples
        --------
        >>> MIMLClassifier.from_weights([[1.0], [0.0]]).predict_proba([[[0.0], [0.0]]])
        array([[0.75, 0.75]])
        """
        given = np.array(weights, dtype=float, ndmin=2)
        model = cls(background=False, transformer=None, fit_intercept=False)
        model.prepare(Bags(np.zeros((1, given.shape[1])), [0, 1]), len(given))
        return model.set_state(State(given))

    # Prediction

    def predict_proba(self, bags: Bags | Sequence[npt.ArrayLike], scores: Any = None) -> Array:
        """Return P(class is in bag).

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.
        scores : Scores, or array-like of probabilities, shape (N, C) or (B, C), optional
            What a classifier thinks of the instances or bags; NaN for unknown. Needed where the model was
            fitted with scores.

        Returns
        -------
        ndarray, shape (B, C)

        Examples
        --------
        >>> MIMLClassifier.from_weights([[1.0], [0.0]]).predict_proba([[[0.0]], [[0.0], [0.0]]])
        array([[0.5 , 0.5 ],
               [0.75, 0.75]])
        """
        bags = self._with_scores(bags, scores)
        return np.concatenate([self._scorer(bags.select(some)).probabilities()[0] for some in bags.portions()])

    def predict(self, bags: Bags | Sequence[npt.ArrayLike], scores: Any = None) -> Array:
        """Return 1 where P(class is in bag) is above the threshold of the class, else 0.

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.
        scores : Scores, or array-like of probabilities, shape (N, C) or (B, C), optional
            What a classifier thinks of the instances or bags; NaN for unknown. Needed where the model was
            fitted with scores.

        Returns
        -------
        ndarray of int, shape (B, C)

        Examples
        --------
        >>> MIMLClassifier.from_weights([[1.0], [0.0]]).predict([[[3.0]], [[-3.0], [3.0]]])
        array([[1, 0],
               [1, 1]])
        """
        return (self.predict_proba(bags, scores) > self.thresholds_).astype(int)

    def predict_instance_proba(self, bags: Bags | Sequence[npt.ArrayLike], scores: Any = None) -> Array:
        """Return P(instance has class); with a background class rows sum to less than 1.

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.
        scores : Scores, or array-like of probabilities, shape (N, C) or (B, C), optional
            What a classifier thinks of the instances or bags; NaN for unknown. Needed where the model was
            fitted with scores.

        Returns
        -------
        ndarray, shape (N, C)
            Of the instances of all bags, in their order.

        Examples
        --------
        >>> MIMLClassifier.from_weights([[1.0], [0.0]]).predict_instance_proba([[[0.0], [0.0]]])
        array([[0.5, 0.5],
               [0.5, 0.5]])
        """
        return self._scorer(self._with_scores(bags, scores)).instance_probabilities()

    def score(self, bags: Bags | Sequence[npt.ArrayLike], labels: Any, scores: Any = None) -> float:
        """Return the bag accuracy of the predictions; every label must be known.

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.
        labels : Labels, or array-like of {0, 1}, shape (B, C)
            The true labels.
        scores : Scores, or array-like of probabilities, shape (N, C) or (B, C), optional
            What a classifier thinks of the instances or bags; NaN for unknown. Needed where the model was
            fitted with scores.

        Returns
        -------
        float
            Between 0 and 1, more is better.

        Examples
        --------
        >>> MIMLClassifier.from_weights([[1.0], [0.0]]).score([[[3.0]], [[-3.0]]], [[1, 0], [0, 1]])
        1.0
        """
        bags, labels = self._validated(bags, labels, scores)
        if not labels.known.all():
            raise BagwiseError("Scoring needs every label: some are unknown.")
        return bag_accuracy(labels.value, self.predict(bags))

    def pool(self, bags: Bags | Sequence[npt.ArrayLike], labels: Any = None, scores: Any = None) -> ScoredPool:
        """Return the input of a criterion: probabilities, known labels and gradients of these bags.

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.
        labels : Labels, or array-like of shape (B, C) with NaN for unknown, optional
            The known labels (default: none).
        scores : Scores, or array-like of probabilities, shape (N, C) or (B, C), optional
            What a classifier thinks of the instances or bags; NaN for unknown. Needed where the model was
            fitted with scores.

        Returns
        -------
        ScoredPool

        Examples
        --------
        >>> MIMLClassifier.from_weights([[1.0], [0.0]]).pool([[[0.0]]]).present
        array([[0.5, 0.5]])
        """
        bags = self._with_scores(bags, scores)
        known = Labels.unknown(len(bags), self.n_classes_) if labels is None else Labels.of(labels, len(bags))
        plain = self._scorer(bags)
        evidence = known.evidence(plain.instances.offsets, len(self.weights_))
        scorer = plain.on(plain.instances.with_evidence(evidence))
        return self.pool_of(scorer, known, keys=bags.keys, seed=self.random_state or 0)

    def pool_of(self, scorer: Scorer, labels: Labels, **rest: Any) -> ScoredPool:
        """Return a pool over an existing scorer, with the prior of this model.

        Parameters
        ----------
        scorer : Scorer
            The weights on the instances of the bags, from `scorer`.
        labels : Labels
            The known labels, one row per bag.
        **rest
            Further parameters of `ScoredPool`.

        Returns
        -------
        ScoredPool
        """
        pool = ScoredPool(labels=labels, scorer=scorer, **rest)
        if self.penalty is None:
            pool.prior = DEFAULT_PRIOR if self.prior is None else self.prior
        else:
            pool.prior = self.penalty * max(pool.label_counts.n_known, 1)
        return pool

    def instances(self, bags: Bags) -> Instances:
        """Return the bags with the transformer of the model.

        Parameters
        ----------
        bags : Bags
            With as many features as the model was fitted with.

        Returns
        -------
        Instances
        """
        check_is_fitted(self, "transformer_")
        if bags.n_features != self.n_features_in_:
            raise BagwiseError(
                f"The bags have {bags.n_features} features but the model was fitted with {self.n_features_in_}."
            )
        if self.has_scores_ != (bags.scores is not None):
            raise BagwiseError(
                "The model was fitted with scores: give `scores` of these bags, NaN where there are none."
                if self.has_scores_
                else "The model was fitted without scores: fit it again with them, or leave them out."
            )
        return instances_of(bags, self.transformer_, self.has_intercept_)

    def scorer(self, instances: Instances) -> Scorer:
        """Return the current weights applied to these instances.

        Parameters
        ----------
        instances : Instances
            The bags, from `instances`.

        Returns
        -------
        Scorer
        """
        return Scorer(instances, self.weights_, self.n_classes_)

    # Persistence

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one .npz file, without pickle; `load` reads it.

        Parameters
        ----------
        path : str or Path
            The file.
        """
        persistence.write(path, self.as_tree())

    @classmethod
    def load(cls, path: str | Path) -> "MIMLClassifier":
        """Return the model that `save` wrote to a file.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        MIMLClassifier

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     MIMLClassifier.from_weights([[1.0], [0.0]]).save(Path(folder) / "model.npz")
        ...     MIMLClassifier.load(Path(folder) / "model.npz").predict([[[3.0]]])
        array([[1, 0]])
        """
        return cls.from_tree(persistence.read(path))

    def as_tree(self) -> dict[str, Any]:
        """Return all of the fitted model as plain values, arrays and scikit-learn objects: what `save` writes."""
        check_is_fitted(self, "weights_")
        if not isinstance(self.solver, str):
            raise BagwiseError("A model is saved with the name of its solver: register the solver as an entry point.")
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        return {"parameters": self.get_params(deep=False), "fitted": fitted}

    @classmethod
    def from_tree(cls, tree: dict[str, Any]) -> "MIMLClassifier":
        """Return the model that `as_tree` described.

        Parameters
        ----------
        tree : dict
            What it returned.

        Returns
        -------
        MIMLClassifier

        Examples
        --------
        >>> tree = MIMLClassifier.from_weights([[1.0], [0.0]]).as_tree()
        >>> MIMLClassifier.from_tree(tree).predict([[[3.0]]])
        array([[1, 0]])
        """
        model = cls(**tree["parameters"])
        model.thresholds_ = np.full(tree["fitted"]["n_classes_"], THRESHOLD)  # older files have none
        model.provenance_, model.has_scores_ = None, False
        model.__dict__.update(tree["fitted"])
        return model

    # Validation

    def _scorer(self, bags: Bags | Sequence[npt.ArrayLike]) -> Scorer:
        check_is_fitted(self, "weights_")
        return self.scorer(self.instances(Bags.of(bags)))

    def _with_scores(self, bags: Bags | Sequence[npt.ArrayLike], scores: Any) -> Bags:
        bags = Bags.of(bags)
        names = self.class_names_ if hasattr(self, "class_names_") else []
        return bags if scores is None else Scores.of(scores, bags).attached_to(bags, names)

    def _validated(self, bags: Bags | Sequence[npt.ArrayLike], labels: Any, scores: Any = None) -> tuple[Bags, Labels]:
        bags = self._with_scores(bags, scores)
        return bags, Labels.of(labels, len(bags))

    def _validate_parameters(self) -> None:
        solvers.get(self.solver)
        if self.objective not in OBJECTIVES:
            raise BagwiseError(f"There is no objective {self.objective!r}: choose one of {', '.join(OBJECTIVES)}.")
        solvers.validate_objective("solver", self.solver, self.objective)
        if self.prior is not None and self.penalty is not None:
            raise BagwiseError("`prior` and `penalty` are both given: they set the same thing, give one of them.")
        for name in ("prior", "penalty", "step_size", "tol"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float | np.number) and 0 <= value < np.inf):
                raise BagwiseError(f"{name}={value!r} must be a number, not negative and not infinite.")
        if self.max_iter is not None and not (isinstance(self.max_iter, Integral) and self.max_iter >= 1):
            raise BagwiseError(f"max_iter={self.max_iter!r} must be a whole number, at least 1, or None.")
        if self.random_state is not None and not (isinstance(self.random_state, Integral) and self.random_state >= 0):
            raise BagwiseError(f"random_state={self.random_state!r} must be a whole number, not negative, or None.")

    def __sklearn_clone__(self) -> Self:
        # A solver that is a module cannot be copied, which scikit-learn's `clone` does with all parameters.
        given = self.get_params(deep=False)
        solver = given.pop("solver")
        return type(self)(solver, **{name: clone(value, safe=False) for name, value in given.items()})

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")


def _instance_labels(given: Any, bags: Bags, labels: Labels) -> InstanceLabels:
    """What is said of the instances of these bags, together with what `labels` has of them."""
    said = given if isinstance(given, InstanceLabels) else None
    if said is None:
        said = InstanceLabels.from_array(given, bags.offsets, labels.n_classes)
    together = labels.instances.copy()
    for bag, label in said:
        if bag >= len(bags) or not 0 <= label.instance < bags.sizes[bag]:
            raise BagwiseError(f"Instance {label.instance} of bag {bag} does not exist, but has a label.")
        together.set(bag, label)
    return together

"""Solvers: ONE FILE = ONE SOLVER, found by its name. Each has the same two functions

    fit(objective, weights, settings, on_epoch) -> State         from scratch; on_epoch(weights, F) after every epoch
    update(objective, state, bags, classes, settings) -> State   after these pairs became known

and declares in `CAPABILITIES` what it cannot do or does not need, where that differs from a solver that minimises the
objective F over all known labels. A module, or any object with these two functions, works wherever a name does.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any, Protocol, cast

from bagwise.core.errors import BagwiseError
from bagwise.core.plugins import choose, declared, discover
from bagwise.kernels import Array
from bagwise.model.objective import Objective


@dataclass(frozen=True)
class Capabilities:
    """What a solver supports and needs.

    Parameters
    ----------
    joint_objective : bool
        It can minimise the joint objective, that is, it evaluates F and does not step on single labels.
    distributed : bool
        It can minimise an F whose labelled bags are distributed over a cluster.
    answered_bags_only : bool
        An update needs only the bags that were answered. Such a solver cannot forget a retracted label.
    step_size : bool
        It uses `Settings.step_size`, so that this parameter is worth tuning.
    scores : bool
        It can learn the slopes of a classifier's scores.

    Examples
    --------
    >>> capabilities("lbfgs").joint_objective, capabilities("bag_sgd").joint_objective
    (True, False)
    """

    joint_objective: bool = True
    distributed: bool = True
    answered_bags_only: bool = False
    step_size: bool = False
    scores: bool = True


@dataclass(frozen=True)
class Settings:
    """Parameters of a solver.

    Parameters
    ----------
    max_iter : int, optional
        The most iterations or epochs (None: the solver's default).
    tolerance : float
        Stop when no entry of the gradient is larger.
    step_size : float
        First step of the stochastic solvers; step k is step_size / (penalty k / offset + 1).
    random_state : int
        Seed of the order of the epochs of the stochastic solvers, and of which labels are replayed.
    refit_every : int, optional
        Number of answers between refits (None: the solver's default).
    offset : float
        How slowly the steps of the stochastic solvers shrink, the paper's c''.
    penalised : bool
        Whether their steps include the gradient of the penalty; those of the paper do not.

    Examples
    --------
    >>> Settings(max_iter=10).tolerance
    1e-06
    """

    max_iter: int | None = None
    tolerance: float = 1e-6
    step_size: float = 0.1
    random_state: int = 0
    refit_every: int | None = None
    offset: float = 1.0
    penalised: bool = True


@dataclass(frozen=True)
class State:
    """State of an online run. It is replaced and never changed, so a kept one is a snapshot.

    Parameters
    ----------
    weights : ndarray, shape (classes [+ 1], features)
        The weights.
    steps : int
        Number of steps so far.
    moments : ndarray, shape (2, classes [+ 1], features), optional
        The averages of past gradients that some solvers need.

    Examples
    --------
    >>> import numpy as np
    >>> state = State(np.zeros((2, 3)))
    >>> state.advanced(np.ones((2, 3)), steps=5).steps, state.steps
    (5, 0)
    """

    weights: Array
    steps: int = 0
    moments: Array | None = None

    def advanced(self, weights: Array, steps: int) -> "State":
        """The state after `steps` more steps.

        Parameters
        ----------
        weights : ndarray
            The new weights, of the same shape.
        steps : int
            Number of steps that led to them.

        Returns
        -------
        State
        """
        return replace(self, weights=weights, steps=self.steps + steps)


OnEpoch = Callable[[Array, float | None], None]


class Solver(Protocol):
    """The two functions of a solver's file.

    Examples
    --------
    >>> class KeepsWeights:
    ...     def fit(self, objective, weights, settings, on_epoch):
    ...         return State(weights)
    ...     def update(self, objective, state, bags, classes, settings):
    ...         return state
    >>> from bagwise import MIMLClassifier
    >>> MIMLClassifier(solver=KeepsWeights()).fit([[[0.0]], [[1.0]]], [[1], [0]]).coef_
    array([[0.],
           [0.]])
    """

    def fit(self, objective: Objective, weights: Array, settings: Settings, on_epoch: OnEpoch) -> State:
        """Learn everything known, starting from `weights`.

        Parameters
        ----------
        objective : Objective
            What to minimise: its instances, labels and penalty.
        weights : ndarray, shape (classes [+ 1], features)
            Where to start.
        settings : Settings
            Limits and step size.
        on_epoch : callable
            Called with the weights after every iteration or epoch, and with the value of the objective or None.

        Returns
        -------
        State
        """
        ...

    def update(self, objective: Objective, state: State, bags: Array, classes: Array, settings: Settings) -> State:
        """Continue from `state` after these pairs became known.

        Parameters
        ----------
        objective : Objective
            What to minimise, with the new labels.
        state : State
            The state before.
        bags, classes : ndarray of int, shape (n_pairs,)
            Positions of the bag and of the class of each pair.
        settings : Settings
            Limits and step size.

        Returns
        -------
        State
        """
        ...


@cache
def available() -> dict[str, ModuleType]:
    """Return every solver by name.

    Returns
    -------
    dict of str to module
        The modules of this package and the entry points of `bagwise.solvers`.

    Examples
    --------
    >>> list(available())
    ['bag_sgd', 'gd', 'lbfgs', 'pair_sgd', 'replay']
    """
    return discover(__name__, "bagwise.solvers")


def get(solver: str | Solver | ModuleType) -> Solver:
    """Return a solver.

    Parameters
    ----------
    solver : str, module or object
        The name of a solver, or what has its two functions `fit` and `update`.

    Returns
    -------
    Solver

    Raises
    ------
    BagwiseError
        Where there is no solver of that name (the message lists those that exist), or a function is missing.

    Examples
    --------
    >>> get("replay").__name__
    'bagwise.model.solvers.replay'
    """
    if isinstance(solver, str):
        return cast(Solver, choose("solver", solver, available()))
    if not (callable(getattr(solver, "fit", None)) and callable(getattr(solver, "update", None))):
        raise BagwiseError(
            f"The solver {solver!r} must have the functions `fit` and `update`, see `bagwise.model.solvers`."
        )
    return cast(Solver, solver)


def capabilities(solver: str | Solver | ModuleType) -> Capabilities:
    """Return what a solver supports and needs, see `Capabilities`.

    Parameters
    ----------
    solver : str, module or object
        The name of a solver, or what has its two functions `fit` and `update`.

    Returns
    -------
    Capabilities

    Examples
    --------
    >>> capabilities("bag_sgd").step_size, capabilities("lbfgs").step_size
    (True, False)
    """
    found: Any = declared(get(solver), "CAPABILITIES", Capabilities())
    return cast(Capabilities, found)


def validate_objective(name: str, solver: str | Solver | ModuleType, objective: str) -> None:
    """Raise an error where the solver cannot minimise the objective.

    Parameters
    ----------
    name : str
        The name of the parameter that the solver was given as, for the message.
    solver : str, module or object
        The name of a solver, or what has its two functions `fit` and `update`.
    objective : {"marginal", "joint"}
        The objective.

    Raises
    ------
    BagwiseError
        The message lists the solvers that can.

    Examples
    --------
    >>> try:
    ...     validate_objective("solver", "bag_sgd", "joint")
    ... except BagwiseError as error:
    ...     print(error)
    solver='bag_sgd' steps on single labels: the joint objective needs one of gd, lbfgs, replay.
    """
    if objective == "joint" and not capabilities(solver).joint_objective:
        able = [one for one in available() if capabilities(one).joint_objective]
        raise BagwiseError(
            f"{name}={solver!r} steps on single labels: the joint objective needs one of {', '.join(able)}."
        )


def validate_scores(name: str, solver: str | Solver | ModuleType) -> None:
    """Raise an error where the solver cannot learn from bags with scores of a classifier.

    Parameters
    ----------
    name : str
        The name of the parameter that the solver was given as, for the message.
    solver : str, module or object
        The name of a solver, or what has its two functions `fit` and `update`.

    Raises
    ------
    BagwiseError
        The message lists the solvers that can.

    Examples
    --------
    >>> try:
    ...     validate_scores("update", "bag_sgd")
    ... except BagwiseError as error:
    ...     print(error)
    update='bag_sgd' does not support scores: use one of gd, lbfgs, replay.
    """
    if not capabilities(solver).scores:
        able = [one for one in available() if capabilities(one).scores]
        raise BagwiseError(f"{name}={solver!r} does not support scores: use one of {', '.join(able)}.")

"""Instance accuracy: the share of labelled instances whose most probable class is the true one."""

import numpy as np
import numpy.typing as npt

from bagwise.data.metrics._arrays import mean

TITLE = "instance accuracy"
MORE_IS_BETTER = True
TAKES = "instances"


def instance_accuracy(truth: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Return the share of labelled instances whose most probable class is the true one.

    Parameters
    ----------
    truth : array-like of int, shape (instances,)
        Index of the class of each instance; -1 marks an unlabelled instance, which is left out.
    probability : array-like of float, shape (instances, classes)
        P(class) of each instance, as `MIMLClassifier.predict_instance_proba` returns it.

    Returns
    -------
    float
        Between 0 and 1, more is better; NaN where no instance is labelled.

    Examples
    --------
    >>> instance_accuracy([0, 1, -1], [[0.9, 0.1], [0.8, 0.2], [0.5, 0.5]])
    0.5
    """
    true, score = np.asarray(truth), np.asarray(probability, dtype=float)
    labelled = true >= 0
    return mean(score[labelled].argmax(axis=1) == true[labelled])

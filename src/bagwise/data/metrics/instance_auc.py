"""Instance AUC: how well P(class) separates the instances of a class from the others, averaged over the classes.

For class c with n1 labelled instances of it and n0 of other classes, and mid-ranks r_i of P(c) among all of them,

    AUC_c = P(s_i > s_j) + P(s_i = s_j) / 2 = (sum of r_i over the instances of c - n1 (n1 + 1) / 2) / (n1 n0)

for i drawn from the instances of c and j from the others (Mann & Whitney 1947). Cost: O(N C log N).
"""

import numpy as np
import numpy.typing as npt

from bagwise.data.metrics._arrays import mean_auc

TITLE = "instance AUC"
MORE_IS_BETTER = True
TAKES = "instances"


def instance_auc(truth: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Return the mean over classes of the ROC-AUC of P(instance has class).

    Parameters
    ----------
    truth : array-like of int, shape (instances,)
        Index of the class of each instance; -1 marks an unlabelled instance, which is left out.
    probability : array-like of float, shape (instances, classes)
        P(class) of each instance, as `MIMLClassifier.predict_instance_proba` returns it. Equal values count half.

    Returns
    -------
    float
        Between 0 and 1, more is better; 0.5 for a constant. Classes without labelled instances, and a class that all
        labelled instances have, are left out; NaN where none is left.

    Examples
    --------
    >>> instance_auc([0, 0, 1, -1], [[0.9, 0.1], [0.3, 0.7], [0.4, 0.6], [0.5, 0.5]])
    0.5
    """
    true, score = np.asarray(truth), np.asarray(probability, dtype=float)
    labelled = true >= 0
    true, score = true[labelled], score[labelled]
    of_class = true[:, None] == np.arange(score.shape[1])
    return mean_auc(of_class, score)

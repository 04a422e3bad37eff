"""The objective F over labelled bags that stay in their shards: each shard sums over its own, and sums are added in a
tree.

The order of a sum is that of the shards: the same shards give the same numbers, other shards differ in the last digits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from bagwise.kernels import Array
from bagwise.model.objective import Objective

Gradient = Callable[[Array], tuple[float, Array]]


@dataclass(frozen=True)
class DistributedObjective(Objective):
    """An `Objective` whose gradients are computed by the shards.

    Parameters
    ----------
    gradient
        Returns the log-likelihood of all known labels and its gradient, for some weights.
    fetched
        Returns the objective over some bags that are fetched.

    Notes
    -----
    `labels` are those of the bags `counted.labelled`, in that order; of `instances` only the transformation is used.
    """

    gradient: Gradient = field(kw_only=True)
    fetched: Callable[[Sequence[int]], Objective] = field(kw_only=True)

    def log_likelihood_and_gradient(self, weights: Array) -> tuple[float, Array]:
        """Return sum log P over the known labels, and its gradient with respect to the weights."""
        return self.gradient(weights)

    def about(self, bags: Array) -> Objective:
        """Return the objective with the same penalty over the labels of these bags only."""
        return replace(self.fetched(bags.tolist()), prior=None, fixed_penalty=self.penalty, counted=None)

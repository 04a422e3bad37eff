"""F over labelled bags wherever they lie: every shard adds up its own, and the sums go up a tree.

The order of a sum is that of the shards, so the same shards give the same numbers; other shards, others in the last
digits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from bagwise.kernels import Array
from bagwise.model.objective import Objective

Gradient = Callable[[Array], tuple[float, Array]]


@dataclass(frozen=True)
class DistributedObjective(Objective):
    """`labels` are those of the bags `counted.labelled`, in that order; `instances` stand for how bags are seen."""

    gradient: Gradient = field(kw_only=True)
    fetched: Callable[[Sequence[int]], Objective] = field(kw_only=True)

    def log_likelihood_and_gradient(self, weights: Array) -> tuple[float, Array]:
        """sum log P over the known labels, and its gradient by the weights."""
        return self.gradient(weights)

    def about(self, bags: Array) -> Objective:
        """The same, with the same penalty, for the labels of these bags alone."""
        return replace(self.fetched(bags.tolist()), prior=None, fixed_penalty=self.penalty, counted=None)

"""The objective F over labelled bags whose instances are on a GPU: the same numbers as on the CPU, bit for bit."""

from dataclasses import dataclass, field, fields
from functools import cached_property

from bagwise.kernels import Array
from bagwise.kernels.gpu import Resident, exact_kernels
from bagwise.model.objective import Objective

FEWEST_ROWS = 4096
"""Of fewer labelled instances the CPU takes no longer than the GPU takes to begin."""


@dataclass(frozen=True)
class GpuObjective(Objective):
    """An `Objective` whose sums over all labelled bags are computed where their instances are.

    What the kernels of the GPU do not serve is computed by the CPU: few instances, labels of single instances, labels
    that may be wrong, the joint objective, features in double precision, and probabilities that underflow.

    Parameters
    ----------
    resident
        The instances on the device; bags have the positions that they have here.
    """

    resident: Resident = field(kw_only=True)

    @classmethod
    def of_objective(cls, objective: Objective, resident: Resident) -> "GpuObjective":
        """Return the same objective on the device."""
        return cls(**{one.name: getattr(objective, one.name) for one in fields(Objective)}, resident=resident)

    def about(self, bags: Array) -> Objective:
        """Return the objective of the labels of these few bags only, on the CPU."""
        return Objective(**{one.name: getattr(self, one.name) for one in fields(Objective)}).about(bags)

    def log_likelihood_and_gradient(self, weights: Array) -> tuple[float, Array]:
        """Return the sum of log P over the known labels, and its gradient by the weights."""
        found = None if self._likelihood is None else self._likelihood(*self.instances.fold(weights))
        if found is None:
            return super().log_likelihood_and_gradient(weights)
        total, by_weight, by_bias = found
        return total, self.instances.unfold(by_weight, by_bias)

    @cached_property
    def _likelihood(self):  # type: ignore[no-untyped-def]
        bags, offsets = self.counts.labelled, self.instances.offsets
        rows = int((offsets[bags + 1] - offsets[bags]).sum())
        served = exact_kernels(self.resident, self.n_outputs) and rows >= FEWEST_ROWS and not self.joint
        if not served or self.instances.evidence is not None:
            return None
        labels = self.labels.select(bags)
        if labels.flip is not None and labels.flip.any():
            return None
        from bagwise.kernels.gpu.likelihood import Likelihood

        return Likelihood(self.resident, bags, labels.value, labels.known)

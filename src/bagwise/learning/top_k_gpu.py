"""Top-k selection with a GPU: it scores every pair in float32, and the CPU scores exactly what is near the best.

The GPU multiplies in another order than the CPU. Its logits are off by up to (d + `OF_PRODUCTS`) u ||w|| ||x|| (d
features, u the unit roundoff), by Cauchy and Schwarz and the usual bound for a sum in any order, and those of the CPU
by the bounds of `model.weight_change` for sums in their order. A product made of three TF32 products lacks at most
3/2^20 of itself, even where these truncate instead of rounding. What follows from that is bounded as in `top_k`: P1
within a share `spread` of itself, P0 within P1 `spread`. A gradient is a sum over instances of k_i x_i' with
||k_i|| <= sqrt(2) p_ic, and sum_i p_ic <= -log P0, so its length is within

    4 spread sqrt(2) max_i ||x_i|| (-log P0)

The bags that could hold the best pair are then few, and the questions are those of the CPU, bit for bit.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from bagwise.kernels import Array
from bagwise.kernels.cpu.logit_cache import radii
from bagwise.kernels.gpu import Resident, bag_probabilities, gradient_lengths
from bagwise.learning import criteria
from bagwise.learning.top_k import MOST_OFF, TopK
from bagwise.model.scored_pool import ScoredPart, ScoredPool, Scorer
from bagwise.model.weight_change import fresh_slack, longest, unit_of

OF_PRODUCTS = 64
LEAST = 1e-30


class GpuScoredPool(ScoredPart):
    """A pool whose numbers are tensors on a device, and at least as high as the exact ones."""

    def __init__(self, whole: ScoredPool, resident: Resident, values: dict[str, torch.Tensor]) -> None:
        super().__init__(whole, slice(0, whole.shape[0]))
        self._device, self._dtype = resident.device, resident.x.dtype
        self.__dict__.update(values)

    def like(self, values: Any, dtype: Any = None) -> Any:  # noqa: ARG002
        """Numbers of bags or classes, on the device."""
        return torch.as_tensor(values, dtype=None if values.dtype == bool else self._dtype, device=self._device)


class GpuTopK(TopK):
    """Selects as `TopK` does, with upper bounds from a GPU."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = device

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "device": self._device}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._device = state["device"]

    def _forget(self) -> None:
        super()._forget()
        self._of: Array | None = None
        self._followed_touches: Sequence[int] | None = None

    def _upper_bounds(self, pool: ScoredPool, criterion: str | criteria.Criterion) -> torch.Tensor:
        scorer = pool.scorer
        if self._of is not scorer.instances.x:
            self._of, self._resident = scorer.instances.x, Resident.of(scorer.instances, self._device)
            self._radius = torch.as_tensor(radii(scorer.instances), device=self._resident.device)
            self._sizes = torch.diff(self._resident.offsets).double()
        off = self._off_on_device(scorer)
        at_best = self._at_best(scorer, criteria.rises_with(criterion), self._share(scorer, off))
        scores: Any = criteria.get(criterion)(GpuScoredPool(pool, self._resident, at_best))
        best: torch.Tensor = scores.masked_fill_(self._taken(pool), -torch.inf).amax(1).double()
        best *= 1 + 64 * unit_of(scorer.instances.x.dtype)
        return best.masked_fill_(off > MOST_OFF, torch.inf)

    def _highest(self, upper_bounds: torch.Tensor, count: int) -> Array:
        return np.asarray(upper_bounds.topk(min(count, len(upper_bounds))).indices.cpu().numpy())

    def _reaching(self, upper_bounds: torch.Tensor, score: float) -> Array:
        return np.asarray((upper_bounds >= score).nonzero().flatten().cpu().numpy())

    def _without(self, upper_bounds: torch.Tensor, bags: Array) -> torch.Tensor:
        upper_bounds[torch.as_tensor(bags, device=upper_bounds.device)] = -torch.inf
        return upper_bounds

    def _taken(self, pool: ScoredPool) -> torch.Tensor:
        """Return which pairs may not be asked, on the device: copied once, and then only the rows that changed."""
        touched = pool.touched
        if touched is None:
            return torch.as_tensor(~pool.askable, device=self._resident.device)
        if touched is not self._followed_touches:
            self._followed_touches, self._seen = touched, len(touched)
            self._not_askable = torch.as_tensor(~pool.askable, device=self._resident.device)
        changed = list(dict.fromkeys(touched[self._seen :]))
        if changed:
            rows = torch.as_tensor(~pool.askable[changed], device=self._resident.device)
            self._not_askable[torch.as_tensor(changed, device=self._resident.device)] = rows
        self._seen = len(touched)
        return self._not_askable

    def _at_best(self, scorer: Scorer, rises_with: str | None, spread: torch.Tensor) -> dict[str, torch.Tensor]:
        share = spread.to(self._resident.x.dtype)[:, None]
        if rises_with == "nearest_side":
            present, absent = bag_probabilities(self._resident, scorer.weights, scorer.n_classes)
            more = present * share + LEAST
            side = torch.minimum(present, absent).add_(more).clamp_(max=0.5)
            return {"nearest_side": side}
        length, absent = gradient_lengths(self._resident, scorer.weights, scorer.n_classes)
        surprise = absent.clamp(min=LEAST).log_().neg_()
        length += 4 * 2**0.5 * share * self._resident.longest_seen[:, None] * surprise
        return {"gradient_norm": length, "absent": absent + (1 - absent) * share + LEAST}

    def _off_on_device(self, scorer: Scorer) -> torch.Tensor:
        """Return by how much a logit of every bag may be off on the device."""
        weights, bias = scorer.folded
        unit = unit_of(weights.dtype)
        in_any_order = (weights.shape[1] + OF_PRODUCTS) * unit * longest(weights.astype(float))
        slack = fresh_slack(weights) + in_any_order
        off: torch.Tensor = slack * self._radius + 4 * unit * float(np.abs(bias).max(initial=0))
        return off

    def _share(self, scorer: Scorer, off: torch.Tensor) -> torch.Tensor:
        """Return by which share P(present) of a bag may differ from that of the device."""
        weights = scorer.folded[0]
        rounding = (self._sizes + 2) * ((2 * len(weights) + 100) * unit_of(weights.dtype))
        share: torch.Tensor = 1.001 * (torch.expm1(2 * off.clamp(max=MOST_OFF)) + 2 * rounding)
        return share

    def _count_in(self, share: float) -> None:
        self.statistics.add(share)

    def _give_up_for_a_while(self) -> None:
        """Do nothing: bounds on the device cost the same for every question."""

"""Top-k selection with a GPU: it scores every pair in float32, then those near the best as the CPU would, bit for bit.

The GPU multiplies in another order than the CPU. Its logits are off by up to (d + `OF_PRODUCTS`) u ||w|| ||x|| (d
features, u the unit roundoff), by Cauchy and Schwarz and the usual bound for a sum in any order, and those of the CPU
by that for sums in their order (`kernels.arithmetic.rounding`). A product made of three TF32 products lacks at most
3/2^20 of itself, even where these truncate instead of rounding.

How far is a score off? Let every logit of a bag be right within t. Then p is within a factor exp(+-2t), and so is P1:
as 1 - prod(1 - s p_i) is concave in s and 0 at s = 0, it grows by at most the factor s. Hence P1 is within a share
`spread` = exp(2t) - 1 of itself, and P0 within P1 `spread`. A gradient is a sum over instances of k_i x_i' with
||k_i|| <= sqrt(2) p_ic, and sum_i p_ic <= -log P0, so its length is within

    4 spread sqrt(2) max_i ||x_i|| (-log P0)

Rounding after the logits, with n instances and K classes: a probability is an exponential, within 90 u where its
exponent is not below that of the smallest number, over a sum of K of them, within (K + 120) u; n steps of the OR round
a few times each. This happens twice, on the GPU and on the CPU; for gradient lengths more is allowed.

The bags that could hold one of the best pairs are then few, but not very few: uncertainty is flat at its top, where
thousands of pairs of a large pool have the very same score. They are scored on the GPU by kernels that have the bits of
the CPU (`kernels.gpu.exact`), ties are broken there by the same random numbers, and only the questions come back.
Gradient lengths, features in double precision and criteria that do not promise the same bits (`SAME_ON_DEVICES`) are
scored exactly on the CPU instead.

Labels stay on the device: an answer changes one row of them.
"""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bagwise.kernels import Array, Instances
from bagwise.kernels.arithmetic.elementary import log1p
from bagwise.kernels.arithmetic.rounding import fresh_slack, longest, unit_of
from bagwise.kernels.gpu import (
    Resident,
    Spread,
    as_signed,
    exact_kernels,
    hashed_bits,
    highest_lengths,
    highest_presence,
    highest_sides,
    uniform,
)
from bagwise.learning import criteria, granularity
from bagwise.learning.class_discovery import Discovery
from bagwise.learning.criteria import Criterion
from bagwise.learning.questions import Question
from bagwise.learning.top_k import TopK, final, placed
from bagwise.model.objective import Objective
from bagwise.model.objective_gpu import GpuObjective
from bagwise.model.scored_pool import ScoredPart, ScoredPool, Scorer

FIRST_LOOK = 32
MOST_LOOKED_AT = 0.25
MOST_OFF = 8.0
"""Logits that may be off by more say nothing: such a bag has no bound and is scored."""
OF_PRODUCTS = 64
OF_DISCOVERY = 1e-4
"""Share by which a score of class discovery may be off: a sum of up to 150 logarithms of one sign, its exponential."""


class DeviceState:
    """What stays on the device from question to question: features, keys, which pairs are open, and label counts.

    Parameters
    ----------
    pool
        The pool for which it is made.
    resident
        Its instances on the device.
    """

    def __init__(self, pool: ScoredPool, resident: Resident) -> None:
        instances = pool.scorer.instances
        self.resident, self.device = resident, resident.device
        self.radius = torch.as_tensor(instances.radii, device=self.device)
        self.sizes = torch.diff(self.resident.offsets).double()
        self.keys = as_signed(pool.keys, self.device)
        self._followed: Sequence[int] | None = None
        self._seen = 0
        self._clusters_of: Array | None = None

    def follow(self, pool: ScoredPool) -> None:
        """Bring the labels up to date: only rows that changed since the last time are copied."""
        touched = pool.touched
        if touched is None or touched is not self._followed:
            self._open = torch.as_tensor(pool.open_pairs, device=self.device)
            self.known_in_bag = torch.as_tensor(pool.known_in_bag, device=self.device)
        elif self._seen < len(touched):
            changed = np.array(list(dict.fromkeys(touched[self._seen :])))
            rows = torch.as_tensor(changed, device=self.device)
            self._open[rows] = torch.as_tensor(pool.open_pairs[changed], device=self.device)
            self.known_in_bag[rows] = torch.as_tensor(pool.known[changed].sum(axis=1), device=self.device)
        self._followed, self._seen = touched, 0 if touched is None else len(touched)
        self._candidates = None if pool.candidates is None else torch.as_tensor(pool.candidates, device=self.device)

    def discovered(self, discovery: Discovery) -> Tensor:
        """Return an upper bound of the scores of class discovery for every bag, (bags,)."""
        if self._clusters_of is not discovery.clusters:
            self._clusters_of = discovery.clusters
            self._clusters = torch.as_tensor(discovery.clusters, device=self.device)
            self._root = self._clusters.sum(1, keepdim=True).sqrt()
        columns = np.flatnonzero(discovery.looked_for)
        is_absent = torch.as_tensor(log1p(-discovery.is_class[:, columns]), dtype=torch.float32, device=self.device)
        yes = -torch.expm1(self._clusters @ is_absent) / self._root * (1 + OF_DISCOVERY)
        scores = torch.zeros((len(yes), len(discovery.looked_for)), device=self.device)
        scores[:, torch.as_tensor(columns, device=self.device)] = yes
        return scores.masked_fill_(~self.askable(slice(None)), -torch.inf).amax(1).double()

    def askable(self, bags: Tensor | slice) -> Tensor:
        """Return which pairs of some bags may be asked."""
        is_open = self._open[bags]
        return is_open if self._candidates is None else is_open & self._candidates[bags, None]


class GpuScoredPool(ScoredPart):
    """Some bags of a pool whose numbers are tensors on a device: exact ones, or at least as high as these.

    Parameters
    ----------
    whole
        The pool.
    state
        What the device has of it.
    bags
        Positions of the bags.
    values
        Properties of a scored pool, as `present`.
    """

    def __init__(self, whole: ScoredPool, state: DeviceState, bags: Tensor | slice, values: dict[str, Tensor]) -> None:
        self._whole, self._state, self._bags = whole, state, bags  # type: ignore[assignment]
        self.keys: Any = state.keys[bags]
        self.seed, self.prior, self.shape = whole.seed, whole.prior, (len(self.keys), whole.shape[1])
        self.__dict__.update(values)

    def like(self, values: Any, dtype: Any = None) -> Any:
        """Numbers of bags or classes, on the device."""
        return torch.as_tensor(values, dtype=dtype, device=self._state.device)

    @property
    def askable(self) -> Any:
        """Which pairs may be asked."""
        return self._state.askable(self._bags)  # type: ignore[arg-type]

    @property
    def known_in_bag(self) -> Any:
        """Number of known labels of every bag."""
        return self._state.known_in_bag[self._bags]

    def uniform(self, number: int) -> Any:
        """Return a random number in [0, 1) for every bag."""
        return uniform(hashed_bits(self.seed, self.keys, self.like(np.array([number]))))


class GpuTopK(TopK):
    """Selects as `TopK` does, on a GPU."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = device

        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        return {"statistics": self.statistics, "device": self._device}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.statistics, self._device = state["statistics"], state["device"]
        self._forget()

    def _forget(self) -> None:
        self._one_at_a_time = threading.Lock()
        self._of: Array | None = None
        self._resident: Resident | None = None
        self._state: DeviceState | None = None

    def resident(self, instances: Instances) -> Resident:
        """Return the instances on the device; they are copied once."""
        if self._resident is None or self._of is not instances.x:
            self._of, self._state = instances.x, None
            self._resident = Resident.of(instances.with_evidence(None), self._device)
        return self._resident

    def on_device(self, pool: ScoredPool) -> DeviceState:
        """Return what the device has of a pool, up to date."""
        resident = self.resident(pool.scorer.instances)
        if self._state is None:
            self._state = DeviceState(pool, resident)
        self._state.follow(pool)
        return self._state

    def objective(self, objective: Objective) -> Objective:
        """Return the same objective, computed on the device where it is large."""
        return GpuObjective.of_objective(objective, self.resident(objective.instances))

    def best(self, pool: ScoredPool, criterion: str | Criterion, count: int) -> list[Question]:
        """Return the `count` best unknown pairs, as `granularity.pair` would choose them from the scores of all."""
        discovers = isinstance(criterion, Discovery)
        if not discovers and criteria.rises_with(criterion) is None:
            return super().best(pool, criterion, count)
        with self._one_at_a_time:
            state = self.on_device(pool)
            if not discovers and self._same_bits(pool, state, criterion):
                return self._contest(pool, state, criterion, count)
            chosen = self._contest_on_cpu(pool, criterion, count)
        return super().best(pool, criterion, count) if chosen is None else chosen

    def draw(self, name: str, pool: ScoredPool, count: int) -> list[Question]:
        """Return `count` questions of a granularity at random: the bags that have them are found on the device."""
        with self._one_at_a_time:
            state = self.on_device(pool)
        whole, classes = name == "bag", torch.arange(pool.shape[1], device=state.device)
        columns = torch.full_like(classes[:1], pool.shape[1]) if whole else classes
        bits = hashed_bits(pool.seed, state.keys[:, None], columns)
        askable = state.askable(slice(None))
        best = bits.masked_fill_(~(askable.any(1, keepdim=True) if whole else askable), -1).amax(1)
        lowest = best.topk(min(count, len(best))).values[-1].clamp(min=0)
        bags = (best >= lowest).nonzero().flatten().cpu().numpy()
        return placed(granularity.random_choice(name, pool.select(bags), count), bags)

    def _contest(self, pool: ScoredPool, state: DeviceState, criterion: str | Criterion, count: int) -> list[Question]:
        """Return the best pairs: all bags that could hold one are scored exactly, on the device."""
        upper_bounds = self._upper_bounds(pool, criterion)
        evidence = pool.scorer.instances.evidence
        if evidence is not None:
            # The bounds do not count what is known of single instances: such bags are always scored.
            pointed_at = torch.as_tensor(evidence.bags(pool.scorer.instances.offsets), device=state.device)
            upper_bounds[pointed_at] = torch.inf
        first = upper_bounds.topk(min(len(upper_bounds), max(FIRST_LOOK, count))).indices
        if len(first) < len(upper_bounds):
            of_first = self._exact_scores(pool, state, criterion, first).flatten()
            worst = of_first.topk(min(count, len(of_first))).values[-1]
            first = (upper_bounds >= worst).nonzero().flatten()
        self.statistics.add(len(first) / len(upper_bounds))
        return best_pairs(pool, state, self._exact_scores(pool, state, criterion, first), first, count)

    def _same_bits(self, pool: ScoredPool, state: DeviceState, criterion: str | Criterion) -> bool:
        """Whether the device can give the scores of a criterion with the bits of the CPU."""
        promised = criteria.same_on_devices(criterion) and criteria.rises_with(criterion) != "gradient_length"
        return promised and exact_kernels(state.resident, len(pool.scorer.weights)) is not None

    def _contest_on_cpu(self, pool: ScoredPool, criterion: str | Criterion, count: int) -> list[Question] | None:
        """Return the best pairs: all bags that could hold one are scored on the CPU; None where they are too many."""
        upper_bounds, finalists = self._upper_bounds(pool, criterion), Finalists(pool, criterion, count)
        evidence = pool.scorer.instances.evidence
        if evidence is not None:
            # The bounds do not count what is known of single instances: such bags are always scored.
            pointed_at = evidence.bags(pool.scorer.instances.offsets)
            upper_bounds[torch.as_tensor(pointed_at, device=upper_bounds.device)] = -torch.inf
            finalists.enter(pointed_at[pool.askable[pointed_at].any(axis=1)])
        finalists.enter(upper_bounds.topk(min(max(FIRST_LOOK, count), len(upper_bounds))).indices.cpu().numpy())
        reaching = (upper_bounds >= finalists.worst).nonzero().flatten()
        if len(reaching) > MOST_LOOKED_AT * len(upper_bounds):
            return None
        finalists.enter(reaching.cpu().numpy())
        self.statistics.add(finalists.size / len(upper_bounds))
        return finalists.winners

    def _exact_scores(self, pool: ScoredPool, state: DeviceState, criterion: str | Criterion, bags: Tensor) -> Tensor:
        """Return the scores of some bags with the bits of the CPU; -inf where a pair may not be asked."""
        scorer, exact = pool.scorer, exact_kernels(state.resident, len(pool.scorer.weights))
        assert exact is not None
        present, absent = exact.bag_probabilities(
            state.resident, scorer.weights, bags, scorer.n_classes, scorer.instances.evidence
        )
        values = {"present": present, "absent": absent, "nearest_side": torch.minimum(present, absent)}
        part = GpuScoredPool(pool, state, bags, values)
        scores: Any = criteria.get(criterion)(part)
        return torch.as_tensor(scores).masked_fill(~part.askable, -torch.inf)

    def _upper_bounds(self, pool: ScoredPool, criterion: str | Criterion) -> Tensor:
        scorer, state = pool.scorer, self.on_device(pool)
        if isinstance(criterion, Discovery):
            return state.discovered(criterion)
        off = self._off_on_device(scorer, state)
        values = self._at_best(scorer, state, criteria.rises_with(criterion), self._share(scorer, state, off))
        highest = GpuScoredPool(pool, state, slice(None), values)
        scores: Any = criteria.get(criterion)(highest)
        best: Tensor = scores.masked_fill_(~highest.askable, -torch.inf).amax(1).double()
        best *= 1 + 64 * unit_of(scorer.instances.x.dtype)
        return best.masked_fill_(off > MOST_OFF, torch.inf)

    def _at_best(self, scorer: Scorer, state: DeviceState, rises_with: str | None, share: Tensor) -> dict[str, Tensor]:
        resident, weights, classes = state.resident, scorer.weights, scorer.n_classes
        share = share.to(resident.x.dtype)
        if rises_with != "gradient_length":
            found = highest_sides if rises_with == "nearest_side" else highest_presence
            name = "nearest_side" if rises_with == "nearest_side" else "present"
            return {name: found(resident, weights, classes, Spread(share, share))}
        of_length = 4 * 2**0.5 * share * resident.longest_seen
        length, absent = highest_lengths(resident, weights, classes, Spread(share, of_length))
        return {"gradient_norm": length, "absent": absent}

    def _off_on_device(self, scorer: Scorer, state: DeviceState) -> Tensor:
        """Return by how much a logit of every bag may be off on the device."""
        weights, bias = scorer.folded
        unit = unit_of(weights.dtype)
        in_any_order = (weights.shape[1] + OF_PRODUCTS) * unit * longest(weights.astype(float))
        slack = fresh_slack(weights) + in_any_order
        off: Tensor = slack * state.radius + 4 * unit * float(np.abs(bias).max(initial=0))
        return off

    def _share(self, scorer: Scorer, state: DeviceState, off: Tensor) -> Tensor:
        """Return by which share P(present) of a bag may differ from that of the device."""
        weights = scorer.folded[0]
        rounding = (state.sizes + 2) * ((2 * len(weights) + 100) * unit_of(weights.dtype))
        share: Tensor = 1.001 * (torch.expm1(2 * off.clamp(max=MOST_OFF)) + 2 * rounding)
        return share


class Finalists:
    """Bags scored exactly on the CPU, and the best pairs among them."""

    def __init__(self, pool: ScoredPool, criterion: str | Criterion, count: int) -> None:
        self._pool, self._criterion, self._count = pool, criteria.get(criterion), count
        self._bags, self._entered = np.empty(0, np.int64), np.zeros(pool.shape[0], bool)
        self._scores: list[Array] = []
        self.winners: list[Question] = []

    @property
    def size(self) -> int:
        """Number of bags scored."""
        return len(self._bags)

    def enter(self, bags: Array) -> None:
        """Score those of the bags that were not scored before."""
        new = np.sort(bags[~self._entered[bags]])
        self._entered[new] = True
        if len(new):
            self._scores.append(self._criterion(self._pool.select(new)))
            self._bags = np.concatenate([self._bags, new])
            self.winners = final(self._pool, self._bags, np.concatenate(self._scores), self._count)

    @property
    def worst(self) -> float:
        """Score of the last of the pairs wanted."""
        return self.winners[-1].score if len(self.winners) == self._count else -np.inf


def best_pairs(pool: ScoredPool, state: DeviceState, scores: Tensor, bags: Tensor, count: int) -> list[Question]:
    """Return the best pairs of some bags by exact scores, (bags, classes), on the device; -inf is never chosen.

    The same as `granularity.pair` chooses, ties included.
    """
    classes, flat = pool.shape[1], scores.flatten()
    # To sort millions of numbers takes milliseconds, to find the largest none.
    worst = flat.amax() if count == 1 else flat.topk(min(count, len(flat))).values[-1]
    tied = ((flat == worst) & (flat > -torch.inf)).nonzero().flatten()

    def tie_breakers(places: Tensor) -> Tensor:
        return hashed_bits(pool.seed ^ granularity.TIES, state.keys[bags[places // classes]], places % classes)

    tied = tied[tie_breakers(tied).topk(min(count, len(tied))).indices]
    places = tied if count == 1 else torch.cat([(flat > worst).nonzero().flatten(), tied])
    columns = bags[places // classes], places % classes, flat[places].double(), uniform(tie_breakers(places))
    of_bag, of_class, score, tie = (column.cpu().numpy() for column in columns)
    order = np.lexsort((-tie, -score))[:count]
    rows = zip(*(column[order].tolist() for column in (of_bag, of_class, score, tie)), strict=True)
    return [Question(bag, (c,), score=value, rank=(value, random)) for bag, c, value, random in rows]

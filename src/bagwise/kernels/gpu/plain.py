"""Scores of bags in plain torch operations, on any device: what the fused kernels are checked with and fall back on.

Bags come padded, (bags, rows, ...), with a mask of the rows that exist. The formulas are those of
`kernels.softmax`, `kernels.presence` and `kernels.gradient_length`, with two sums over classes for every two rows. Let
p_i be the probabilities of row i, m_i its arg-max, rho_i the sum of the others, u_i their shares of it (0 at m_i),
q_i = p_i / (1 - p_i), and

    v_ij = sum_t u_it p_jt.

The gradient of log(1 - p_ic) in the logits of row i is k_ic = q_ic (p_i - 1_c), with 1_c = 1 at c and 0 elsewhere, or
p_ic (u_i - 1_c) where c = m_i, and the squared length of the gradient of log P(absent) is

    sum_ij (Gram matrix)_ij k_ic k_jc.

Without cancellation, at a class c:

    k_i k_j = q_i q_j (1 + sum_t p_it p_jt - p_i - p_j)     where it is no arg-max: the factor is at least 1/4
            = p_i (p_j + q_j v_ij)                          where c = m_i
    sum_t p_it p_jt = rho_i v_ij + (p_i p_j at m_i)
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rows:
    """Soft-max of padded bags, (bags, rows, columns): e, its sum below the arg-max, and where e is 1."""

    e: Tensor
    rest: Tensor
    at_top: Tensor
    there: Tensor

    @classmethod
    def of(cls, logits: Tensor, there: Tensor) -> "Rows":
        """Return rows made from logits; the mask `there` marks the rows that exist."""
        e = (logits - logits.amax(-1, keepdim=True)).exp()
        at_top = e == 1
        rest = e.masked_fill(at_top, 0).sum(-1, keepdim=True) + (at_top.sum(-1, keepdim=True) - 1)
        return cls(e, rest, at_top, there[..., None])

    @property
    def total(self) -> Tensor:
        """Sum of e."""
        return 1 + self.rest

    @property
    def others(self) -> Tensor:
        """Sum of e over the other classes, without cancellation."""
        return torch.where(self.at_top, self.rest, self.total - self.e)

    @property
    def probabilities(self) -> Tensor:
        """P(class) of the rows that exist, 0 of the others."""
        return (self.e / self.total).masked_fill(~self.there, 0)


def presence(rows: Rows) -> tuple[Tensor, Tensor]:
    """P(present) and P(absent), (bags, columns)."""
    passed = (rows.others / rows.total).masked_fill(~rows.there, 1)
    after = passed.cumprod(1)
    before = torch.cat([torch.ones_like(after[:, :1]), after[:, :-1]], 1)
    return (rows.probabilities * before).sum(1), after[:, -1]


def squared_lengths(rows: Rows, gram: Tensor) -> Tensor:
    """||d log P(absent) / d weights||^2, (bags, columns), by the Gram matrices of what is seen, 0 for missing rows."""
    top = rows.e.argmax(-1)
    is_top = torch.zeros_like(rows.at_top).scatter(-1, top[..., None], True)
    p = rows.probabilities
    q = (rows.e / rows.others).masked_fill(is_top | ~rows.there, 0)
    u = (rows.e / rows.rest).masked_fill(is_top | (rows.rest == 0), 0)
    inverse_rest = torch.where(rows.rest < torch.finfo(p.dtype).tiny, 0, 1 / rows.rest)
    at_own = 1 / rows.total
    v = u @ p.mT
    p_there = p.gather(-1, top[:, None, :].expand_as(v)).mT
    same = top[:, :, None] == top[:, None, :]
    odds = torch.where(same, inverse_rest.mT, p_there / (1 - p_there))
    of_top = at_own * (gram * (p_there + odds * v) * (2 - same.to(p.dtype))).sum(-1, keepdim=True)
    overlap = rows.rest * at_own * v + at_own * p_there
    by_row = q * ((gram * (1 + overlap)) @ q - 2 * p * (gram @ q))
    return torch.where(is_top, of_top, by_row).sum(1)


def squared_lengths_by_gradient(rows: Rows, seen: Tensor) -> Tensor:
    """The same by forming the gradients: for bags of so many instances that Gram matrices are the larger."""
    top = rows.e.argmax(-1, keepdim=True)
    shares = torch.where(rows.rest > 0, rows.e / rows.rest, 0)
    p, odds = rows.probabilities, (rows.e / rows.others).masked_fill(~rows.there, 0)
    found = []
    for c in range(rows.e.shape[-1]):
        factors = torch.where(top == c, p[..., c : c + 1] * shares, odds[..., c : c + 1] * p)
        factors[..., c] = -p[..., c]
        found.append((factors.mT @ seen).square().sum((1, 2)))
    return torch.stack(found, 1)

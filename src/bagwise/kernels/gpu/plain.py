"""Scores of bags in plain torch operations, on any device: what the fused kernels are checked with and fall back on.

Bags come padded, (bags, rows, ...), with a mask of the rows that exist. The formulas are those of
`kernels.softmax`, `kernels.presence` and `kernels.gradient_length`, with one sum over classes for every two rows: let
u_i be the shares of the classes other than the arg-max m_i of row i (0 at m_i), rho_i = 1 - p_i at m_i, and

    n_ij = sum_t u_it u_jt.

Every sum over classes that the squared length needs follows from it without cancellation:

    sum_t p_it p_jt = rho_i rho_j n_ij + (p_i p_j at m)                      where m_i = m_j = m
                    = rho_i rho_j n_ij + (p_i p_j at m_i) + (p_i p_j at m_j)   otherwise
    sum_{t != m_i} u_it p_jt = rho_j n_ij + (u_i p_j at m_j)                  where m_i != m_j
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
    at_own = 1 / rows.total
    below = rows.rest / rows.total
    n = u @ u.mT
    u_there = u.gather(-1, top[:, None, :].expand_as(n))
    p_there = below * u_there
    same = top[:, :, None] == top[:, None, :]
    product = p_there * at_own.mT
    overlap = below * below.mT * n + torch.where(same, at_own * at_own.mT, product + product.mT)
    odds = p_there.mT / (1 - p_there.mT)
    apart = 2 * odds * (below.mT * n + u_there * at_own.mT)
    of_top = (gram * at_own * torch.where(same, at_own.mT * n, apart)).sum(-1, keepdim=True)
    pq = p * q
    by_row = p * (gram @ p) + q * ((gram * overlap) @ q) - pq * (gram @ pq) + is_top * of_top
    return by_row.sum(1)


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

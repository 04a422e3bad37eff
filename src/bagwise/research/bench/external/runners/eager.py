"""The criteria in plain torch operations on bags of one size: the reference for the fused kernels."""

import torch
from torch import Tensor


def probabilities(x: Tensor, weights: Tensor, instances: int) -> tuple[Tensor, Tensor]:
    """Return P(class) of the instances (bags x instances x classes), and P(absent) of the bags."""
    p = torch.softmax(x @ weights.T, dim=1).view(-1, instances, len(weights))
    return p, torch.log1p(-p).sum(dim=1).exp()


def uncertainty(x: Tensor, weights: Tensor, instances: int) -> Tensor:
    """Return 2 P1 P0 of every pair."""
    _, absent = probabilities(x, weights, instances)
    return 2 * absent * (1 - absent)


def expected_gradient_length(x: Tensor, weights: Tensor, instances: int) -> Tensor:
    """Return 2 P0 ||grad log P0|| of every pair, from Gram matrices.

    With u = p/(1 - p), G = X X', Q = P P':  ||grad||^2_c = sum_ij G_ij u_ic u_jc (1 - p_ic - p_jc + Q_ij).
    """
    p, absent = probabilities(x, weights, instances)
    bags = x.view(-1, instances, x.shape[1])
    gram = bags @ bags.mT
    odds = p / (1 - p)
    squared = (odds * ((gram * (1 + p @ p.mT)) @ odds) - 2 * odds * p * (gram @ odds)).sum(dim=1)
    return 2 * absent * squared.clamp(min=0).sqrt()

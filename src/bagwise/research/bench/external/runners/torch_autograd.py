"""The paper's system with gradients by torch: vmap over padded bags of the Jacobian of log P(absent)."""

import numpy as np
import torch
from torch.func import jacrev, vmap

from .explicit_numpy import Paper
from .formulas import EDGE
from .loop import Array, Task, run


def log_absent(weights: torch.Tensor, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return log P0 of every class of one padded bag."""
    p = torch.softmax(x @ weights.T, dim=1).clamp(EDGE, 1 - EDGE)
    return (torch.log1p(-p) * mask[:, None]).sum(dim=0)


class Autograd(Paper):
    """As `Paper`, with derivatives by autograd."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        longest = max(map(len, self.bags))
        padded = [np.pad(x, ((0, longest - len(x)), (0, 0))) for x in self.bags]
        self.x = torch.from_numpy(np.array(padded))
        self.mask = torch.from_numpy(np.array([np.arange(longest) < len(x) for x in self.bags]).astype(float))
        self.jacobians = vmap(jacrev(log_absent), in_dims=(None, 0, 0), chunk_size=64)

    def scores(self) -> Array:
        """Return 2 P0 ||gradient of log P0||; the gradient for present is parallel and not needed."""
        weights = torch.from_numpy(self.weights)
        lengths = self.jacobians(weights, self.x, self.mask).flatten(2).norm(dim=2)
        absent = vmap(log_absent, in_dims=(None, 0, 0))(weights, self.x, self.mask).exp()
        return np.asarray((2 * absent * lengths).numpy() / (int(self.known.sum()) + 1))

    def gradient(self, bag: int) -> Array:
        """Return the gradient by autograd."""
        weights = torch.from_numpy(self.weights).requires_grad_()
        absent = log_absent(weights, self.x[bag], self.mask[bag])
        present = torch.log(-torch.expm1(absent))
        value, known = (torch.from_numpy(which[bag].astype(float)) for which in (self.value, self.known))
        likelihood = (known * (value * present + (1 - value) * absent)).sum()
        return np.asarray(torch.autograd.grad(likelihood, weights)[0].numpy())


if __name__ == "__main__":
    run(Autograd)

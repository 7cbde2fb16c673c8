"""Several small networks of one shape trained side by side, one for each seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import sqrt

import torch
from torch import Tensor


class BatchedNetworks:
    """`count` fully connected networks of the same sizes, begun as `nn.Linear` begins, each with other weights.

    Axes: s networks, b examples, i o widths.
    """

    def __init__(
        self, count: int, sizes: Sequence[int], g: torch.Generator, activation: Callable[[Tensor], Tensor] = torch.tanh
    ) -> None:
        self.activation = activation
        self.parameters: list[Tensor] = []
        for i, o in pairwise(sizes):
            for shape in ((count, i, o), (count, 1, o)):
                values = (2 * torch.rand(shape, generator=g, dtype=torch.float64) - 1) / sqrt(i)
                self.parameters.append(values.requires_grad_())

    def __call__(self, x: Tensor) -> Tensor:
        """The outputs of every network, s b o."""
        layers = [*zip(self.parameters[::2], self.parameters[1::2], strict=True)]
        for k, (W, b) in enumerate(layers):
            x = x @ W + b
            x = self.activation(x) if k + 1 < len(layers) else x
        return x

    def squared_losses(self, x: Tensor, y: Tensor) -> Tensor:
        """½ mean (ŷ − y)² of every network."""
        return ((self(x) - y) ** 2).mean((-2, -1)) / 2

    def sharpness(
        self, losses: Callable[[], Tensor], trained: Sequence[Tensor], g: torch.Generator, turns: int = 25
    ) -> Tensor:
        """The largest eigenvalue of each network's Hessian by the power method; the networks do not mix."""
        slopes = torch.autograd.grad(losses().sum(), trained, create_graph=True)
        v = [torch.randn(p.shape, generator=g, dtype=p.dtype) for p in trained]
        λ = torch.zeros(len(v[0]))
        for _ in range(turns):
            size = sum((a**2).sum((-2, -1)) for a in v)
            v = [a / torch.sqrt(size)[:, None, None] for a in v]  # type: ignore[arg-type]
            product = sum((a * b).sum() for a, b in zip(slopes, v, strict=True))
            Hv = torch.autograd.grad(product, trained, retain_graph=True)  # type: ignore[arg-type]
            λ = sum((a * b).sum((-2, -1)) for a, b in zip(v, Hv, strict=True))  # type: ignore[assignment]
            v = [*Hv]
        return λ.detach()

r"""A variational auto-encoder of pictures: a code that can be drawn at random and read as a picture.

    μ, s = encoder(x)                        q(z|x) = N(μ, e^s)
    z = μ + e^{s/2} ⊙ ε
    L = 1/N Σ KL(q(z|x)‖N(0, 1)) − log p(x|z)

The figures split the bound: elbo = log_likelihood − kl, in nats for each picture.

Axes: b pictures, x pixels of a picture, z width of the latent.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from workings.errors import WorkingsError
from workings.train.tasks.pictures import Pictures


def loss(model: Any, x: Pictures) -> Tensor:
    L = model.loss(x.flatten(1))
    return L


def figures(model: Any, x: Pictures) -> dict[str, float]:
    """The bound and its parts, means over the pictures."""
    parts = [model.bound(part) for part in x.flatten(1).split(1000)]
    elbo, R, K = (torch.cat(column).mean().item() for column in zip(*parts, strict=True))
    return {"loss": -elbo, "elbo": elbo, "log_likelihood": R, "kl": K}


def draws(model: Any, shape: Any, count: int, seed: int | None = None) -> Pictures:
    """New pictures: decoded draws of the prior, of a seed of their own if there is one."""
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    return model.sample(count, generator).view(count, *shape)


def between(model: Any, a: Pictures, b: Pictures, steps: int) -> Pictures:
    """From each picture of `a` to the one of `b` beside it, by `steps` pictures on the line between their codes."""
    rows = [model.interpolate(x.flatten(), y.flatten(), steps) for x, y in zip(a, b, strict=True)]
    return torch.cat(rows).view(-1, *a.shape[1:])


def between_pairs(model: Any, x: Pictures, rows: int, steps: int, seed: int) -> Pictures:
    """`rows` times from one of these pictures to another, both chosen at random."""
    if len(x) < 2 * rows:
        raise WorkingsError(f"{rows} rows go between {2 * rows} test pictures; there are {len(x)}.")
    i = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))[: 2 * rows]
    return between(model, x[i[:rows]], x[i[rows:]], steps)

r"""A variational auto-encoder of pictures: a code that can be drawn at random and read as a picture.

    μ, s = encoder(x)                        q(z|x) = N(μ, e^s)
    z = μ + e^{s/2} ⊙ ε
    L = 1/N Σ KL(q(z|x)‖N(0, 1)) − log p(x|z)

The figures split the bound: elbo = log_likelihood − kl, in nats for each picture.

Axes: b pictures, x pixels of a picture, z width of the latent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from workings.models.vae import LIKELIHOODS, VAE
from workings.train.recipe import Recipe, Task
from workings.train.recipes.autoencoder import widths
from workings.train.recipes.drawing import shades
from workings.train.recipes.pictures import DATA, Pictures, described, hashes, read, shape_in
from workings.train.recipes.shuffled import Shuffled
from workings.train.settings import Training, setting


@dataclass(frozen=True)
class VaeSettings(Training):
    data: str = setting("digits", DATA)
    latent: int = setting(12, "width of the latent", least=1)
    hidden: str = setting("512 256", "widths of the encoder's hidden layers; the decoder mirrors them")
    likelihood: str = setting("bernoulli", "what a pixel is, given the latent", among=LIKELIHOODS)
    variance: float = setting(0.1, "gaussian: variance of a pixel", least=0)
    steps: int = setting(4000, "updates of the parameters", least=1)
    batch: int = setting(128, "pictures of one update, over all processes", least=1)
    rate: float = setting(2e-3, "learning rate at its highest", least=0)
    warmup: int = setting(200, "updates until the learning rate is at its highest", least=0)


class Vae(Recipe):
    name = "vae"
    summary = "Pictures as draws from a latent space: the bound split in its parts, samples, interpolations."
    example = "workings train vae --steps 1000"
    Settings = VaeSettings

    def task(self, settings: Any) -> Task:
        data = read(settings.data, settings.seed)
        files = described(data)
        seen = Shuffled(len(data.x), settings.batch, settings.seed)
        return Task(
            self.model(settings, files),
            batches=lambda step: data.x[seen(step)],
            loss=loss,
            evaluate=lambda model: judged(model, data.x_test),
            sample=lambda model: shades(drawn(model, data.x.shape[1:], 3)),
            files=files,
            hashes=hashes(settings.data, data),
            unit="pictures",
        )

    def model(self, settings: Any, files: Mapping[str, str]) -> VAE:
        c, n, m = shape_in(files)
        return VAE(c * n * m, settings.latent, widths(settings.hidden), settings.likelihood, settings.variance, nn.SiLU)


def loss(model: Any, x: Pictures) -> Tensor:
    L = model.loss(x.flatten(1))
    return L


def judged(model: Any, x: Pictures) -> dict[str, float]:
    """The bound and its parts, means over the pictures."""
    parts = [model.bound(part) for part in x.flatten(1).split(1000)]
    elbo, R, K = (torch.cat(column).mean().item() for column in zip(*parts, strict=True))
    return {"loss": -elbo, "elbo": elbo, "log_likelihood": R, "kl": K}


def drawn(model: Any, shape: Any, count: int, generator: torch.Generator | None = None) -> Pictures:
    """New pictures: decoded draws of the prior."""
    return model.sample(count, generator).view(count, *shape)


def between(model: Any, a: Pictures, b: Pictures, steps: int) -> Pictures:
    """From each picture of `a` to the one of `b` beside it, by `steps` pictures on the line between their codes."""
    rows = [model.interpolate(x.flatten(), y.flatten(), steps) for x, y in zip(a, b, strict=True)]
    return torch.cat(rows).view(-1, *a.shape[1:])

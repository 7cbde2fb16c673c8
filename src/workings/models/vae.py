r"""The variational auto-encoder (Kingma & Welling 2014).

    μ, s = encoder(x)                        q(z|x) = N(μ, σ²),  s = log σ²
    z = μ + σ ⊙ ε,  ε ~ N(0, 1)
    x̂ = decoder(z)                           the parameters of p(x|z)
    ELBO = log p(x|z) − KL(q(z|x)‖N(0, 1))
    L = −1/N Σ ELBO

The likelihood is Bernoulli (x in [0, 1], x̂ are logits) or Gaussian (x̂ is the mean, with one fixed variance).

Axes: b examples, x inputs, z width of the latent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, pi
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from workings.errors import DomainError, ShapeError
from workings.models.autoencoder import check_inputs, layers
from workings.nn.fits import check_shapes
from workings.nn.objectives.losses import binary_cross_entropy_with_logits
from workings.nn.objectives.variational import elbo, gaussian_kl, reparameterised

Inputs = Float[Tensor, "b x"]
Latents = Float[Tensor, "b z"]
PerExample = Float[Tensor, " b"]
LIKELIHOODS = ("bernoulli", "gaussian")


class Bound(NamedTuple):
    """The evidence lower bound of each example, and its two parts."""

    elbo: PerExample
    log_likelihood: PerExample
    kl: PerExample


def bernoulli_log_likelihood(x: Inputs, x̂: Inputs) -> PerExample:
    r"""Each input is a coin (or a shade between 0 and 1), with logit x̂.

    $$\log p(x \mid z) = \sum x \log \sigma(\hat x) + (1 - x) \log(1 - \sigma(\hat x))$$
    """
    check_shapes(bernoulli_log_likelihood, x, x̂)
    log_p = -binary_cross_entropy_with_logits(x̂, x, reduction="none").sum(dim=-1)
    return log_p


def gaussian_log_likelihood(x: Inputs, x̂: Inputs, variance: float = 1.0) -> PerExample:
    r"""Each input is normal around x̂, with one variance v for all.

    $$\log p(x \mid z) = -\tfrac12 \sum \Big(\log 2 \pi v + \frac{(x - \hat x)^2}{v}\Big)$$
    """
    check_shapes(gaussian_log_likelihood, x, x̂)
    if not variance > 0:
        raise DomainError(f"The variance of p(x|z) is positive; got {variance:g}.")
    log_p = -(log(2 * pi * variance) + (x - x̂) ** 2 / variance).sum(dim=-1) / 2
    return log_p


class VAE(nn.Module):
    """Encoder and decoder with the given hidden widths (the decoder mirrors the encoder).

    >>> model = VAE(6, 2, hidden=[4])
    >>> x = torch.rand(3, 6)
    >>> model.bound(x).elbo.shape, model.sample(5).shape
    (torch.Size([3]), torch.Size([5, 6]))
    """

    def __init__(
        self,
        inputs: int,
        latent: int,
        hidden: Sequence[int] = (),
        likelihood: str = "bernoulli",
        variance: float = 1.0,
        activation: Callable[[], nn.Module] = nn.ReLU,
    ) -> None:
        super().__init__()
        if likelihood not in LIKELIHOODS:
            raise DomainError(f"A VAE's likelihood is one of {', '.join(LIKELIHOODS)}; got {likelihood!r}.")
        if not variance > 0:
            raise DomainError(f"The variance of p(x|z) is positive; got {variance:g}.")
        self.latent, self.likelihood, self.variance = latent, likelihood, variance
        self.encoder = layers([inputs, *hidden, 2 * latent], activation)
        self.decoder = layers([latent, *reversed(hidden), inputs], activation)

    def encode(self, x: Inputs) -> tuple[Latents, Latents]:
        """The mean μ and s = log σ² of q(z|x)."""
        check_inputs(x, self.encoder)
        μ, s = self.encoder(x).chunk(2, dim=-1)
        return μ, s

    def forward(self, x: Inputs, ε: Latents | None = None) -> tuple[Inputs, Latents, Latents]:
        """x̂, μ and s; `ε` fixes the draw."""
        μ, s = self.encode(x)
        if ε is None:
            ε = torch.randn_like(μ)
        z = reparameterised(μ, s, ε)
        x̂ = self.decoder(z)
        return x̂, μ, s

    def bound(self, x: Inputs, ε: Latents | None = None) -> Bound:
        """The ELBO of each example by one draw, split into its parts."""
        x̂, μ, s = self(x, ε)
        R = self.log_likelihood(x, x̂)
        K = gaussian_kl(μ, s)
        ELBO = elbo(R, K)
        return Bound(ELBO, R, K)

    def loss(self, x: Inputs, ε: Latents | None = None) -> Float[Tensor, ""]:
        """−ELBO, averaged over the examples."""
        return -self.bound(x, ε).elbo.mean()

    def log_likelihood(self, x: Inputs, x̂: Inputs) -> PerExample:
        """log p(x|z), for what the decoder made of z."""
        if self.likelihood == "gaussian":
            return gaussian_log_likelihood(x, x̂, self.variance)
        if ((x < 0) | (x > 1)).any():
            raise DomainError(
                f"The Bernoulli likelihood needs x between 0 and 1; x goes from {x.min().item():g} to {x.max().item():g}. "
                "Scale x, or use likelihood='gaussian'."
            )
        return bernoulli_log_likelihood(x, x̂)

    def decode(self, z: Latents) -> Inputs:
        """The mean of p(x|z)."""
        if not z.dim() or z.shape[-1] != self.latent:
            raise ShapeError(f"The decoder takes codes z of width {self.latent}, but z is {[*z.shape]}.")
        x̂ = self.decoder(z)
        return torch.sigmoid(x̂) if self.likelihood == "bernoulli" else x̂

    @torch.no_grad()
    def sample(self, examples: int, generator: torch.Generator | None = None) -> Inputs:
        """New examples: decoded draws of the prior."""
        weight = next(self.decoder.parameters())
        z = torch.randn(examples, self.latent, generator=generator, dtype=weight.dtype, device=weight.device)
        return self.decode(z)

    @torch.no_grad()
    def interpolate(self, a: Float[Tensor, " x"], b: Float[Tensor, " x"], steps: int) -> Inputs:
        """`steps` examples on the straight line between the codes (means) of `a` and `b`, both ends included."""
        if steps < 2:
            raise ShapeError(f"A line from a to b has at least its 2 ends; steps = {steps}.")
        check_shapes(VAE.interpolate, self, a, b)
        μ, _ = self.encode(torch.stack([a, b]))
        t = torch.linspace(0, 1, steps, dtype=μ.dtype, device=μ.device).unsqueeze(1)
        z = (1 - t) * μ[0] + t * μ[1]
        return self.decode(z)

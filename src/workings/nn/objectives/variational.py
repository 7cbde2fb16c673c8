r"""Variational inference: a distribution q(z) stands in for the posterior p(z | x).

    KL(q‖p) = Σ q log(q/p)                                   discrete
    KL(N(μ, σ²)‖N(0, 1)) = ½ Σ (μ² + σ² − 1 − log σ²)        Gaussian, closed form
    z = μ + σ ε,  ε ~ N(0, 1)                                reparameterisation (Kingma & Welling 2014)
    ELBO = E_q log p(x|z) − KL(q(z)‖p(z)) ≤ log p(x)

A Gaussian is given by its mean μ and s = log σ², which may be any real number.

Axes: b batch, z width of the latent, k values of a discrete latent, m draws.
"""

from __future__ import annotations

from math import log, pi

import torch
from jaxtyping import Float
from torch import Tensor

from workings.errors import UndecidedError
from workings.nn.fits import check_at_least, check_inside, check_shapes

Latent = Float[Tensor, "*b z"]


def kl(q: Float[Tensor, "*#b k"], p: Float[Tensor, "*#b k"]) -> Float[Tensor, "*b"]:
    r"""How far `q` is from `p`: 0 where they are equal, never negative.

    $$\mathrm{KL}(q \,\|\, p) = \sum_k q_k \log \frac{q_k}{p_k}$$

    An outcome that `q` never takes counts 0.

    >>> kl(torch.tensor([0.0, 1.0]), torch.tensor([0.5, 0.5]))
    tensor(0.6931)
    """
    check_shapes(kl, q, p)
    for x in (q, p):
        check_inside("A probability lies between 0 and 1", x, lambda x: ~((x >= 0) & (x <= 1)))
    if _has_zeros(q):
        return (torch.xlogy(q, q) - torch.xlogy(q, p)).sum(dim=-1)
    K = (q * torch.log(q / p)).sum(dim=-1)
    return K


def gaussian_kl(μ: Latent, s: Latent) -> Float[Tensor, "*b"]:
    r"""From N(μ, σ²) to the standard normal, with s = log σ².

    $$\mathrm{KL} = \tfrac12 \sum (\mu^2 + \sigma^2 - 1 - \log \sigma^2)$$

    >>> gaussian_kl(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 0.0]))
    tensor(0.5000)
    """
    check_shapes(gaussian_kl, μ, s)
    K = (μ**2 + torch.exp(s) - 1 - s).sum(dim=-1) / 2
    return K


def gaussian_kl_between(μ: Latent, s: Latent, μ_p: Latent, s_p: Latent) -> Float[Tensor, "*b"]:
    r"""From N(μ, σ²) to N(μ_p, σ_p²).

    $$\mathrm{KL} = \tfrac12 \sum \Big(\log \frac{\sigma_p^2}{\sigma^2}
      + \frac{\sigma^2 + (\mu - \mu_p)^2}{\sigma_p^2} - 1\Big)$$

    >>> one = torch.ones(1)
    >>> gaussian_kl_between(one, 0 * one, 3 * one, 0 * one)
    tensor(2.)
    """
    check_shapes(gaussian_kl_between, μ, s, μ_p, s_p)
    K = (s_p - s + (torch.exp(s) + (μ - μ_p) ** 2) / torch.exp(s_p) - 1).sum(dim=-1) / 2
    return K


def log_gaussian(z: Latent, μ: Float[Tensor, "*#b z"], s: Float[Tensor, "*#b z"]) -> Float[Tensor, "*b"]:
    r"""The log-density of N(μ, σ²) at `z`.

    $$\log p(z) = -\tfrac12 \sum \Big(\log 2\pi + s + \frac{(z - \mu)^2}{e^s}\Big)$$

    >>> log_gaussian(torch.zeros(1), torch.zeros(1), torch.zeros(1))
    tensor(-0.9189)
    """
    check_shapes(log_gaussian, z, μ, s)
    log_p = -(log(2 * pi) + s + (z - μ) ** 2 / torch.exp(s)).sum(dim=-1) / 2
    return log_p


def reparameterised(μ: Float[Tensor, "*#b"], s: Float[Tensor, "*#b"], ε: Float[Tensor, "*b"]) -> Float[Tensor, "*b"]:
    r"""A draw of N(μ, σ²) made from a draw ε of N(0, 1), so that gradients reach μ and s.

    $$z = \mu + \sigma \odot \varepsilon \qquad \sigma = e^{s/2}$$

    >>> reparameterised(torch.tensor([1.0]), torch.tensor([0.0]), torch.tensor([-2.0]))
    tensor([-1.])
    """
    check_shapes(reparameterised, μ, s, ε)
    σ = torch.exp(s / 2)
    z = μ + σ * ε
    return z


def gaussian_kl_by_draws(
    μ: Float[Tensor, " z"], s: Float[Tensor, " z"], draws: int, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    r"""The KL of `gaussian_kl`, estimated from draws, and the standard error of the estimate.

    $$\mathrm{KL} \approx \frac1M \sum_m \log q(z_m) - \log p(z_m) \qquad z_m \sim q$$

    >>> seed = torch.Generator().manual_seed(0)
    >>> estimate, error = gaussian_kl_by_draws(torch.tensor([1.0]), torch.tensor([0.0]), 4000, seed)
    >>> bool((estimate - 0.5).abs() < 4 * error)
    True
    """
    check_shapes(gaussian_kl_by_draws, μ, s)
    check_at_least(2, draws, "An estimate with a standard error needs at least 2 draws, not {}.")
    ε = torch.randn((draws, *μ.shape), dtype=μ.dtype, device=μ.device, generator=generator)
    z = reparameterised(μ, s, ε)
    difference = log_gaussian(z, μ, s) - log_gaussian(z, torch.zeros_like(μ), torch.zeros_like(s))
    return difference.mean(), difference.std() / draws**0.5


def elbo(log_likelihood: Float[Tensor, "*b"], kl_to_prior: Float[Tensor, "*b"]) -> Float[Tensor, "*b"]:
    r"""The evidence lower bound: how well `z` explains `x`, less what `q` says beyond the prior.

    $$\mathrm{ELBO} = \mathbb E_q \log p(x \mid z) - \mathrm{KL}(q(z \mid x) \,\|\, p(z))$$
    """
    check_shapes(elbo, log_likelihood, kl_to_prior)
    return log_likelihood - kl_to_prior


def _has_zeros(q: Tensor) -> bool:
    """Whether some outcome is never taken; a letter is taken to be positive."""
    try:
        return bool((q == 0).any())
    except UndecidedError:
        return False

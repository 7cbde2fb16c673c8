r"""Normalisation: values with mean 0 and variance 1, then a learned scale and shift.

    μ = mean(x)                        over the entries of one token (layer), or over the batch (batch)
    σ² = mean((x − μ)²)                the population variance: divided by n, not n − 1
    n = (x − μ) / √(σ² + ε)
    y = γ ⊙ n + β

Layer norm (Ba et al. 2016) needs nothing but its own token. Batch norm (Ioffe & Szegedy 2015) shares μ and σ² over the
samples of a batch, so a test run needs the stored statistics of the training. RMS norm (Zhang & Sennrich 2019) leaves the
mean and the shift out: y = γ ⊙ x / √(mean(x²) + ε).

Axes: b batch, d width of a token, s the entries of one sample.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from workings.errors import DomainError, ShapeError
from workings.nn.fused import fused

Batch = Float[Tensor, "b *s"]
Sample = Float[Tensor, "*s"]

VARIANCES = {"population": 0, "sample": 1}
"""Name of a variance → what its divisor is short of n."""


def width(x: Tensor, gamma: Tensor | None, beta: Tensor | None = None) -> int:
    """The width d of a token, after refusing a scale or a shift that does not have d numbers."""
    if not x.dim() or not x.shape[-1]:
        raise ShapeError(f"A norm is taken over the entries of a token, at least one, but x is {[*x.shape]}.")
    d = x.shape[-1]
    for name, given in (("γ", gamma), ("β", beta)):
        if given is not None and given.shape != (d,):
            raise ShapeError(
                f"γ ⊙ n + β needs one number for each of the d = {d} entries of a token: x is {[*x.shape]}, "
                f"but {name} is {[*given.shape]}."
            )
    return d


def layer_norm_kernel(x: Tensor, gamma: Tensor | None = None, beta: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    width(x, gamma, beta)
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


@fused(layer_norm_kernel)
def layer_norm(
    x: Float[Tensor, "*b d"],
    gamma: Float[Tensor, " d"] | None = None,
    beta: Float[Tensor, " d"] | None = None,
    eps: float = 1e-5,
) -> Float[Tensor, "*b d"]:
    r"""Each token with mean 0 and variance 1 over its own entries, then scaled and shifted.

    $$y = \gamma \odot \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta$$

    >>> layer_norm(torch.tensor([1.0, 3.0]), eps=0.0)
    tensor([-1.,  1.])
    """
    d = width(x, gamma, beta)
    mu = x.sum(dim=-1, keepdim=True) / d
    var = ((x - mu) ** 2).sum(dim=-1, keepdim=True) / d
    y = (x - mu) / torch.sqrt(var + eps)
    if gamma is not None:
        y = gamma * y
    if beta is not None:
        y = y + beta
    return y


def rms_norm_kernel(x: Tensor, gamma: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    width(x, gamma)
    return F.rms_norm(x, x.shape[-1:], gamma, eps)


@fused(rms_norm_kernel)
def rms_norm(x: Float[Tensor, "*b d"], gamma: Float[Tensor, " d"] | None = None, eps: float = 1e-5) -> Float[Tensor, "*b d"]:
    r"""Each token divided by the root of its mean square, then scaled.

    $$y = \gamma \odot \frac{x}{\sqrt{\operatorname{mean}(x^2) + \varepsilon}}$$

    >>> rms_norm(torch.tensor([1.0, 7.0]), eps=0.0)
    tensor([0.2000, 1.4000])
    """
    d = width(x, gamma)
    m = (x**2).sum(dim=-1, keepdim=True) / d
    y = x / torch.sqrt(m + eps)
    if gamma is not None:
        y = gamma * y
    return y


def divisor(H: Tensor, variance: str) -> int:
    """What the squares are divided by: n samples, or n − 1."""
    n = H.shape[0] if H.dim() else 0
    if variance not in VARIANCES:
        raise DomainError(f"The variance of a batch is 'population' (divide by n) or 'sample' (by n − 1), not {variance!r}.")
    if n <= VARIANCES[variance]:
        by, least = ("n − 1", "2 samples") if VARIANCES[variance] else ("n", "1 sample")
        raise DomainError(f"The {variance} variance divides by {by}: give at least {least} on the first axis, not {n}.")
    return n - VARIANCES[variance]


def affine_fits(sample: Sequence[int], gamma: Tensor | None, beta: Tensor | None) -> None:
    """Refuse a scale or a shift that cannot be repeated over the entries of a sample."""
    for name, given in (("γ", gamma), ("β", beta)):
        if given is not None and not repeated(given.shape, sample):
            raise ShapeError(
                f"γ ⊙ n + β needs one number for each entry of a sample, {[*sample]}, but {name} is {[*given.shape]}."
            )


def repeated(small: Sequence[int], large: Sequence[int]) -> bool:
    pairs = zip(reversed(small), reversed(large), strict=False)
    return len(small) <= len(large) and all(a in (1, b) for a, b in pairs)


def batch_statistics(H: Batch, variance: str = "population") -> tuple[Sample, Sample]:
    r"""Mean and variance of each entry over the batch.

    $$\mu = \frac{1}{n} \sum_i H_i, \qquad \sigma^2 = \frac{1}{n} \sum_i (H_i - \mu)^2$$

    The sample variance divides by n − 1 instead.

    >>> batch_statistics(torch.tensor([[1.0], [3.0]]), variance="sample")
    (tensor([2.]), tensor([2.]))
    """
    n = divisor(H, variance)
    mu = H.mean(dim=0)
    var = ((H - mu) ** 2).sum(dim=0) / n
    return mu, var


def batch_norm_kernel(
    H: Tensor, gamma: Tensor | None = None, beta: Tensor | None = None, eps: float = 0.0, variance: str = "population"
) -> Tensor:
    n = divisor(H, variance)
    affine_fits(H.shape[1:], gamma, beta)
    rows = H.flatten(1) if H.dim() > 1 else H[:, None]
    if n != len(H) or n == 1 or eps == 0:  # PyTorch has no kernel for these
        return batch_norm_test(H, *batch_statistics(H, variance), gamma, beta, eps)
    scale, shift = (None if p is None else p.expand(H.shape[1:]).flatten() for p in (gamma, beta))
    return F.batch_norm(rows, None, None, scale, shift, training=True, eps=eps).reshape(H.shape)


@fused(batch_norm_kernel)
def batch_norm(
    H: Batch,
    gamma: Sample | None = None,
    beta: Sample | None = None,
    eps: float = 0.0,
    variance: str = "population",
) -> Batch:
    r"""Each entry with mean 0 and variance 1 over the batch (training).

    $$Y = \gamma \odot \frac{H - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta$$

    >>> batch_norm(torch.tensor([[1.0], [3.0]])).T
    tensor([[-1.,  1.]])
    """
    n = divisor(H, variance)
    affine_fits(H.shape[1:], gamma, beta)
    mu = H.mean(dim=0)
    var = ((H - mu) ** 2).sum(dim=0) / n
    Y = (H - mu) / torch.sqrt(var + eps)
    if gamma is not None:
        Y = gamma * Y
    if beta is not None:
        Y = Y + beta
    return Y


def batch_norm_test(
    H: Float[Tensor, "*b"],
    mu: Float[Tensor, ...],
    var: Float[Tensor, ...],
    gamma: Sample | None = None,
    beta: Sample | None = None,
    eps: float = 0.0,
) -> Float[Tensor, "*b"]:
    r"""Each entry by the stored mean and variance of the training (test), for one sample or a batch of them.

    $$Y = \gamma \odot \frac{H - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta$$

    >>> batch_norm_test(torch.tensor([5.0]), mu=torch.tensor([3.0]), var=torch.tensor([4.0]))
    tensor([1.])
    """
    _ = fits(H, mu, var)
    affine_fits(mu.shape, gamma, beta)
    Y = (H - mu) / torch.sqrt(var + eps)
    if gamma is not None:
        Y = gamma * Y
    if beta is not None:
        Y = Y + beta
    return Y


def fits(H: Tensor, mu: Tensor, var: Tensor) -> bool:
    """Refuse statistics that are not those of one sample."""
    s = [*mu.shape]
    if [*var.shape] != s or [*H.shape[H.dim() - len(s) :]] != s:
        raise ShapeError(
            f"(H − μ) / √(σ² + ε) needs a mean and a variance for each entry of a sample: H is {[*H.shape]}, "
            f"but μ is {s} and σ² is {[*var.shape]}."
        )
    return True


class LayerNorm(nn.Module):
    """Layer norm with a learned scale γ and shift β."""

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(width))
        self.beta = nn.Parameter(torch.zeros(width))

    def forward(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b d"]:
        return layer_norm(x, self.gamma, self.beta, self.eps)


class RMSNorm(nn.Module):
    """RMS norm with a learned scale γ."""

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b d"]:
        return rms_norm(x, self.gamma, self.eps)


class BatchNorm(nn.Module):
    """Batch norm of every entry of a sample; a test run uses the running mean and variance of the training.

    In training the batch is normalised by its population variance. `variance` says which one is stored for the test:
    the same ("population"), or the one divided by n − 1 ("sample"), which is what `torch.nn.BatchNorm1d` stores. The two
    give test values that differ by √((n − 1) / n).
    """

    mu: Tensor
    var: Tensor

    def __init__(
        self, *shape: int, eps: float = 1e-5, momentum: float = 0.1, variance: str = "population", affine: bool = True
    ) -> None:
        super().__init__()
        if variance not in VARIANCES:
            raise DomainError(f"The stored variance is 'population' (divide by n) or 'sample' (by n − 1), not {variance!r}.")
        self.eps, self.momentum, self.variance = eps, momentum, variance
        self.gamma = nn.Parameter(torch.ones(shape)) if affine else None
        self.beta = nn.Parameter(torch.zeros(shape)) if affine else None
        self.register_buffer("mu", torch.zeros(shape))
        self.register_buffer("var", torch.ones(shape))

    def forward(self, H: Batch) -> Batch:
        if not self.training:
            return batch_norm_test(H, self.mu, self.var, self.gamma, self.beta, self.eps)
        self.remember(H.detach())
        return batch_norm(H, self.gamma, self.beta, self.eps)

    def remember(self, H: Batch) -> None:
        """Move the running statistics towards those of this batch."""
        m = self.momentum
        mu, var = batch_statistics(H, self.variance)
        self.mu = (1 - m) * self.mu + m * mu
        self.var = (1 - m) * self.var + m * var

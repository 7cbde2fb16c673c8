"""Batch norm (Ioffe & Szegedy 2015), whose equations stand in `workings.equations.norms`: checks, kernel and layer.

The samples of a batch share μ and σ², so a test run needs the stored statistics of the training.

Axes: b batch, s the entries of one sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from workings.equations import norms as equations
from workings.equations.norms import VARIANCES, divisor
from workings.errors import DomainError, ShapeError
from workings.fused import fused, special_case_of
from workings.nn.fits import check_inside, is_repeatable, where

Batch = Float[Tensor, "b *s"]
Sample = Float[Tensor, "*s"]
Statistic = Float[Tensor, "..."]


def _check_batch(H: Tensor, variance: str) -> None:
    """Refuse a batch too small for its variance."""
    n = H.shape[0] if H.dim() else 0
    if variance not in VARIANCES:
        raise DomainError(f"The variance of a batch is 'population' (divide by n) or 'sample' (by n − 1), not {variance!r}.")
    if n <= VARIANCES[variance]:
        by, least = ("n − 1", "2 samples") if VARIANCES[variance] else ("n", "1 sample")
        raise DomainError(f"The {variance} variance divides by {by}: give at least {least} on the first axis, not {n}.")


def _check_varied(H: Tensor, eps: float) -> None:
    """Refuse an entry that is the same in all samples where ε does not keep its variance from 0."""
    if not eps >= 0:
        raise DomainError(f"√(σ² + ε) needs ε ≥ 0, not {eps:g}.")
    if eps == 0 and (at := where(H, lambda H: (H[:1] == H).all(dim=0))) is not None:
        raise DomainError(
            f"(H − μ) / √(σ² + ε) is 0/0 where an entry is the same in all samples and ε = 0, as at {at}: give an ε above 0."
        )


def _check_affine(sample: Sequence[int], gamma: Tensor | None, beta: Tensor | None) -> None:
    """Refuse a scale or a shift that cannot be repeated over the entries of a sample."""
    for name, given in (("γ", gamma), ("β", beta)):
        if given is not None and not is_repeatable(given.shape, sample):
            raise ShapeError(
                f"γ ⊙ n + β needs one number for each entry of a sample, {[*sample]}, but {name} is {[*given.shape]}."
            )


def batch_statistics(H: Batch, variance: str = "population") -> tuple[Sample, Sample]:
    r"""Mean and variance of each entry over the batch.

    $$\mu = \frac{1}{n} \sum_i H_i, \qquad \sigma^2 = \frac{1}{n} \sum_i (H_i - \mu)^2$$

    The sample variance divides by n − 1 instead.

    >>> batch_statistics(torch.tensor([[1.0], [3.0]]), variance="sample")
    (tensor([2.]), tensor([2.]))
    """
    _check_batch(H, variance)
    n = divisor(H, variance)
    mu = H.mean(dim=0)
    var = ((H - mu) ** 2).sum(dim=0) / n
    return mu, var


def check_batch_norm(
    H: Tensor,
    gamma: Any = None,
    beta: Any = None,
    eps: float = 0.0,
    variance: str = "population",
    mu: Any = None,
    var: Any = None,
) -> None:
    """Refuse statistics that are not those of the samples, and numbers that cannot be divided by."""
    if mu is not None and var is not None:
        _check_statistics(H, mu, var, eps)
        _check_affine(mu.shape, gamma, beta)
    else:
        _check_batch(H, variance)
        _check_affine(H.shape[1:], gamma, beta)
        _check_varied(H, eps)


def batch_norm_kernel(
    H: Tensor, gamma: Any = None, beta: Any = None, eps: float = 0.0, variance: str = "population", **statistics: Any
) -> Tensor:
    n = divisor(H, variance)
    if statistics or n != len(H) or n == 1 or eps == 0:  # PyTorch has no kernel for these
        return equations.batch_norm(H, gamma, beta, eps, variance, **statistics)
    rows = H.flatten(1) if H.dim() > 1 else H[:, None]
    scale, shift = (None if p is None else p.expand(H.shape[1:]).flatten() for p in (gamma, beta))
    return F.batch_norm(rows, None, None, scale, shift, training=True, eps=eps).reshape(H.shape)


batch_norm = fused(batch_norm_kernel, check_batch_norm)(equations.batch_norm)


@special_case_of(equations.batch_norm)
def batch_norm_test(
    H: Float[Tensor, "*b"],
    mu: Statistic,
    var: Statistic,
    gamma: Sample | None = None,
    beta: Sample | None = None,
    eps: float = 0.0,
) -> dict[str, Any]:
    r"""Each entry by the stored mean and variance of the training (test), for one sample or a batch of them.

    $$Y = \gamma \odot \frac{H - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta$$

    >>> batch_norm_test(torch.tensor([5.0]), mu=torch.tensor([3.0]), var=torch.tensor([4.0]))
    tensor([1.])
    """
    given = {"H": H, "gamma": gamma, "beta": beta, "eps": eps, "mu": mu, "var": var}
    check_batch_norm(**given)  # type: ignore[arg-type]
    return given


def _check_statistics(H: Tensor, mu: Tensor, var: Tensor, eps: float) -> None:
    """Refuse statistics that are not those of one sample, and a variance that cannot be divided by."""
    s = [*mu.shape]
    if [*var.shape] != s or [*H.shape[H.dim() - len(s) :]] != s:
        raise ShapeError(
            f"(H − μ) / √(σ² + ε) needs a mean and a variance for each entry of a sample: H is {[*H.shape]}, "
            f"but μ is {s} and σ² is {[*var.shape]}."
        )
    check_inside(f"√(σ² + ε) needs σ² + ε above 0, and ε = {eps:g}", var, lambda var: ~(var + eps > 0))


def _check_samples(H: Tensor, mu: Tensor) -> None:
    """Refuse samples of another shape than the one that statistics are kept for."""
    if H.shape[1:] != mu.shape:
        raise ShapeError(f"Each sample has the shape {[*mu.shape]} that μ and σ² are kept for, but H is {[*H.shape]}.")


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
        _check_samples(H, self.mu)
        self.remember(H.detach())
        return batch_norm(H, self.gamma, self.beta, self.eps)

    def remember(self, H: Batch) -> None:
        """Move the running statistics towards those of this batch."""
        m = self.momentum
        mu_B, var_B = batch_statistics(H, self.variance)
        self.mu = (1 - m) * self.mu + m * mu_B
        self.var = (1 - m) * self.var + m * var_B

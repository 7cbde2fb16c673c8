r"""Means with an interval that holds at *all* sample sizes at once with probability 1 − α: looking early costs nothing.

    BoundedMean     predictable plug-in empirical Bernstein (Waudby-Smith and Ramdas 2024, theorem 2): nothing is assumed
                    but the bounds of the samples

$$\frac{\sum_i \lambda_i x_i}{\sum_i \lambda_i} \pm \frac{\log(2/\alpha) + \sum_i v_i\,\psi(\lambda_i)}{\sum_i \lambda_i}$$

    AnyMean         asymptotic (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, theorem 2.2): a finite variance

$$\hat\mu_t \pm \hat\sigma_t \sqrt{\frac{2(t\rho^2 + 1)}{t^2\rho^2} \log\frac{\sqrt{t\rho^2 + 1}}{\alpha}}$$
"""

from __future__ import annotations

from math import inf, isfinite, log, sqrt

import torch
from torch import Tensor

from workings.errors import WorkingsError

ALPHA = 1e-4
"""The chance that a test errs, unless it is told otherwise."""
_FIRST = 100
"""Samples before an unbounded mean is judged: fewer say too little about the variance."""


class AnyMean:
    """The mean of samples with a finite variance."""

    def __init__(self, alpha: float = ALPHA, expected: int = 10_000) -> None:
        self.alpha = alpha
        self.expected = expected
        """The number of samples at which the interval is to be narrowest."""
        self.count = 0
        self._sum = self._squares = 0.0

    def add(self, samples: Tensor) -> None:
        """More samples, one after the other."""
        x = samples.detach().double().flatten()
        self.count += len(x)
        self._sum += float(x.sum())
        self._squares += float((x * x).sum())

    @property
    def mean(self) -> float:
        return self._sum / max(1, self.count)

    @property
    def deviation(self) -> float:
        """The standard deviation of the samples."""
        return sqrt(max(0.0, self._squares / max(1, self.count) - self.mean**2))

    def interval(self) -> tuple[float, float]:
        """Where the mean lies, at all times together with probability 1 − α."""
        if self.count < _FIRST or not isfinite(self._squares):
            return -inf, inf
        half = self.deviation * half_width(self.count, self.alpha, self.expected)
        return self.mean - half, self.mean + half


class BoundedMean(AnyMean):
    """The mean of samples that lie between two bounds."""

    def __init__(self, low: float, high: float, alpha: float = ALPHA) -> None:
        super().__init__(alpha)
        self.low, self.high = low, high
        self._centred = 0.0  # Σ (y − μ̂)², the samples scaled to 0 … 1
        self._weights = self._weighted = self._spread = 0.0  # Σλ, Σλy, Σvψ(λ)

    def add(self, samples: Tensor) -> None:
        x = samples.detach().double().flatten()
        y = (x - self.low) / (self.high - self.low)
        if not bool(((y >= -1e-9) & (y <= 1 + 1e-9)).all()):
            raise WorkingsError(
                f"The samples were said to lie from {self.low:g} to {self.high:g}; they go from {x.min():g} to {x.max():g}."
            )
        before = (self._sum - self.count * self.low) / (self.high - self.low)
        n = torch.arange(self.count, self.count + len(y) + 1, dtype=torch.float64)  # samples before each, and after all
        sums = torch.cat([y.new_tensor([before]), before + y.cumsum(0)])
        μ = (0.5 + sums) / (n + 1)
        centred = self._centred + torch.cat([y.new_zeros(1), ((y - μ[1:]) ** 2).cumsum(0)])
        σ2 = (0.25 + centred) / (n + 1)
        t = n[1:]
        λ = torch.sqrt(2 * log(2 / self.alpha) / (σ2[:-1] * t * torch.log1p(t))).clamp(max=0.5)
        ψ = (-torch.log1p(-λ) - λ) / 4
        v = 4 * (y - μ[:-1]) ** 2
        self._weights += float(λ.sum())
        self._weighted += float((λ * y).sum())
        self._spread += float((v * ψ).sum())
        self._centred = float(centred[-1])
        super().add(x)

    def interval(self) -> tuple[float, float]:
        if not self.count:
            return self.low, self.high
        middle, half = self._weighted / self._weights, (log(2 / self.alpha) + self._spread) / self._weights
        low, high = (self.low + end * (self.high - self.low) for end in (middle - half, middle + half))
        return max(self.low, low), min(self.high, high)


def half_width(n: int, alpha: float, expected: int) -> float:
    """Half the width of the asymptotic interval after n samples, in standard deviations.

    >>> half_width(40_000, 1e-4, 10_000) < half_width(10_000, 1e-4, 10_000) < 0.06
    True
    """
    ρ2 = (1 - 2 * log(alpha) + log(1 - 2 * log(alpha))) / expected
    return sqrt(2 * (n * ρ2 + 1) / (n * n * ρ2) * log(sqrt(n * ρ2 + 1) / alpha))

r"""Queries that copy one value or average two, in closed form; and a projection that takes one summand out of a mixture.

    a ≥ 1 / (1 + (m − 1) e^(−βΔ))          the winner's weight, if its score leads by Δ
    M = A Aᵀ                                projection onto the span of orthonormal columns of A
    q = λ(k_a + k_b)                        α_a = α_b = e^λ / (2 e^λ + n − 2) → ½ for orthonormal keys
    k_a = (1 + γ) μ_a                       one head:  α_a = e^(λ(1+γ)) / (e^(λ(1+γ)) + e^λ + n − 2) ≈ σ(λγ)
                                            two heads: ½ e^(λ(1+γ)) / (e^(λ(1+γ)) + n − 1) + ½ / (e^λ + n − 1)

Axes: b batch, n keys, d width, m basis vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from workings.errors import DomainError
from workings.nn.fits import check_inside, check_shapes
from workings.nn.transformer.dot_product import attention_query

Number = Float[Tensor, "*b"]
POINTS = 100_001
"""Of a quadrature over ±12 standard deviations: enough for a sigmoid that jumps within a hundredth of one."""


def winner_bound(gap: Number, m: int, beta: Any = 1) -> Number:
    r"""The least weight of a key whose score leads all m − 1 others by at least `gap`.

    $$a \ge \frac{1}{1 + (m - 1)\,e^{-\beta\Delta}}$$

    >>> from workings import exact
    >>> print(winner_bound(exact("log(6)"), 3).text())
    3/4
    """
    _check_rivals(m)
    Δ, β = gap, beta
    a = 1 / (1 + (m - 1) * (-β * Δ).exp())
    return a


def gap_for(weight: Number, m: int, beta: Any = 1) -> Number:
    r"""The smallest lead of the winner's score that makes sure of this weight, against m − 1 others.

    $$\Delta = \frac{1}{\beta} \log \frac{(m - 1)\,a}{1 - a}$$

    >>> from workings import exact
    >>> print(gap_for(exact("3/4"), 3).text())
    log 6
    """
    _check_rivals(m, least=2)
    check_inside("A weight that a finite lead makes sure of lies between 0 and 1", weight, lambda a: ~((a > 0) & (a < 1)))
    a, β = weight, beta
    Δ = ((m - 1) * a / (1 - a)).log() / β
    return Δ


def copy_weight(lam: Number, n: int) -> Number:
    r"""The weight of the wanted key for the query q = λ k_a over n orthonormal keys.

    $$\alpha_a = \frac{e^{\lambda}}{e^{\lambda} + n - 1}$$

    >>> from workings import exact
    >>> print(copy_weight(exact("log(3)"), 4).text())
    1/2
    """
    _check_rivals(n)
    λ = lam
    α = λ.exp() / (λ.exp() + n - 1)
    return α


def averaging_weight(lam: Number, n: int) -> Number:
    r"""The weight of each of the two wanted keys for the query q = λ(k_a + k_b) over n orthonormal keys.

    $$\alpha_a = \alpha_b = \frac{e^{\lambda}}{2 e^{\lambda} + n - 2}$$

    >>> from workings import exact
    >>> print(averaging_weight(exact("log(4)"), 10).text())
    1/4
    """
    _check_rivals(n, least=2)
    λ = lam
    α = λ.exp() / (2 * λ.exp() + n - 2)
    return α


def averaging_strength(tolerance: Number, n: int) -> Number:
    r"""The λ for which each of the two wanted weights is ½ less `tolerance`.

    $$\lambda = \log \frac{(n - 2)(1/2 - \varepsilon)}{2\varepsilon}$$

    >>> from workings import exact
    >>> print(averaging_strength(exact("1/4"), 10).text())
    2·log 2
    """
    _check_rivals(n, least=3)
    check_inside("The two weights are ½ − ε each, with 0 < ε < ½", tolerance, lambda ε: ~((ε > 0) & (ε < 0.5)))
    ε = tolerance
    λ = ((n - 2) * (0.5 - ε) / (2 * ε)).log()
    return λ


def averaging_query(k_a: Float[Tensor, "*#b d"], k_b: Float[Tensor, "*#b d"], lam: Any) -> Float[Tensor, "*b d"]:
    r"""One query that looks at two keys alike.

    $$q = \lambda (k_a + k_b)$$
    """
    check_shapes(averaging_query, k_a, k_b)
    q = lam * (k_a + k_b)
    return q


def two_queries(
    q_1: Float[Tensor, "*#b d"], q_2: Float[Tensor, "*#b d"], K: Float[Tensor, "*#b n d"], V: Float[Tensor, "*#b n t"]
) -> Float[Tensor, "*#b t"]:
    r"""Two heads with a query each; their outputs averaged.

    $$c = \frac{c_1 + c_2}{2}$$
    """
    c_1 = attention_query(q_1, K, V)
    c_2 = attention_query(q_2, K, V)
    c = (c_1 + c_2) / 2
    return c


def one_head_weight(lam: Any, gamma: Number, n: int) -> Number:
    r"""The weight of v_a for the query λ(μ_a + μ_b), if k_a = (1 + γ) μ_a and the other keys are orthonormal.

    $$\alpha_a = \frac{e^{\lambda(1+\gamma)}}{e^{\lambda(1+\gamma)} + e^{\lambda} + n - 2} \approx \sigma(\lambda\gamma)$$

    Divided through by e^λ, so that a large λ does not overflow.
    """
    _check_rivals(n, least=2)
    λ, γ = lam, gamma
    α = 1 / (1 + (-λ * γ).exp() + (n - 2) * (-λ * (1 + γ)).exp())
    return α


def two_head_weight(lam: Any, gamma: Number, n: int) -> Number:
    r"""The weight of v_a in the average of two heads with queries λμ_a and λμ_b, if k_a = (1 + γ) μ_a.

    $$w = \frac{1}{2}\left(\frac{1}{1 + (n - 1)\,e^{-\lambda(1+\gamma)}} + \frac{1}{e^{\lambda} + n - 1}\right)$$
    """
    _check_rivals(n, least=2)
    γ = gamma
    λ = lam + torch.zeros_like(γ)
    α_1 = 1 / (1 + (n - 1) * (-λ * (1 + γ)).exp())
    α_2 = 1 / (λ.exp() + n - 1)
    w = (α_1 + α_2) / 2
    return w


def normal_mean(f: Callable[[Tensor], Tensor], variance: float, above: float = -torch.inf) -> Tensor:
    r"""E[f(γ)] for γ ~ N(0, variance), by quadrature; with `above`, given that γ lies above it.

    $$E[f] = \int f(\gamma)\, \varphi(\gamma)\, d\gamma$$

    >>> round(normal_mean(lambda γ: γ**2, 0.5).item(), 6)
    0.5
    """
    if not variance > 0:
        raise DomainError(f"A normal distribution has a variance above 0, not {variance:g}.")
    σ = variance**0.5
    γ = torch.linspace(max(above, -12 * σ), 12 * σ, POINTS, dtype=torch.float64)
    φ = torch.exp(-(γ**2) / (2 * variance))
    E = torch.trapezoid(φ * f(γ), γ) / torch.trapezoid(φ, γ)
    return E


def projection(A: Float[Tensor, "*b d m"]) -> Float[Tensor, "*b d d"]:
    r"""The matrix that keeps what lies in the span of the orthonormal columns of A and drops what is orthogonal to it.

    $$M = A A^\top, \qquad M v_a = v_a, \quad M v_b = 0$$

    >>> from workings import exact
    >>> M = projection(exact("3/5; 4/5"))
    >>> print((M @ exact([3 - 4, 4 + 3])).text())  # (3, 4) lies in the span, (−4, 3) is orthogonal to it
    [3  4]
    """
    check_shapes(projection, A)
    M = A @ A.mT
    return M


def _check_rivals(n: int, least: int = 1) -> None:
    """Refuse fewer keys than the formula speaks of."""
    if n < least:
        raise DomainError(f"The formula is about {least} keys or more, not {n}.")

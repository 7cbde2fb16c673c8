r"""What attention does when one key or one query moves. Column convention: S = Kᵀ Q, A = softargmax_β(S), H = V A.

    k_i + ε      Δh_j = β a_ij (v_i − h_j)(εᵀ q_j)                    first order, for every query j
                 E[Δa_ij] = ½ β² σ² ‖q_j‖² a_ij (1 − a_ij)(1 − 2a_ij)  second order, ε ~ N(0, σ²I)
    q_i + ε      Δh_i = β Σ_j a_ji (k_jᵀ ε)(v_j − h_i)                first order, for that query alone
    α k_i        h′_j = (h_j + a_ij (r_j − 1) v_i) / (1 + a_ij (r_j − 1)),  r_j = e^(β(α−1) s_ij)      exactly
                 Δh_j = β a_ij (α − 1) s_ij (v_i − h_j)               first order near α = 1

Axes: b batch, d width of a key, n queries, m keys, t width of a value.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from workings.errors import DomainError
from workings.nn.fits import check_shapes

Queries = Float[Tensor, "*#b d n"]
Keys = Float[Tensor, "*#b d m"]
Values = Float[Tensor, "*#b t m"]
Outputs = Float[Tensor, "*#b t n"]
Noise = Float[Tensor, "*#b d"]
Parts = tuple[Float[Tensor, "*#b m n"], Float[Tensor, "*#b m n"], Outputs]


def parts(Q: Queries, K: Keys, V: Values, beta: Any = 1) -> Parts:
    r"""Scores, weights and outputs.

    $$S = K^\top Q, \qquad A = \operatorname{softargmax}_\beta(S), \qquad H = V A$$
    """
    β = beta
    S = K.mT @ Q
    A = (β * S).softmax(dim=-2)
    H = V @ A
    return S, A, H


def with_column(X: Float[Tensor, "*b d m"], i: int, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b d m"]:
    """X with x for its column i."""
    at = torch.arange(X.shape[-1], device=X.device) == i
    return torch.where(at, x.unsqueeze(-1), X)


def _check_moved(Q: Tensor, K: Tensor, V: Tensor, i: int, ε: Tensor | None = None, of: str = "key") -> None:
    """Refuse what does not fit Kᵀ Q and V A, a noise of another width, and a key or query i that is not there."""
    check_shapes(key_noise, Q, K, V, i, ε)
    n = (K if of == "key" else Q).shape[-1]
    if not -n <= i < n:
        raise DomainError(f"There are {n} {'keys' if of == 'key' else 'queries'}, 0 to {n - 1}, but i = {i}.")


def key_noise(Q: Queries, K: Keys, V: Values, i: int, eps: Noise, beta: Any = 1) -> Outputs:
    r"""How every output moves when key i moves by ε, to first order.

    $$\Delta h_j = \beta\, a_{ij}\, (v_i - h_j)\, (\varepsilon^\top q_j)$$
    """
    _check_moved(Q, K, V, i, eps)
    β, ε = beta, eps.unsqueeze(-2)  # a row
    _, A, H = parts(Q, K, V, β)
    a, v = A[..., [i], :], V[..., [i]]
    ΔH = β * a * (v - H) * (ε @ Q)
    return ΔH


def key_noise_mean(Q: Queries, K: Keys, V: Values, i: int, sigma: Any, beta: Any = 1) -> Float[Tensor, "*b n"]:
    r"""How the weight of key i moves on average when the key gets Gaussian noise, to second order: it does move.

    $$E[\Delta a_{ij}] = \tfrac12 \beta^2 \sigma^2 \lVert q_j \rVert^2\, a_{ij} (1 - a_{ij})(1 - 2 a_{ij})$$
    """
    _check_moved(Q, K, V, i)
    β, σ = beta, sigma
    _, A, _ = parts(Q, K, V, β)
    a = A[..., i, :]
    Δa = β**2 * σ**2 * (Q**2).sum(dim=-2) * a * (1 - a) * (1 - 2 * a) / 2
    return Δa


def query_noise(Q: Queries, K: Keys, V: Values, i: int, eps: Noise, beta: Any = 1) -> Float[Tensor, "*b t"]:
    r"""How output i moves when query i moves by ε, to first order; no other output moves.

    $$\Delta h_i = \beta \sum_j a_{ji}\, (k_j^\top \varepsilon)\, (v_j - h_i)$$
    """
    _check_moved(Q, K, V, i, eps, of="query")
    β, ε = beta, eps.unsqueeze(-2)  # a row
    _, A, H = parts(Q, K, V, β)
    a, h = A[..., [i]].mT, H[..., [i]]
    Δh = β * (a * (ε @ K) * (V - h)).sum(dim=-1)
    return Δh


def key_scaling(Q: Queries, K: Keys, V: Values, i: int, alpha: Any, beta: Any = 1) -> Outputs:
    r"""The outputs after key i is multiplied by α, exactly.

    $$h'_j = \frac{h_j + a_{ij}(r_j - 1)\,v_i}{1 + a_{ij}(r_j - 1)}, \qquad r_j = e^{\beta(\alpha - 1)s_{ij}}$$

    The weight of key i grows where s_ij > 0, shrinks where s_ij < 0, and stays where s_ij = 0.
    """
    _check_moved(Q, K, V, i)
    α, β = alpha, beta
    S, A, H = parts(Q, K, V, β)
    s, a, v = S[..., [i], :], A[..., [i], :], V[..., [i]]
    r = (β * (α - 1) * s).exp()
    H = (H + a * (r - 1) * v) / (1 + a * (r - 1))
    return H


def key_scaling_change(Q: Queries, K: Keys, V: Values, i: int, alpha: Any, beta: Any = 1) -> Outputs:
    r"""How the outputs move when key i is multiplied by α, to first order near α = 1.

    $$\Delta h_j = \beta\, a_{ij}\, (\alpha - 1)\, s_{ij}\, (v_i - h_j)$$
    """
    _check_moved(Q, K, V, i)
    α, β = alpha, beta
    S, A, H = parts(Q, K, V, β)
    s, a, v = S[..., [i], :], A[..., [i], :], V[..., [i]]
    ΔH = β * a * (α - 1) * s * (v - H)
    return ΔH

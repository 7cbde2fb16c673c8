r"""Contrastive losses: pair i of image and text belongs together, every other pair does not.

    S = F Gᵀ / τ                                        similarities of N pairs, at temperature τ

    L = −1/N Σ_i (S_ii − log Σ_j e^(S_ij))              CLIP, one direction (Radford et al. 2021)
    ∂L/∂S = (softmax(S) − I) / N                        rows sum to 0

    L = −1/N Σ_ij log σ(Y_ij S_ij),  Y = 2I − 1         SigLIP (Zhai et al. 2023)
    ∂L/∂S = (σ(S) − I) / N

    m = τ log((N − 1) / (e^L − 1))                      the cosine margin at which CLIP's loss is L

Axes: b batch, n pairs, d width of an embedding. The losses of a batch of matrices are a vector.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from workings.errors import DomainError, ShapeError
from workings.fused import fused
from workings.nn.fits import check_directed, check_shapes
from workings.nn.temperature import is_known

Scores = Float[Tensor, "*b n n"]
Loss = Float[Tensor, "*b"]
Scalar = Float[Tensor, ""]
Number = int | float | Scalar


def normalised(X: Float[Tensor, "*b d"]) -> Float[Tensor, "*b d"]:
    r"""Rows of length 1.

    $$F_i = X_i / \lVert X_i \rVert$$

    >>> normalised(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    check_shapes(normalised, X)
    check_directed("X", X)
    r = torch.sqrt((X * X).sum(dim=-1, keepdim=True))
    F = X / r
    return F


def similarities(F: Float[Tensor, "*#b n d"], G: Float[Tensor, "*#b m d"], τ: Number = 1.0) -> Float[Tensor, "*#b n m"]:
    r"""The score of every row of `F` with every row of `G`.

    $$S = F G^\top / \tau$$

    >>> similarities(torch.eye(2), torch.tensor([[0.6, 0.8]]), 0.5)
    tensor([[1.2000],
            [1.6000]])
    """
    check_shapes(similarities, F, G)
    _check_temperature(τ)
    S = F @ G.mT / τ
    return S


def clip_kernel(S: Tensor) -> Tensor:
    check_shapes(clip_loss, S)
    N = S.shape[-1]
    rows, match = S.reshape(-1, N), torch.arange(N, device=S.device).expand(S.shape[:-1]).reshape(-1)
    if S.dim() == 2:
        return F.cross_entropy(rows, match)
    return F.cross_entropy(rows, match, reduction="none").reshape(S.shape[:-1]).mean(dim=-1)


@fused(clip_kernel)
def clip_loss(S: Scores) -> Loss:
    r"""The surprise that row i's match is column i, averaged over the rows: one direction of CLIP's loss.

    $$L = -\frac1N \sum_i \Big(S_{ii} - \log \sum_j e^{S_{ij}}\Big)$$

    >>> clip_loss(torch.zeros(4, 4))  # log 4: every column is as likely
    tensor(1.3863)
    """
    check_shapes(clip_loss, S)
    N = S.shape[-1]
    R = torch.linalg.diagonal(S) - S.logsumexp(dim=-1)
    L = -R.sum(dim=-1) / N
    return L


def clip_gradient(S: Scores) -> Scores:
    r"""Negative on the matches, positive elsewhere, and each row sums to 0.

    $$\frac{\partial L}{\partial S_{ik}} = \frac1N \big(\operatorname{softmax}_k(S_i) - 1[k = i]\big)$$

    >>> clip_gradient(torch.zeros(2, 2))
    tensor([[-0.2500,  0.2500],
            [ 0.2500, -0.2500]])
    """
    check_shapes(clip_gradient, S)
    N = S.shape[-1]
    P = S.softmax(dim=-1)
    I = torch.eye(N).to(S)
    G = (P - I) / N
    return G


def clip_loss_both_ways(S: Scores) -> Loss:
    r"""CLIP's loss: images choose among texts and texts among images.

    $$L = \frac{L_{\text{rows}} + L_{\text{columns}}}{2}$$

    >>> clip_loss_both_ways(torch.zeros(4, 4))
    tensor(1.3863)
    """
    check_shapes(clip_loss_both_ways, S)
    L_rows = clip_loss(S)
    L_columns = clip_loss(S.mT)
    L = (L_rows + L_columns) / 2
    return L


def siglip_kernel(S: Tensor) -> Tensor:
    check_shapes(siglip_loss, S)
    N = S.shape[-1]
    return (F.softplus(S).sum(dim=(-2, -1)) - torch.linalg.diagonal(S).sum(dim=-1)) / N


@fused(siglip_kernel)
def siglip_loss(S: Scores) -> Loss:
    r"""Each pair is a question of its own, yes on the diagonal and no elsewhere; 1 − σ(s) is σ(−s).

    $$L = -\frac1N \sum_i \Big(\log \sigma(S_{ii}) + \sum_{j \ne i} \log(1 - \sigma(S_{ij}))\Big)$$

    A scale t and a bias b are part of the scores: `siglip_loss(t * F @ G.T + b)`.

    >>> siglip_loss(torch.zeros(4, 4))  # four answers of log 2 for each pair
    tensor(2.7726)
    """
    check_shapes(siglip_loss, S)
    N = S.shape[-1]
    I = torch.eye(N).to(S)
    Y = 2 * I - 1
    R = F.logsigmoid(Y * S).sum(dim=-1)
    L = -R.sum(dim=-1) / N
    return L


def siglip_gradient(S: Scores) -> Scores:
    r"""Each entry depends on its own score only (and on N).

    $$\frac{\partial L}{\partial S_{ik}} = \frac1N \big(\sigma(S_{ik}) - 1[k = i]\big)$$

    >>> siglip_gradient(torch.zeros(2, 2))
    tensor([[-0.2500,  0.2500],
            [ 0.2500, -0.2500]])
    """
    check_shapes(siglip_gradient, S)
    N = S.shape[-1]
    P = torch.sigmoid(S)
    I = torch.eye(N).to(S)
    G = (P - I) / N
    return G


def margin(τ: Number, N: int, L: Number) -> Scalar:
    r"""How much larger a match's cosine must be than its N − 1 equal rivals' for a CLIP loss of `L`.

    $$m = \tau \log \frac{N - 1}{e^L - 1}$$

    >>> margin(0.07, 256, 0.1)
    tensor(0.5455, dtype=torch.float64)
    """
    _check_temperature(τ)
    L = reachable(L, N)
    m = τ * torch.log((N - 1) / (torch.exp(L) - 1))
    return m


def recall_at(S: Float[Tensor, "n m"], k: int) -> float:
    """The share of rows whose own column is among the `k` highest scores; a tie counts against the row.

    >>> S = torch.tensor([[3.0, 1.0, 2.0], [2.0, 1.0, 0.0], [0.0, 2.0, 1.0]])
    >>> recall_at(S, 1), recall_at(S, 2)
    (0.3333333333333333, 1.0)
    """
    _check_recall(S, k)
    n = len(S)
    match = S.diagonal().unsqueeze(1)
    rivals = ~(match > S)  # a NaN is not below anything, so it counts against the row
    rank = rivals.sum(dim=1) - rivals.diagonal().long()
    return int((rank < k).sum()) / n


def _check_recall(S: Tensor, k: int) -> None:
    """Refuse scores without a match for each row, and a k that counts no columns."""
    if S.dim() != 2 or not 1 <= S.shape[0] <= S.shape[1] or not 1 <= k <= S.shape[1]:
        raise ShapeError(f"Recall at k needs a column for each row, and 1 ≤ k ≤ columns; S is {[*S.shape]}, k = {k}.")


def _check_temperature(τ: Number) -> None:
    """Refuse a number that is not a temperature."""
    if isinstance(τ, Tensor) and τ.numel() != 1:
        raise ShapeError(f"One temperature τ divides all scores, but τ is {[*τ.shape]}.")
    if is_known(τ) and not τ > 0:
        raise DomainError(f"A temperature is positive; τ = {float(τ):g}. Small τ sharpens, large τ smooths.")


def reachable(L: Number, N: int) -> Tensor:
    """`L` as a tensor, if a loss over N pairs can have this value."""
    if isinstance(L, Tensor) and L.numel() != 1:
        raise ShapeError(f"A margin belongs to one loss, but L is {[*L.shape]}.")
    if N < 2 or (is_known(L) and not L > 0):
        raise DomainError(f"A margin needs N ≥ 2 pairs and a loss L > 0; N = {N}, L = {float(L):g}.")
    return L if isinstance(L, Tensor) else torch.tensor(L, dtype=torch.float64)

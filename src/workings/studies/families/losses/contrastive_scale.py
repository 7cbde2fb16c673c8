r"""Temperature and batch size in contrastive learning (`workings.nn.objectives.contrastive`).

S = F Gᵀ / τ                                  cosines over a temperature
m = τ log((N − 1) / (e^L − 1))                the cosine margin at which CLIP's loss is L
∂L/∂F = (softmax(S) − I) G / (N τ)            the factor 1/τ of embedding gradients
L ≥ log(1 + (N − 1) e^{−N / ((N − 1) τ)})     the least loss of N unit vectors: a simplex (Lu & Steinerberger 2022)

N ∂L/∂S_ik = softmax_k(S_i) − 1[k=i]          CLIP: depends on all other columns of the batch
N ∂L/∂S_ik = σ(S_ik) − 1[k=i]                 SigLIP: depends on its own score alone
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import exp, log
from typing import Annotated, Literal

import torch
from torch import Tensor

from workings import exact, show
from workings.nn.objectives.contrastive import (
    clip_gradient,
    clip_loss,
    margin,
    normalised,
    siglip_gradient,
    similarities,
)
from workings.nn.temperature import entropy
from workings.studies.claim import Bounds, Claim
from workings.studies.decide.proof import agrees, compared, equal
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text, Worked
from workings.studies.pictures.kinds import Curves, Line
from workings.studies.running.progress import progress

_TEMPERATURES = [0.01, 0.02, 0.05, 0.07, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]


@study(rows=("H7",), thorough={"steps": 3_000})
def contrastive_temperature(
    pairs: Annotated[int, Range(3, 4_096, "one rival is not a choice of hardest"), "N, pairs of a batch"] = 256,
    loss: Annotated[float, Range(0.001, 2, "of one pair, in nats"), "the loss that the margin is for"] = 0.1,
    width: Annotated[int, Range(8, 256, "narrower spaces have no room"), "width of an embedding"] = 32,
    steps: Annotated[int, Range(100, 10_000, "fewer do not reach the least loss"), "updates of the toy embeddings"] = 300,
    seed: Seed = 0,
    broken: Literal["", "τ multiplies", "gradient without 1/τ", "embeddings of any length"] = "",
) -> list[Part]:
    """A small temperature sharpens: the hardest rival takes the gradient, and small margins suffice.

    The factor 1/τ stands before the gradient by an embedding, but the softmax behind it gets more pairs right as τ falls; so
    the whole rises, falls and rises again where a rival is nearer than the match.
    """
    g = torch.Generator().manual_seed(seed)
    F, G = _embeddings(pairs, width, g)
    sweep = [_measured(F, G, τ, broken) for τ in _TEMPERATURES]
    entropies, shares = [one[0] for one in sweep], [one[1] for one in sweep]
    toys = {τ: _trained(8, τ, steps, broken, seed) for τ in progress([0.5, 1.0, 2.0], "temperatures")}
    return [
        _margin(pairs, loss, broken),
        compared(
            "The gradient by an embedding is (softmax(S) − I) G / N times 1/τ, at every temperature, to rounding",
            max(one[3] for one in sweep),
            Bounds(high=1e-9),
            "largest difference from autograd",
            "S = F Gᵀ / τ",
        ),
        _rising("The mean entropy of the rows' softmax rises with the temperature", entropies, "dH/dβ = −β Var(S) ≤ 0"),
        _rising(
            "The hardest rival's share of the push falls as the temperature rises",
            [-share for share in shares],
            "e^{s/τ} weighs the largest score most",
        ),
        compared(
            "At τ = 5 every rival has about the same share, 1/(N − 1), within a factor of 1.5",
            shares[-1] * (pairs - 1),
            Bounds(1 / 1.5, 1.5),
            "share of the hardest rival, times N − 1,",
            "τ → ∞ is the uniform softmax",
        ),
        _floor(toys),
        Table(
            f"Random pairs, N = {pairs}: what τ does",
            ["τ", "entropy of a row", "hardest rival's share", "length of ∂L/∂F", f"margin for L = {loss:g}"],
            [[τ, *row[:3], float(margin(τ, pairs, loss))] for τ, row in zip(_TEMPERATURES, sweep, strict=True)],
        ),
        Curves(
            "Small τ puts the push on the hardest rival",
            _TEMPERATURES,
            [Line("hardest rival's share", shares), Line("equal shares", [1 / (pairs - 1)] * len(shares), dashed=True)],
            xlabel="temperature τ",
            ylabel="share of all rivals' gradient",
            xscale="log",
        ),
        Curves(
            "The gradient by an embedding: 1/τ times what the softmax has wrong",
            _TEMPERATURES,
            [Line("mean length of N ∂L/∂F", [pairs * one[2] for one in sweep])],
            xlabel="temperature τ",
            ylabel="length",
            xscale="log",
            yscale="log",
        ),
        Worked("The margin for τ = 7/100, N = 256, L = 1/10", show(margin, exact("7/100"), 256, exact("1/10"))),
        Text(
            "Eight pairs of free unit vectors, trained at three temperatures, reach the simplex: all rivals at cosine −1/7. "
            "At τ = 1 even that leaves a loss of about 1.17 nats, which is why CLIP learns its temperature."
        ),
    ]


def _embeddings(pairs: int, width: int, g: torch.Generator) -> tuple[Tensor, Tensor]:
    """Unit vectors; each text is near its image."""
    F, noise = (torch.randn(pairs, width, generator=g, dtype=torch.float64) for _ in range(2))
    return normalised(F), normalised(F + noise)


def _scores(F: Tensor, G: Tensor, τ: float, broken: str) -> Tensor:
    return similarities(F, G, 1 / τ if broken == "τ multiplies" else τ)


def _measured(F: Tensor, G: Tensor, τ: float, broken: str) -> tuple[float, float, float, float]:
    """Mean entropy of the rows, the hardest rival's share, length of ∂L/∂F, and how far the rule for it is from autograd."""
    leaf = F.clone().requires_grad_()
    S = _scores(leaf, G, τ, broken)
    (autograd,) = torch.autograd.grad(clip_loss(S), leaf)
    S = S.detach()
    rule = clip_gradient(S) @ G / (1 if broken == "gradient without 1/τ" else τ)
    P = S.softmax(dim=-1)
    rivals = P.masked_fill(torch.eye(len(P), dtype=torch.bool), 0)
    share = (rivals.amax(dim=-1) / rivals.sum(dim=-1)).mean()
    return float(entropy(P).mean()), float(share), float(autograd.norm(dim=-1).mean()), float((rule - autograd).abs().amax())


def _margin(N: int, L: float, broken: str) -> Claim:
    """Matches at the margin over equal rivals: CLIP's loss of such scores, over the temperatures."""
    eye = torch.eye(N, dtype=torch.float64)
    losses = [float(clip_loss(_scores(float(margin(τ, N, L)) * eye, eye, τ, broken))) for τ in (0.01, 0.07, 0.1, 1.0)]
    worst = max(losses, key=lambda found: abs(found - L))
    sentence = "Matches that lie m = τ log((N − 1)/(e^L − 1)) above equal rivals have the loss L, at every temperature"
    return agrees(sentence, worst, L, 1e-9, "L = log(1 + (N − 1) e^{−m/τ})")


def _rising(sentence: str, values: list[float], reference: str) -> Claim:
    steps = [b - a for a, b in pairwise(values)]
    return compared(sentence, min(steps), Bounds(low=1e-9), "least change from one temperature to the next", reference)


def _trained(N: int, τ: float, steps: int, broken: str, seed: int) -> tuple[float, float]:
    """The loss that free embeddings reach, and the least that unit vectors can have."""
    torch.manual_seed(seed)
    X, Y = (torch.randn(N, N, dtype=torch.float64, requires_grad=True) for _ in range(2))
    optimizer = torch.optim.Adam([X, Y], 0.1)
    for _ in range(steps):
        F, G = (X, Y) if broken == "embeddings of any length" else (normalised(X), normalised(Y))
        L = clip_loss(similarities(F, G, τ))
        optimizer.zero_grad()
        L.backward()
        optimizer.step()
    return float(L.detach()), log(1 + (N - 1) * exp(-N / ((N - 1) * τ)))


def _floor(toys: dict[float, tuple[float, float]]) -> Claim:
    ratios = [found / least for found, least in toys.values()]
    worst = max(ratios, key=lambda ratio: abs(log(ratio)))
    sentence = "Trained unit vectors reach the least loss log(1 + (N − 1) e^{−N/((N−1)τ)}), within 5 %"
    reference = "the simplex minimises CLIP's loss (Lu & Steinerberger 2022)"
    return compared(sentence, worst, Bounds(0.95, 1.05), "loss reached / least loss", reference)


@study(rows=("H9",))
def contrastive_batch(
    match: Annotated[float, Range(-5, 10, "beyond, everything is saturated"), "score of the pair"] = 2.0,
    rival: Annotated[float, Range(-10, 5, "beyond, everything is saturated"), "score of every rival"] = 0.0,
    most: Annotated[int, Range(8, 4_096, "the largest batch"), "largest N"] = 512,
    seed: Seed = 0,
    broken: Literal["", "losses exchanged", "the factor 1/N kept"] = "",
) -> list[Part]:
    """A pair's softmax gradient depends on its batch; its sigmoid gradient, times N, does not.

    What remains of the batch in the sigmoid loss is the factor 1/N and the number of rivals: their push together grows like
    N − 1, which the learned bias has to offset.
    """
    sizes = [n for n in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096) if n <= most]
    clip, siglip = (siglip_gradient, clip_gradient) if broken == "losses exchanged" else (clip_gradient, siglip_gradient)
    G = {N: (clip(_batch(N, match, rival)), siglip(_batch(N, match, rival))) for N in sizes}
    times = {N: 1 if broken == "the factor 1/N kept" else N for N in sizes}
    of_clip, of_siglip = ([times[N] * float(G[N][k][0, 0]) for N in sizes] for k in (0, 1))
    law = [exp(match) / (exp(match) + (N - 1) * exp(rival)) - 1 for N in sizes]
    ratios = [[float(-G[N][k][0, 1:].sum() / G[N][k][0, 0]) for N in sizes] for k in (0, 1)]
    grown = ratios[1][-1] / ratios[1][0]
    return [
        _unchanged(siglip, times),
        compared(
            "SigLIP's N ∂L/∂S of one pair is the same in every batch, to rounding",
            max(of_siglip) - min(of_siglip),
            Bounds(high=1e-12),
            "largest change over N",
            "N ∂L/∂S_ii = σ(S_ii) − 1",
        ),
        compared(
            "CLIP's N ∂L/∂S of one pair is e^s/(e^s + (N − 1) e^r) − 1, so it changes with N",
            max(abs(a - b) for a, b in zip(of_clip, law, strict=True)),
            Bounds(high=1e-12),
            "largest difference from the law",
            "softmax over the row",
        ),
        compared(
            "In CLIP all rivals together push exactly as much as the match pulls, in every batch",
            max(abs(ratio - 1) for ratio in ratios[0]),
            Bounds(high=1e-9),
            "largest distance of push / pull from 1",
            "the rows of the gradient sum to 0",
        ),
        compared(
            "In SigLIP the push of all rivals over the pull of the match grows like N − 1",
            grown / ((sizes[-1] - 1) / (sizes[0] - 1)),
            Bounds(1 - 1e-9, 1 + 1e-9),
            "growth / growth of N − 1",
            "(N − 1) σ(r) / (1 − σ(s))",
        ),
        Table(
            f"One pair of score {match:g} among rivals of score {rival:g}",
            ["N", "CLIP: N ∂L/∂S_ii", "SigLIP: N ∂L/∂S_ii", "CLIP: push / pull", "SigLIP: push / pull"],
            [[N, of_clip[i], of_siglip[i], ratios[0][i], ratios[1][i]] for i, N in enumerate(sizes)],
        ),
        Curves(
            "The pull on one match, times N",
            sizes,
            [Line("CLIP", of_clip, points=True), Line("CLIP, law", law, dashed=True), Line("SigLIP", of_siglip)],
            xlabel="pairs N in the batch",
            ylabel="N ∂L/∂S of the match",
            xscale="log",
        ),
        Curves(
            "All rivals' push over the match's pull",
            sizes,
            [Line("CLIP", ratios[0]), Line("SigLIP", ratios[1], dashed=True)],
            xlabel="pairs N in the batch",
            ylabel="push / pull",
            xscale="log",
            yscale="log",
        ),
    ]


def _batch(N: int, match: float, rival: float) -> Tensor:
    """Scores of a batch in which every pair is alike."""
    S = torch.full((N, N), rival, dtype=torch.float64)
    return S.fill_diagonal_(match)


def _unchanged(rule: Callable[[Tensor], Tensor], times: dict[int, int]) -> Claim:
    """One pair alone with a rival, and the same among others, exactly."""
    small, large = exact("2 0; 0 1"), exact("2 0 1 3; 0 1 0 5; 4 1 3 0; 0 0 1 2")
    two, four = times.get(2, 2), times.get(4, 4)
    sentence = "The 2×2 corner of SigLIP's N ∂L/∂S stays as it is when two pairs join the batch"
    return equal(sentence, two * rule(small), (four * rule(large))[:2, :2], "each entry is its own score's")

r"""What similarities mean across batches: the row softmax of CLIP forgets each row's level, the sigmoid of SigLIP keeps it.

A small world has M kinds of images and of texts with a known joint distribution p(x, y). Free scores S[x, y] are trained on
batches of N pairs. The best scores are known:

    CLIP, one direction     S = log p(x,y)/(p(x)p(y)) + c(x)         any c: the rows of its gradient sum to 0
    CLIP, both directions   S = log p(x,y)/(p(x)p(y)) + c            one constant for all
    SigLIP                  S = log p(x,y)/(p(x)p(y)) − log(N − 1)   the log-odds that the pair is one of the N matches
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import inf, log, nan
from typing import Annotated, Literal

import torch
from torch import Tensor

from workings import exact, show
from workings.nn.objectives.contrastive import clip_gradient, clip_loss, clip_loss_both_ways, siglip_gradient, siglip_loss
from workings.studies.claim import Bounds, Claim
from workings.studies.decide.proof import compared, equal
from workings.studies.definition import Seed, study
from workings.studies.families.losses.contrastive import Gradient, both_ways_gradient
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text, Worked
from workings.studies.pictures.kinds import Bars, Curves, Line
from workings.studies.running.progress import progress

_KINDS = 8


def _centred_gradient(S: Tensor) -> Tensor:
    """SigLIP's gradient after each row's mean was taken off the scores."""
    G = siglip_gradient(S - S.mean(dim=-1, keepdim=True))
    return G - G.mean(dim=-1, keepdim=True)


@study(rows=("H10",), thorough={"worlds": 20, "steps": 10_000})
def calibration(
    scores: Annotated[str, "scores of the exact case"] = "2 0 1; 0 1 0; 1 0 3",
    shift: Annotated[str, "what is added to its rows"] = "1 -2 1/2",
    pairs: Annotated[int, Range(4, 64, "a batch needs rivals"), "N, pairs of a batch"] = 16,
    worlds: Annotated[int, Range(2, 50, "one world may be lucky"), "worlds to learn"] = 8,
    steps: Annotated[int, Range(500, 50_000, "fewer do not learn the scores"), "batches to learn from"] = 1_000,
    seed: Seed = 0,
    broken: Literal["", "losses exchanged", "columns too", "row means taken off first", "texts shuffled"] = "",
) -> list[Part]:
    """CLIP's scores are calibrated within a batch only; SigLIP's are the same yes or no everywhere.

    Scores start at a level of their own for each kind of image, as an encoder's do. Half of the kinds choose a threshold for
    «belongs together», the other half uses it.
    """
    S, c = exact(scores), exact(shift)
    clip, siglip = _gradients(broken)
    made = _worlds(worlds, seed)
    first, second = (
        _learnt(made, rule, pairs, steps, what, broken) for what, rule in {"CLIP": clip, "SigLIP": siglip}.items()
    )
    row_loss = clip_loss_both_ways if broken == "columns too" else siglip_loss if broken == "losses exchanged" else clip_loss
    return [
        equal(
            "A number added to each row leaves CLIP's loss as it is", row_loss(S + c[:, None]), row_loss(S), "log Σ e^{s+c}"
        ),
        _moved_by_shift(S.float64(), c.float64(), broken),
        compared(
            "The level of a row never moves in CLIP's training: row sums of the scores stay, to rounding",
            first.drift,
            Bounds(high=1e-9),
            "largest change of a row's mean",
            "rows of the gradient sum to 0",
        ),
        compared(
            "Within a batch CLIP is calibrated: its softmax is the true posterior, within 0.1 in total variation",
            first.choice,
            Bounds(high=0.1),
            "mean total variation",
            "InfoNCE is minimal at log p(x,y)/(p(x)p(y)) + c(x)",
        ),
        compared(
            "SigLIP's σ(S) is the probability that a pair belongs together, within 0.02 on average",
            second.calibration,
            Bounds(high=0.02),
            "mean calibration error",
            "log-loss is proper: minimal at the true log-odds",
        ),
        compared(
            "CLIP's scores, read as a yes or no by σ(S), are off by more than 0.1 on average",
            first.calibration,
            Bounds(low=0.1),
            "mean calibration error",
            "c(x) is arbitrary",
        ),
        compared(
            "A threshold of SigLIP serves other images as well as their own: it loses at most 0.02 of accuracy",
            second.transfer,
            Bounds(high=0.02),
            "mean loss of balanced accuracy",
            "one level for all rows",
        ),
        compared(
            "A threshold of CLIP, one direction, does not: it loses more than 0.02 of accuracy",
            first.transfer,
            Bounds(low=0.02),
            "mean loss of balanced accuracy",
            "each row has a level of its own",
        ),
        *([] if broken else _shown(seed, pairs, steps)),
        Worked("SigLIP's loss after the shift, exactly", show(siglip_loss, S + c[:, None])),
        Text(
            "The usual CLIP averages both directions. A row's shift changes its columns' softmax, so only one constant for "
            "all scores stays free: its threshold serves other images too, but σ(S) is no probability."
        ),
    ]


@dataclass(frozen=True)
class _Worlds:
    """Joint distributions of kinds, and the levels at which the scores of each kind of image start."""

    joint: Tensor
    levels: Tensor
    seed: int

    @property
    def independent(self) -> Tensor:
        """p(x) p(y)"""
        return self.joint.sum(dim=-1, keepdim=True) * self.joint.sum(dim=-2, keepdim=True)


@dataclass(frozen=True)
class _Learnt:
    """Scores after training, and what they are worth, in the mean over the worlds."""

    S: Tensor
    drift: float
    choice: float
    calibration: float
    transfer: float


def _worlds(count: int, seed: int) -> _Worlds:
    g = torch.Generator().manual_seed(seed)
    joint = 1.6 * torch.randn(count, _KINDS, _KINDS, generator=g, dtype=torch.float64)
    levels = 2 * torch.randn(count, _KINDS, 1, generator=g, dtype=torch.float64)
    return _Worlds(joint.flatten(1).softmax(dim=1).view_as(joint), levels, seed)


def _gradients(broken: str) -> tuple[Gradient, Gradient]:
    """Of the two losses, with one of the mechanisms broken."""
    if broken == "losses exchanged":
        return siglip_gradient, clip_gradient
    clip = both_ways_gradient if broken == "columns too" else clip_gradient
    return clip, _centred_gradient if broken == "row means taken off first" else siglip_gradient


def _learnt(worlds: _Worlds, gradient: Gradient, N: int, steps: int, what: str, broken: str = "") -> _Learnt:
    """Stochastic gradient descent on the tables of scores, with a rate that falls."""
    g = torch.Generator().manual_seed(worlds.seed + 1)
    start = worlds.levels.expand_as(worlds.joint)
    S = start.clone()
    each = torch.arange(len(S)).view(-1, 1, 1)
    for t in progress(range(steps), what):
        x, y = _batch(worlds, N, g)
        if broken == "texts shuffled":
            y = y[:, torch.randperm(N, generator=g)]
        rate = 0.3 * N / (1 + 6 * t / steps)
        at = each, x.unsqueeze(2), y.unsqueeze(1)
        S.index_put_(at, -rate * gradient(S[at]), accumulate=True)
    drift = float((S - start).mean(dim=-1).abs().amax())
    return _Learnt(S, drift, _choice(S, worlds, N, g), _calibration(S, worlds, N), _transfer(S, worlds))


def _batch(worlds: _Worlds, N: int, g: torch.Generator) -> tuple[Tensor, Tensor]:
    """The kinds of N pairs of image and text in each world."""
    k = torch.multinomial(worlds.joint.flatten(1), N, replacement=True, generator=g)
    return k // _KINDS, k % _KINDS


def _choice(S: Tensor, worlds: _Worlds, N: int, g: torch.Generator) -> float:
    """How far the softmax over a batch is from the posterior that each text is the match, in total variation."""
    truth = torch.log(worlds.joint / worlds.independent)
    each, apart = torch.arange(len(S)).view(-1, 1, 1), []
    for _ in range(20):
        x, y = _batch(worlds, N, g)
        P, Q = (T[each, x.unsqueeze(2), y.unsqueeze(1)].softmax(dim=-1) for T in (S, truth))
        apart.append((P - Q).abs().sum(dim=-1).mean() / 2)
    return float(torch.stack(apart).mean())


def _calibration(S: Tensor, worlds: _Worlds, N: int) -> float:
    """The mean distance of σ(S) from the true probability of a match, over the pairs of a batch: one match in N."""
    match, rival = worlds.joint / N, worlds.independent * (N - 1) / N
    truth = match / (match + rival)
    return float(((match + rival) * (torch.sigmoid(S) - truth).abs()).sum() / len(S))


def _transfer(S: Tensor, worlds: _Worlds) -> float:
    """How much balanced accuracy a half of the images loses with the best threshold of the other half, over all halves."""
    thresholds = torch.cat([S.flatten(1), torch.full((len(S), 1), -inf)], dim=1)
    yes = S.unsqueeze(1) > thresholds[:, :, None, None]  # world, threshold, image, text
    right = [(p.unsqueeze(1) * answer).sum(dim=-1) for p, answer in ((worlds.joint, yes), (worlds.independent, ~yes))]
    halves = torch.tensor([[i in half for i in range(_KINDS)] for half in combinations(range(_KINDS), _KINDS // 2)])
    weight = worlds.joint.sum(dim=-1) @ halves.double().T  # world, half
    accuracy = sum(part @ halves.double().T for part in right) / (2 * weight.unsqueeze(1))  # world, threshold, half
    chosen = accuracy.argmax(dim=1, keepdim=True).flip(2)  # the complement of half i is half −i
    return float((accuracy.amax(dim=1, keepdim=True) - accuracy.gather(1, chosen)).mean())


def _moved_by_shift(S: Tensor, c: Tensor, broken: str) -> Claim:
    def loss(S: Tensor) -> float:
        if broken == "losses exchanged":
            return float(clip_loss(S))
        return float(siglip_loss(S - S.mean(dim=-1, keepdim=True) if broken == "row means taken off first" else S))

    sentence = "The same shift changes SigLIP's loss, by more than 0.01"
    change = abs(loss(S + c.unsqueeze(1)) - loss(S))
    return compared(sentence, change, Bounds(low=0.01), "change of the loss", "σ has no level to cancel")


def _shown(seed: int, N: int, steps: int) -> list[Part]:
    """One world, learnt by three losses: its figures, a reliability diagram, and the levels of its rows."""
    world = _worlds(1, seed)
    rules = {"CLIP, one direction": clip_gradient, "CLIP, both directions": both_ways_gradient, "SigLIP": siglip_gradient}
    learnt = {name: _learnt(world, rule, N, steps, name) for name, rule in rules.items()}
    best = torch.log(world.joint / world.independent) - log(N - 1)
    levels = {name: (one.S - best)[0].mean(dim=-1).tolist() for name, one in learnt.items()}
    edges = torch.linspace(0, 1, 11, dtype=torch.float64)
    return [
        Table(
            "One world, three losses",
            ["loss", "calibration error", "total variation in a batch", "accuracy lost by another's threshold"],
            [[name, one.calibration, one.choice, one.transfer] for name, one in learnt.items()],
        ),
        Curves(
            "Reliability: of the pairs that are called so likely, so many belong together",
            ((edges[:-1] + edges[1:]) / 2).tolist(),
            [
                Line("calibrated", ((edges[:-1] + edges[1:]) / 2).tolist(), dashed=True),
                *(Line(name, _reliability(one.S, world, N, edges), points=True) for name, one in learnt.items()),
            ],
            xlabel="σ(S)",
            ylabel="share of true matches",
        ),
        Bars(
            "The level of each row above the true log-odds",
            [f"image {i + 1}" for i in range(_KINDS)],
            levels,  # type: ignore[arg-type]
            ylabel="mean of S − log-odds",
        ),
    ]


def _reliability(S: Tensor, world: _Worlds, N: int, edges: Tensor) -> list[float]:
    """The share of matches among the pairs whose σ(S) lies in each bin; NaN where there are none."""
    match, rival = world.joint / N, world.independent * (N - 1) / N
    bins = torch.bucketize(torch.sigmoid(S), edges[1:-1])
    return [
        float(match[bins == i].sum() / (match + rival)[bins == i].sum()) if bool((bins == i).any()) else nan
        for i in range(len(edges) - 1)
    ]

r"""The gradients of the two contrastive losses, and what a spurious sum over i does (`workings.nn.objectives.contrastive`).

    CLIP      L = −1/N Σ_i (S_ii − log Σ_j e^(S_ij))              ∂L/∂S_ik = (softmax_k(S_i) − 1[k=i]) / N
    SigLIP    L = −1/N Σ_ij log σ(Y_ij S_ij),  Y = 2I − 1         ∂L/∂S_ik = (σ(S_ik) − 1[k=i]) / N

The slip keeps the sum over i in the gradient by S_ik, where i is a row already chosen: then all rows get the same gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from workings import exact, show
from workings.nn.objectives.contrastive import clip_gradient, clip_loss, clip_loss_both_ways, siglip_gradient, siglip_loss
from workings.studies.claim import Bounds, Claim
from workings.studies.decide.proof import compared, equal, proved
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Worked
from workings.studies.pictures.kinds import Curves, Heatmap, Line

_SCORES = Annotated[str, "scores of the exact case, a row for each image"]
_MATRICES = Annotated[int, Range(10, 100_000, "each is a check of its own"), "random matrices of scores"]
_SPURIOUS = "a sum over i that should not be there"
Gradient = Callable[[Tensor], Tensor]


@study(rows=("H6",), thorough={"matrices": 20_000})
def clip_slopes(
    scores: _SCORES = "2 0 1; 0 1 0; 1 0 3",
    pairs: Annotated[int, Range(2, 64, "a pair alone has loss 0"), "N of the random matrices"] = 6,
    matrices: _MATRICES = 500,
    seed: Seed = 0,
    broken: Literal["", "a sum over i that should not be there", "no 1 on the match", "rows only, not columns"] = "",
) -> list[Part]:
    """CLIP's gradient pulls matches, pushes all else, and sums to 0 in each row.

    A sum over i that should not be there gives all rows the same gradient: no row can then raise its own match.
    """
    g = torch.Generator().manual_seed(seed)
    S = exact(scores)
    gradient = _clip_rule(broken)
    random = 2 * torch.randn(matrices, pairs, pairs, generator=g, dtype=torch.float64)
    G = gradient(random)
    path, wrong = (_descent(random[0], rule) for rule in (gradient, _clip_rule(_SPURIOUS)))
    floats = S.float64()
    return [
        equal("∂L/∂S = (softmax(S) − I) / N is what autograd finds", gradient(S), _autograd(clip_loss, S), "chain rule"),
        equal("Each row of the gradient sums to 0", gradient(S).sum(dim=-1), 0 * S[:, 0], "a softmax sums to 1"),
        _signs("CLIP's gradient", G, "0 < softmax < 1"),
        _both_ways(random, broken == "rows only, not columns"),
        compared(
            "A hundred steps along the gradient bring the loss below a tenth of what it was",
            path[-1] / path[0],
            Bounds(high=0.1),
            "loss after / before",
            "each row raises its own match over its rivals",
        ),
        Table(
            "The loss after steps of size N, with the gradient and with the spurious sum",
            ["step", "gradient", "spurious sum over i"],
            [[t, path[t], wrong[t]] for t in (0, 1, 3, 10, 30, 100)],
        ),
        _map(f"∂L/∂S for S = [{scores}]", clip_gradient(floats)),
        _map("The same with a spurious sum over i: all rows alike", _clip_rule(_SPURIOUS)(floats)),
        Curves(
            "With the spurious sum the loss does not fall",
            [*range(len(path))],
            [Line("gradient", _descent(random[0], clip_gradient)), Line("spurious sum over i", wrong, dashed=True)],
            xlabel="step",
            ylabel="CLIP's loss",
        ),
        Worked("The gradient of three pairs, exactly", show(clip_gradient, S)),
    ]


def _clip_rule(broken: str) -> Gradient:
    """CLIP's gradient, or a slip of it."""

    def slip(S: Tensor) -> Tensor:
        N = S.shape[-1]
        if broken == _SPURIOUS:
            return clip_gradient(S).sum(dim=-2, keepdim=True).expand_as(S)
        return S.softmax(dim=-1) / N

    return slip if broken in (_SPURIOUS, "no 1 on the match") else clip_gradient


def _autograd(loss: Callable[[Tensor], Tensor], S: Tensor) -> Tensor:
    leaf = S.clone().requires_grad_()
    return torch.autograd.grad(loss(leaf).sum(), leaf)[0]


def _signs(whose: str, G: Tensor, reference: str) -> Claim:
    """Negative on the diagonal, positive elsewhere, in every matrix."""
    on = torch.eye(G.shape[-1], dtype=torch.bool)
    wrong = int((G[:, on] >= 0).sum() + (G[:, ~on] <= 0).sum())
    evidence = f"{wrong:,} of {G.numel():,} entries of {len(G):,} random matrices have another sign"
    return proved(f"{whose} is negative on matches and positive elsewhere", wrong == 0, evidence, reference)


def both_ways_gradient(S: Tensor) -> Tensor:
    """Of `clip_loss_both_ways`: by rows and by columns."""
    return (clip_gradient(S) + clip_gradient(S.mT).mT) / 2


def _both_ways(S: Tensor, rows_only: bool) -> Claim:
    rule = clip_gradient(S) if rows_only else both_ways_gradient(S)
    off = float((rule - _autograd(clip_loss_both_ways, S)).abs().amax())
    sentence = "The loss in both directions has the mean of both gradients, by rows and by columns, to rounding"
    return compared(sentence, off, Bounds(high=1e-12), "largest difference from autograd", "(L_rows + L_columns) / 2")


def _descent(S: Tensor, gradient: Gradient, steps: int = 100) -> list[float]:
    """CLIP's loss after each step of size N, so that each row moves as if it were alone."""
    losses = [float(clip_loss(S))]
    for _ in range(steps):
        S = S - len(S) * gradient(S)
        losses.append(float(clip_loss(S)))
    return losses


def _map(title: str, G: Tensor) -> Heatmap:
    """A gradient by image and text, in blue and red."""
    images, texts = ([f"{word} {i + 1}" for i in range(len(G))] for word in ("image", "text"))
    return Heatmap(title, G.tolist(), images, texts, diverging=True, digits=3)


@study(rows=("H8",), thorough={"matrices": 20_000})
def siglip_slopes(
    scores: _SCORES = "2 0 1; 0 1 0; 1 0 3",
    pairs: Annotated[int, Range(2, 64, "one pair has no rival"), "N of the random matrices"] = 6,
    matrices: _MATRICES = 500,
    seed: Seed = 0,
    broken: Literal["", "softmax in the place of the sigmoid", "no 1 on the match", "log of a rounded σ"] = "",
) -> list[Part]:
    """SigLIP asks of each pair alone whether it belongs together: its gradient is σ(S) − I, over N."""
    g = torch.Generator().manual_seed(seed)
    S = exact(scores)
    gradient = _siglip_rule(broken)
    random = 2 * torch.randn(matrices, pairs, pairs, generator=g, dtype=torch.float64)
    moved = random.clone()
    moved[:, 0, 1] += 3.0  # one score only
    change = (gradient(moved) - gradient(random)).abs()
    change[:, 0, 1] = 0
    s = torch.linspace(-40, 40, 81, dtype=torch.float64)
    return [
        equal("∂L/∂S = (σ(S) − I) / N is what autograd finds", gradient(S), _autograd(siglip_loss, S), "chain rule"),
        equal(
            "1 − σ(s) = σ(−s), so that each rival is a «no» with the sign turned",
            _other_side(S, broken == "softmax in the place of the sigmoid"),
            torch.sigmoid(-S),
            "1 / (1 + e^s)",
        ),
        _signs("SigLIP's gradient", gradient(random), "0 < σ < 1"),
        compared(
            "A changed score changes its own entry of the gradient and no other",
            float(change.amax()),
            Bounds(high=1e-12),
            "largest change of another entry",
            "the loss is a sum over pairs",
        ),
        _stable(broken == "log of a rounded σ"),
        _map(f"∂L/∂S for S = [{scores}]", siglip_gradient(S.float64())),
        Curves(
            "The loss of one pair: near 0 where it is right, a straight line where it is wrong",
            s.tolist(),
            [
                Line("match: −log σ(s)", (-F.logsigmoid(s)).tolist()),
                Line("rival: −log σ(−s)", (-F.logsigmoid(-s)).tolist(), dashed=True),
            ],
            xlabel="score s",
            ylabel="nats",
        ),
        Table(
            "log σ(s), from the sigmoid and by the stable form",
            ["s", "log of σ(s)", "logsigmoid(s)"],
            [
                [v, float(torch.sigmoid(torch.tensor(v)).log()), float(F.logsigmoid(torch.tensor(v)))]
                for v in (-1.0, -80.0, -200.0)
            ],
            note="in float32",
        ),
        Worked("The gradient of three pairs, exactly", show(siglip_gradient, S)),
    ]


def _siglip_rule(broken: str) -> Gradient:
    def slip(S: Tensor) -> Tensor:
        if broken == "no 1 on the match":
            return torch.sigmoid(S) / S.shape[-1]
        return clip_gradient(S)

    return slip if broken in ("no 1 on the match", "softmax in the place of the sigmoid") else siglip_gradient


def _other_side(S: Tensor, softmax: bool) -> Tensor:
    return 1 - (S.softmax(dim=-1) if softmax else torch.sigmoid(S))


def _stable(naive: bool) -> Claim:
    """log σ(s) for scores far below 0, in float32, beside s − log(1 + e^s) in float64."""
    s = torch.linspace(-200, 0, 201)
    found = torch.sigmoid(s).log() if naive else F.logsigmoid(s)
    truth = s.double() - torch.log1p(torch.exp(s.double()))
    off = float((found.double() - truth).abs().amax())
    sentence = "log σ(s) by the stable form has no error above 0.0001 down to s = −200, in float32"
    return compared(sentence, off, Bounds(high=1e-4), "largest error", "log σ(s) = s − log(1 + e^s)")

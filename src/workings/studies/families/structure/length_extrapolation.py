r"""Absolute and relative positions on two tasks, inside and beyond the length that was trained.

    index task      every place answers with the token at index k            needs to know where a token stands
    distance task   every place says whether its token is that k places back  needs to know how far apart two tokens are

One layer of attention with one head, S = (X + P) W_Q W_Kᵀ (X + P)ᵀ/√d with sinusoids P, or S = X W_Q W_Kᵀ Xᵀ/√d + b_{i−j}
with a learned bias, the same beyond the trained distances. Seven networks are trained side by side, one for each seed.

Axes: s networks, b examples, n tokens, d width, v vocabulary.
"""

from __future__ import annotations

from math import sqrt
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from workings.nn.transformer.positions import relative_bias, sinusoidal
from workings.studies.decide.trials import most_trials
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Cell, Part, Table, Text
from workings.studies.pictures.kinds import Curves, Line
from workings.studies.running.progress import progress

_NETWORKS, _WORDS, _WIDTH = 7, 6, 24
_K = 3
_RATE = 0.01


class _Networks:
    """Seven layers of attention, with absolute or relative positions, and a read-out for one of the tasks."""

    def __init__(self, absolute: bool, task: str, reach: int, g: torch.Generator) -> None:
        def weights(*shape: int, std: float) -> Tensor:
            return (std * torch.randn(_NETWORKS, *shape, generator=g)).requires_grad_()

        self.absolute, self.task = absolute, task
        d = _WIDTH
        self.E = weights(_WORDS, d, std=1.0)
        self.W_Q, self.W_K, self.W_V = (weights(d, d, std=d**-0.5) for _ in range(3))
        self.b = weights(2 * reach + 1, std=0.0)
        self.W = weights(d, _WORDS if task == "index" else d, std=d**-0.5)
        self.c = weights(1, std=0.0)

    @property
    def parameters(self) -> list[Tensor]:
        return [self.E, self.W_Q, self.W_K, self.W_V, self.b, self.W, self.c]

    def weights(self, X: Tensor) -> Tensor:
        n = X.shape[-2]
        Y = X + sinusoidal(n, _WIDTH, base=100.0) if self.absolute else X
        S = (Y @ self.W_Q[:, None]) @ (Y @ self.W_K[:, None]).mT / sqrt(_WIDTH)
        S = S if self.absolute else S + relative_bias(self.b, n)[:, None]
        return S.softmax(-1)

    def __call__(self, tokens: Tensor) -> Tensor:
        """Logits: of the words for the index task, of «the same» for the distance task."""
        X = self.E[:, tokens]  # s b n d
        Z = self.weights(X) @ (X @ self.W_V[:, None])
        if self.task == "index":
            return Z @ self.W[:, None]
        return ((X @ self.W[:, None]) * Z).sum(-1) + self.c[:, None]


def _answers(tokens: Tensor, task: str) -> Tensor:
    """What each place should say; −1 where nothing is asked."""
    if task == "index":
        return tokens[:, _K : _K + 1].expand_as(tokens)
    same = (tokens == tokens.roll(_K, 1)).long()
    same[:, :_K] = -1
    return same


def _texts(count: int, n: int, task: str, g: torch.Generator) -> Tensor:
    """Random words; for the distance task half of them repeat the word k places back."""
    tokens = torch.randint(_WORDS, (count, n), generator=g)
    if task == "distance":
        repeat = torch.rand(count, n, generator=g) < 0.4
        for i in range(_K, n):
            tokens[:, i] = torch.where(repeat[:, i], tokens[:, i - _K], tokens[:, i])
    return tokens


def _losses(made: _Networks, tokens: Tensor) -> Tensor:
    y = _answers(tokens, made.task).expand(_NETWORKS, *tokens.shape)
    asked = y >= 0
    out = made(tokens)
    if made.task == "index":
        return F.cross_entropy(out[asked], y[asked]) * _NETWORKS
    return F.binary_cross_entropy_with_logits(out[asked], y[asked].float()) * _NETWORKS


def _accuracy(made: _Networks, tokens: Tensor) -> Tensor:
    """The share of right answers of each network; for the distance task the mean over both answers: guessing has ½."""
    y = _answers(tokens, made.task)
    with torch.no_grad():
        out = made(tokens)
    if made.task == "index":
        return (out.argmax(-1) == y).float().mean((1, 2))
    right = ((out > 0).long() == y).float()
    return torch.stack([(right * (y == k)).sum((1, 2)) / (y == k).sum() for k in (0, 1)]).mean(0)


@study(rows=("B11",), thorough={"steps": 1500}, trains=True)
def length_extrapolation(
    length: Annotated[
        int, Range(8, 32, "index and distance 3 must fit, and twice the length is tested"), "trained length"
    ] = 12,
    steps: Annotated[int, Range(100, 5000, "fewer teach nothing")] = 400,
    seed: Seed = 0,
    broken: Literal["", "encodings exchanged"] = "",
) -> list[Part]:
    """Absolute positions find a token by its index; relative ones by its distance, better also at twice the trained length.

    Two tasks, two encodings, seven networks each; accuracy at the trained length and beyond it.
    """
    g = torch.Generator().manual_seed(seed)
    lengths = [length, length + length // 2, 2 * length, 3 * length]
    found: dict[tuple[str, str], Tensor] = {}
    for task in ("index", "distance"):
        for name in ("absolute", "relative"):
            absolute = (name == "absolute") != bool(broken)
            made = _Networks(absolute, task, length - 1, g)
            optimizer = torch.optim.Adam(made.parameters, lr=_RATE)
            for _ in progress(range(steps), f"{task} task, {name} positions"):
                loss = _losses(made, _texts(32, length, task, g))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            found[task, name] = torch.stack([_accuracy(made, _texts(100, n, task, g)) for n in lengths])
    index = found["index", "absolute"][0] - found["index", "relative"][0]
    far = found["distance", "relative"][2] - found["distance", "absolute"][2]
    far_beyond = {name: float(found["distance", name][3].median()) for name in ("relative", "absolute")}
    rows: list[list[Cell]] = [
        [task, name, *(round(float(v), 3) for v in values.median(1).values)] for (task, name), values in found.items()
    ]
    return [
        most_trials(
            "On the index task absolute positions are right more often, by at least 0.2, at the trained length",
            index.tolist(),
            0.2,
            what="accuracy with absolute − with relative positions",
            reference="scores b_{i−j} cannot prefer one index for all i",
        ),
        most_trials(
            "On the distance task relative positions are right more often at twice the trained length, by at least 0.05",
            far.tolist(),
            0.05,
            what="accuracy with relative − with absolute positions",
            reference="scores b_{i−j} are the same at every length",
        ),
        *(
            Curves(
                f"The {task} task: accuracy by length, median and range of seven networks",
                lengths,
                [
                    Line(name, *(getattr(found[task, name], how)(1).values.tolist() for how in ("median", "min", "max")))
                    for name in ("absolute", "relative")
                ],
                "tokens",
                "accuracy",
                marks=[(length, "trained")],
            )
            for task in ("index", "distance")
        ),
        Table(
            "Accuracy, median of seven networks",
            ["task", "positions", *(f"{n} tokens" for n in lengths)],
            rows,
            f"guessing: 1/{_WORDS} and ½",
        ),
        Text(
            f"Three times the trained length: accuracy {far_beyond['relative']:.2f} with relative and "
            f"{far_beyond['absolute']:.2f} with absolute positions. A learned bias stays as it was while far keys grow in "
            "number, so it dilutes. One small layer and short texts show which encoding suits which question, not how large "
            "models extrapolate."
        ),
    ]

r"""Deep networks with and without shortcuts, trained.

    plain       x ← tanh(x W + b)
    residual    x ← x + tanh(x W + b)

Handwritten digits of 8×8 pixels; all networks begin as `nn.Linear` does, and take the same steps of Adam.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from workings.studies.decide.trials import most_trials
from workings.studies.definition import Seed, study
from workings.studies.families.vision.handwritten import digit_pixels
from workings.studies.parameters import Range
from workings.studies.parts import Cell, Part, Table, Text
from workings.studies.pictures.kinds import Curves, Line
from workings.studies.running.progress import progress

_NETWORKS = 7
_PAIRS = 14
"""Of shallow networks: the effect is small, and twelve of fourteen decide."""
_CLASSES = 10


class _Stacks:
    """Networks of one depth side by side. Axes: s networks, b examples, d width."""

    def __init__(self, depth: int, width: int, residual: bool, g: torch.Generator, count: int = _NETWORKS) -> None:
        def weights(i: int, o: int) -> list[Tensor]:
            shapes = ((count, i, o), (count, 1, o))
            return [((2 * torch.rand(shape, generator=g) - 1) / sqrt(i)).requires_grad_() for shape in shapes]

        self.residual, self.count = residual, count
        self.first, self.last = weights(64, width), weights(width, _CLASSES)
        self.layers = [weights(width, width) for _ in range(depth)]

    @property
    def parameters(self) -> list[Tensor]:
        return [p for pair in (self.first, *self.layers, self.last) for p in pair]

    def losses(self, x: Tensor, y: Tensor) -> Tensor:
        """The cross-entropy of each network."""
        h = torch.tanh(x @ self.first[0] + self.first[1])
        for W, b in self.layers:
            f = torch.tanh(h @ W + b)
            h = h + f if self.residual else f
        logits = h @ self.last[0] + self.last[1]
        each = F.cross_entropy(logits.flatten(0, 1), y.repeat(self.count), reduction="none")
        return each.reshape(self.count, -1).mean(1)

    def gradient_lengths(self, x: Tensor, y: Tensor) -> Tensor:
        """‖∂L/∂W‖ of every hidden layer, layer × network."""
        slopes = torch.autograd.grad(self.losses(x, y).sum(), [W for W, _ in self.layers])
        return torch.stack([slope.norm(dim=(-2, -1)) for slope in slopes])

    def train(self, x: Tensor, y: Tensor, steps: int, rate: float, g: torch.Generator, what: str) -> list[Tensor]:
        """The loss of each network after every tenth step."""
        optimizer = torch.optim.Adam(self.parameters, lr=rate)
        seen = []
        for step in progress(range(steps), what):
            chosen = torch.randint(len(x), (64,), generator=g)
            losses = self.losses(x[chosen], y[chosen])
            optimizer.zero_grad()
            losses.sum().backward()  # the networks do not mix
            optimizer.step()
            if step % 10 == 9:
                seen.append(losses.detach())
        return seen


@study(rows=("C6",), thorough={"steps": 600}, trains=True)
def skip_connections(
    depth: Annotated[int, Range(10, 100, "shallow networks train either way"), "hidden layers"] = 30,
    width: Annotated[int, Range(8, 64, "small networks, seven at once")] = 24,
    steps: Annotated[int, Range(50, 5000, "fewer teach nothing")] = 150,
    seed: Seed = 0,
    broken: Literal["", "shortcut left out"] = "",
) -> list[Part]:
    """A deep network trains with shortcuts and hardly without; a shallow one overfits a little less with them.

    Seven pairs of deep networks with the same steps. That shortcuts reduce overfitting is tested on fourteen pairs of
    three layers, which train either way, with the same first weights and the same batches.
    """
    g = torch.Generator().manual_seed(seed)
    x, y, x_test, y_test = digit_pixels()
    lines, final, lengths = [], {}, {}
    for name, residual in (("plain", False), ("residual", not broken)):
        made = _Stacks(depth, width, residual, g)
        lengths[name] = made.gradient_lengths(x[:256], y[:256])
        seen = torch.stack(made.train(x, y, steps, 0.003, g, f"{name}, {depth} layers"))
        with torch.no_grad():
            final[name] = made.losses(x, y)
        lines.append(Line(name, *(getattr(seen, how)(1).values.tolist() for how in ("median", "min", "max"))))
    ratio = {name: (value[0] / value[-1]).log10() for name, value in lengths.items()}
    layers = list(range(1, depth + 1))
    return [
        most_trials(
            "After the same steps the deep residual network has a lower training loss, by at least half a nat",
            (final["plain"] - final["residual"]).tolist(),
            0.5,
            what="loss of the plain one − loss of the residual one",
            reference="degradation of plain networks (He et al. 2016)",
        ),
        most_trials(
            "At the start the first layer's gradient, over the last one's, is ten thousand times larger with shortcuts",
            (ratio["residual"] - ratio["plain"]).tolist(),
            4.0,
            what="log₁₀ of the ratio",
            reference="a product of L Jacobians of norm below 1, against a product of I + J",
        ),
        Curves(
            f"Training loss, {depth} layers: median and range of seven networks",
            list(range(10, 10 * len(lines[0].y) + 1, 10)),
            [*lines, Line("guessing, ln 10", [log(_CLASSES)] * len(lines[0].y), dashed=True)],
            "step",
            "cross-entropy",
        ),
        Curves(
            "Length of the gradient by layer, before training",
            layers,
            [Line(name, value.median(1).values.clamp(min=1e-30).tolist()) for name, value in lengths.items()],
            "layer",
            "‖∂L/∂W‖",
            yscale="log",
        ),
        *_overfitting(x, y, x_test, y_test, width, 2 * steps, seed, broken),
    ]


def _overfitting(
    x: Tensor, y: Tensor, x_test: Tensor, y_test: Tensor, width: int, steps: int, seed: int, broken: str
) -> list[Part]:
    """How much better networks of three layers, with and without shortcuts, do on the 200 examples that they saw."""
    rows: list[list[Cell]] = []
    gaps = []
    for name, residual in (("plain", False), ("residual", not broken)):
        g = torch.Generator().manual_seed(seed)  # the same examples, first weights and batches for both
        few = torch.randperm(len(x), generator=g)[:200]
        made = _Stacks(3, width, residual, g, _PAIRS)
        made.train(x[few], y[few], steps, 0.003, g, f"{name}, 3 layers")
        with torch.no_grad():
            seen, unseen = made.losses(x[few], y[few]), made.losses(x_test, y_test)
        gaps.append(unseen - seen)
        rows.append([name, float(seen.mean()), float(unseen.mean()), float(gaps[-1].mean()), float(gaps[-1].std())])
    return [
        most_trials(
            "With three layers and 200 digits the gap between the loss on unseen and seen digits is smaller with shortcuts",
            (gaps[0] - gaps[1]).tolist(),
            what="gap of the plain one − gap of the residual one",
            reference="the overfitting claim, tested: no theorem says so",
        ),
        Table(
            f"Overfitting of three layers to 200 digits, means of {_PAIRS} networks",
            ["network", "loss on digits seen", "on unseen ones", "gap", "its standard deviation"],
            rows,
        ),
        Text(
            "This is one task and one size, after equal steps: the residual networks also fit the seen digits more closely, "
            "so the smaller gap is no sign of a penalty. It says nothing of other tasks."
        ),
    ]

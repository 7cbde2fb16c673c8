r"""What batch norm does: larger usable rates, no dependence on the scale of weights, and noise from the batch.

BN(h) = (h − μ_B)/σ_B                   over the batch, for each feature
BN(a W x) = BN(W x),  ∂/∂(aW) = (1/a) ∂/∂W      larger weights take smaller steps: no rate lets them run away
Var(μ_B) = σ²/B                         the noise that a sample gets from the others in its batch
"""

from __future__ import annotations

from math import sqrt
from typing import Annotated, Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from workings.nn.norms.batch import batch_norm as normalised
from workings.nn.norms.batch import batch_norm_test
from workings.studies.claim import Bounds
from workings.studies.decide.proof import equal
from workings.studies.decide.sequential import measured
from workings.studies.decide.trials import most_trials
from workings.studies.definition import Seed, study
from workings.studies.families.vision.handwritten import digit_pixels
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Worked
from workings.studies.pictures.kinds import Curves, Histogram, Line, Numbers
from workings.studies.running.progress import progress

_NETWORKS = 7
_STORED = "fixed statistics in place of the batch's"


def _normalised(H: Tensor, broken: str) -> Tensor:
    """Batch norm over the first axis; broken, by a mean of 0 and a variance of 1 that nobody measured."""
    if broken:
        return batch_norm_test(H, torch.zeros_like(H[0]), torch.ones_like(H[0]))
    return normalised(H)


@study(rows=("G4",), thorough={"samples": 1_000_000})
def batch_statistics_noise(
    batch: Annotated[int, Range(2, 512, "one sample has no variance"), "batch size B"] = 16,
    samples: Annotated[int, Range(10_000, 10_000_000, "fewer decide nothing"), "batches drawn at most"] = 100_000,
    seed: Seed = 0,
    broken: Literal["", "fixed statistics in place of the batch's"] = "",
) -> list[Part]:
    """Batch norm forgets the scale of the weights, and makes each sample depend on its batch with a noise of σ²/B.

    Exact numbers for the invariance, draws for the noise: batches of normal features, and one sample that stays.
    """
    from workings import exact, show

    g = torch.Generator().manual_seed(seed)
    X, w = exact("1 2; 3 -1; 0 4; 2 2"), exact("2 1")
    outs, slopes = [], []
    for a in (1, 3):
        weight = (a * w).requires_grad_()
        out = _normalised((X @ weight).unsqueeze(-1), broken)
        (slope,) = torch.autograd.grad((out[:, 0] * exact("1 -2 5 1")).sum(), weight)
        outs.append(out.detach())
        slopes.append(slope)
    one, three = outs
    small: Any = slopes[1]

    def shift(n: int, B: int = batch) -> Tensor:
        """B times the square of what the batch's mean takes from a sample: n draws of μ_B² B, in units of σ²."""
        H = torch.randn(n, B, generator=g, dtype=torch.float64)
        return (H - _centred(H, broken))[:, 0] ** 2 * B

    sizes = [2**k for k in range(1, 10)]
    found = [float(shift(2000, B).mean()) / B for B in sizes]
    return [
        equal(
            "Three times the weights give the same output",
            three,
            one,
            "BN(aWx) = BN(Wx) for ε = 0",
        ),
        equal(
            "Their gradient is a third: larger weights take smaller steps",
            small,
            slopes[0] / 3,
            "∂L/∂(aW) = (1/a) ∂L/∂W (Arora et al. 2019)",
        ),
        measured(
            "What a sample loses to its batch's mean has the variance σ²/B: B times it is 1, within a tenth",
            shift,
            Bounds(0.9, 1.1),
            what=f"for B = {batch}",
            most=samples,
            reference="variance of a mean of B independent features",
        ),
        Curves(
            "Variance of the batch's mean",
            sizes,
            [Line("measured", found, points=True), Line("σ²/B", [1 / B for B in sizes], dashed=True)],
            "batch size B",
            "Var(μ_B)/σ²",
            xscale="log",
            yscale="log",
        ),
        Table(
            "Noise of the batch's mean",
            ["B", "measured", "σ²/B"],
            [[B, v, 1 / B] for B, v in zip(sizes, found, strict=True)],
        ),
        Worked("Batch norm of four samples", show(normalised, exact("4; 2; 4; 6"))),
    ]


def _centred(H: Tensor, broken: str) -> Tensor:
    """The samples of each batch, n B, without the mean that the norm takes away."""
    return H - (torch.zeros_like(H[:, :1]) if broken else H.mean(1, keepdim=True))


# ------------------------------------------------------------------------------------------------ rates


class _Networks:
    """Networks of three hidden layers side by side, one for each rate and seed. Axes: s networks, b examples, d width."""

    def __init__(self, count: int, width: int, norm: bool, broken: str, g: torch.Generator) -> None:
        self.norm, self.broken = norm, broken
        sizes = [(64, width), (width, width), (width, width), (width, 10)]
        self.W = [sqrt(2 / size[0]) * torch.randn(_NETWORKS, *size, generator=g) for size in sizes]
        self.W = [w.repeat(count // _NETWORKS, 1, 1).requires_grad_() for w in self.W]  # each rate begins alike
        self.b = [torch.zeros(count, 1, size[1], requires_grad=True) for size in sizes]

    def hidden(self, x: Tensor) -> list[Tensor]:
        """What enters each relu."""
        found = []
        for W, b in zip(self.W[:-1], self.b[:-1], strict=True):
            z = x @ W + b
            z = _normalised(z.transpose(0, 1), self.broken).transpose(0, 1) if self.norm else z
            found.append(z)
            x = torch.relu(z)
        return found

    def losses(self, x: Tensor, y: Tensor) -> Tensor:
        logits = torch.relu(self.hidden(x)[-1]) @ self.W[-1] + self.b[-1]
        each = F.cross_entropy(logits.flatten(0, 1), y.repeat(len(logits)), reduction="none")
        return each.reshape(len(logits), -1).mean(1)


@study(rows=("G4",), thorough={"steps": 300}, trains=True)
def batch_norm_rates(
    steps: Annotated[int, Range(30, 2000, "fewer teach nothing")] = 120,
    width: Annotated[int, Range(8, 64, "many networks at once")] = 24,
    usable: Annotated[float, Range(0.2, 2, "guessing has 2.3"), "the loss that a usable rate reaches"] = 1.0,
    seed: Seed = 0,
    broken: Literal["", "fixed statistics in place of the batch's"] = "",
) -> list[Part]:
    """Batch norm lets a network train at rates several times as large.

    Seven networks of three hidden layers for each of thirteen rates, on handwritten digits, with and without batch norm.
    """
    g = torch.Generator().manual_seed(seed)
    x, y, _, _ = digit_pixels()
    rates = [2.0**k for k in range(-7, 6)]
    lines, largest = [], {}
    acts: dict[str, Numbers] = {}
    for name, norm in (("without", False), ("with batch norm", True)):
        made = _Networks(_NETWORKS * len(rates), width, norm, broken, torch.Generator().manual_seed(seed))
        losses = _train(made, x, y, steps, torch.tensor(rates).repeat_interleave(_NETWORKS), g, name)
        table = losses.reshape(len(rates), _NETWORKS).nan_to_num(10, 10, 10).clamp(max=10)
        lines.append(Line(name, *(getattr(table, how)(1).values.tolist() for how in ("median", "min", "max"))))
        largest[name] = [
            max((r for r, value in zip(rates, column, strict=True) if value < usable), default=rates[0] / 2)
            for column in table.T.tolist()
        ]
        fresh = _Networks(_NETWORKS, width, norm, broken, torch.Generator().manual_seed(seed))
        with torch.no_grad():
            acts[name] = fresh.hidden(x[:200])[-1].flatten()[:4000].tolist()
    ratio = torch.tensor(largest["with batch norm"]) / torch.tensor(largest["without"])
    return [
        most_trials(
            "The largest usable rate with batch norm is more than three times that without",
            ratio.log2().tolist(),
            1.58,
            what="log₂ of the ratio",
            reference="invariance to the scale of weights: a large step makes later ones smaller (Arora et al. 2019)",
        ),
        Curves(
            f"Loss after {steps} steps: median and range of seven networks",
            rates,
            [*lines, Line("usable", [usable] * len(rates), dashed=True)],
            "learning rate",
            "cross-entropy",
            xscale="log",
        ),
        Histogram("What enters the last relu, before training", acts, "value"),
        Table(
            "Largest usable rate",
            ["network", "without", "with batch norm", "ratio"],
            [[i + 1, largest["without"][i], largest["with batch norm"][i], float(ratio[i])] for i in range(_NETWORKS)],
        ),
    ]


def _train(made: _Networks, x: Tensor, y: Tensor, steps: int, rates: Tensor, g: torch.Generator, what: str) -> Tensor:
    """The loss on all digits after some steps of plain descent, each network with a rate of its own."""
    parameters = [*made.W, *made.b]
    for _ in progress(range(steps), what):
        chosen = torch.randint(len(x), (64,), generator=g)
        slopes = torch.autograd.grad(made.losses(x[chosen], y[chosen]).sum(), parameters)
        with torch.no_grad():
            for p, slope in zip(parameters, slopes, strict=True):
                p -= rates[:, None, None] * slope
    with torch.no_grad():
        return made.losses(x[:512], y[:512])

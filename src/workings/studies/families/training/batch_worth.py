r"""What a batch is worth: progress in a step, in an example and in time (McCandlish et al. 2018).

A linear regression has the quadratic loss L(θ) = ½ E(xᵀθ − y)², with the gradient G and the Hessian H, and Σ the covariance
of one example's gradient. A step with the best rate for a batch of B lowers the loss on average by

    ΔL(B) = ΔL_max / (1 + B₀/B),      B₀ = tr(HΣ) / GᵀHG,      ΔL_max = ½ (GᵀG)² / GᵀHG,      η*(B) = GᵀG / (GᵀHG + tr(HΣ)/B)

so doubling the batch doubles the progress of a step while B ≪ B₀ and hardly adds to it when B ≫ B₀. If a step costs as much
time as a examples besides its own, progress in time, ΔL(B)/(a + B), is greatest at B = √(a B₀).

At a constant rate the noise keeps θ away from the minimum: a coordinate of curvature λ and noise σ² spreads by

    E[(θ − θ*)²] = η σ² / (B λ (2 − ηλ))
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from time import perf_counter
from typing import Annotated, Literal

import torch
from torch import Tensor

from workings.nn.update import sgd
from workings.studies.claim import Bounds
from workings.studies.decide.proof import compared
from workings.studies.decide.sequential import judged, measured
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Cell, Part, Table, Text
from workings.studies.pictures.kinds import Curves, Line
from workings.studies.running.progress import progress

_SIZES = [2**k for k in range(10)]
_REPEATED = "one example repeated"


@dataclass(frozen=True)
class _Regression:
    """Examples, and the gradient, Hessian and noise of their squared loss at θ = 0."""

    x: Tensor
    y: Tensor
    broken: str

    def loss(self, θ: Tensor) -> Tensor:
        """½ mean (xᵀθ − y)², for one θ or a row of them."""
        return ((θ @ self.x.T - self.y) ** 2).mean(-1) / 2

    @cached_property
    def gradients(self) -> Tensor:
        """Of each example at θ = 0."""
        return -self.y[:, None] * self.x

    @cached_property
    def G(self) -> Tensor:
        return self.gradients.mean(0)

    @cached_property
    def H(self) -> Tensor:
        return self.x.T @ self.x / len(self.x)

    @cached_property
    def curvature(self) -> float:
        """GᵀHG"""
        return float(self.G @ self.H @ self.G)

    @cached_property
    def noise(self) -> float:
        """tr(HΣ)"""
        apart = self.gradients - self.G
        return float(((apart @ self.H) * apart).sum(-1).mean())

    def rate(self, B: int) -> float:
        return float(self.G @ self.G) / (self.curvature + self.noise / B)

    def progress(self, n: int, B: int, g: torch.Generator) -> Tensor:
        """By how much n steps from θ = 0 lower the loss, of the most that a step could."""
        chosen = torch.randint(len(self.x), (n, 1 if self.broken == _REPEATED else B), generator=g)
        g_B = self._means(chosen)
        lowered = self.loss(torch.zeros_like(self.G)) - self.loss(sgd(torch.zeros_like(g_B), g_B, self.rate(B)))
        return lowered / (float(self.G @ self.G) ** 2 / self.curvature / 2)

    def _means(self, chosen: Tensor) -> Tensor:
        each = self.gradients
        return torch.cat([each[rows].mean(1) for rows in chosen.split(max(1, 200_000 // chosen.shape[1]))])


@study(rows=("F4",), thorough={"samples": 1_000_000})
def batch_worth(
    overhead: Annotated[float, Range(1, 10_000, "a step costs something besides its examples"), "a, in examples"] = 64.0,
    noise: Annotated[
        float, Range(0.1, 10, "without noise one example is enough"), "standard deviation of the targets"
    ] = 2.0,
    samples: Annotated[int, Range(10_000, 10_000_000, "fewer decide nothing"), "steps drawn at most"] = 100_000,
    seed: Seed = 0,
    broken: Literal["", "one example repeated"] = "",
) -> list[Part]:
    """A larger batch makes better steps, with diminishing returns; the best one for time is √(aB₀).

    A linear regression, so that every expectation has a closed form. The table of seconds is measured on this machine and
    decides nothing.
    """
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(128, 4, generator=g, dtype=torch.float64)
    y = x @ torch.ones(4, dtype=torch.float64) + noise * torch.randn(128, generator=g, dtype=torch.float64)
    task = _Regression(x, y, broken)
    worth = task.noise / task.curvature
    near = min(_SIZES[1:], key=lambda B: abs(log(B / worth)))
    found = [float(task.progress(2000, B, g).mean()) for B in progress(_SIZES, "steps with batches of many sizes")]
    in_time = [value / (overhead + B) for value, B in zip(found, _SIZES, strict=True)]
    best = _SIZES[max(range(len(_SIZES)), key=in_time.__getitem__)]
    few, many = max(1, near // 4), near * 4
    law = 1 / (1 + worth / near)
    return [
        measured(
            "A step with the best rate for a batch of B makes 1/(1 + B₀/B) of the best progress, within a tenth",
            lambda n: task.progress(n, near, g),
            Bounds(0.9 * law, 1.1 * law),
            what=f"progress for B = {near}, B₀ = {worth:.3g}",
            most=samples,
            reference="mean of a quadratic loss after a noisy step (McCandlish et al. 2018)",
        ),
        measured(
            "Sixteen times the batch makes more than one and a half, and less than sixteen times, the progress of a step",
            lambda n: task.progress(n, many, g) * (1 + worth / few),
            Bounds(1.5, 16),
            what=f"progress for B = {many} over that for B = {few}",
            most=samples,
            reference="(1 + B₀/B)/(1 + B₀/16B) lies between 1 and 16",
        ),
        compared(
            "In time the best batch is √(aB₀), within a factor of two",
            best / sqrt(overhead * worth),
            Bounds(0.5, 2),
            f"best of the sizes 1, 2, 4, …: {best}; over √(aB₀) = {sqrt(overhead * worth):.3g} that is",
            "the maximum of 1/((1 + B₀/B)(a + B))",
        ),
        _floor(near, g, broken, samples),
        Curves(
            "Progress of one step at its best rate, and progress in time",
            _SIZES,
            [
                Line("a step, measured", found, points=True),
                Line("1/(1 + B₀/B)", [1 / (1 + worth / B) for B in _SIZES], dashed=True),
                Line("in time, of its best", [value / max(in_time) for value in in_time]),
            ],
            "batch size B",
            "progress",
            xscale="log",
            marks=[(worth, "B₀"), (sqrt(overhead * worth), "√(aB₀)")],
        ),
        *_runs(task, g),
    ]


def _floor(B: int, g: torch.Generator, broken: str, samples: int) -> Part:
    """Where descent with a constant rate comes to rest, over many runs of one coordinate."""
    λ, σ, η = 2.0, 1.5, 0.3
    chains = min(samples, 20_000)
    θ = torch.zeros(chains, dtype=torch.float64)
    divisor = 1 if broken else sqrt(B)
    for _ in range(40):  # (1 − ηλ)^80 is 1e−32
        ε = σ / divisor * torch.randn(chains, generator=g, dtype=torch.float64)
        θ = sgd(θ, λ * θ + ε, η)
    law = η * σ**2 / (B * λ * (2 - η * λ))
    return judged(
        "At a constant rate the noise keeps E[(θ − θ*)²] at ησ²/(Bλ(2 − ηλ)), within a tenth: it falls as 1/B",
        θ**2 / law,
        Bounds(0.9, 1.1),
        what=f"over the law, for B = {B}",
        reference="stationary variance of a first-order autoregression",
    )


def _runs(task: _Regression, g: torch.Generator) -> list[Part]:
    """Real training with three batch sizes: loss by step and by examples seen, and seconds."""
    sizes, examples = (1, 16, 256), 4096
    curves: list[Line] = []
    rows: list[list[Cell]] = []
    seen = torch.linspace(256, examples, 16).int().tolist()
    least = float(task.loss(torch.linalg.solve(task.H, -task.G)))
    for B in progress(sizes, "training with three batch sizes"):
        θ, losses, η = torch.zeros_like(task.G), [], min(0.1, task.rate(B) / 4)
        began = perf_counter()
        for step in range(1, examples // B + 1):
            chosen = torch.randint(len(task.x), (B,), generator=g)
            error = task.x[chosen] @ θ - task.y[chosen]
            θ = sgd(θ, error @ task.x[chosen] / B, η)
            if step * B in seen:
                losses.append(float(task.loss(θ)) - least)
        seconds = perf_counter() - began
        curves.append(Line(f"B = {B}, η = {η:.2g}", losses))
        rows.append([B, examples // B, losses[-1], f"{seconds:.2g} s", f"{1e6 * seconds / examples:.3g} µs"])
    note = "seconds of this machine, with what else it did; no claim rests on them"
    return [
        Curves("Loss above its least, by examples seen", seen, curves, "examples seen", "L − L*", yscale="log"),
        Table(
            f"{examples:,} examples in batches",
            ["batch B", "steps", "loss above its least", "time", "for one example"],
            rows,
            note,
        ),
        Text(
            "Small batches make more and noisier steps from the same examples; large ones need fewer steps, each of which "
            "a machine can do in parallel, but beyond B₀ they mostly repeat what a smaller batch already said."
        ),
    ]

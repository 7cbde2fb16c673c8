r"""What depth does to signals and gradients, with and without residuals and norms.

A stack of L layers with F(x) = W relu(x), entries of W drawn with the variance 2s²/d, so that E‖F(x)‖² = s²‖x‖² and a
gradient passes back with the same factor:

    plain               x ← F(x)                ‖x_L‖ ≈ s^L                   gradient s^L
    residual            x ← x + F(x)            (1 + s²)^(L/2)                (1 + s²)^(L/2)
    norm                x ← F(norm(x))          s, at every depth             s: the norm divides by what F multiplies
    pre-norm residual   x ← x + F(norm(x))      √(1 + L s²)                   √(1 + L s²): a sum, not a product
    post-norm residual  x ← norm(x + F(x))      1                             1

The Jacobian of x + F(x) is I + J: an identity that is added, not a lower bound. σ_min(I + J) ≥ 1 − ‖J‖, and F(x) = −x makes
it 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from workings.nn.norms.per_token import rms_norm
from workings.studies.claim import Bounds
from workings.studies.decide.proof import compared, equal
from workings.studies.decide.sequential import judged
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Cell, Part, Table, Worked
from workings.studies.pictures.kinds import Curves, Histogram, Line
from workings.studies.running.progress import progress

_KINDS = ("plain", "residual", "norm", "pre-norm residual", "post-norm residual")


def _layer(kind: str, x: Tensor, W: Tensor) -> Tensor:
    """One layer of a stack, for a draw of weights each: x is n d, W is n d d."""

    def F(x: Tensor) -> Tensor:
        return (torch.relu(x).unsqueeze(-2) @ W).squeeze(-2)

    match kind:
        case "plain":
            return F(x)
        case "residual":
            return x + F(x)
        case "norm":
            return F(rms_norm(x))
        case "pre-norm residual":
            return x + F(rms_norm(x))
        case _:
            return rms_norm(x + F(x))


def _law(kind: str, s: float, depth: int) -> float:
    """How long a signal is after some layers, from length √d; the gradient grows by as much on its way back."""
    laws = {
        "plain": s**depth,
        "residual": (1 + s * s) ** (depth / 2),
        "norm": s,
        "pre-norm residual": sqrt(1 + depth * s * s),
        "post-norm residual": 1.0,
    }
    return laws[kind]


def _norms(
    kinds: Sequence[str], variance: float, depth: int, width: int, draws: int, g: torch.Generator
) -> list[tuple[Tensor, Tensor]]:
    """For each kind of stack, on the same weights, the lengths over √d of signals and of gradients: draws × (depth + 1)."""
    first = torch.randn(draws, width, generator=g).requires_grad_()
    last = torch.randn(draws, width, generator=g)
    stacks = [[first] for _ in kinds]
    for _ in progress(range(depth), "layers"):
        W = sqrt(variance) * torch.randn(draws, width, width, generator=g)
        for kind, states in zip(kinds, stacks, strict=True):
            states.append(_layer(kind, states[-1], W))

    def lengths(vectors: Sequence[Tensor]) -> Tensor:
        return torch.stack([each.detach().norm(dim=-1) / sqrt(width) for each in vectors], 1)

    return [(lengths(states), lengths(torch.autograd.grad(states[-1], states, last))) for states in stacks]


@study(rows=("C7", "C4"), thorough={"width": 256, "depth": 100})
def stability_grid(
    scale: Annotated[float, Range(0.3, 2, "beyond, floats overflow in the plain stack"), "s, the gain of a layer"] = 0.7,
    depth: Annotated[int, Range(8, 200, "a few layers show nothing"), "layers"] = 32,
    width: Annotated[int, Range(32, 512, "the laws are about wide layers")] = 64,
    draws: Annotated[int, Range(100, 2000, "fewer decide nothing"), "stacks with other weights"] = 150,
    seed: Seed = 0,
    broken: Literal["", "residual left out", "norm left out", "relu halves, and nothing makes up for it"] = "",
) -> list[Part]:
    """Residuals and norms together keep signals and gradients in range at any depth; without them both grow as powers.

    Random stacks of relu layers whose gain s is not 1. Each law is held against the mean logarithm of the lengths, by layer.
    """
    g = torch.Generator().manual_seed(seed)
    replaced = {
        "residual left out": {"residual": "plain", "pre-norm residual": "norm", "post-norm residual": "norm"},
        "norm left out": {"norm": "plain", "pre-norm residual": "residual", "post-norm residual": "residual"},
    }.get(broken, {})
    variance = (1 if broken == "relu halves, and nothing makes up for it" else 2) * scale**2 / width
    stacks = _norms([replaced.get(kind, kind) for kind in _KINDS], variance, depth, width, draws, g)
    found = dict(zip(_KINDS, stacks, strict=True))
    within = 0.06 + 2 / width
    claims: list[Part] = []
    for kind, formula in zip(_KINDS, ("sᴸ", "(1 + s²)^(L/2)", "s", "√(1 + L s²)", "1"), strict=True):
        for what, lengths, way in (("signal", found[kind][0], -1), ("gradient", found[kind][1], 0)):
            grown = lengths[:, way].clamp(min=1e-30).double().log()
            law = log(_law(kind, scale, depth))
            started = lengths[:, 0 if way else -1].double().log()
            claims.append(
                judged(
                    f"In a {kind} stack the {what} grows by the factor {formula} over L layers",
                    (grown - started - law) / depth,
                    Bounds(-within, within),
                    what=f"log factor by layer beyond the law's {law / depth:.3g}",
                    reference="E‖W relu(x)‖² = s²‖x‖² for Var W = 2s²/d (He et al. 2015), layer by layer",
                )
            )
    return [*claims, *_pictures(found, scale, depth)]


def _pictures(found: dict[str, tuple[Tensor, Tensor]], s: float, depth: int) -> list[Part]:
    layers = list(range(depth + 1))
    parts: list[Part] = []
    for title, index in (("Length of the signal by layer", 0), ("Length of the gradient by layer, from the last", 1)):
        lines = []
        for kind in _KINDS:
            median = found[kind][index].median(0).values.clamp(1e-12, 1e12)
            lines.append(Line(kind, (median.flip(0) if index else median).tolist()))
        laws = [
            Line(f"{kind}, law", [_law(kind, s, l) for l in layers], dashed=True) for kind in ("plain", "pre-norm residual")
        ]
        label = "layers back" if index else "layer"
        parts.append(Curves(title, layers, [*lines, *laws], label, "length / √d", yscale="log"))
    rows: list[list[Cell]] = [
        [kind, float(found[kind][0][:, -1].median()), _law(kind, s, depth), float(found[kind][1][:, 0].median())]
        for kind in _KINDS
    ]
    return [
        *parts,
        Table(f"After {depth} layers of gain {s:g}", ["stack", "signal", "law", "gradient at the first layer"], rows),
    ]


# ------------------------------------------------------------------------------------------------ I + J


def _shortcut(x: Tensor, F: Any, broken: str) -> Tensor:
    """x + F(x), and what is left of it without the shortcut."""
    y = F(x) if broken == "shortcut left out" else x + F(x)
    return y


def _jacobian(f: Any, n: int) -> Tensor:
    """∂f/∂x of exact numbers, row by row, at x = (1, 2, …, n)."""
    from workings import exact

    x = exact(" ".join(map(str, range(1, n + 1)))).requires_grad_()
    y = f(x)
    return torch.stack([torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(n)])


@study(rows=("C4",))
def residual_jacobian(
    width: Annotated[int, Range(8, 256, "a spectrum needs some singular values")] = 64,
    size: Annotated[
        float, Range(0.05, 0.9, "the bound says something for ‖J‖ < 1"), "‖J‖, the largest singular value of J"
    ] = 0.5,
    seed: Seed = 0,
    broken: Literal["", "shortcut left out"] = "",
) -> list[Part]:
    """A shortcut adds an identity to the Jacobian; that is no lower bound of the gradient.

    Exact Jacobians of x + F(x) for F(x) = −x and F(x) = −x/2, and the singular values of I + J for random J.
    """
    from workings import exact, show

    g = torch.Generator().manual_seed(seed)
    gone: Any = _jacobian(lambda x: _shortcut(x, lambda x: -x, broken), 3)
    half: Any = _jacobian(lambda x: _shortcut(x, lambda x: -x / 2, broken), 3)
    eye: Any = torch.stack([exact("1 0 0"), exact("0 1 0"), exact("0 0 1")])
    J = torch.randn(200, width, width, generator=g, dtype=torch.float64)
    J = size * J / torch.linalg.matrix_norm(J, 2)[:, None, None]
    whole = J if broken else torch.eye(width, dtype=torch.float64) + J
    σ, alone = torch.linalg.svdvals(whole), torch.linalg.svdvals(J)
    below = float((σ < 1).double().mean())
    return [
        equal("F(x) = −x makes the Jacobian of x + F(x) zero: no gradient passes", gone, 0 * eye, "I + (−I) = 0"),
        equal("F(x) = −x/2 makes all its singular values ½", half, eye / 2, "I − ½ I"),
        compared(
            "Every singular value of I + J lies between 1 − ‖J‖ and 1 + ‖J‖",
            float((σ - 1).abs().max()) / size,
            Bounds(high=1 + 1e-9),
            f"of {σ.numel():,} singular values from {float(σ.min()):.4g} to {float(σ.max()):.4g}, largest |σ − 1| over ‖J‖",
            "Weyl's inequality",
        ),
        compared(
            "«At least 1» is wrong: between a fifth and four fifths of the singular values of I + J are below 1",
            below,
            Bounds(0.2, 0.8),
            "share below 1",
            "for J of either sign the spectrum of I + J lies about 1",
        ),
        Histogram(
            "Singular values with and without the shortcut",
            {
                "J": alone.flatten()[:4000].tolist(),
                "I + J" if not broken else "shortcut left out": σ.flatten()[:4000].tolist(),
            },
            "singular value",
        ),
        Worked("x + F(x) with F(x) = −x/2, and its gradient", show(_halved, exact("2 4").requires_grad_(), backward=True)),
    ]


def _halved(x: Tensor) -> Tensor:
    y = x + -x / 2
    L = y.sum()
    return L

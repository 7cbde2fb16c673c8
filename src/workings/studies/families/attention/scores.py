r"""The scores of attention: why they are divided by √d, and what a dot product has that a cosine has not.

E[(q·k)²] = d                          independent components with mean 0 and variance 1
E[(q·k)²] = d (1 + 2μ² + dμ⁴)          with mean μ
E[(q·k)²] = d (1 + (d − 1)ρ²)          with correlation ρ between any two components
E[cos²] = 1/d,  ‖q‖‖k‖ ≈ d             so that an argument by lengths alone would divide by d

q·k = ‖q‖ ‖k‖ cos θ                    the lengths of the keys count, unless both vectors are normalised
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import exp, log, pi, sqrt
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from workings.nn.temperature import entropy, softmax_jacobian
from workings.nn.transformer.dot_product import attention, attention_weights, cosine_scores
from workings.studies.claim import Bounds, Claim
from workings.studies.decide.proof import compared, equal, proved
from workings.studies.decide.sequential import measured
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text, Worked
from workings.studies.pictures.kinds import Curves, Heatmap, Histogram, Line

_KEYS = 16
_WIDER = 8
"""The second width that is looked at, in units of the first."""
_SCALES: dict[str, Callable[[int], float]] = {"no division": lambda d: 1.0, "divided by d": lambda d: float(d)}
_COMPONENTS: dict[str, Callable[[torch.Generator, tuple[int, ...]], Tensor]] = {
    "normal": lambda g, size: torch.randn(size, generator=g),
    "uniform": lambda g, size: (torch.rand(size, generator=g) - 0.5) * sqrt(12),
    "signs": lambda g, size: torch.randint(0, 2, size, generator=g) * 2.0 - 1,
}


@study(rows=("A10", "A11"), thorough={"samples": 1_000_000})
def root_d(
    d: Annotated[
        int, Range(16, 128, "narrower, hardly anything saturates; wider takes long"), "width of queries and keys"
    ] = 32,
    components: Annotated[Literal["normal", "uniform", "signs"], "how the components are distributed"] = "normal",
    mean: Annotated[float, Range(0.3, 2, "to see what means break"), "mean μ where components have one"] = 0.5,
    correlation: Annotated[
        float, Range(0.2, 0.9, "to see what correlation breaks"), "ρ where components share a part"
    ] = 0.4,
    samples: Annotated[int, Range(20_000, 10_000_000, "fewer decide nothing"), "pairs to draw at most"] = 100_000,
    seed: Seed = 0,
    broken: Literal["", "no division", "divided by d", "means that are not zero", "correlated components"] = "",
) -> list[Part]:
    """Dividing by √d keeps the variance of scores at 1 for every width, so that the softmax neither saturates nor flattens.

    Components of queries and keys are independent with mean 0 and variance 1. That is what the law rests on: with means or
    with correlation, scores grow faster than √d, and dividing by √d does not help.
    """
    g = torch.Generator().manual_seed(seed)
    scale = _SCALES.get(broken, sqrt)

    def vectors(size: tuple[int, ...], case: str = broken) -> Tensor:
        x = _COMPONENTS[components](g, size)
        if case == "means that are not zero":
            return x + mean
        if case == "correlated components":
            shared = _COMPONENTS[components](g, (*size[:-1], 1))
            return sqrt(correlation) * shared + sqrt(1 - correlation) * x
        return x

    def squares(d: int, case: str = broken) -> Callable[[int], Tensor]:
        return lambda n: ((vectors((n, d), case) * vectors((n, d), case)).sum(-1) / scale(d)) ** 2

    def weights(n: int, d: int) -> tuple[Tensor, Tensor]:
        """Scores and weights of n queries, each over its own keys."""
        S = (vectors((n, 1, d)) * vectors((n, _KEYS, d))).sum(-1) / scale(d)
        return S, S.softmax(-1)

    def cosines(n: int) -> Tensor:
        return d * torch.cosine_similarity(vectors((n, d)), vectors((n, d))) ** 2

    wide, few = _WIDER * d, {"most": samples // 10, "batch": 500}
    with_means, with_correlation = 1 + 2 * mean**2 + d * mean**4, 1 + (d - 1) * correlation**2
    claims = [
        _all_signs(scale),
        measured(
            "The mean square of q·k/√d is 1, within 10 %",
            squares(d),
            Bounds(0.9, 1.1),
            what="mean square",
            most=samples,
            reference="Var(Σ q_i k_i) = Σ Var(q_i) Var(k_i) = d",
        ),
        measured(
            f"It is 1 as well for vectors {_WIDER} times as wide",
            squares(wide),
            Bounds(0.9, 1.1),
            what="mean square",
            most=samples,
            batch=2_000,
            reference="Var(Σ q_i k_i) = Σ Var(q_i) Var(k_i) = d",
        ),
        measured(
            "Lengths do not tell: ‖q‖‖k‖ is about d, but the cosine shrinks, E[cos²] = 1/d within 10 %",
            cosines,
            Bounds(0.9, 1.1),
            what="d times the mean cos²",
            most=samples,
            bounds=(0, d),
            reference="a random direction has E[cos²] = 1/d",
        ),
        measured(
            f"At that width, weights over {_KEYS} keys keep at least 60 % of the largest entropy, log {_KEYS}",
            lambda n: (entropy(weights(n, wide)[1]) / log(_KEYS)).clamp(0, 1),
            Bounds(low=0.6),
            what="share of the largest entropy",
            bounds=(0, 1),
            **few,
            reference="normal scores of variance 1: entropy → log m − ½ for many keys m",
        ),
        measured(
            "And a gradient gets through: the Jacobian of the softmax has a norm of at least 0.2",
            lambda n: softmax_jacobian(weights(n, wide)[0]).flatten(1).norm(dim=1).clamp(0, 1),
            Bounds(low=0.2),
            what="mean ‖J‖",
            bounds=(0, 1),
            **few,
            reference="‖J‖ ≤ 1 − Σp², which is 0 for one-hot weights",
        ),
        measured(
            "If the components have mean μ, the mean square of q·k/√d is 1 + 2μ² + dμ⁴ (within 15 %), and grows with d",
            squares(d, "means that are not zero"),
            Bounds(0.85 * with_means, 1.15 * with_means),
            what="mean square",
            most=samples,
            reference="E[q_i k_i] = μ², Var(q_i k_i) = 1 + 2μ²",
        ),
        measured(
            "If they have correlation ρ, it is 1 + (d − 1)ρ² (within 20 %), and grows with d",
            squares(d, "correlated components"),
            Bounds(0.8 * with_correlation, 1.2 * with_correlation),
            what="mean square",
            most=samples,
            reference="Σ_ij E[q_i q_j] E[k_i k_j]",
        ),
    ]
    if broken:
        return [*claims]
    note = (
        "A mean μ adds about dμ² to every score of a query, which the softmax ignores: over the keys, the scores still have "
        "variance 1 + μ². Correlation does harm: one shared part decides all scores, and the softmax saturates."
    )
    return [*claims, Text(note), *_over_widths(vectors, mean, correlation, d), _show_scaled()]


def _all_signs(scale: Callable[[int], float]) -> Claim:
    """Every pair of sign vectors of width 4 counted: 256 scores, exactly."""
    signs = torch.tensor([*product((-1, 1), repeat=4)])
    squares = ((signs @ signs.mT) ** 2).double() / scale(4) ** 2
    return proved(
        "Over all 256 pairs of vectors (±1, ±1, ±1, ±1) the mean square of q·k/√d is exactly 1",
        squares.mean().item() == 1,
        f"mean square {squares.mean():g}",
        "all cases counted",
    )


def _over_widths(vectors: Callable[..., Tensor], mean: float, correlation: float, d: int) -> list[Part]:
    """Scores, lengths, cosines, entropy and Jacobian over the width, with and without the division."""
    widths, rows, lines = [4, 8, 16, 32, 64, 128, 256, 512], [], {}
    cases = {
        "independent": "",
        f"mean {mean:g}": "means that are not zero",
        f"correlation {correlation:g}": "correlated components",
    }
    for name, case in cases.items():
        lines[name] = [
            float((vectors((2000, w), case) * vectors((2000, w), case)).sum(-1).square().mean().sqrt()) for w in widths
        ]
    for w in widths:
        Q, K = vectors((200, 1, w)), vectors((200, _KEYS, w))
        S = (Q * K).sum(-1)
        lengths, cosine = float((Q.norm(dim=-1) * K.norm(dim=-1)).mean()), torch.cosine_similarity(Q, K, dim=-1)
        row: list[Any] = [w, float(S.std()), lengths, float(cosine.square().mean().sqrt())]
        for scores in (S, S / sqrt(w)):
            row += [float(entropy(scores.softmax(-1)).mean()), float(softmax_jacobian(scores).flatten(1).norm(dim=1).mean())]
        rows.append(row)
    laws = {
        "√d": [sqrt(w) for w in widths],
        "with mean": [sqrt(w * (1 + 2 * mean**2 + w * mean**4)) for w in widths],
        "with correlation": [sqrt(w * (1 + (w - 1) * correlation**2)) for w in widths],
    }
    plain, scaled = vectors((4000, d)), vectors((4000, d))
    S = (plain * scaled).sum(-1)
    at = [x / 10 for x in range(-40, 41)]
    columns = ["d", "std q·k", "‖q‖‖k‖", "rms cos", "entropy", "‖J‖", "entropy, scaled", "‖J‖, scaled"]
    return [
        Table(f"What the width does, {_KEYS} keys", columns, rows),
        Curves(
            "Scores grow like √d, and faster with means or correlation",
            widths,
            [
                *(Line(name, y, points=True) for name, y in lines.items()),
                *(Line(name, y, dashed=True) for name, y in laws.items()),
            ],
            xlabel="width d",
            ylabel="root mean square of q·k",
            xscale="log",
            yscale="log",
        ),
        Curves(
            "Without the division the softmax saturates and its gradient fades",
            widths,
            [
                Line("entropy / log m, scaled", [row[6] / log(_KEYS) for row in rows]),
                Line("entropy / log m, not scaled", [row[4] / log(_KEYS) for row in rows]),
                Line("‖J‖, scaled", [row[7] for row in rows]),
                Line("‖J‖, not scaled", [row[5] for row in rows]),
            ],
            xlabel="width d",
            xscale="log",
        ),
        Histogram(
            f"Scores at width {d}",
            {"q·k": S.tolist(), "q·k/√d": (S / sqrt(d)).tolist()},
            xlabel="score",
            density=Line("normal, variance 1", [exp(-(x**2) / 2) / sqrt(2 * pi) for x in at], dashed=True),
            at=at,
        ),
    ]


def _show_scaled() -> Worked:
    from workings import exact, show

    Q, K = exact("1 1 1 1; 1 -1 1 -1"), exact("1 1 1 1; 1 1 -1 -1")
    return Worked("Sign vectors of width 4: √d is 2", show(attention, Q, K, exact("1; 0")))


@study(rows=("A12",))
def dot_and_cosine(
    spread: Annotated[float, Range(0.5, 3, "keys of nearly one length show no difference"), "spread of the lengths"] = 1.0,
    d: Annotated[int, Range(2, 256, "a cosine needs a direction"), "width of queries and keys"] = 8,
    seed: Seed = 0,
    broken: Literal["", "only the query is normalised", "keys of one length"] = "",
) -> list[Part]:
    """Attention scores are dot products, so the lengths of keys count; only cosines forget them.

    Keys have lengths √d e^(spread·z) with z normal. A query's own length is a temperature: it scales all its scores.
    """
    from workings import exact

    g = torch.Generator().manual_seed(seed)

    def draw(*size: int) -> Tensor:
        return torch.randn(*size, d, generator=g, dtype=torch.float64)

    def cosines(Q: Tensor, K: Tensor) -> Any:
        return (Q / Q.norm(dim=-1, keepdim=True)) @ K.mT if broken == "only the query is normalised" else cosine_scores(Q, K)

    def keys(*size: int) -> Tensor:
        """Directions at random, and lengths."""
        z = (
            torch.zeros(*size, 1)
            if broken == "keys of one length"
            else torch.randn(*size, 1, generator=g, dtype=torch.float64)
        )
        K = draw(*size)
        return sqrt(d) * (spread * z).exp() * K / K.norm(dim=-1, keepdim=True)

    def distances(n: int) -> Tensor:
        """Total variation between the weights with the lengths, and with all lengths √d."""
        Q, K = draw(n, 1), keys(n, 5)
        level = sqrt(d) * K / K.norm(dim=-1, keepdim=True)
        return ((attention_weights(Q, K) - attention_weights(Q, level)).abs().sum(-1) / 2).flatten()

    Q, K = draw(3), keys(4)
    q, k, longer = exact([[3, 4]]), exact("1 0; 0 1; 6 8"), exact("1 0; 0 7; 6 8")
    claims = [
        compared(
            "q·k = ‖q‖ ‖k‖ cos θ",
            float((Q @ K.mT - Q.norm(dim=-1, keepdim=True) * K.norm(dim=-1) * cosines(Q, K)).abs().max()),
            Bounds(high=1e-10),
            "largest difference",
            reference="definition of the angle",
        ),
        equal(
            "A key seven times as long has the same cosine",
            cosines(q, k),
            cosines(q, longer),
            "the lengths cancel; exact, with the lengths 5 and 10",
        ),
        measured(
            "The lengths of the keys move at least a tenth of the weight of scaled dot-product attention",
            distances,
            Bounds(low=0.1),
            what="mean total variation",
            bounds=(0, 1),
            most=50_000,
            batch=2_000,
            reference="softmax(q·k/√d) with and without the lengths",
        ),
    ]
    if broken:
        return [*claims]
    maps = {
        "Weights by dot products": (Q @ K.mT).softmax(-1),
        "Weights by scaled dot products": attention_weights(Q, K),
        "Weights by cosines": cosine_scores(Q, K).softmax(-1),
    }
    lengths = [f"‖k‖ = {x:.1f}" for x in K.norm(dim=-1).tolist()]
    rows = [
        [i, j, *(float(x[i, j]) for x in (Q @ K.mT, cosine_scores(Q, K), *maps.values()))]
        for i in range(3)
        for j in range(4)
    ]
    columns = ["query", "key", "q·k", "cos θ", "by dot", "by scaled dot", "by cosine"]
    return [
        *claims,
        Table("Scores and weights of the same vectors", columns, rows),
        *(Heatmap(title, A.tolist(), [f"query {i}" for i in range(3)], lengths) for title, A in maps.items()),
        Worked("The cosines of (3, 4) with three keys", _show_cosine()),
    ]


def _show_cosine() -> Any:
    from workings import exact, show

    return show(cosine_scores, exact([[3, 4]]), exact("1 0; 0 7; 6 8"))

r"""Several values in one output: a query that averages two of them, keys at random, and a projection that parts a sum again.

    q = λ(k_a + k_b)                α_a = α_b = e^λ/(2e^λ + n − 2) = ½ − ε  for orthonormal keys
    ‖c − (v_a + v_b)/2‖ ≤ 2ε max_j ‖v_j − (v_a + v_b)/2‖
    k_i ~ N(μ_i, αI)                k_iᵀq has the standard deviation λ√(2α);  Var(α_a) ≈ αλ²/4 while it is small
    M = A Aᵀ                        M(v_a + v_b) = v_a  if v_a lies in the span of A and v_b is orthogonal to it

`workings.course.selection` has the formulas.
"""

from __future__ import annotations

from math import cos, radians, sqrt
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from workings.course.selection import averaging_query as asked
from workings.course.selection import averaging_strength, averaging_weight
from workings.course.selection import projection as projector
from workings.nn.transformer.dot_product import attention_query
from workings.studies.claim import Bounds
from workings.studies.decide.certified import certified, ends, normal_mean
from workings.studies.decide.proof import compared, equal
from workings.studies.decide.sequential import measured
from workings.studies.definition import Seed, study
from workings.studies.families.attention.perturbation import ROUNDING
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Worked
from workings.studies.pictures.kinds import Curves, Heatmap, Line, Scatter


@study(rows=("A21",))
def projection(
    width: Annotated[int, Range(4, 64, "two spans need room"), "width d of the vectors"] = 8,
    basis: Annotated[int, Range(1, 30, "at most half of the width"), "basis vectors of each span"] = 3,
    seed: Seed = 0,
    broken: Literal["", "spans that are not orthogonal", "a basis that is not orthonormal"] = "",
) -> list[Part]:
    """The projection M = AAᵀ takes v_a out of v_a + v_b, if the two spans are orthogonal.

    Applied to the average of the two it gives v_a/2. Where the spans make an angle θ, up to cos θ of v_b comes along.
    """
    from workings import exact

    g = torch.Generator().manual_seed(seed)
    m = min(basis, width // 2)
    both = torch.linalg.qr(torch.randn(width, 2 * m, generator=g, dtype=torch.float64))[0]
    A, B = both[:, :m], both[:, m:]
    if broken == "spans that are not orthogonal":
        B = (A + B) / sqrt(2)
    if broken == "a basis that is not orthonormal":
        A = 2 * A
    M = projector(A)
    unit = A / A.norm(dim=0)
    v_a, v_b = (X @ torch.randn(m, 200, generator=g, dtype=torch.float64) for X in (unit, B))
    a, b = exact("3/5; 4/5; 0"), exact("-4/5; 3/5; 0")
    if broken == "spans that are not orthogonal":
        b = exact("0; 1; 0")
    if broken == "a basis that is not orthonormal":
        a = exact("6/5; 8/5; 0")
    small, out = exact("3; 4; 0"), 5 * b
    extracted: Any = projector(a) @ (small + out)
    angles = [0, 15, 30, 45, 60, 75, 90]
    errors = [float((M @ (cos(radians(t)) * unit[:, 0] + _sine(t) * both[:, -1])).norm()) for t in angles]
    claims = [
        equal(
            "M(v_a + v_b) = v_a: with a = (3/5, 4/5, 0), M takes (3, 4, 0) out of (−1, 7, 0)",
            extracted,
            small,
            "exact fractions",
        ),
        compared(
            "It does so for random orthonormal bases: M v_a = v_a and M v_b = 0",
            float(torch.maximum((M @ v_a - v_a).abs().max(), (M @ v_b).abs().max())),
            Bounds(high=1e-12),
            "largest difference",
            reference="AᵀA = I and AᵀB = 0",
        ),
        compared(
            "M is symmetric, M² = M, and its rank is the number of basis vectors",
            max(float(x) for x in ((M - M.mT).abs().max(), (M @ M - M).abs().max(), (M.trace() - m).abs())),
            Bounds(high=1e-12),
            "largest difference (of the rank: trace − m)",
            reference="an orthogonal projection has its rank as its trace",
        ),
        compared(
            "A unit vector at the angle θ to the span leaks cos θ into the result",
            max(abs(error - cos(radians(t))) for t, error in zip(angles, errors, strict=True)),
            Bounds(high=1e-12),
            "largest difference",
            reference="AAᵀ(cos θ a + sin θ b) = cos θ a",
        ),
    ]
    if broken:
        return [*claims]
    return [
        *claims,
        Table(
            "What leaks through when the spans are not orthogonal",
            ["angle in degrees", "length of M v_b", "cos θ"],
            [[t, error, cos(radians(t))] for t, error in zip(angles, errors, strict=True)],
        ),
        Curves(
            "What a projection lets through, over the angle",
            angles,
            [
                Line("length of M v_b", errors, points=True),
                Line("cos θ", [cos(radians(t)) for t in range(0, 91, 15)], dashed=True),
            ],
            xlabel="angle between v_b and the span, degrees",
        ),
        Heatmap("The projection M", M.tolist(), diverging=True) if width <= 10 else Heatmap("AᵀA", (A.mT @ A).tolist()),
        Worked("M for the basis vector (3/5, 4/5)", _show_projection()),
    ]


def _sine(degrees: float) -> float:
    return sqrt(1 - cos(radians(degrees)) ** 2)


def _show_projection() -> Any:
    from workings import exact, show

    return show(projector, exact("3/5; 4/5"))


@study(rows=("A22",))
def averaging_query(
    lam: Annotated[float, Range(0.5, 30, "smaller, the query asks for nothing"), "strength λ of the query"] = 5.0,
    keys: Annotated[int, Range(3, 64, "two wanted keys and a rival"), "number of keys n"] = 10,
    tolerance: Annotated[float, Range(1e-6, 0.2, "the weights are ½ − ε"), "wanted ε"] = 0.001,
    seed: Seed = 0,
    broken: Literal["", "keys that are not orthogonal", "the difference of the two keys"] = "",
) -> list[Part]:
    """One query q = λ(k_a + k_b) averages two values: each has the weight e^λ/(2e^λ + n − 2), which tends to ½.

    The keys are orthonormal, so that the two wanted scores are λ and all others 0.
    """
    from workings import exact

    def query(k_a: Any, k_b: Any, λ: Any) -> Any:
        return λ * (k_a - k_b) if broken == "the difference of the two keys" else asked(k_a, k_b, λ)

    g = torch.Generator().manual_seed(seed)
    K = torch.linalg.qr(torch.randn(keys, keys, generator=g, dtype=torch.float64))[0]
    small = exact("1 0 0 0; 0 1 0 0; 0 0 1 0; 0 0 0 1")
    if broken == "keys that are not orthogonal":
        K = (K + K[:1]) / sqrt(2)
        small = exact("1 0 0 0; 1 1 0 0; 1 0 1 0; 1 0 0 1")
    V = torch.randn(keys, 3, generator=g, dtype=torch.float64)
    middle = (V[0] + V[1]) / 2

    def weights(λ: float) -> Tensor:
        return (K @ query(K[0], K[1], λ)).softmax(0)

    letter = exact("l")
    found: Any = (small @ query(small[0], small[1], letter)).softmax(0)[:2]
    law: Any = averaging_weight(torch.stack([letter, letter]), 4)
    strengths = [lam * k / 10 for k in range(1, 21)]
    reach = float((V - middle).norm(dim=-1).max())
    leaks = [1 - 2 * float(averaging_weight(torch.tensor(λ, dtype=torch.float64), keys)) for λ in strengths]
    away = [float((weights(λ) @ V - middle).norm()) for λ in strengths]
    needed = float(averaging_strength(torch.tensor(tolerance, dtype=torch.float64), keys))
    claims = [
        equal("For orthonormal keys α_a = α_b = e^λ/(2e^λ + n − 2)", found, law, "four keys, a letter for λ"),
        compared(
            "The output is the average: ‖c − (v_a + v_b)/2‖ ≤ 2ε max‖v_j − (v_a + v_b)/2‖ with α_a = ½ − ε",
            max(found / (leak * reach + ROUNDING) for found, leak in zip(away, leaks, strict=True)),
            Bounds(high=1),
            "largest distance over its bound",
            reference="2ε is the weight of the other keys",
        ),
        compared(
            f"λ = log((n − 2)(½ − ε)/(2ε)) is the strength for ε = {tolerance:g}",
            float((weights(needed)[:2] - (0.5 - tolerance)).abs().max()),
            Bounds(high=1e-9),
            f"at λ = {needed:.4g}, the largest difference from ½ − ε",
            reference="the closed form, solved for λ",
        ),
    ]
    if broken:
        return [*claims]
    sizes = (3, 10, 100, 1000)
    grid = [0.25 * k for k in range(61)]
    rows = [
        [λ, *(float(averaging_weight(torch.tensor(λ, dtype=torch.float64), n)) for n in sizes)]
        for λ in (1.0, 5.0, 10.0, 15.0)
    ]
    return [
        *claims,
        Table("The weight of each wanted key", ["λ", *(f"n = {n}" for n in sizes)], rows),
        Curves(
            "A stronger query averages two values better",
            grid,
            [Line(f"n = {n}", averaging_weight(torch.tensor(grid), n).tolist()) for n in sizes],
            xlabel="λ",
            ylabel="weight of each of the two",
        ),
        Curves(
            "The output tends to the average of the two values",
            strengths,
            [Line("‖c − average‖", away, points=True), Line("bound", [leak * reach for leak in leaks], dashed=True)],
            xlabel="λ",
            yscale="log",
        ),
        Worked("λ = log 4 and ten keys", _show_averaging()),
    ]


def _show_averaging() -> Any:
    from workings import exact, show

    return show(averaging_weight, exact("log(4)"), 10)


@study(rows=("A23",), thorough={"samples": 1_000_000})
def random_keys(
    lam: Annotated[float, Range(8, 30, "smaller, the other keys count"), "strength λ of the query"] = 10.0,
    spread: Annotated[float, Range(0.02, 0.15, "the law is about λ√(2α) ≪ 1"), "λ√(2α), the spread of a score"] = 0.1,
    keys: Annotated[int, Range(3, 12, "more rivals win more often where the noise is large"), "number of keys n"] = 6,
    samples: Annotated[int, Range(20_000, 10_000_000, "fewer decide nothing"), "draws of all keys at most"] = 100_000,
    seed: Seed = 0,
    broken: Literal["", "keys without noise", "a query of strength 1"] = "",
) -> list[Part]:
    """A query that averages two values bears noise on the keys, as long as λ ≫ 1 and λ√(2α) ≪ 1.

    Keys are N(μ_i, αI) with orthonormal means. The scores of the wanted keys then differ by noise of variance 4αλ², and the
    weights by that noise through the logistic function.
    """
    g = torch.Generator().manual_seed(seed)
    strength = 1.0 if broken == "a query of strength 1" else lam
    means = torch.eye(keys, dtype=torch.float64)
    q = asked(means[0], means[1], strength)

    def noise(spread: float) -> float:
        """√α, the standard deviation of each entry of a key."""
        return 0.0 if broken == "keys without noise" else spread / (lam * sqrt(2))

    def draws(n: int, spread: float) -> Tensor:
        """The weights, for keys drawn n times."""
        K = means + noise(spread) * torch.randn(n, keys, keys, generator=g, dtype=torch.float64)
        return (K @ q).softmax(-1)

    law = spread**2 / 8  # αλ²/4
    wild = 5.0
    claims = [
        measured(
            "The two wanted values get nearly all of the weight",
            lambda n: draws(n, spread)[:, :2].sum(-1).clamp(0, 1),
            Bounds(low=0.98),
            what="mean of α_a + α_b",
            bounds=(0, 1),
            most=samples,
            reference="1 − (n − 2)e^(−λ)/2",
        ),
        measured(
            "And share it evenly: the variance of α_a is αλ²/4 (within 15 %), a share of (λ√(2α))²/8",
            lambda n: (draws(n, spread)[:, 0] - 0.5) ** 2,
            Bounds(0.85 * law, 1.15 * law),
            what="mean square of α_a − ½",
            most=samples,
            reference="the logistic function has the slope ¼ at 0",
        ),
        measured(
            "If λ√(2α) is 5 instead, the average is gone: the variance of α_a is above 0.15, of ¼ at most",
            lambda n: ((draws(n, wild)[:, 0] - draws(n, wild)[:, 0]) ** 2 / 2).clamp(0, 0.5),
            Bounds(low=0.15),
            what="half the mean square difference of two draws",
            bounds=(0, 0.5),
            most=samples,
            reference="a weight of 0 or 1",
        ),
        certified(
            "For two keys alone the integral gives the same law, within 3 %",
            normal_mean(lambda x: (1 / (1 + (-x).exp()) - 0.5) ** 2, 2 * max(noise(spread) * strength * sqrt(2), 1e-6) ** 2)
            / law,
            Bounds(0.97, 1.03),
            "variance over law",
            reference="E[(σ(x) − ½)²] with x ~ N(0, 4αλ²)",
        ),
    ]
    if broken:
        return [*claims]
    sizes = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
    drawn = {size: draws(3000, size) for size in sizes}
    values = torch.tensor(
        [[0.0, 1.0], [0.0, -1.0], *([2.0, y] for y in torch.linspace(-1, 1, keys - 2).tolist())], dtype=torch.float64
    )
    clouds = {f"λ√(2α) = {size:g}": (drawn[size][:300] @ values).mT.tolist() for size in (10.0, 1.0, 0.1)}
    variances = [float(drawn[size][:, 0].var()) for size in sizes]
    integrals = [ends(normal_mean(lambda x: (1 / (1 + (-x).exp()) - 0.5) ** 2, 2 * size**2))[0] for size in sizes]
    return [
        *claims,
        Table(
            "How the average of two values bears noise",
            ["λ√(2α)", "variance of α_a, drawn", "integral for two keys", "law αλ²/4", "mean of α_a + α_b"],
            [
                [size, v, i, size**2 / 8, float(drawn[size][:, :2].sum(-1).mean())]
                for size, v, i in zip(sizes, variances, integrals, strict=True)
            ],
        ),
        Curves(
            "The variance of a wanted weight over the spread of the scores",
            sizes,
            [
                Line("drawn", variances, points=True),
                Line("integral, two keys", integrals),
                Line("αλ²/4", [size**2 / 8 for size in sizes], dashed=True),
            ],
            xlabel="λ√(2α)",
            xscale="log",
            yscale="log",
            marks=[(1.0, "λ√(2α) = 1")],
        ),
        Scatter(
            "Outputs c: v_a above, v_b below, the other values to the right",
            {name: (x, y) for name, (x, y) in clouds.items()},
            xlabel="first entry of c",
            ylabel="second",
        ),
        Worked("Weights for one draw of the keys: μ_a longer by a tenth", _show_noisy()),
    ]


def _show_noisy() -> Any:
    from workings import exact, show

    K, V = exact("11/10 0 0; 0 1 0; 0 0 1"), exact("1 0; 0 1; 5 5")
    return show(attention_query, exact("3 3 0"), K, V)

r"""A key of random length: one head jumps between two values, two heads stay near their average.

    k_a = (1 + γ) μ_a,  γ ~ N(0, v)
    one head, q = λ(μ_a + μ_b):      |α_a − σ(λγ)| ≤ (n − 2) e^(−λ)/4
                                     E[α_a] = ½ up to that,  Var(α_a) ≥ ¼ − 1/(λ√(2πv)) up to twice that
    two heads, q₁ = λμ_a, q₂ = λμ_b:  w = ½ (1/(1 + (n − 1)e^(−λ(1+γ))) + 1/(e^λ + n − 1))

Means and variances are integrals over γ with a certified error, and averages over draws of the keys.
`workings.course.selection` has the formulas.
"""

from __future__ import annotations

from math import erfc, exp, pi, sqrt
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from workings.course.selection import (
    averaging_query,
    copy_weight,
    one_head_weight,
    two_head_weight,
    two_queries,
    winner_bound,
)
from workings.studies.claim import Bounds, Claim
from workings.studies.decide.certified import certified, ends, normal_mean
from workings.studies.decide.proof import compared, equal
from workings.studies.decide.sequential import measured
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Worked
from workings.studies.pictures.kinds import Curves, Histogram, Line, Scatter

_STILL = 1e-4
"""The variance of γ for a key that keeps its length."""
_Strength = Annotated[float, Range(5, 40, "smaller, the other keys count; larger, nothing changes any more"), "strength λ"]
_Number = Annotated[int, Range(3, 16, "two wanted keys and some rivals"), "number of keys n"]
_Variance = Annotated[float, Range(0.4, 1, "with less, the score hardly ever turns negative"), "variance of γ"]


def _moments(weight: Any, variance: float, above: float = float("-inf")) -> tuple[Any, Any]:
    """Mean and variance of a weight over γ, as balls."""
    mean = normal_mean(weight, variance, above=above)
    return mean, normal_mean(lambda γ: weight(γ) ** 2, variance, above=above) - mean**2


@study(rows=("A24",), thorough={"samples": 1_000_000})
def random_length(
    lam: _Strength = 10.0,
    keys: _Number = 6,
    variance: _Variance = 0.5,
    samples: Annotated[int, Range(20_000, 10_000_000, "fewer decide nothing"), "draws of the key at most"] = 100_000,
    seed: Seed = 0,
    broken: Literal["", "the key keeps its length", "a query for one key"] = "",
) -> list[Part]:
    """One key of random length makes a single head jump between the two values that it should average.

    The key is (1 + γ)μ_a with γ ~ N(0, ½); the query λ(μ_a + μ_b) asks for both. The weight is about σ(λγ): 1 for γ > 0,
    0 for γ < 0, and ½ hardly ever.
    """
    g = torch.Generator().manual_seed(seed)
    spread = _STILL if broken == "the key keeps its length" else variance
    alone = broken == "a query for one key"
    μ = torch.eye(keys, dtype=torch.float64)
    q = lam * μ[0] if alone else averaging_query(μ[0], μ[1], lam)

    def weight(γ: Any) -> Any:
        return winner_bound(1 + γ, keys, lam) if alone else one_head_weight(lam, γ, keys)

    def draws(n: int) -> Tensor:
        """The weight of key a, by attention itself."""
        K = μ.repeat(n, 1, 1)
        K[:, 0] *= 1 + sqrt(spread) * torch.randn(n, 1, generator=g, dtype=torch.float64)
        return (K @ q).softmax(-1)[:, 0]

    mean, var = _moments(weight, spread)
    off = (keys - 2) * exp(-lam) / 4
    least = 0.25 - 1 / (lam * sqrt(2 * pi * variance)) - 2 * off
    γ = torch.linspace(-4, 4, 2001, dtype=torch.float64)
    claims = [
        compared(
            "The weight is σ(λγ), up to (n − 2)e^(−λ)/4",
            float((weight(γ) - torch.sigmoid(lam * γ)).abs().max()) / (off + 1e-15),
            Bounds(high=1 + 1e-6),
            "largest difference over its bound",
            reference="y/(1 + y)² ≤ ¼",
        ),
        certified(
            "Its mean is ½, up to (n − 2)e^(−λ)/4",
            mean,
            Bounds(0.5 - off - 1e-12, 0.5 + off + 1e-12),
            "mean",
            reference="σ(−x) = 1 − σ(x), and γ is symmetric",
        ),
        certified(
            "But it is hardly ever near ½: the variance is at least ¼ − 1/(λ√(2πv)), and tends to ¼ as λ grows",
            var,
            Bounds(least, 0.25 + 2 * off),
            "variance",
            reference="¼ − Var(σ) = E[σ′]/λ, and the density is at most 1/√(2πv)",
        ),
        measured(
            "Draws of the key show it: the weight is below 0.1 or above 0.9 at least four times of ten",
            lambda n: ((draws(n) - 0.5).abs() > 0.4).double(),
            Bounds(low=0.4),
            what="share",
            bounds=(0, 1),
            most=samples,
            reference="P(|λγ| > log 9)",
        ),
    ]
    if broken:
        return [*claims]
    strengths = [5.0, 7.0, 10.0, 14.0, 20.0, 40.0, 100.0]
    variances = [ends(_moments(lambda γ, λ=λ: one_head_weight(λ, γ, keys), variance)[1])[0] for λ in strengths]
    rows = [[λ, v, 0.25 - 1 / (λ * sqrt(2 * pi * variance))] for λ, v in zip(strengths, variances, strict=True)]
    return [
        *claims,
        Table(f"Variance of the weight of v_a, n = {keys}", ["λ", "certified variance", "¼ − 1/(λ√(2πv))"], rows),
        Histogram("One head: the weight of v_a is nearly 0 or nearly 1", {"weight": draws(4000).tolist()}, xlabel="α_a"),
        Curves(
            "A stronger query jumps more",
            strengths,
            [
                Line("variance of α_a", variances, points=True),
                Line("¼ − 1/(λ√(2πv))", [row[2] for row in rows], dashed=True),
            ],
            xlabel="λ",
            ylabel="variance",
            xscale="log",
        ),
        _possible_keys(g, variance),
        Worked("γ = ½, λ = log 4 and six keys", _show_one_head()),
    ]


def _possible_keys(g: torch.Generator, variance: float) -> Scatter:
    """Where k_a may lie in the plane of μ_a and μ_b: Σ = αI + v μ_a μ_aᵀ with a small α."""
    cloud = 0.03 * torch.randn(400, 2, generator=g)
    along = 1 + sqrt(variance) * torch.randn(400, generator=g)
    others = torch.tensor([0.0, 1.0]) + 0.03 * torch.randn(100, 2, generator=g)
    return Scatter(
        "Where the keys may lie: k_a along μ_a, k_b near μ_b",
        {
            "k_a": ((along + cloud[:, 0]).tolist(), cloud[:, 1].tolist()),
            "k_b": (others[:, 0].tolist(), others[:, 1].tolist()),
        },
        xlabel="along μ_a",
        ylabel="along μ_b",
        equal=True,
    )


def _show_one_head() -> Any:
    from workings import exact, show

    return show(one_head_weight, exact("log(4)"), exact("1/2"), 6)


@study(rows=("A25", "A26"), thorough={"samples": 1_000_000})
def two_heads(
    lam: _Strength = 10.0,
    keys: _Number = 6,
    variance: _Variance = 0.5,
    samples: Annotated[int, Range(20_000, 10_000_000, "fewer decide nothing"), "draws of the key at most"] = 200_000,
    seed: Seed = 0,
    broken: Literal["", "both heads ask for both keys", "the key keeps its length"] = "",
) -> list[Part]:
    """Two heads that ask for one value each vary far less than one head that asks for both.

    With q₁ = λμ_a and q₂ = λμ_b the outputs are averaged. A key of random length (1 + γ)μ_a leaves head 2 alone, and head 1
    too, while 1 + γ > 0. Only where the score turns negative, with probability erfc(1)/2 = 7.9 % for v = ½, does head 1 lose
    v_a. For n = 6, λ = 10 the variances are 0.1953 for one head, 0.0203 for two, and 0.0058 given a positive score.
    """
    g = torch.Generator().manual_seed(seed)
    spread = _STILL if broken == "the key keeps its length" else variance
    same = broken == "both heads ask for both keys"
    μ = torch.eye(keys, dtype=torch.float64)
    mixed = averaging_query(μ[0], μ[1], lam)
    q_1, q_2 = (mixed, mixed) if same else (lam * μ[0], lam * μ[1])

    def one(γ: Any) -> Any:
        return one_head_weight(lam, γ, keys)

    def two(γ: Any) -> Any:
        return (winner_bound(1 + γ, keys, lam) + 1 / (exp(lam) + keys - 1)) / 2

    def stretched(γ: Tensor) -> Tensor:
        """The keys, the first with the factor 1 + γ."""
        K = μ.repeat(len(γ), 1, 1)
        K[:, 0] *= 1 + γ[:, None]
        return K

    def γ(n: int) -> Tensor:
        return sqrt(spread) * torch.randn(n, generator=g, dtype=torch.float64)

    def weights(K: Tensor) -> tuple[Tensor, Tensor]:
        """The weights of all values by attention itself: of one head, and of two."""
        by_one, by_first, by_second = ((K @ q).softmax(-1) for q in (mixed, q_1, q_2))
        return by_one, (by_first + by_second) / 2

    def gaps(n: int) -> Tensor:
        """Half the squared differences of independent draws: of one head, less those of two heads on the same keys."""
        (a, a_two), (b, b_two) = weights(stretched(γ(n))), weights(stretched(γ(n)))
        return ((a - b)[:, 0] ** 2 - (a_two - b_two)[:, 0] ** 2) / 2

    moving = one if same else two
    var_one, var_two, var_positive = (_moments(*of)[1] for of in ((one, spread), (moving, spread), (moving, spread, -1)))
    gap = float((_moments(one, variance)[1] - _moments(two, variance)[1]).mid())
    negative = erfc(1 / sqrt(2 * variance)) / 2
    output = two_queries(q_1, q_2, stretched(torch.tensor([0.5]))[0], μ)
    claims = [
        _one_head_copies(same),
        compared(
            "Their average is (v_a + v_b)/2 up to (n − 1)e^(−λ)‖v_a − v_b‖, even where k_a is half as long again",
            float((output - (μ[0] + μ[1]) / 2).norm()) / sqrt(2),
            Bounds(high=(keys - 1) * exp(-lam)),
            "distance of c from the average",
            reference="each head leaves at most (n − 1)e^(−λ) to the others",
        ),
        certified(
            "The variance of one head is more than three times that of two",
            var_one / var_two,
            Bounds(low=3),
            f"{float(var_one.mid()):.6f} over {float(var_two.mid()):.6f} is",
            reference="integrals over γ",
        ),
        certified(
            "Given a positive score, the variance of two heads is at least a quarter smaller",
            var_positive / var_two,
            Bounds(high=0.75),
            f"{float(var_positive.mid()):.6f} over {float(var_two.mid()):.6f} is",
            reference="integrals over γ > −1",
        ),
        measured(
            "Draws of the keys show the gap between the two variances too, within 15 %",
            gaps,
            Bounds(0.85 * gap, 1.15 * gap),
            what=f"by integrals {gap:.5f}, by draws",
            bounds=(-0.5, 0.5),
            most=samples,
            reference="Var(x) = ½ E[(x − x′)²]",
        ),
        measured(
            "The score k_aᵀq₁ is negative with probability erfc(1/√(2v))/2, within 0.01",
            lambda n: (γ(n) < -1).double(),
            Bounds(negative - 0.01, negative + 0.01),
            what=f"closed form {negative:.4f}, share",
            bounds=(0, 1),
            most=samples,
            reference="the normal distribution",
        ),
    ]
    if (lam, keys, variance) == (10.0, 6, 0.5):
        found = [float(ball.mid()) for ball in (var_one, var_two, var_positive)]
        claims.append(
            compared(
                "For n = 6, λ = 10 the variances are 0.1953 (one head), 0.0203 (two) and 0.0058 (two, positive score)",
                max(abs(x - y) for x, y in zip(found, (0.195321, 0.0203133, 0.00582473), strict=True)),
                Bounds(high=1e-6),
                f"{', '.join(f'{x:.7f}' for x in found)}; largest difference",
                reference="values computed independently",
            )
        )
    if broken:
        return [*claims]
    return [*claims, *_spread_pictures(*weights(stretched(γ(4000))), keys, variance), _show_two_queries()]


def _one_head_copies(same: bool) -> Claim:
    from workings import exact

    λ, μ = exact("l"), exact("1 0 0; 0 1 0; 0 0 1")
    q = averaging_query(μ[0], μ[1], λ) if same else λ * μ[0]
    found: Any = (μ @ q).softmax(0)[0]
    law: Any = copy_weight(λ, 3)
    return equal("Each head gives its own value the weight e^λ/(e^λ + n − 1)", found, law, "three keys, a letter for λ")


def _spread_pictures(by_one: Tensor, by_two: Tensor, keys: int, variance: float) -> list[Part]:
    strengths = [5.0, 7.0, 10.0, 14.0, 20.0, 40.0, 100.0]
    rows = []
    for λ in strengths:
        of_one = _moments(lambda γ, λ=λ: one_head_weight(λ, γ, keys), variance)
        rest = 1 / (exp(λ) + keys - 1)
        weight = lambda γ, λ=λ, rest=rest: (winner_bound(1 + γ, keys, λ) + rest) / 2  # noqa: E731
        rows.append([λ, *(ends(x)[0] for x in (*of_one, *_moments(weight, variance), *_moments(weight, variance, -1)))])
    columns = ["λ", "one head: mean", "variance", "two heads: mean", "variance", "positive score: mean", "variance"]
    names = {"one head": 2, "two heads": 4, "two heads, positive score": 6}
    return [
        Table(f"The weight of v_a, n = {keys}, by certified integrals", columns, rows),
        Histogram(
            "One head jumps between 0 and 1, two heads stay at ½",
            {"one head": by_one[:, 0].tolist(), "two heads": by_two[:, 0].tolist()},
            xlabel="weight of v_a",
            yscale="log",
        ),
        Scatter(
            "Outputs c: v_a = (1, 0), v_b = (0, 1), the other values (1, 1)",
            {
                name: ((1 - A[:600, 1]).tolist(), (1 - A[:600, 0]).tolist())  # all weights sum to 1
                for name, A in (("one head", by_one), ("two heads", by_two))
            },
            xlabel="first entry of c",
            ylabel="second",
            equal=True,
        ),
        Curves(
            "The variance of the weight of v_a",
            strengths,
            [Line(name, [row[at] for row in rows]) for name, at in names.items()],
            xlabel="λ",
            ylabel="variance",
            xscale="log",
            yscale="log",
        ),
        Curves(
            "The weight of v_a over the length of its key",
            (lengths := [0.05 * k for k in range(-20, 61)]),
            [
                Line("one head", one_head_weight(10.0, torch.tensor(lengths, dtype=torch.float64) - 1, keys).tolist()),
                Line("two heads", two_head_weight(10.0, torch.tensor(lengths, dtype=torch.float64) - 1, keys).tolist()),
            ],
            xlabel="1 + γ, for λ = 10",
            ylabel="weight of v_a",
        ),
    ]


def _show_two_queries() -> Worked:
    from workings import exact, show

    q_1, q_2, K = exact(["log(8)", 0, 0]), exact([0, "log(8)", 0]), exact("1 0 0; 0 1 0; 0 0 1")
    return Worked("Two queries, three keys and values", show(two_queries, q_1, q_2, K, exact("1 0; 0 1; 5 5")))

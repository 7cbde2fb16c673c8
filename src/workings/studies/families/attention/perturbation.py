r"""One key or one query of attention moves a little: what changes, to first and second order.

    x = β εᵀq                               what noise on key i adds to its score
    Δh = β a (v_i − h)(εᵀq) + r             |r| ≤ x² ‖v_i − h₋‖ / (12√3),  h₋ the average of the other values
    E[Δa] = ½ s² a (1 − a)(1 − 2a) + r      |r| ≤ s⁴ max|σ⁗| / 8,  s = βσ‖q‖
    Δh_i = β Σ_j a_j (k_jᵀε)(v_j − h_i) + r   |r| ≤ β² (max k_jᵀε − min k_jᵀε)² max‖v_j − v_l‖ / 8

The remainders are Taylor's, with the largest derivatives of the logistic function σ: the weight of key i is σ(x + logit a).
Column convention: S = Kᵀ Q, A = softargmax_β(S), H = V A (`workings.course.perturbation`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, pi, sqrt
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from workings.course.perturbation import key_noise as key_noise_law
from workings.course.perturbation import key_noise_mean, parts, with_column
from workings.course.perturbation import query_noise as query_noise_law
from workings.studies.claim import Bounds, Claim
from workings.studies.decide.certified import certified, ends, normal_mean
from workings.studies.decide.proof import compared, equal, proved
from workings.studies.decide.sequential import measured
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Worked
from workings.studies.pictures.kinds import Curves, Heatmap, Histogram, Line

SECOND, THIRD, FOURTH = 1 / (6 * sqrt(3)), 1 / 8, 0.1277
"""The largest |σ″|, |σ‴| and |σ⁗| of the logistic function."""
ROUNDING = 1e-14
"""What float64 may add to an error that is held against a bound."""
_WIDTH, _QUERIES = 4, 3

_Weights = Callable[[Tensor, Tensor], Tensor]
"""Weights from scores, and from what the scores were before they moved."""


def _without_renormalising(S: Tensor, before: Tensor) -> Tensor:
    return S.exp() / before.exp().sum(-2, keepdim=True)


def _linear(S: Tensor, before: Tensor) -> Tensor:
    A, ΔS = before.softmax(-2), S - before
    return A + A * (ΔS - (A * ΔS).sum(-2, keepdim=True))


_WEIGHTS: dict[str, _Weights] = {
    "": lambda S, before: S.softmax(-2),
    "no renormalisation": _without_renormalising,
    "weights linear in the scores": _linear,
}
_MOVED_WEIGHT: dict[str, Callable[[float, Any], Any]] = {
    "": lambda a, x: 1 / (1 + (1 - a) / a * (-x).exp()),
    "no renormalisation": lambda a, x: a * x.exp(),
    "weights linear in the scores": lambda a, x: a + a * (1 - a) * x,
}
"""The weight of a key whose score grows by x, for numbers and for balls."""


@dataclass(frozen=True)
class _Attention:
    """Queries of length 1, keys and values, with the weights of one of the ways above."""

    Q: Tensor
    K: Tensor
    V: Tensor
    beta: float
    weights: _Weights = _WEIGHTS[""]

    def moved(self, Q: Tensor, K: Tensor) -> tuple[Tensor, Tensor]:
        """Weights and outputs after queries or keys have moved."""
        A = self.weights(self.beta * (K.mT @ Q), self.beta * (self.K.mT @ self.Q))
        return A, self.V @ A

    def with_key(self, ε: Tensor, i: int = 0) -> tuple[Tensor, Tensor]:
        K = self.K.expand(*ε.shape[:-1], -1, -1)
        return self.moved(self.Q, with_column(K, i, self.K[:, i] + ε))

    def with_query(self, ε: Tensor, i: int = 0) -> tuple[Tensor, Tensor]:
        Q = self.Q.expand(*ε.shape[:-1], -1, -1)
        return self.moved(with_column(Q, i, self.Q[:, i] + ε), self.K)


def _draw(keys: int, beta: float, weight: float, seed: int, broken: str) -> tuple[_Attention, torch.Generator]:
    """Random queries, keys and values; key 0 has the wanted weight for query 0."""
    g = torch.Generator().manual_seed(seed)
    Q, K, V = (torch.randn(_WIDTH, n, generator=g, dtype=torch.float64) for n in (_QUERIES, keys, keys))
    Q = Q / Q.norm(dim=0)
    a = parts(Q, K, V, beta)[1][0, 0]
    K[:, 0] += Q[:, 0] * float(log(weight / (1 - weight)) - torch.logit(a)) / beta
    return _Attention(Q, K, V, beta, _WEIGHTS[broken]), g


Beta = Annotated[float, Range(0.2, 2, "beyond, the remainders are as large as the laws"), "inverse temperature β"]
_Keys = Annotated[int, Range(2, 64, "one key alone has weight 1 whatever it is"), "number of keys"]


@study(rows=("A16",), thorough={"samples": 2_000_000})
def key_noise(
    sigma: Annotated[
        float, Range(0.02, 0.5, "the laws are about small noise; beyond, higher orders count"), "noise σ"
    ] = 0.3,
    beta: Beta = 1.0,
    weight: Annotated[
        float,
        Range(0.15, 0.4, "at ½ the second order vanishes, and a key of small weight hardly feels the renormalisation"),
        "weight of the key that moves",
    ] = 0.2,
    keys: _Keys = 5,
    samples: Annotated[int, Range(10_000, 10_000_000, "fewer decide nothing"), "pairs ±ε to draw at most"] = 50_000,
    seed: Seed = 0,
    broken: Literal["", "no renormalisation", "weights linear in the scores"] = "",
) -> list[Part]:
    """Noise on one key moves every weight and every output, and their means too.

    Key 0 becomes k + ε with ε ~ N(0, σ²I). Zero-mean noise does not leave the mean where it was: the weight is a curved
    function of the score. Queries have length 1; the noise is drawn in pairs ±ε, whose average is one sample.
    """
    net, g = _draw(keys, beta, weight, seed, broken)
    A, H = net.with_key(torch.zeros(_WIDTH, dtype=torch.float64))
    s = beta * sigma  # the standard deviation of what noise adds to the score of query 0

    def pairs(n: int) -> tuple[Tensor, Tensor]:
        """Changes of the weight of key 0 for query 0, by +ε and by −ε."""
        ε = sigma * torch.randn(n, _WIDTH, generator=g, dtype=torch.float64)
        return net.with_key(ε)[0][:, 0, 0] - A[0, 0], net.with_key(-ε)[0][:, 0, 0] - A[0, 0]

    def mean_of_pair(n: int) -> Tensor:
        plus, minus = pairs(n)
        return (plus + minus) / 2

    def square_of_pair(n: int) -> Tensor:
        plus, minus = pairs(n)
        return (plus**2 + minus**2) / 2

    ε = sigma * torch.randn(2000, _WIDTH, generator=g, dtype=torch.float64)
    A_moved, H_moved = net.with_key(ε)
    law, rest = _mean_law(weight, s), FOURTH * s**4 / 8
    slope = weight * (1 - weight)
    spread, spread_rest = (slope * s) ** 2, s**4 * (slope * THIRD + 0.75 * SECOND**2)
    exact_mean = _certified_mean(weight, s, broken)
    claims = [
        _all_change(A_moved != A, H_moved != H),
        compared(
            "Δh = β a (v − h)(εᵀq) to first order: the error is at most (βεᵀq)²‖v − h₋‖/(12√3)",
            _first_order_error(net, ε, H_moved - H),
            Bounds(high=1),
            "largest error over its bound",
            reference="Taylor's theorem; |σ″| ≤ 1/(6√3)",
        ),
        certified(
            "The mean of the weight moves by ½β²σ²‖q‖²a(1 − a)(1 − 2a), up to s⁴·max|σ⁗|/8 with s = βσ‖q‖",
            exact_mean,
            Bounds(law - rest, law + rest),
            "mean change",
            reference="Taylor's theorem to fourth order; the integral over the noise is certified",
        ),
        measured(
            "Draws of the noise show that mean too, within 15 %",
            mean_of_pair,
            Bounds(law - rest - 0.15 * abs(law), law + rest + 0.15 * abs(law)),
            what="mean change",
            most=samples,
            reference="½β²σ²‖q‖²a(1 − a)(1 − 2a)",
        ),
        measured(
            "The weight spreads with variance (βσ‖q‖ a(1 − a))², to leading order and within 15 %",
            square_of_pair,
            Bounds(0.85 * spread - spread_rest, 1.15 * spread + spread_rest),
            what="mean square change",
            most=samples,
            reference="the square of the first-order law; Taylor's theorem for the rest",
        ),
        _rational_mean(net.weights),
    ]
    if broken:
        return [*claims]
    return [
        *claims,
        _key_table(net, sigma, pairs_of=lambda j: (net.with_key(ε)[0][:, 0, j], net.with_key(-ε)[0][:, 0, j])),
        _mean_picture(weight, beta, sigma, net, g),
        Histogram(
            "Change of the weight, with the normal density of the first-order law",
            {"draws": (A_moved[:, 0, 0] - A[0, 0]).tolist()},
            xlabel="Δa",
            density=Line("first order", [exp(-(z**2) / 2) / (slope * s * sqrt(2 * pi)) for z in _grid()], dashed=True),
            at=[slope * s * z for z in _grid()],
        ),
        _change_map("ΔA when key 0 moves: every row", A_moved[0] - A, "key"),
        _change_map("ΔH when key 0 moves: every column", H_moved[0] - H, "entry"),
        Worked("The mean of ± log 2 on a key, in fractions", _show_two_point()),
    ]


def _mean_law(a: float, s: float) -> float:
    """
    >>> _mean_law(0.75, 0.5)  # ½ · ¼ · ¾ · ¼ · (−½) = −3/256
    -0.01171875
    """
    return s**2 * a * (1 - a) * (1 - 2 * a) / 2


def _certified_mean(a: float, s: float, broken: str = "") -> Any:
    """The mean change of a weight as a ball, when its score gets noise of standard deviation s."""
    return normal_mean(lambda x: _MOVED_WEIGHT[broken](a, x) - a, s**2)


def _first_order_error(net: _Attention, ε: Tensor, ΔH: Tensor) -> float:
    """The largest error of the first-order law over all draws and queries, in units of Taylor's bound."""
    _, A, H = parts(net.Q, net.K, net.V, net.beta)
    law = key_noise_law(net.Q, net.K, net.V, 0, ε, net.beta)
    x = net.beta * ε @ net.Q
    reach = (net.V[:, [0]] - H).norm(dim=0) / (1 - A[0])  # ‖v − h₋‖
    return float(((ΔH - law).norm(dim=-2) / (x**2 * reach * SECOND / 2 + ROUNDING)).max())


def _all_change(A: Tensor, H: Tensor) -> Claim:
    """Whether every weight and every output of every draw changed."""
    return proved(
        "Noise on one key changes all weights, those of the other keys too, and all outputs",
        bool(A.all() and H.all()),
        f"{A.sum():,} of {A.numel():,} weights and {H.sum():,} of {H.numel():,} numbers of outputs changed",
        "the weights of a query sum to 1",
    )


def _rational_mean(weights: _Weights) -> Claim:
    """Query 1, keys log 3 and 0, values 1 and 0, noise ± log 2: all fractions."""
    from workings import exact

    net = _Attention(exact([[1]]), exact([["log(3)", 0]]), exact([[1, 0]]), 1, weights)
    (_, plus), (_, minus) = (net.with_key(ε) for ε in (exact(["log(2)"]), exact(["-log(2)"])))
    mean: Any = (plus + minus) / 2
    sentence = "If noise moves the key log 3 by ± log 2, the mean of h is 51/70 and not 3/4"
    return equal(sentence, mean, exact([["51/70"]]), "exact fractions")


def _two_point_noise(k: Tensor, v: Tensor, ε: Tensor) -> Tensor:
    h = v @ k.softmax(dim=0)
    h_plus = v @ (k + ε).softmax(dim=0)
    h_minus = v @ (k - ε).softmax(dim=0)
    mean = (h_plus + h_minus) / 2
    change = mean - h
    return change


def _show_two_point() -> Any:
    from workings import exact, show

    return show(_two_point_noise, exact("log(3) 0"), exact("1 0"), exact("log(2) 0"))


def _key_table(net: _Attention, sigma: float, pairs_of: Callable[[int], tuple[Tensor, Tensor]]) -> Table:
    law = key_noise_mean(net.Q, net.K, net.V, 0, sigma, net.beta)
    A = parts(net.Q, net.K, net.V, net.beta)[1]
    rows = []
    for j in range(_QUERIES):
        a, s = float(A[0, j]), net.beta * sigma
        plus, minus = pairs_of(j)
        drawn, spread = float((plus + minus).mean() / 2 - a), float((plus - a).std())
        rows.append([j, a, float(law[j]), ends(_certified_mean(a, s))[0], drawn, s * a * (1 - a), spread])
    columns = [
        "query",
        "weight a",
        "second-order law",
        "certified mean",
        "mean of 2,000 pairs",
        "first-order spread",
        "spread drawn",
    ]
    return Table("How the weight of key 0 moves", columns, rows)


def _mean_picture(a: float, beta: float, sigma: float, net: _Attention, g: torch.Generator) -> Curves:
    """The mean change over the size of the noise: law, integral and draws."""
    sizes = [sigma * k / 4 for k in range(1, 9)]
    drawn = []
    for size in sizes:
        ε = size * torch.randn(5_000, _WIDTH, generator=g, dtype=torch.float64)
        drawn.append(float((net.with_key(ε)[0][:, 0, 0] + net.with_key(-ε)[0][:, 0, 0]).mean() / 2 - a))
    return Curves(
        "Zero-mean noise on a key moves the mean of its weight",
        sizes,
        [
            Line("second-order law", [_mean_law(a, beta * size) for size in sizes], dashed=True),
            Line("certified integral", [ends(_certified_mean(a, beta * size))[0] for size in sizes]),
            Line("draws", drawn, points=True),
        ],
        xlabel="σ",
        ylabel="E[Δa]",
    )


def _change_map(title: str, change: Tensor, row: str) -> Heatmap:
    rows, columns = (range(n) for n in change.shape)
    return Heatmap(
        title, change.tolist(), [f"{row} {i}" for i in rows], [f"query {j}" for j in columns], diverging=True, digits=3
    )


def _grid() -> list[float]:
    return [z / 10 for z in range(-35, 36)]


@study(rows=("A17",))
def query_noise(
    sigma: Annotated[float, Range(0.001, 1, "the law is about small noise"), "noise σ"] = 0.3,
    beta: Beta = 1.0,
    keys: _Keys = 5,
    seed: Seed = 0,
    broken: Literal["", "the noise moves a key"] = "",
) -> list[Part]:
    """Noise on one query moves its own column of weights and its own output, and nothing else.

    The same noise on a key, beside it, moves every column.
    """
    net, g = _draw(keys, beta, 0.2, seed, "")
    ε = sigma * torch.randn(2000, _WIDTH, generator=g, dtype=torch.float64)
    A, H = net.moved(net.Q, net.K)
    A_moved, H_moved = net.with_key(ε) if broken else net.with_query(ε)
    law = query_noise_law(net.Q, net.K, net.V, 0, ε, beta)
    x = ε @ net.K
    bound = beta**2 * (x.amax(-1) - x.amin(-1)) ** 2 * torch.cdist(net.V.mT, net.V.mT).max() / 8 + ROUNDING
    error = (H_moved[..., 0] - H[:, 0] - law).norm(dim=-1) / bound
    claims = [
        _one_column(broken),
        compared(
            "Δh_i = β Σ_j a_ji (k_jᵀε)(v_j − h_i) to first order: the error is at most β²·range(Kᵀε)²·max‖v_j − v_l‖/8",
            float(error.max()),
            Bounds(high=1),
            "largest error over its bound",
            reference="Taylor's theorem; a variance is at most a quarter of the range squared",
        ),
    ]
    if broken:
        return [*claims]
    A_key, H_key = net.with_key(ε)
    return [
        *claims,
        Table(
            "What the same noise changes",
            ["what moves", "columns of A", "columns of H", "mean ‖ΔH‖"],
            [
                [what, _columns(now_A - A), _columns(now_H - H), float((now_H - H).flatten(1).norm(dim=1).mean())]
                for what, now_A, now_H in (("query 0", A_moved, H_moved), ("key 0", A_key, H_key))
            ],
            note=f"of {_QUERIES} columns, one for each query",
        ),
        _change_map("ΔH when query 0 moves: one column", H_moved[0] - H, "entry"),
        _change_map("ΔH by the same noise on key 0", H_key[0] - H, "entry"),
        Worked("A query moves by 1/10, to first order", _show_query()),
    ]


def _columns(change: Tensor) -> int:
    """How many columns changed in some draw."""
    return int((change.abs() > 1e-12).flatten(0, -2).any(0).sum())


def _one_column(broken: str) -> Claim:
    """Whole numbers, moved by a whole vector: which columns of A and H change, decided exactly."""
    from workings import exact

    net = _Attention(exact("1 0 2; 1 1 0"), exact("1 0 1; 0 2 1"), exact("1 0 3; 0 1 1"), 1)
    ε = exact([1, 2])
    before = net.moved(net.Q, net.K)
    after = net.with_key(ε, 1) if broken else net.with_query(ε, 1)
    same = [[exact.equal(X[:, j], Y[:, j]).equal for j in range(3)] for X, Y in zip(before, after, strict=True)]
    changed = [[j for j in range(3) if not columns[j]] for columns in same]
    return proved(
        "Noise on query 1 changes column 1 of the weights and of the outputs, and no other",
        changed == [[1], [1]],
        f"columns of A that change: {changed[0]}, of H: {changed[1]}",
        "column j of A is softargmax(Kᵀ q_j)",
    )


def _show_query() -> Any:
    from workings import exact, show

    return show(query_noise_law, exact([[1]]), exact([["log(3)", 0]]), exact([[1, 0]]), 0, exact(["1/10"]))

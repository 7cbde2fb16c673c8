r"""Selecting one value or averaging them all: how far scores must lead, and what the limits of the temperature give.

    a ≥ 1 / (1 + (m − 1) e^(−βΔ))              the winner's weight, its score leading m − 1 others by Δ
    ‖h − v‖ ≤ (1 − a) max_j ‖v_j − v‖           so that its value is copied
    |softmax(s/T) − argmax(s)| ≤ (m − k) e^(−Δ/T)    k tied largest scores, Δ their lead over the rest
    |a − 1/m| ≤ (e^(βR) − 1) / m                R the range of the scores: β → 0 averages
    Var(dropout of the weights) = p/(1 − p) Σ a_i² v_i²

`workings.course.selection` and `workings.nn.transformer.hard` have the formulas.
"""

from __future__ import annotations

from math import exp, log
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from workings.course.constructions import uniform_average
from workings.course.selection import gap_for, winner_bound
from workings.nn.temperature import softmax
from workings.nn.transformer.dot_product import attention, attention_weights
from workings.nn.transformer.hard import argmax_weights
from workings.studies.claim import Bounds
from workings.studies.decide.proof import compared, equal, proved
from workings.studies.decide.sequential import measured
from workings.studies.definition import Seed, study
from workings.studies.families.attention.perturbation import ROUNDING
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text, Worked
from workings.studies.pictures.kinds import Bars, Curves, Line

_DRAWS = 2000


@study(rows=("A13", "A20"))
def winner(
    beta: Annotated[float, Range(1.5, 20, "at β = 1 there is nothing to leave out"), "inverse temperature β"] = 3.0,
    keys: Annotated[int, Range(2, 200, "a winner needs a rival"), "number of keys m"] = 8,
    accuracy: Annotated[
        float, Range(0.5, 0.9999, "a weight of 1 needs an infinite lead"), "wanted weight of the winner"
    ] = 0.99,
    seed: Seed = 0,
    broken: Literal["", "β is left out", "the lead is over the mean of the others"] = "",
) -> list[Part]:
    """A score that leads all others by Δ has a weight of at least 1/(1 + (m − 1)e^(−βΔ)), and its value is copied.

    The lead that counts is measured in log(m − 1)/β: at that lead the bound is ½, and beyond it the weight rushes to 1.
    """
    from workings import exact

    g = torch.Generator().manual_seed(seed)
    β = 1.0 if broken == "β is left out" else beta
    s = torch.randn(_DRAWS, keys, generator=g, dtype=torch.float64)
    s[:, 0] = s[:, 1:].amax(-1) + 2 * torch.rand(_DRAWS, generator=g, dtype=torch.float64)
    rival = s[:, 1:].mean(-1) if broken == "the lead is over the mean of the others" else s[:, 1:].amax(-1)
    V = torch.randn(_DRAWS, keys, 3, generator=g, dtype=torch.float64)
    a, bound = softmax(s, beta=β), winner_bound(s[:, 0] - rival, keys, beta)
    h = (a.unsqueeze(-1) * V).sum(1)
    reach = (V - V[:, :1]).norm(dim=-1).amax(-1)
    Δ, b = exact("D"), 1 if broken == "β is left out" else 2
    tied: Any = softmax(torch.stack([Δ, 0 * Δ, 0 * Δ]), beta=b)[0]
    enough = float(gap_for(torch.tensor(accuracy, dtype=torch.float64), keys, beta))
    given = torch.zeros(keys, dtype=torch.float64)
    given[0] = enough
    claims = [
        proved(
            "The weight of the winner is at least 1/(1 + (m − 1)e^(−βΔ))",
            bool((a[:, 0] >= bound - ROUNDING).all()),
            f"weight less bound at least {float((a[:, 0] - bound).min()):.3g} in {_DRAWS:,} draws of {keys} scores",
            "each rival has at most e^(−βΔ) of the winner's weight",
        ),
        equal(
            "No larger bound holds: if the others tie, the weight is exactly that",
            tied,
            winner_bound(Δ, 3, 2),
            "three keys, β = 2, a letter for Δ",
        ),
        compared(
            "The value is copied: ‖h − v‖ ≤ (1 − bound)·max‖v_j − v‖",
            float(((h - V[:, 0]).norm(dim=-1) / ((1 - bound) * reach + ROUNDING)).max()),
            Bounds(high=1),
            "largest distance over its bound",
            reference="h − v = Σ a_j (v_j − v)",
        ),
        compared(
            f"Against {keys - 1} tied rivals a lead of log((m − 1)a/(1 − a))/β gives exactly the weight a = {accuracy:g}",
            float(softmax(given, beta=β)[0] - accuracy),
            Bounds(-1e-9, 1e-9),
            f"at a lead of {enough:.4g} the weight less {accuracy:g} is",
            reference="the bound, solved for Δ",
        ),
    ]
    if broken:
        return [*claims]
    leads = [k * 8 / beta / 40 for k in range(41)]
    ties = torch.zeros(41, keys, dtype=torch.float64)
    ties[:, 0] = torch.tensor(leads)
    spread = ties.clone()
    spread[:, 1:] -= torch.rand(keys - 1, generator=g, dtype=torch.float64) * 2
    rows = [
        [wanted, float(gap_for(torch.tensor(wanted, dtype=torch.float64), keys, beta)), 1 - wanted]
        for wanted in (0.5, 0.9, 0.99, 0.999, 0.9999)
    ]
    return [
        *claims,
        Table(
            f"The lead that copies, {keys} keys, β = {beta:g}", ["weight", "smallest lead Δ", "share of the others"], rows
        ),
        Text(
            "Scores (0, 0, 10) and values (1, 0), (0, 1), (2, 3) give c = (1.99986, 2.99977): the third value, "
            "copied to three decimals."
        ),
        Curves(
            "The weight of the winner over its lead",
            leads,
            [
                Line("the others tie", softmax(ties, beta=beta)[:, 0].tolist(), points=True),
                Line("the others differ", softmax(spread, beta=beta)[:, 0].tolist()),
                Line("bound", winner_bound(torch.tensor(leads), keys, beta).tolist(), dashed=True),
            ],
            xlabel="lead Δ",
            ylabel="weight",
            marks=[(log(keys - 1) / beta, "log(m − 1)/β")] if keys > 2 else [],
        ),
        Worked("A lead of log 6 over two rivals", _show_winner()),
    ]


def _show_winner() -> Any:
    from workings import exact, show

    return show(winner_bound, exact("log(6)"), 3)


@study(rows=("A7",))
def zero_temperature(
    keys: Annotated[int, Range(4, 64, "three may tie and one lose"), "number of scores"] = 6,
    ties: Annotated[int, Range(2, 3, "a tie of two or three"), "how many share the largest score"] = 2,
    seed: Seed = 0,
    broken: Literal["", "ties go to the first", "temperature 1"] = "",
) -> list[Part]:
    """At zero temperature the largest score takes all, tied ones share, and the weights no longer feel the scores.

    The derivative by the scores is 0 away from ties. At a tie there is none: the smallest step moves half of the weight.
    """
    from workings import exact

    def weights(s: Any) -> Any:
        if broken == "temperature 1":
            return softmax(s)
        if broken == "ties go to the first":
            at = torch.arange(s.shape[-1]) == s.argmax(-1, keepdim=True)
            return torch.where(at, torch.ones_like(s), torch.zeros_like(s))
        return argmax_weights(s)

    g = torch.Generator().manual_seed(seed)
    s = torch.randn(_DRAWS, keys, generator=g, dtype=torch.float64)
    tied = s.clone()
    tied[:, :ties] = s.amax(-1, keepdim=True)
    lead = tied[:, :1] - tied[:, ties:].amax(-1, keepdim=True)
    order = s.sort(-1).values
    gap = (order[:, 1:] - order[:, :-1]).amin(-1, keepdim=True)
    moved = weights(s + 0.49 * gap * (2 * torch.rand(s.shape, generator=g, dtype=torch.float64) - 1))
    pair = torch.tensor([5.0, -2.0, 5.0, 0.0], dtype=torch.float64)
    jumps = [float((weights(pair + h * torch.eye(4)[0]) - weights(pair))[0]) for h in (0.1, 1e-3, 1e-6, 1e-9)]
    claims = [
        equal(
            "[1, −2, 5, 0] gives [0, 0, 1, 0], and [5, −2, 5, 0] gives [½, 0, ½, 0]",
            weights(exact("1 -2 5 0; 5 -2 5 0")),
            exact("0 0 1 0; 1/2 0 1/2 0"),
            "exact",
        ),
        compared(
            "It is the limit of softmax(s/T) for T → 0: they differ by at most (m − k)e^(−Δ/T), k scores tied",
            max(_over_limit(weights(tied), tied, lead, keys - ties, T) for T in (1.0, 0.3, 0.1, 0.03)),
            Bounds(high=1 + 1e-9),
            "largest difference over its bound",
            reference="each score below the largest has at most e^(−Δ/T) of its weight",
        ),
        compared(
            "Away from ties the derivative is 0: scores that move by less than half their smallest gap change no weight",
            float((moved - weights(s)).abs().max()),
            Bounds(high=0),
            "largest change",
            reference="the weights are constant in pieces",
        ),
        compared(
            "At a tie there is no derivative: raising one of two tied scores by any h > 0 moves half of the weight",
            min(jumps),
            Bounds(low=0.5),
            "smallest jump for h from 0.1 down to 1e−9",
            reference="a jump has no derivative",
        ),
    ]
    if broken:
        return [*claims]
    temperatures = [10 ** (k / 10 - 2) for k in range(31)]
    lines = torch.stack([softmax(pair, T=T) for T in temperatures])
    return [
        *claims,
        Table(
            "Softmax of [5, −2, 5, 0] on the way to T = 0",
            ["T", "weight of 5", "weight of −2", "weight of 5", "weight of 0"],
            [[T, *softmax(pair, T=T).tolist()] for T in (10.0, 3.0, 1.0, 0.5, 0.1)]
            + [[0.0, *argmax_weights(pair).tolist()]],
        ),
        Curves(
            "Two tied scores share, the others vanish",
            temperatures,
            [Line(f"score {one}", lines[:, i].tolist()) for i, one in ((0, "5 (each of two)"), (3, "0"), (1, "−2"))],
            xlabel="T",
            ylabel="weight",
            xscale="log",
        ),
        Worked("Tied scores", _show_ties()),
    ]


def _over_limit(limit: Tensor, s: Tensor, lead: Tensor, rest: int, T: float) -> float:
    bound = rest * (-lead / T).exp() + ROUNDING
    return float(((softmax(s, T=T) - limit).abs() / bound).max())


def _show_ties() -> Any:
    from workings import exact, show

    return show(argmax_weights, exact("5 -2 5 0"))


@study(rows=("A15",))
def soft_average(
    keys: Annotated[int, Range(2, 64, "an average of several"), "number of keys m"] = 5,
    dropout: Annotated[float, Range(0.15, 0.9, "a little dropout makes little noise"), "share of weights forgotten"] = 0.3,
    samples: Annotated[int, Range(20_000, 10_000_000, "fewer decide nothing"), "draws of the dropout at most"] = 200_000,
    seed: Seed = 0,
    broken: Literal["", "β grows instead", "dropout without enlarging the rest"] = "",
) -> list[Part]:
    """Nearly equal scores average the values; dropout of weights keeps that mean but makes it random.

    A linear layer with the constant weights 1/m does the same as attention without scores. Dropout on the attention weights
    spreads the output too, in another way: it is noise around the same output.
    """
    from workings import exact

    g = torch.Generator().manual_seed(seed)
    s = torch.randn(keys, generator=g, dtype=torch.float64)
    V = torch.randn(keys, 3, generator=g, dtype=torch.float64)
    R, betas = float(s.max() - s.min()), [2.0**-k for k in range(2, 12)]
    actual = [1 / β if broken == "β grows instead" else β for β in betas]
    bounds = [(exp(β * R) - 1) / keys for β in betas]
    away = [float((softmax(s, beta=β) - 1 / keys).abs().max()) for β in actual]
    v = 3 + V[:, :1].float()  # with a mean that is not 0, so that it can be missed

    def dropped(n: int) -> Tensor:
        Z = attention(torch.zeros(n, 1, 1), torch.ones(keys, 1), v, dropout=dropout).flatten()
        return Z * (1 - dropout) if broken == "dropout without enlarging the rest" else Z

    mean, spread = float(v.mean()), dropout / (1 - dropout) * float(v.square().sum()) / keys**2
    X = exact("1 0; 3 4; 5 2")
    level: Any = softmax(exact("1 2 4"), beta=exact(3 if broken == "β grows instead" else 0)) @ X
    claims = [
        compared(
            "As β → 0 every weight tends to 1/m: |a − 1/m| ≤ (e^(βR) − 1)/m, R the range of the scores",
            max(found / bound for found, bound in zip(away, bounds, strict=True)),
            Bounds(high=1 + 1e-9),
            "largest distance over its bound",
            reference="e^(−βR) ≤ m a_i ≤ e^(βR)",
        ),
        equal(
            "At β = 0 attention is a linear layer with the weights 1/m: both give the mean of the values",
            level,
            uniform_average(X)[0],
            "exact",
        ),
        measured(
            "Dropout of the weights leaves the mean output where it was",
            dropped,
            Bounds(mean - 0.1 * spread**0.5, mean + 0.1 * spread**0.5),
            what=f"mean output, without dropout {mean:.4g},",
            most=samples,
            reference="what is kept is enlarged by 1/(1 − p)",
        ),
        measured(
            "But it makes the output random, with variance p/(1 − p)·Σ a²v² (within 10 %)",
            lambda n: (dropped(n) - dropped(n)) ** 2 / 2,
            Bounds(0.9 * spread, 1.1 * spread),
            what="half the mean square difference of two draws",
            most=samples,
            reference="the variance of independent forgetting",
        ),
    ]
    if broken:
        return [*claims]
    h = [float((softmax(s, beta=β) @ V - V.mean(0)).norm()) for β in betas]
    draws = dropped(4000)
    return [
        *claims,
        Table(
            "On the way to the average",
            ["β", "largest |a − 1/m|", "its bound", "‖h − mean‖"],
            [[β, a, b, d] for β, a, b, d in zip(betas[::2], away[::2], bounds[::2], h[::2], strict=True)],
        ),
        Curves(
            "Smaller β: weights tend to 1/m, the output to the mean",
            betas,
            [
                Line("largest |a − 1/m|", away),
                Line("bound", bounds, dashed=True),
                Line("‖h − mean‖", h),
            ],
            xlabel="β",
            xscale="log",
            yscale="log",
        ),
        Bars(
            "The mean of the values, with and without dropout",
            ["mean", "standard deviation"],
            {"without": [mean, 0.0], "dropout": [float(draws.mean()), float(draws.std())], "law": [mean, spread**0.5]},
        ),
        Worked("Three values averaged", _show_average()),
    ]


def _show_average() -> Any:
    from workings import exact, show

    return show(uniform_average, exact("1 0; 3 4; 5 2"))


@study(rows=("A19",))
def attention_distribution(
    queries: Annotated[int, Range(2, 64, "to tell queries from keys"), "number of queries"] = 3,
    keys: Annotated[int, Range(2, 64, "to tell keys from queries"), "number of keys"] = 5,
    seed: Seed = 0,
    broken: Literal["", "the sum runs over the queries", "weights of both signs"] = "",
) -> list[Part]:
    """The weights of a query are a distribution over the keys: positive, with sum 1.

    The sum runs over the keys of one query. Summed over the queries of one key, a common slip of indices, the weights need
    not give 1.
    """
    from workings import exact

    g = torch.Generator().manual_seed(seed)
    Q = torch.randn(500, queries, 4, generator=g, dtype=torch.float64)
    K = torch.randn(500, keys, 4, generator=g, dtype=torch.float64)

    def weights(S: Any) -> Any:
        if broken == "weights of both signs":
            return S / S.abs().sum(-1, keepdim=True)
        return S.softmax(-2 if broken else -1)

    A = weights(Q @ K.mT / 2)
    row: Any = weights(exact("log(1) log(2) log(5); 0 0 0"))[0]
    claims = [
        proved(
            "Every weight is positive",
            bool((A > 0).all()),
            f"smallest of {A.numel():,} weights {float(A.min()):.3g}",
            "exponentials are positive",
        ),
        compared(
            "The weights of each query sum to 1",
            float((A.sum(-1) - 1).abs().max()),
            Bounds(high=1e-12),
            "largest difference from 1",
            reference="Σ_i e^(s_i) / Σ_j e^(s_j) = 1",
        ),
        equal("Scores log 1, log 2, log 5 give the weights 1/8, 1/4, 5/8", row, exact("1/8 1/4 5/8"), "1 + 2 + 5 = 8"),
    ]
    if broken:
        return [*claims]
    one = attention_weights(Q[0], K[0])
    return [
        *claims,
        Table(
            "Sums of one matrix of weights",
            ["", *(f"key {j}" for j in range(min(keys, 6))), "sum over keys"],
            [
                *([f"query {i}", *one[i, :6].tolist(), float(one[i].sum())] for i in range(min(queries, 6))),
                ["sum over queries", *one.sum(0)[:6].tolist(), None],
            ],
        ),
        Bars(
            "Weights of some queries: each colour sums to 1",
            [f"key {j}" for j in range(keys)],
            {f"query {i}": one[i].tolist() for i in range(min(queries, 3))},
            ylabel="weight",
        ),
        Worked("Scores log 1, log 2, log 5", _show_distribution()),
    ]


def _show_distribution() -> Any:
    from workings import exact, show

    return show(softmax, exact("log(1) log(2) log(5)"))

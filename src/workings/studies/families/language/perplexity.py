r"""Perplexity does not depend on the base of the logarithm, as long as one base is used throughout; it does on the unit.

    PP = t^(−1/M Σ log_t p_i) = (Π p_i)^(−1/M)          any t > 0, t ≠ 1: with t = e^u, t^(x/u) = e^x
    e^(−1/M Σ log_t p_i) = PP^(1/log t)                  two bases mixed: e^H with H in bits is PP^1.44

`workings.nn.perplexity` takes any base; `bits_per_character` and `per_longer_unit` turn units into one another.
"""

from __future__ import annotations

from collections.abc import Callable
from math import e, log
from typing import Annotated, Any, Literal

import torch

from workings.nn.objectives.perplexities import perplexity as perplexity_of
from workings.studies.claim import Bounds
from workings.studies.decide.proof import compared, equal, proved
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text, Worked
from workings.studies.pictures.kinds import Curves, Line


def _mixed(p: Any, t: Any) -> Any:
    """The mistake: logarithms to the base t, but e to the power of their mean."""
    H = -torch.mean(torch.log(p) / torch.log(t * torch.ones_like(p.sum())))
    return torch.exp(H)


def _unnormalised(p: Any, t: Any) -> Any:
    """The mistake: t to the power of the mean of natural logarithms."""
    return (t * torch.ones_like(p.sum())) ** (-torch.mean(torch.log(p)))


_WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "": perplexity_of,
    "e to the power of bits": _mixed,
    "t to the power of nats": _unnormalised,
}


@study(rows=("K7",))
def perplexity_base(
    units: Annotated[int, Range(2, 10_000, "one unit alone has no mean"), "probabilities in a text"] = 200,
    texts: Annotated[int, Range(10, 2_000, "fewer try too few bases"), "texts, each with a random base"] = 200,
    seed: Seed = 0,
    broken: Literal["", "e to the power of bits", "t to the power of nats"] = "",
) -> list[Part]:
    """The base of the logarithm makes no difference to perplexity, if the power has the same base.

    Any base is t = e^u with u ≠ 0, below 1 too, and any probability is e^(−a): the proof has letters for all of them.
    """
    from workings import exact

    PP = _WAYS[broken]
    p = exact("1/2 1/4 1/8")
    claims = [
        equal(
            "t^(−1/M Σ log_t p_i) = (Π p_i)^(−1/M) for every base t",
            PP(exact("exp(-a) exp(-b) exp(-c)"), exact("exp(u)")),
            exact("exp((a + b + c)/3)"),
            "proved with letters: t = e^u, p = e^(−a), e^(−b), e^(−c)",
        ),
        proved(
            "The probabilities ½, ¼, ⅛ have perplexity 4 to the bases 2, e, 10 and ½",
            all(exact.equal(PP(p, exact(t)), exact("4")).equal for t in ("2", "e", "10", "1/2")),
            ", ".join(f"base {t}: {float(PP(p.float64(), x)):.4g}" for t, x in (("2", 2), ("e", e), ("10", 10), ("½", 0.5))),
            "(1/64)^(−1/3) = 4",
        ),
        compared(
            f"In floating point too: over {texts} texts and random bases it differs from (Π p_i)^(−1/M) by rounding alone",
            _largest_difference(PP, units, texts, seed),
            Bounds(high=1e-11),
            "largest relative difference",
            reference="log_t p = log p / log t",
        ),
    ]
    if broken:
        return [*claims]
    bases = [1.5 + k / 2 for k in range(18)]
    numbers = p.float64()
    return [
        *claims,
        Table(
            "Perplexity of ½, ¼, ⅛, and what mixed bases give",
            ["base t", "mean of −log_t p", "t^H", "e^H (mixed)", "t^(H in nats) (mixed)"],
            [
                [name, float(-numbers.log().mean() / log(t)), *(float(way(numbers, t)) for way in _WAYS.values())]
                for name, t in (("½", 0.5), ("2", 2.0), ("e", e), ("10", 10.0))
            ],
            note="the cross-entropy H depends on the base, its power does not",
        ),
        Curves(
            "Perplexity of ½, ¼, ⅛ over the base: flat, unless two bases are mixed",
            bases,
            [
                Line("t^H", [round(float(perplexity_of(numbers, t)), 9) for t in bases]),
                Line("e^H, bases mixed", [float(_mixed(numbers, t)) for t in bases], points=True),
                Line("law of the mistake: 4^(1/log t)", [4 ** (1 / log(t)) for t in bases], dashed=True),
            ],
            xlabel="base t",
            ylabel="perplexity",
        ),
        Worked("½, ¼, ⅛ to the base 2", _show()),
        Text(
            "A loss printed in bits needs 2^loss, one in nats e^loss. PyTorch's cross-entropy is in nats. Perplexity has no "
            "base, but it has a unit: per word, per token or per character (see the study two-models)."
        ),
    ]


def _largest_difference(PP: Callable[[Any, Any], Any], units: int, texts: int, seed: int) -> float:
    """The largest relative difference between the perplexity to a random base and the inverse geometric mean."""
    g = torch.Generator().manual_seed(seed)
    largest = 0.0
    for _ in range(texts):
        p = torch.rand(units, generator=g, dtype=torch.float64).clamp(min=1e-9)
        u = float(torch.empty(1, dtype=torch.float64).uniform_(-5, 5, generator=g))
        mean = p.log().mean().neg().exp()
        largest = max(largest, float((PP(p, e ** (u if abs(u) > 0.01 else 1.0)) / mean - 1).abs()))
    return largest


def _show() -> Any:
    from workings import exact, show

    return show(perplexity_of, exact("1/2 1/4 1/8"), t=2)

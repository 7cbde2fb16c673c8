r"""Why one passage costs more than another: the gap in bits per character, shared out among its causes.

    v(S) = bits per character when the passage differs from the training text in the factors S alone
    gap = v(all) − v(none)
    φ_i = Σ_{S ∌ i} |S|! (n − |S| − 1)! / n! · (v(S ∪ i) − v(S))        Shapley's share of factor i; Σ φ_i = gap

A factor is switched off by an edit: small letters, no marks, N for a number, no accents, words that the model knows, its own
domain. The effect of switching on one alone depends on which others are on; the share is its mean over all orders.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import factorial
from typing import Annotated, Literal, TypeAlias

from workings.studies.claim import Bounds
from workings.studies.decide.proof import agrees, compared
from workings.studies.definition import Seed, study
from workings.studies.families.language.corpus import ENCYCLOPEDIA, PLAYS, TextName, source_text
from workings.studies.families.language.text_models import Spelling, character_model, cost, word_model
from workings.studies.parameters import Range
from workings.studies.parts import Cell, Part, Table, Text
from workings.studies.pictures.kinds import Bars, Heatmap
from workings.studies.running.progress import progress
from workings.train.evaluation.preprocess import STEPS

_EDITS = {"capitals": "lower", "punctuation": "punctuation", "digits": "numbers", "accents": "accents"}
"""Factors, and the step of preprocessing that takes each away; in the order of the steps."""
_FACTORS = ("domain", "unknown words", *_EDITS)
_WORD = re.compile(r"[^\W\d_]+")

Values: TypeAlias = Mapping[frozenset[str], float]
"""v(S) for every set of factors."""


def shapley(v: Values, factors: Sequence[str]) -> dict[str, float]:
    """The share of each factor in v(all) − v(none).

    >>> none, a, b, both = (frozenset(s) for s in ("", "a", "b", "ab"))
    >>> shapley({none: 0.0, a: 1.0, b: 2.0, both: 5.0}, "ab")  # a adds 1 first, 3 last
    {'a': 2.0, 'b': 3.0}
    """
    n = len(factors)
    return {
        one: sum(
            factorial(len(S)) * factorial(n - len(S) - 1) / factorial(n) * (v[frozenset(S) | {one}] - v[frozenset(S)])
            for size in range(n)
            for S in combinations([other for other in factors if other != one], size)
        )
        for one in factors
    }


def one_at_a_time(v: Values, factors: Sequence[str]) -> dict[str, float]:
    """What each factor adds when it alone is on."""
    return {one: v[frozenset({one})] - v[frozenset()] for one in factors}


def _edited(text: str, on: frozenset[str], known: Sequence[str], seed: int) -> str:
    """A passage with all factors but those of `on` taken away; its unknown words become words of the training text."""
    if "unknown words" not in on:
        draw, seen = random.Random(seed), {*known}
        text = _WORD.sub(lambda word: word[0] if word[0].lower() in seen else _like(word[0], draw.choice(known)), text)
    for factor, step in _EDITS.items():
        if factor not in on:
            text = STEPS[step][1](text)
    return " ".join(text.split())


def _like(word: str, other: str) -> str:
    """Another word, capital if this one is."""
    return other.capitalize() if word[0].isupper() else other


def _cleaned(text: str) -> str:
    return _edited(text, frozenset({"unknown words"}), (), 0)


@study(rows=("K9",), thorough={"train": 200_000, "passage": 20_000})
def perplexity_gap(
    train: Annotated[int, Range(10_000, 2_000_000, "fewer teach a model nothing"), "characters to learn from"] = 30_000,
    passage: Annotated[
        int, Range(2_000, 200_000, "fewer are too few words to judge by"), "characters of each passage"
    ] = 4_000,
    order: Annotated[int, Range(2, 8, "one character alone knows no context"), "n-grams of characters"] = 3,
    own: TextName = "",
    other: TextName = "",
    seed: Seed = 0,
    broken: Literal["", "one at a time", "the model read such text", "both passages of one domain", "no unknown token"] = "",
) -> list[Part]:
    """Why a passage costs more bits: domain, unknown words, capitals, punctuation, digits and accents, each with its share.

    The models learn from plays (or from `own`) cleaned as is usual: small letters, no marks, N for a number. The passage is
    of an encyclopedia (or of `other`) as it stands. Edits take the differences away in all 64 combinations.
    """
    text = source_text(own, PLAYS, train + passage, seed)
    text, here = _cleaned(text[:train]), text[train:]
    there = source_text(other, ENCYCLOPEDIA, passage, seed + 1)
    if broken == "both passages of one domain":
        there = source_text(own, PLAYS, 2 * passage, seed + 1)[passage:]
    known = sorted({*_WORD.findall(text)})
    if broken == "the model read such text":
        text = source_text(other, ENCYCLOPEDIA, train, seed + 2)
    letters, words, spelling = character_model(text, order, there), word_model(text), Spelling.of(text, order, there)
    v: dict[str, dict[frozenset[str], float]] = {"characters": {}, "words": {}, "words, unknown ones not spelled": {}}
    sets = [frozenset(S) for size in range(len(_FACTORS) + 1) for S in combinations(_FACTORS, size)]
    for S in progress(sets, "combinations of factors"):
        one = _edited(there if "domain" in S else here, S, known, seed)
        by_words = cost(words, one, spelling)
        v["characters"][S], v["words"][S] = cost(letters, one).bits, by_words.bits
        v["words, unknown ones not spelled"][S] = by_words.bits if broken == "no unknown token" else by_words.unspelled
    divide = one_at_a_time if broken == "one at a time" else shapley
    shares = {model: divide(values, _FACTORS) for model, values in v.items()}
    gaps = {model: values[sets[-1]] - values[sets[0]] for model, values in v.items()}
    φ, gap = shares["characters"], gaps["characters"]
    claims = [
        agrees(
            "The shares of the factors add up to the gap between the passages",
            sum(φ.values()) / gap,
            1,
            1e-9,
            "efficiency of Shapley's value (1953)",
        ),
        compared(
            "Each of the six factors has a part in it, of at least 0.005 bits per character",
            min(φ.values()),
            Bounds(low=0.005),
            f"least share ({min(φ, key=lambda name: φ[name])})",
            reference="what the training text lacks has only the probability that smoothing leaves to it",
        ),
        compared(
            "Domain and unknown words, what the passage is about, explain more than half; the rest is how it is written",
            (φ["domain"] + φ["unknown words"]) / gap,
            Bounds(0.5, 1),
            "share of the gap",
            reference="Shapley's value",
        ),
        compared(
            "At the price of one token, unknown words hide at least half of their part from the word model",
            1 - shares["words, unknown ones not spelled"]["unknown words"] / shares["words"]["unknown words"],
            Bounds(low=0.5),
            "part hidden",
            reference="P(word) = P(unknown) · P(letters)",
        ),
    ]
    if broken:
        return [*claims]
    alone = one_at_a_time(v["characters"], _FACTORS)
    last = {one: v["characters"][sets[-1]] - v["characters"][sets[-1] - {one}] for one in _FACTORS}
    raw = cost(words, there, spelling).figures
    rows: list[list[Cell]] = [[one, alone[one], last[one], φ[one], f"{φ[one] / gap:.0%}"] for one in _FACTORS]
    return [
        *claims,
        Text(
            f"From {v['characters'][sets[0]]:.3g} to {v['characters'][sets[-1]]:.3g} bits per character by characters, from "
            f"{v['words'][sets[0]]:.3g} to {v['words'][sets[-1]]:.3g} by words; {raw.unknown:.0%} of its words are unknown. "
            "Bits are per character of the edited passage. Whether a figure is per word or per character is no cause: these "
            "are the same bits in another unit (study two-models)."
        ),
        Table(
            "Bits per character by characters, attributed",
            ["factor", "switched on first", "switched on last", "share (mean over all orders)", "of the gap"],
            [
                *rows,
                ["together", sum(alone.values()), sum(last.values()), sum(φ.values()), "100%"],
            ],
            note=f"the gap is {gap:.4g}: only the shares add up to it",
        ),
        Heatmap(
            "Share of each factor in the gap, in bits per character",
            [[shares[model][one] for one in _FACTORS] for model in v],
            [*v],
            _FACTORS,
            diverging=True,
        ),
        Bars(
            "What a factor costs depends on which others are there already",
            _FACTORS,
            {
                "first": [alone[one] for one in _FACTORS],
                "last": [last[one] for one in _FACTORS],
                "share": [φ[one] for one in _FACTORS],
            },
            ylabel="bits per character",
        ),
    ]

r"""A word model and a character model on two passages: which is better depends on the unit, until the unit is the same.

    PP per unit = e^(−Σ log p / units)            per token, per character, per word: three numbers of one model and text
    PP per word = (PP per character)^(characters per word)
    bits per character = −Σ log₂ p / characters   whatever the tokens are

`families/text_models.py` has the models: both are counts, so that nothing hangs on how long they were trained.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log2
from typing import Annotated, Literal

from workings.nn.objectives.perplexities import bits, per_longer_unit
from workings.studies.claim import Bounds
from workings.studies.decide.proof import agrees, compared
from workings.studies.definition import Seed, study
from workings.studies.families.language.corpus import ENCYCLOPEDIA, PLAYS, TextName, source_text
from workings.studies.families.language.text_models import Cost, Spelling, character_model, cost, word_model
from workings.studies.parameters import Range
from workings.studies.parts import Cell, Part, Table, Text
from workings.studies.pictures.kinds import Bars

_REPORTED = {"word bigram": (1.75278, 3.2066), "character model": (1.93118, 2.76278)}
"""Nats per token of two trained models on a Shakespeare and a Wikipedia passage: perplexities 5.77, 24.69, 6.90, 15.84."""
_MEASURES: dict[str, tuple[Callable[[Cost], float], Callable[[Cost], float]]] = {
    "": (lambda c: c.per_token, lambda c: c.bits),
    "every figure per token": (lambda c: c.per_token, lambda c: log2(c.per_token)),
    "every figure per character": (lambda c: 2**c.bits, lambda c: c.bits),
}
"""How a perplexity and bits are counted: per token, and per character."""


@study(rows=("K8",), thorough={"train": 400_000, "passage": 40_000})
def two_models(
    train: Annotated[int, Range(10_000, 5_000_000, "fewer teach a model nothing"), "characters to learn from"] = 40_000,
    passage: Annotated[
        int, Range(2_000, 500_000, "fewer are too few words to judge by"), "characters of each passage"
    ] = 6_000,
    order: Annotated[int, Range(3, 8, "below, the characters of a word are hardly tied"), "n-grams of characters"] = 4,
    own: TextName = "",
    other: TextName = "",
    seed: Seed = 0,
    broken: Literal[
        "",
        "every figure per token",
        "every figure per character",
        "both passages of one domain",
        "every word is known",
        "units converted by multiplying",
    ] = "",
) -> list[Part]:
    """Two models on two passages: perplexities per token do not compare, bits per character do.

    The models learn from plays (or from `own`). One passage goes on in the same way, the other is of an encyclopedia (or of
    `other`). Each model cuts the text as it comes, without preprocessing.
    """
    text = source_text(own, PLAYS, train + passage, seed)
    text, here = text[:train], text[train:]
    there = source_text(other, ENCYCLOPEDIA, passage, seed + 1)
    if broken == "both passages of one domain":
        there = here[passage // 2 :]
    seen = sorted({*text.split(), *here.split(), *there.split()}) if broken == "every word is known" else None
    words, letters = word_model(text, seen), character_model(text, order, here + there)
    spelling = Spelling.of(text, order, here + there)
    w, w_there = (cost(words, one, spelling) for one in (here, there))
    c, c_there = (cost(letters, one) for one in (here, there))
    perplexity, per_character = _MEASURES.get(broken, _MEASURES[""])
    f = c.figures
    length = f.characters / f.words
    converted = length * c.per_token if "multiplying" in broken else float(per_longer_unit(c.per_token, length))
    claims = [
        compared(
            "Per token the word model looks worse on its own kind of text: its perplexity is at least twice as large",
            perplexity(w) / perplexity(c),
            Bounds(low=2),
            "ratio of perplexities",
            reference="a word is several characters: their surprises add up",
        ),
        compared(
            "In bits per character it is better there, by at least 0.1: it knows whole words",
            per_character(c) - per_character(w),
            Bounds(low=0.1),
            "bits fewer",
            reference="−Σ log₂ p / characters is the length of the text in a code that the model makes (Shannon 1948)",
        ),
        compared(
            "Both need more bits per character on the other passage, each at least 1 more",
            min(per_character(w_there) - per_character(w), per_character(c_there) - per_character(c)),
            Bounds(low=1),
            "bits more, of the model that loses less",
            reference="the cross-entropy exceeds the entropy by the divergence of the two texts (Gibbs)",
        ),
        compared(
            "Unknown words at the price of one token hide at least 1 bit per character of the other passage",
            w_there.bits - w_there.unspelled,
            Bounds(low=1),
            "bits of spelling per character",
            reference="P(word) = P(unknown) · P(letters): which word it is must be said too",
        ),
        agrees(
            "Perplexity per word is (perplexity per character)^(characters per word)",
            converted / f.perplexity(f.words),
            1,
            1e-9,
            "both are Π p^(−1/words)",
        ),
    ]
    if broken:
        return [*claims]
    passages = ("own", "other")
    return [
        *claims,
        Text(
            f"The models learn from {own or 'plays that a grammar writes'}; the other passage is "
            f"{other or 'an encyclopedia that another grammar writes'}."
        ),
        Table(
            "Two models on two passages",
            ["model", "passage", "tokens", "per token", "per word", "unknown", "bits/char. unspelled", "bits/character"],
            [
                [name, where, *_row(k)]
                for name, both in (("words", (w, w_there)), ("characters", (c, c_there)))
                for where, k in zip(passages, both, strict=True)
            ],
            note="unspelled: an unknown word costs one token and nothing for its letters",
        ),
        Bars(
            "Perplexity per token: the word model looks worse at home",
            passages,
            {"words": [w.per_token, w_there.per_token], "characters": [c.per_token, c_there.per_token]},
            ylabel="perplexity per token",
            yscale="log",
        ),
        Bars(
            "Bits per character: what compares",
            passages,
            {
                "words, unknown ones not spelled": [w.unspelled, w_there.unspelled],
                "words": [w.bits, w_there.bits],
                "characters": [c.bits, c_there.bits],
            },
            ylabel="bits per character",
        ),
        _reported_table(),
    ]


def _row(k: Cost) -> list[float]:
    f = k.figures
    return [f.tokens, k.per_token, f.perplexity(f.words), f.unknown, k.unspelled, k.bits]


def _reported_table() -> Table:
    """The figures of the course: what can be said of them, and what not."""
    rows: list[list[Cell]] = [
        [name, *map(exp, nats), *(float(bits(one)) for one in nats), exp(nats[1] - nats[0])]
        for name, nats in _REPORTED.items()
    ]
    per_word = float(per_longer_unit(exp(_REPORTED["character model"][0]), 5.5))
    return Table(
        "Reported for two trained models, each in its own unit",
        ["model", "Shakespeare", "Wikipedia", "bits, Shakespeare", "bits, Wikipedia", "ratio"],
        rows,
        note=f"the ratio compares, the columns do not: 6.90 per character is {per_word:,.0f} per word of 5.5 characters",
    )

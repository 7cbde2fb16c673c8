r"""Preprocessing step by step, and why a lower perplexity need not be a better model.

    PP = e^(−Σ log p / tokens)                    what is usually printed
    bits = −Σ log₂ p + bits of spelling           what it takes to say the whole text, unknown words too

A step that makes the passage look like the training text lowers both. Mapping words to the unknown token lowers PP, down
to 1 when all words are mapped, and says less and less: the bits rise, and fewer words are guessed.

    P(merged | v) = Σ_{w merged} P(w | v) ≥ P(w | v)      so counting many answers as one can only lower PP
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from workings.models.smoothing import kneser_ney
from workings.studies.claim import Bounds
from workings.studies.decide.proof import compared, equal
from workings.studies.definition import Seed, study
from workings.studies.families.language.corpus import PLAYS, TextName, source_text
from workings.studies.families.language.text_models import Spelling, cost, word_model
from workings.studies.parameters import Range
from workings.studies.parts import Cell, Part, Table, Text, Worked
from workings.studies.pictures.kinds import Curves, Line
from workings.train.evaluation.preprocess import STEPS, WARNING
from workings.train.text.language import Language

_STEPS = ("lower", "apart", "numbers")


@study(rows=("K10",), thorough={"train": 300_000, "passage": 30_000})
def preprocessing(
    train: Annotated[int, Range(10_000, 2_000_000, "fewer teach a model nothing"), "characters to learn from"] = 40_000,
    passage: Annotated[int, Range(2_000, 200_000, "fewer are too few words to judge by"), "characters to judge by"] = 6_000,
    own: TextName = "",
    seed: Seed = 0,
    broken: Literal[
        "", "the model read the text as it is", "spelling is free", "perplexity with the spelling", "unknown counts as right"
    ] = "",
) -> list[Part]:
    """Preprocessing lowers perplexity by fitting the text to the model; mapping words to the unknown token only hides them.

    Bigrams of words, learned from plays (or from `own`) in small letters, with marks apart and N for a number. The passage
    goes on where the training text ends. Then fewer and fewer words are known, down to none.
    """
    raw = source_text(own, PLAYS, train + passage, seed)
    text, here = raw[:train], raw[train:]
    if broken != "the model read the text as it is":
        text = _after(text, _STEPS)
    spelling = Spelling.of(text, 3, raw)
    language = word_model(text)
    steps = {"as it is": cost(language, here, spelling)}
    for count, name in enumerate(_STEPS, 1):
        steps[name] = cost(language, _after(here, _STEPS[:count]), spelling)
    spent = [step.bits * step.figures.characters / len(here) for step in steps.values()]
    clean = _after(here, _STEPS)
    frequent = [word for word, _ in Counter(text.split()).most_common() if word in language.number]
    sizes = [len(frequent) >> k for k in range(len(frequent).bit_length() + 1)]
    models = {size: word_model(text, frequent[:size]) for size in sizes}
    costs = {size: cost(models[size], clean, spelling) for size in sizes}
    guessed = {size: _guessed(models[size], clean, unknown="right" in broken) for size in sizes}
    whole, none = sizes[0], sizes[-1]
    table = _next_words(models[whole], clean)
    merged = [_merged(table, size, costs[size].spelling if "with" in broken else 0.0) for size in sizes]
    honest = [costs[size].unspelled if "free" in broken else costs[size].bits for size in sizes]
    claims = [
        compared(
            "Small letters, marks apart, N for numbers: each saves at least 0.01 bits for each character that was there",
            min(before - after for before, after in pairwise(spent)),
            Bounds(low=0.01),
            "least saving of a step",
            reference="the model knows the text in this form alone",
        ),
        equal(
            "With every word mapped to the unknown token the perplexity is 1: P(unknown | unknown) = 1",
            _probability_of_unknown("with" in broken),
            _one(),
            "Kneser–Ney with one token: (7 − D + D)/7 for a row of eight, with a letter for D",
        ),
        compared(
            "Counting all but so many words as one answer lowers the perplexity of one and the same model at every halving",
            min(before - after for before, after in pairwise(merged)),
            Bounds(low=1e-9),
            "least fall",
            reference="log Σp ≥ log p",
        ),
        compared(
            "The bits that tell the whole text rise meanwhile, by at least 0.5 per character in all",
            honest[-1] - honest[0],
            Bounds(low=0.5),
            "bits more",
            reference="P(word) = P(unknown) · P(letters): which word it is must be said too",
        ),
        compared(
            "And fewer words are guessed: at least 10 % of all words are lost",
            guessed[whole] - guessed[none],
            Bounds(low=0.1),
            "share of words guessed, less",
            reference="the unknown token is no word",
        ),
    ]
    if broken:
        return [*claims]
    unknown = [costs[size].figures.unknown for size in sizes]
    rows: list[list[Cell]] = [
        [
            size,
            costs[size].per_token,
            one,
            costs[size].figures.unknown,
            costs[size].unspelled,
            costs[size].bits,
            guessed[size],
        ]
        for size, one in zip(sizes, merged, strict=True)
    ]
    return [
        *claims,
        Table(
            "Step by step, each going on from the one before",
            ["step", "what it does", "tokens", "per token", "unknown", "bits/original character"],
            [
                [name, STEPS[name][0] if name in STEPS else "", k.figures.tokens, k.per_token, k.figures.unknown, bits]
                for (name, k), bits in zip(steps.items(), spent, strict=True)
            ],
        ),
        Table(
            "The same passage with fewer and fewer words known",
            [
                "words known",
                "per token",
                "answers merged",
                "unknown",
                "bits/char. unspelled",
                "bits/character",
                "words guessed",
            ],
            rows if len(rows) <= 12 else [*rows[:6], *rows[-6:]],
            note="answers merged: the whole model, with all but so many words counted as one answer. A model of the "
            "merged text loses them as contexts too, and its perplexity need not fall at each step",
        ),
        Curves(
            "Perplexity falls to 1 as words become unknown",
            unknown,
            [
                Line("model of the merged text", [costs[size].per_token for size in sizes]),
                Line("answers merged", merged, dashed=True),
            ],
            xlabel="share of unknown words",
            ylabel="perplexity per token",
        ),
        Curves(
            "Meanwhile the whole text takes more bits",
            unknown,
            [
                Line("bits per character, unknown words spelled", [costs[size].bits for size in sizes]),
                Line("unknown words for free", [costs[size].unspelled for size in sizes], dashed=True),
                Line("share of words guessed", [guessed[size] for size in sizes], points=True),
            ],
            xlabel="share of unknown words",
        ),
        Worked("Kneser–Ney of unknown tokens in a row", _show_unknown()),
        Text(WARNING),
    ]


def _after(text: str, steps: tuple[str, ...]) -> str:
    for name in steps:
        text = STEPS[name][1](text)
    return text


def _next_words(language: Language, text: str) -> tuple[Tensor, Tensor]:
    """P of every token at each place of a text, the first left out, and the tokens that come."""
    V = len(language.vocabulary)
    tokens = torch.tensor(language.encode(language.cut(text)))
    contexts, place = tokens[:-1].unique(return_inverse=True)
    P = language.model.probabilities(contexts.repeat_interleave(V), torch.arange(V).repeat(len(contexts))).view(-1, V)
    return P[place], tokens[1:]


def _merged(table: tuple[Tensor, Tensor], size: int, spelling: float) -> float:
    """The perplexity when all but the first `size` words are one answer; `spelling` nats are added to the text."""
    P, w = table
    others = P[:, 0] + P[:, size + 1 :].sum(dim=1)
    p = torch.where((w == 0) | (w > size), others, P.gather(1, w[:, None])[:, 0])
    return float(((spelling - p.log().sum()) / len(w)).exp())


def _guessed(language: Language, text: str, unknown: bool) -> float:
    """The share of places where the likeliest next token is the word that comes; the unknown token counts if told so."""
    P, w = _next_words(language, text)
    right = P.argmax(dim=1) == w
    return float((right if unknown else right & (w != 0)).double().mean())


def _probability_of_unknown(spelled: bool) -> Any:
    """P of the unknown token after itself when there is no other; times that of a letter of two, if it is spelled."""
    from workings import exact

    P = kneser_ney(exact("[[7]]"), exact("D"))
    return P * exact("1/2") if spelled else P


def _one() -> Any:
    from workings import exact

    return exact("[[1]]")


def _show_unknown() -> Any:
    from workings import exact, show

    return show(kneser_ney, exact("[[7]]"), exact("D"))

r"""Characters or words: how many tokens there are, how long a text is in them, and what is unknown.

    characters = Σ letters + spaces                           a text is longer in characters, by a factor r
    attention scores = l²                                     so they are r² times as many
    parameters(words) − parameters(characters) = (V_w − V_c) d       tied embeddings of width d; the blocks are the same
    P(next word is new) ≈ n₁ / N                              Good–Turing (Good 1953): n₁ words occur once among N

Words are those between spaces; what a model knows is what its training text has.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Annotated, Literal

import torch

from workings.models.language_model import LanguageModel
from workings.studies.claim import Bounds
from workings.studies.decide.proof import compared, proved
from workings.studies.decide.sequential import judged
from workings.studies.definition import Seed, study
from workings.studies.families.language.corpus import PLAYS, TextName, source_text
from workings.studies.families.language.text_models import Spelling
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text
from workings.studies.pictures.kinds import Curves, Line

_WINDOW = 64


@study(rows=("K5",), thorough={"train": 1_000_000, "passage": 200_000})
def characters_or_words(
    train: Annotated[int, Range(20_000, 5_000_000, "fewer teach a model nothing"), "characters to learn from"] = 60_000,
    passage: Annotated[int, Range(20_000, 1_000_000, "fewer hold too few new words"), "characters to judge by"] = 60_000,
    width: Annotated[int, Range(8, 1024, "an embedding of this width is counted"), "width of the embedding"] = 128,
    own: TextName = "",
    seed: Seed = 0,
    broken: Literal[
        "",
        "the vocabulary of the judged text too",
        "an output layer of its own",
        "attention to 64 tokens",
        "letters in any order",
    ] = "",
) -> list[Part]:
    """Characters make a small and open vocabulary and long texts; words make short texts, a large table, and unknown words.

    All figures are of the same text: plays that a grammar writes, or a text of yours. Half of the grammar's names are
    invented, so that new words never end.
    """
    text = source_text(own, PLAYS, train + passage, seed)
    text, judge = text[:train], text[train:]
    words, unseen = text.split(), judge.split()
    seen = Counter(words + unseen if "judged" in broken else words)
    new = [word for word in unseen if word not in seen]
    n_1, N = sum(count == 1 for count in seen.values()), seen.total()
    letters = {*text}
    ratio = len(judge) / len(unseen)
    vocabularies = {"characters": len(letters), "words": len(seen)}
    parameters = {name: _parameters(size, width, tied="output" not in broken) for name, size in vocabularies.items()}
    lengths = {"characters": len(judge), "words": len(unseen)}
    window = _WINDOW if "attention" in broken else max(lengths.values())
    scores = {name: _scores(length, window) for name, length in lengths.items()}
    spelling = Spelling.of(_shuffled(text, seed) if "order" in broken else text, 3, judge)
    rate = n_1 / N
    names = sorted({*(new or unseen)})
    claims = [
        proved(
            f"{passage:,} characters more bring no new character, but at least a hundred new words",
            {*judge} <= letters and len({*new}) >= 100,
            f"{len({*judge} - letters)} new characters, {len({*new})} new words",
            "an alphabet is finite, names are not (Heaps's law)",
        ),
        judged(
            "The share of unknown words is n₁/N, as Good and Turing estimate it, within a half",
            torch.tensor([float(word not in seen) for word in unseen], dtype=torch.float64) / max(rate, 1e-9),
            Bounds(1 / 2, 3 / 2),
            what="share of unknown words over n₁/N",
            reference="Good (1953): a word is new with the probability that words seen once had",
        ),
        proved(
            "The tables differ by (V_w − V_c)·d parameters, and by nothing else",
            parameters["words"] - parameters["characters"] == (len(seen) - len(letters)) * width,
            f"{parameters['words']:,} − {parameters['characters']:,} = {parameters['words'] - parameters['characters']:,}; "
            f"({len(seen):,} − {len(letters)})·{width} = {(len(seen) - len(letters)) * width:,}",
            "a row of the embedding for each token, the output layer tied to it",
        ),
        compared(
            "A text has r times as many characters as words, so attention has r² times as many scores",
            scores["characters"] / scores["words"] / ratio**2,
            Bounds(0.999, 1.001),
            f"ratio of scores over r² (r = {ratio:.3g})",
            reference="l² scores for l tokens",
        ),
        judged(
            "Characters know new words: each is likelier than its letters in another order, by at least 4 nats on average",
            _preference(spelling, names, seed),
            Bounds(low=4),
            what="nats that the order of the letters saves",
            reference="to a word model all unknown words are one token: 0 nats",
        ),
    ]
    if broken:
        return [*claims]
    sizes = [int(train / 2**k) for k in range(6, -1, -1)]
    grown = [({*text[:size]}, {*text[:size].split()}) for size in sizes]
    unknown = [sum(word not in w for word in unseen) / len(unseen) for _, w in grown]
    strange = [sum(c not in kept for c in judge) / len(judge) for kept, _ in grown]
    singles = [_singletons(text[:size].split()) for size in sizes]
    return [
        *claims,
        Table(
            "The same text in two units",
            ["", "characters", "words"],
            [
                ["vocabulary", *vocabularies.values()],
                [f"parameters (width {width}, 2 blocks, tied)", *parameters.values()],
                ["of these in the embedding", *(size * width for size in vocabularies.values())],
                ["tokens of the judged text", *lengths.values()],
                ["attention scores over all of it", *scores.values()],
                ["unknown tokens", strange[-1], unknown[-1]],
                ["n₁/N of the training text", 0.0, rate],
            ],
            note=f"a word and its space have {ratio:.3g} characters",
        ),
        Curves(
            "Vocabulary over the length of the text: words never end",
            sizes,
            [
                Line("words", [len(w) for _, w in grown]),
                Line("characters", [len(kept) for kept, _ in grown], dashed=True),
            ],
            xlabel="characters of text",
            ylabel="different tokens",
            xscale="log",
            yscale="log",
        ),
        Curves(
            "Unknown share of another text, and what Good and Turing expect",
            sizes,
            [
                Line("unknown words", unknown, points=True),
                Line("n₁/N of the training text", singles, dashed=True),
                Line("unknown characters", strange),
            ],
            xlabel="characters of training text",
            ylabel="share of tokens",
            xscale="log",
        ),
        Text(
            "What the counts do not show: a word is a unit of meaning, and a model of words need not learn to spell. "
            "Subwords, as in byte-pair encoding, lie between the two."
        ),
    ]


def _parameters(vocabulary: int, width: int, tied: bool) -> int:
    """Of a language model with two blocks, counted without storing any."""
    with torch.device("meta"):
        model = LanguageModel(vocabulary, width, heads=1, depth=2, positions="rope", tied=tied)
    return sum(p.numel() for p in model.parameters())


def _scores(length: int, window: int) -> int:
    """Scores of attention in which each token sees at most so many.

    >>> _scores(10, 10), _scores(10, 3)
    (100, 30)
    """
    return length * min(length, window)


def _singletons(words: list[str]) -> float:
    counts = Counter(words)
    return sum(count == 1 for count in counts.values()) / len(words)


def _shuffled(text: str, seed: int) -> str:
    """The letters of each word in another order."""
    draw = random.Random(seed)
    return " ".join("".join(draw.sample(word, len(word))) for word in text.split())


def _preference(spelling: Spelling, words: list[str], seed: int) -> torch.Tensor:
    """For each word, how many nats it costs less than its letters in another order."""
    draw = random.Random(seed)
    others = ["".join(draw.sample(word, len(word))) for word in words]
    pairs = zip(words, others, strict=True)
    return torch.tensor([spelling.nats([b]) - spelling.nats([a]) for a, b in pairs], dtype=torch.float64)

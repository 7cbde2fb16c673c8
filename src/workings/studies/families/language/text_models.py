r"""Two models of a text by counts, and what each spends on a passage, so that they compare.

    characters   NGrams over characters, n-grams of `order`
    words        Kneser–Ney bigrams of the words between spaces; those that occur once are the unknown token
    bits per character = (−Σ log₂ p + Σ bits of spelling) / characters

An unknown word costs the unknown token and then its spelling, by an n-gram model of the letters of words: without that the
word model would not tell which word it was, and would pay too little.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import torch

from workings.models.ngrams import NGrams
from workings.models.smoothing import KneserNey
from workings.train.text.language import Language, TextFigures, measure
from workings.train.text.vocabulary import UNKNOWN, Words

_DISCOUNT = 0.75
_END = "\n"


def _alphabet(*texts: str) -> list[str]:
    """The characters of the texts and of a keyboard, in the order of their code points."""
    return sorted({*string.printable, *"".join(texts)})


def character_model(text: str, order: int, alphabet: str = "") -> Language:
    """n-grams of characters; those of the text, of a keyboard and of `alphabet` have a probability, seen or not."""
    characters = _alphabet(text, alphabet)
    language = Language(None, "character", list, "".join, characters)
    language.model = NGrams(torch.tensor(language.encode(list(text))), len(characters), order, _DISCOUNT)
    return language


def word_model(text: str, known: Sequence[str] | None = None) -> Language:
    """Bigrams of the words between spaces; the known ones are those that occur twice, or those given."""
    found = text.split()
    words = Words.of(found, least=2) if known is None else Words([UNKNOWN, *known])
    model = KneserNey(torch.tensor(words.encode(found)), len(words), _DISCOUNT)
    return Language(model, "word", str.split, " ".join, words.words, UNKNOWN)


@dataclass(frozen=True)
class Spelling:
    """The letters of words: what it costs to say which word an unknown one is."""

    language: Language

    @staticmethod
    def of(text: str, order: int, alphabet: str = "") -> Spelling:
        """Of the different words of a text, each ended by a mark."""
        words = sorted({*text.split()})
        return Spelling(character_model(_END + _END.join(words) + _END, order, alphabet))

    def nats(self, words: Sequence[str]) -> float:
        """−Σ log p of the letters and the ends of words."""
        if not words:
            return 0.0
        letters = self.language.encode(list(_END + _END.join(words) + _END))
        return -float(self.language.model.log_probabilities(torch.tensor(letters)).sum())


@dataclass(frozen=True)
class Cost:
    """What a model spends on a passage: its figures, and the nats of spelling what it does not know."""

    figures: TextFigures
    spelling: float = 0.0

    @property
    def per_token(self) -> float:
        """The perplexity as it is usually printed: per token, unknown ones not spelled."""
        return self.figures.perplexity(self.figures.tokens)

    @property
    def unspelled(self) -> float:
        """Bits per character without the spelling."""
        return self.figures.bits_per_character

    @property
    def bits(self) -> float:
        """Bits per character, all told."""
        return self.unspelled + self.spelling / log(2) / self.figures.characters


def cost(language: Language, text: str, spelling: Spelling | None = None) -> Cost:
    """What a language model spends on a passage."""
    strange = [] if spelling is None else [word for word in language.cut(text)[1:] if word not in language.number]
    return Cost(measure(language, text), spelling.nats(strange) if spelling else 0.0)

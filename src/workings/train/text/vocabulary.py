"""Texts as numbers: the characters of a text, the words of texts, and what is not among them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from workings.errors import WorkingsError

UNKNOWN = "<unk>"


class Alphabet:
    """The characters of a text, in the order of their code points, each with its number.

    >>> alphabet = Alphabet.of("to be")
    >>> alphabet.characters, alphabet.encode("bet").tolist()
    (' beot', [1, 2, 4])
    """

    def __init__(self, characters: str) -> None:
        self.characters = characters
        self.points = _code_points(characters)

    @staticmethod
    def of(text: str) -> Alphabet:
        return Alphabet("".join(map(chr, np.unique(_code_points(text)).tolist())))

    def __len__(self) -> int:
        return len(self.characters)

    def encode(self, text: str) -> Int[Tensor, " n"]:
        """The number of each character; one that the model never saw is an error."""
        points = _code_points(text)
        number = np.searchsorted(self.points, points).clip(max=len(self) - 1)
        if len(strange := np.unique(points[self.points[number] != points])):
            names = ", ".join(repr(chr(point)) for point in strange[:5].tolist())
            raise WorkingsError(
                f"The model has never seen {len(strange)} of these characters: {names}{' …' * (len(strange) > 5)}. "
                "Leave them out, or train on a text that has them."
            )
        return torch.from_numpy(number)

    def json(self) -> str:
        return json.dumps(self.characters, ensure_ascii=False)

    @staticmethod
    def read(text: str) -> Alphabet:
        return Alphabet(json.loads(text))


def _code_points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


class Words:
    """Words with their numbers; what is not among them has the number of `<unk>`, which is 0.

    >>> words = Words.of(["a", "b", "a", "c", "a", "b"], most=3)
    >>> words.words, words.encode(["b", "c", "a"])
    (['<unk>', 'a', 'b'], [2, 0, 1])
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = [*words]
        self.index = {word: number for number, word in enumerate(self.words)}

    @staticmethod
    def of(found: Iterable[str] | Counter[str], most: int = 0, least: int = 1) -> Words:
        """`most` words (0: all) that occur at least `least` times, the most frequent first; of equal ones the earlier."""
        counts = found if isinstance(found, Counter) else Counter(found)
        kept = [word for word, count in counts.most_common() if count >= least and word != UNKNOWN]
        return Words([UNKNOWN, *(kept[: most - 1] if most else kept)])

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, found: Iterable[str]) -> list[int]:
        index = self.index
        return [index.get(word, 0) for word in found]

    def json(self) -> str:
        return json.dumps(self.words, ensure_ascii=False)

    @staticmethod
    def read(text: str) -> Words:
        return Words(json.loads(text))


_WORD = re.compile(r"\d[\d.,]*|[^\W\d_]+(?:['’-][^\W\d_]+)*|[^\w\s]")
"""A number, a word with its inner ' and -, or a mark."""


def cut(line: str) -> list[str]:
    """The words, numbers and marks of a line, in small letters.

    >>> cut("Two-fold woe, O king's 12,000!")
    ['two-fold', 'woe', ',', 'o', "king's", '12,000', '!']
    """
    found: list[str] = _WORD.findall(line.lower())
    return found

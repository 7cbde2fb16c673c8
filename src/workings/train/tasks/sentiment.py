r"""Sentiment of film reviews, or labelled texts of your own: a deep averaging network (Iyyer et al. 2015).

    z = 1/n Σ_t E[w_t]                    the mean of the vectors of a text's words
    θ = relu(z W + b) W_o + b_o           scores of the classes
    L = −1/N Σ log softmax(θ)_y

The three words after not, never, -n't … are words of their own, `good_` for the good in "not good" (Das & Chen 2001): the
mean knows nothing of order. With `--ngrams 2`, neighbouring words have a vector together too. Words are left out at random.

Axes: b texts, m words of all texts, d width of a vector, c classes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from workings.errors import WorkingsError
from workings.nn.objectives.losses import cross_entropy
from workings.train.data.reviews import Labelled
from workings.train.text.vectors import vectors
from workings.train.text.vocabulary import UNKNOWN, Words

Batch = tuple[Int[Tensor, " b"], Int[Tensor, " b"], Int[Tensor, " m"]]
"""Classes, where each text starts, the words of all texts in a row."""
_WORD = re.compile(r"\d+/\d+|[^\W_]+(?:['’][^\W_]+)?|[:;]-?[()]|[!?.,;:]")
"""A mark such as 7/10, a word, a face, or what ends a clause."""
_NOT = frozenset("not no never nor neither nothing nobody none hardly without cannot".split())
_REACH = 3
"""Words after a negation that it marks, within its clause."""


def cut(text: str) -> list[str]:
    """The words of a text in small letters, those after a negation marked; of the marks only ! and ? are kept.

    >>> cut("It wasn't good at all, 3/10!")
    ['it', "wasn't", 'good_', 'at_', 'all_', '3/10', '!']
    """
    found, left = [], 0
    for word in _WORD.findall(text.lower().replace("<br />", " ")):
        if word in ".,;:!?":
            left = 0
            found += [word] if word in "!?" else []
            continue
        found.append(word + "_" if left else word)
        left = _REACH if word in _NOT or word.endswith(("n't", "n’t")) else max(0, left - 1)
    return found


class NGrams:
    """Words, and pairs of neighbours, each with the number of its vector; number 0 is for what has none."""

    def __init__(self, words: Words, pairs: Sequence[int] = ()) -> None:
        self.words = words
        self.pairs = np.array(pairs, dtype=np.int64)
        """The number of the first word times the number of words, plus the number of the second; rising."""

    @staticmethod
    def of(texts: list[list[str]], n: int, least: int) -> NGrams:
        """Those that occur often enough."""
        words = Words.of((word for text in texts for word in text), least=least)
        if len(words) < 2:
            raise WorkingsError(f"No word occurs {least} times in the texts: give more texts, or a smaller --least.")
        if n == 1:
            return NGrams(words)
        pairs, counts = np.unique(
            np.concatenate([_neighbours(words.encode(text), len(words)) for text in texts]), return_counts=True
        )
        return NGrams(words, pairs[counts > least].tolist())

    def __len__(self) -> int:
        return len(self.words) + len(self.pairs)

    def encode(self, text: list[str]) -> np.ndarray:
        """The numbers of the words and pairs of a text that have a vector."""
        words = np.array(self.words.encode(text), dtype=np.int64)
        if not len(self.pairs):
            return words[words > 0]
        pairs = _neighbours(words, len(self.words))
        place = np.searchsorted(self.pairs, pairs).clip(max=len(self.pairs) - 1)
        return np.concatenate([words[words > 0], len(self.words) + place[self.pairs[place] == pairs]])

    def name(self, number: int) -> str:
        """The word, or the two words, of a vector."""
        if number < len(self.words):
            return self.words.words[number]
        return " ".join(
            self.words.words[word] for word in divmod(int(self.pairs[number - len(self.words)]), len(self.words))
        )

    def files(self) -> dict[str, str]:
        return {"words.json": self.words.json(), "pairs.json": json.dumps(self.pairs.tolist())}

    @staticmethod
    def read(files: Mapping[str, str]) -> NGrams:
        return NGrams(Words.read(files["words.json"]), json.loads(files["pairs.json"]))


def _neighbours(words: Sequence[int] | np.ndarray, count: int) -> np.ndarray:
    """The numbers of the pairs of a text; one with an unknown word is none."""
    row = np.asarray(words, dtype=np.int64)
    a, b = row[:-1], row[1:]
    return (a * count + b)[(a > 0) & (b > 0)]


class Texts:
    """Texts of unequal length in one row, with their classes."""

    def __init__(self, texts: list[np.ndarray], y: list[int]) -> None:
        self.y = torch.tensor(y)
        self.row = torch.from_numpy(np.concatenate(texts))
        self.length = torch.tensor([len(text) for text in texts])
        self.start = self.length.cumsum(0) - self.length

    def __getitem__(self, i: Int[Tensor, " b"]) -> Batch:
        n = self.length[i]
        offsets = n.cumsum(0) - n
        place = torch.repeat_interleave(self.start[i] - offsets, n) + torch.arange(int(n.sum()))
        return self.y[i], offsets, self.row[place]


def part(batch: Batch, start: int, stop: int) -> Batch:
    """Texts `start` to `stop` of a batch."""
    y, offsets, row = batch
    first, last = [*offsets.tolist(), len(row)][start : stop + 1 : stop - start]
    return y[start:stop], offsets[start:stop] - first, row[first:last]


def loss(model: nn.Module, batch: Batch) -> Tensor:
    y, offsets, row = batch
    θ = model(row, offsets=offsets)
    L = cross_entropy(θ, y)
    return L


def scores(model: nn.Module, texts: Texts, size: int = 500) -> Tensor:
    parts = [texts[i] for i in torch.arange(len(texts.y)).split(size)]
    return torch.cat([model(row, offsets=offsets) for _, offsets, row in parts])


def figures(model: nn.Module, texts: Texts) -> dict[str, float]:
    """The loss and the share of texts whose class has the highest score."""
    θ = scores(model, texts)
    return {"loss": cross_entropy(θ, texts.y).item(), "accuracy": (θ.argmax(dim=1) == texts.y).double().mean().item()}


def sample_text(model: nn.Module, data: Labelled, test: Texts, count: int = 3) -> str:
    """Texts that were judged, the mistaken ones first."""
    some = min(100, len(test.y))
    y, offsets, row = test[torch.arange(some)]
    p = model(row, offsets=offsets).softmax(dim=1)
    found = p.argmax(dim=1)
    first = torch.argsort((found == y).long(), stable=True)[:count].tolist()
    return "\n".join(
        f"{data.classes[found[i]]} ({p[i, found[i]]:.0%}; it is {data.classes[y[i]]}): "
        f"{' '.join(data.test[i][0].split())[:80]} …"
        for i in first
    )


def initial_vectors(named: str, grams: NGrams) -> Tensor | None:
    """Vectors of the words to begin with, at a tenth of their size; words without one get a random one."""
    if named == "learned":
        return None
    table = vectors(named).table([word.rstrip("_") if word != UNKNOWN else word for word in grams.words.words])
    return 0.1 * table

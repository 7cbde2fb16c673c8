r"""Word vectors: load them, ask them, and say what they do not know.

    cos(a, b) = a·b / (‖a‖ ‖b‖)
    a is to b as c is to …      the words nearest to b − a + c      (Mikolov et al. 2013)

GloVe (Pennington et al. 2014) fits vectors to counts of words that stand near each other:

    J = Σ f(X_ij) (w_i·w̃_j + b_i + b̃_j − log X_ij)²,    f(x) = min(1, (x / x_max)^α)

Axes: n words, d width of a vector.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from workings.errors import DomainError, ShapeError, WorkingsError
from workings.nn.fits import check_inside, check_shapes

Rows = Float[Tensor, "n d"]
Biases = Float[Tensor, " n"]


class VectorsError(WorkingsError):
    """A file of word vectors that cannot be read: the file and the line are named."""


class Coverage(NamedTuple):
    """How much of a text the vectors know: shares of its running words and of its distinct words, and the unknown ones."""

    tokens: float
    types: float
    unknown: list[tuple[str, int]]
    """Unknown words with their counts, most frequent first."""


class WordVectors:
    """Words and their vectors, a row each.

    >>> v = WordVectors(["king", "queen", "apple"], torch.tensor([[1.0, 0.1], [0.9, 0.2], [0.0, 1.0]]))
    >>> [word for word, _ in v.neighbours("king", 2)]
    ['queen', 'apple']
    """

    def __init__(self, words: Sequence[str], vectors: Rows) -> None:
        if vectors.dim() != 2 or len(words) != len(vectors):
            raise ShapeError(f"Each word needs a row: {len(words)} words, but vectors of shape {[*vectors.shape]}.")
        self.words = list(words)
        self.vectors = vectors
        self.index = {word: row for row, word in enumerate(self.words)}
        if len(self.index) < len(self.words):
            word, count = Counter(self.words).most_common(1)[0]
            raise DomainError(f"A word needs one vector: {word!r} stands {count} times among the words.")
        self.directions = vectors / vectors.norm(dim=1, keepdim=True).clamp(min=torch.finfo(vectors.dtype).tiny)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.index

    def __getitem__(self, word: str) -> Float[Tensor, " d"]:
        return self.vectors[self.row(word)]

    def row(self, word: str) -> int:
        """The row of a word."""
        if word not in self.index:
            lower = f" {word.lower()!r} has one." if word.lower() in self.index else ""
            raise DomainError(f"{word!r} has no vector among these {len(self)} words.{lower}")
        return self.index[word]

    def neighbours(self, word: str | Float[Tensor, " d"], k: int = 10) -> list[tuple[str, float]]:
        """The `k` words of largest cosine with a word (itself left out) or with a vector."""
        if isinstance(word, str):
            return self.nearest(self[word], k, {word})
        return self.nearest(word, k, set())

    def analogy(self, a: str, b: str, c: str, k: int = 1) -> list[tuple[str, float]]:
        """`a` is to `b` as `c` is to …: the words nearest to b − a + c, the three left out.

        >>> v = WordVectors(["man", "woman", "king", "queen"], torch.tensor([[1.0, 0], [1, 1], [3, 0], [3, 1]]))
        >>> v.analogy("man", "woman", "king")[0][0]
        'queen'
        """
        x = self.directions[self.row(b)] - self.directions[self.row(a)] + self.directions[self.row(c)]
        return self.nearest(x, k, {a, b, c})

    def nearest(self, x: Float[Tensor, " d"], k: int, left_out: Collection[str]) -> list[tuple[str, float]]:
        """Words and cosines, largest first; of equal cosines the earlier word comes first."""
        if k < 1:
            raise DomainError(f"At least 1 neighbour is asked for, not {k}.")
        if x.shape != self.vectors.shape[1:]:
            raise ShapeError(
                f"a·b needs a vector of the width {self.vectors.shape[1]} of the words', but it is {[*x.shape]}."
            )
        if not x.norm() > 0:
            raise DomainError("A vector of zeros has no direction, so no cosine with the words.")
        cosines = self.directions @ (x / x.norm()).to(self.directions)
        first = torch.sort(cosines, descending=True, stable=True).indices[: k + len(left_out)].tolist()
        found = [(self.words[row], cosines[row].item()) for row in first if self.words[row] not in left_out]
        return found[:k]

    def coverage(self, tokens: Iterable[str]) -> Coverage:
        """What of a text has a vector.

        >>> v = WordVectors(["a", "b"], torch.eye(2))
        >>> v.coverage("a a a c".split())
        Coverage(tokens=0.75, types=0.5, unknown=[('c', 1)])
        """
        counts = Counter(tokens)
        if not counts:
            raise DomainError("Coverage is the share of a text; this text has no words.")
        unknown = Counter({word: count for word, count in counts.items() if word not in self.index})
        return Coverage(1 - unknown.total() / counts.total(), 1 - len(unknown) / len(counts), unknown.most_common())

    def table(self, words: Sequence[str], generator: torch.Generator | None = None) -> Rows:
        """A row for each of `words`, as an embedding takes it; unknown words get random rows of the same spread."""
        d = self.vectors.shape[1]
        table = self.vectors.std() * torch.randn(len(words), d, generator=generator, dtype=self.vectors.dtype)
        for row, word in enumerate(words):
            if word in self.index:
                table[row] = self.vectors[self.index[word]]
        return table


def load_text(path: str | Path, vocabulary: Collection[str] | None = None, duplicates: str = "error") -> WordVectors:
    """Read a file of lines `word number number …`, as GloVe and (with a first line `words width`) word2vec write them.

    The file is read line by line; with a `vocabulary` only its words are kept. `duplicates="first"` keeps the first of a
    word's rows instead of stopping. A word may hold spaces, as some of GloVe's do.
    """
    if duplicates not in ("error", "first"):
        raise DomainError(f"duplicates is 'error' or 'first'; got {duplicates!r}.")
    words: dict[str, int] = {}
    rows: list[np.ndarray] = []
    wanted = None if vocabulary is None else frozenset(vocabulary)
    for number, word, row in _parsed_lines(Path(path)):
        if word in words:
            if duplicates == "first":
                continue
            raise VectorsError(
                f"{path}, line {number}: {word!r} already stands on line {words[word]}. "
                "Pass duplicates='first' to keep the first."
            )
        if wanted is None or word in wanted:
            words[word] = number
            rows.append(row)
    if not rows:
        reason = "no line" if wanted is None else f"none of the {len(wanted)} words of the vocabulary"
        raise VectorsError(f"{path}: found {reason} with a vector.")
    return WordVectors(list(words), torch.from_numpy(np.stack(rows)))


def load_array(path: str | Path, words: Sequence[str] | str | Path) -> WordVectors:
    """Vectors from a `.npy` file, a row for each of `words` (a list, or a text file with one a line)."""
    vectors = np.load(path, allow_pickle=False)
    if not isinstance(words, Sequence) or isinstance(words, str):
        words = Path(words).read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return WordVectors(words, torch.from_numpy(vectors))


def _parsed_lines(path: Path) -> Iterator[tuple[int, str, np.ndarray]]:
    """Line number, word and vector of each line of a text file."""
    width = None
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                line = raw.decode("utf-8").rstrip("\r\n ")
            except UnicodeDecodeError as error:
                byte = f"byte 0x{raw[error.start]:02x} at position {error.start}"
                raise VectorsError(f"{path}, line {number}: not UTF-8, {byte}. Save the file as UTF-8.") from None
            if number == 1 and re.fullmatch(r"\d+ \d+", line):  # word2vec begins with the number of words and the width
                width = int(line.split()[1])
            elif line:
                word, row = _parse_line(line, width, f"{path}, line {number}")
                width = len(row)
                yield number, word, row


def _parse_line(line: str, width: int | None, place: str) -> tuple[str, np.ndarray]:
    """Word and vector of a line that should hold `width` numbers."""
    fields = line.split(" ")
    numbers = len(fields) - 1
    while width is not None and numbers > width and not _is_number(fields[len(fields) - numbers]):
        numbers -= 1  # a space inside the word
    if not numbers or (width is not None and numbers != width):
        wanted = "numbers" if width is None else f"{width} numbers, as the lines before have,"
        raise VectorsError(f"{place}: needs a word and {wanted} but has {numbers} numbers.")
    try:
        row = np.array(fields[-numbers:], dtype=np.float32)
    except ValueError:
        bad = next(field for field in fields[-numbers:] if not _is_number(field))
        raise VectorsError(f"{place}: {bad!r} is not a number.") from None
    if not np.isfinite(row).all():
        raise VectorsError(f"{place}: the vector holds {row[~np.isfinite(row)][0]}.")
    return " ".join(fields[:-numbers]), row


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def cooccurrences(tokens: Sequence[int], words: int, window: int) -> Float[Tensor, "n n"]:
    """How often two words stand near each other: each pair within `window` counts 1/distance, both ways.

    >>> cooccurrences([0, 1, 2], 3, 2)
    tensor([[0.0000, 1.0000, 0.5000],
            [1.0000, 0.0000, 1.0000],
            [0.5000, 1.0000, 0.0000]])
    """
    if window < 1:
        raise DomainError(f"A window reaches at least 1 word; window = {window}.")
    X = torch.zeros(words, words)
    t = torch.as_tensor(tokens)
    for distance in range(1, min(window, len(t) - 1) + 1):
        near = torch.full((len(t) - distance,), 1 / distance)
        X.index_put_((t[:-distance], t[distance:]), near, accumulate=True)
        X.index_put_((t[distance:], t[:-distance]), near, accumulate=True)
    return X


def glove_loss(
    W: Rows, V: Rows, b: Biases, c: Biases, X: Float[Tensor, "n n"], highest: float = 100.0, α: float = 0.75
) -> Float[Tensor, ""]:
    r"""How far w_i·v_j + b_i + c_j is from the logarithm of the count; pairs that never meet do not count.

    $$J = \sum_{X_{ij} > 0} f(X_{ij})\, (w_i \cdot v_j + b_i + c_j - \log X_{ij})^2$$

    >>> one = torch.ones(1, 1)
    >>> glove_loss(one, 2 * one, one[0], one[0], torch.exp(one), highest=1.0)  # (2 + 1 + 1 − 1)²
    tensor(9.)
    """
    check_shapes(glove_loss, W, V, b, c, X)
    check_inside("Counts of pairs are never negative", X, lambda X: ~(X >= 0))
    i, j = X.nonzero(as_tuple=True)
    x = X[i, j]
    f = (x / highest).clamp(max=1) ** α
    E = (W[i] * V[j]).sum(dim=1) + b[i] + c[j] - torch.log(x)
    J = (f * E**2).sum()
    return J

r"""Words: the next one from the vector of this one, for a vocabulary of a few thousand.

    x = E[v],   h = σ(x W₁ + b₁),   ŷ = softmax(h W₂ + b₂)
    L = −1/N Σ_vw c(v,w) log ŷ_vw               c(v,w): how often word w follows word v, N pairs in all

The loss of all pairs of the text takes a softmax for each distinct word, not for each place: four steps of 500 contexts see
every pair of a vocabulary of 2,000. b₂ begins as the logarithm of how often a word occurs, so what is learned is how
contexts differ. It is the network alone that predicts; interpolated Kneser–Ney counts (`kneser_ney_perplexity`) stand
beside it.

A network that learns counts of 0 and 1 as they are soon knows a short text by heart. So the counts it learns are smoothed as
Kneser and Ney do it (after Xie et al. 2017, who let this noise into the text):

    c(v,w) − D + D N_v• P₁(w)                   each pair gives up D; v hands it out by P₁, see `workings.models.smoothing`

A line is a sentence and ends in `</s>`; the numbers in it are `<number>`, the words that are not among the most frequent
`<unk>`. A text with `<unk>` in it, as the Penn Treebank has, is taken to be cut already: its words stand between spaces.

Axes: b contexts, w words of the vocabulary, m tokens of a text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import exp

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from workings.errors import WorkingsError
from workings.models.bigram import NeuralBigram
from workings.models.decoding.search import sample
from workings.train.data.texts import lines, text
from workings.train.tasks.shuffled import Shuffled
from workings.train.text.decoders import decoder_of
from workings.train.text.language import Language
from workings.train.text.vectors import vectors
from workings.train.text.vocabulary import UNKNOWN, Words, cut

_END, _NUMBER = "</s>", "<number>"
SPREAD = 2.0
"""Standard deviation of the vectors at the start: wide enough for σ to tell words apart."""
Batch = tuple[Int[Tensor, " b"], Float[Tensor, "b w"]]
"""Words, and how often each word follows them."""


# the text


def sentences(named: str, judges: str) -> tuple[str, str, dict[str, str]]:
    """The text to learn from, the one to be judged by, and the files they come from."""
    whole = text(named)
    if judges:
        dev = text(judges)
        return whole, dev, {named: whole, judges: dev}
    found = lines(whole)
    if len(found) < 10:
        raise WorkingsError(
            f"{named} has {len(found)} lines. A line is a sentence, and the last tenth of them is what the model is judged "
            "by: give at least 10, or a second file with --dev."
        )
    kept = 9 * len(found) // 10
    return "".join(found[:kept]), "".join(found[kept:]), {named: whole}


def tokens_of(whole: str) -> list[str]:
    """The words of a text, with `</s>` at the end of each line.

    >>> tokens_of("Give me 3 pears.\\n\\nThanks")
    ['give', 'me', '<number>', 'pears', '.', '</s>', 'thanks']
    >>> tokens_of("no <unk> in the u.s.\\n")
    ['no', '<unk>', 'in', 'the', 'u.s.', '</s>']
    """
    words = str.split if UNKNOWN in whole else cut
    found: list[str] = []
    for line in lines(whole):
        if pieces := words(line):
            found += [_NUMBER if piece[0].isdecimal() else piece for piece in pieces]
            found += [_END] * line.endswith("\n")
    return found


_MARKS = frozenset(".,;:!?)]}%’”")


def join(pieces: Sequence[str]) -> str:
    """Words as a line of text.

    >>> join(["yes", ",", "my", "lord", ".", "</s>", "no"])
    'yes, my lord.\\nno'
    """
    line = ""
    for piece in pieces:
        tight = not line or line.endswith("\n") or piece in _MARKS or piece == _END
        line += ("" if tight else " ") + ("\n" if piece == _END else piece)
    return line


def vocabulary(whole: str, most: int) -> Words:
    """`<unk>`, the end of a line, and the most frequent words."""
    counts = Counter(tokens_of(whole))
    counts[_END] = counts.total() + 1  # always there, and the first of them
    return Words.of(counts, most)


def encode(whole: str, words: Words) -> Int[Tensor, " m"]:
    """The numbers of the words; the end of a line stands before the first, so that each line begins after one."""
    found = words.encode(tokens_of(whole))
    if not found:
        raise WorkingsError("The text has no words.")
    return torch.tensor([words.index[_END], *found])


# the network


def initial_vectors(named: str, words: Words) -> Float[Tensor, "w d"] | None:
    """Vectors to begin with; words without one get a random one."""
    if named == "learned":
        return None
    return vectors(named).table(words.words)


def initialise(model: NeuralBigram, tokens: Int[Tensor, " m"], vectors: Float[Tensor, "w d"] | None) -> None:
    """The bias of each word is the logarithm of its frequency; given vectors get the spread of the others."""
    n = torch.bincount(tokens, minlength=len(model.E)).double() + 1
    with torch.no_grad():
        model.network.b_2.copy_(torch.log(n / n.sum()))
        if vectors is not None:
            model.E.copy_(SPREAD * vectors / vectors.std())


class Pairs:
    """How often words follow each other, by rows; smoothed by a discount D that is handed out by P₁, if there is one."""

    def __init__(
        self, tokens: Int[Tensor, " m"], words: int, D: float = 0.0, P_1: Float[Tensor, " w"] | None = None
    ) -> None:
        pairs, self.counts = torch.unique(tokens[:-1] * words + tokens[1:], return_counts=True)
        self.v, self.w, self.words = pairs // words, pairs % words, words
        self.contexts = self.v.unique()
        self.D, self.P_1 = D, torch.zeros(words) if P_1 is None else P_1

    def rows(self, v: Int[Tensor, " b"]) -> Float[Tensor, "b w"]:
        r"""The row of counts of each of these words.

        $$c(v, w) - D + D \, N_{v\bullet} P_1(w)$$
        """
        first, last = torch.searchsorted(self.v, v), torch.searchsorted(self.v, v, right=True)
        n = last - first
        row = torch.repeat_interleave(torch.arange(len(v)), n)
        place = torch.arange(len(row)) - (n.cumsum(0) - n)[row] + first[row]
        C = torch.outer(self.D * n, self.P_1)
        C[row, self.w[place]] += self.counts[place] - self.D
        return C


class Contexts:
    """The batch of a step: all contexts, or, where there are more than `batch`, some in a random order."""

    def __init__(self, pairs: Pairs, batch: int, seed: int) -> None:
        self.pairs, self.whole = pairs, batch >= len(pairs.contexts)
        self.seen = Shuffled(len(pairs.contexts), batch, seed)
        self.all = (pairs.contexts, pairs.rows(pairs.contexts[: batch if self.whole else 0]))

    def __call__(self, step: int) -> Batch:
        if self.whole:
            return self.all
        v = self.pairs.contexts[self.seen(step)]
        return v, self.pairs.rows(v)


def loss(model: nn.Module, batch: Batch) -> Tensor:
    v, C = batch
    log_ŷ = model(v).log_softmax(dim=1)
    L = -(C * log_ŷ).sum() / C.sum()
    return L


def figures(model: nn.Module, pairs: Pairs, size: int = 1000) -> dict[str, float]:
    """The loss and the perplexity per word, `</s>` and `<unk>` included."""
    total, n = 0.0, int(pairs.counts.sum())
    for v in pairs.contexts.split(size):
        C = pairs.rows(v)
        total += loss(model, (v, C)).item() * C.sum().item()
    return {"loss": total / n, "perplexity": exp(total / n)}


def sample_text(language: Language, count: int = 60) -> str:
    """Some lines drawn at random."""
    tokens = sample(decoder_of(language.model), language.encode([_END]), count)
    return language.decode([*tokens]).strip("\n")

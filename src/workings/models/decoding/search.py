r"""Decoding: from a model of the next token to a sequence.

    greedy      the most likely token each time
    sample      a draw from softmax(logits / T), among the k best (top-k) or the fewest that hold p of the weight (top-p)
    beam        the `beams` best beginnings are kept; a sequence of n tokens scores Σ log p / n^α

Each takes a decoder: a callable `decoder(tokens, cache)` from [b, n] new tokens to [b, n, v] logits, which keeps the keys
and values of earlier tokens in the cache when there is one. A `LanguageModel` is one; `EncoderDecoder.given(…)` makes one.
`greedy` and `sample` yield tokens as they come, the stop token last. With a cache, models that have steps
(`workings.models.decoding.stepper`) compute single tokens by them wherever the result is the same.

Axes: b beams or batch, n tokens, v vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from workings.errors import DomainError
from workings.models.decoding.stepper import Stepper
from workings.written_out import follows_equations

Logits = Float[Tensor, "*b v"]
Stop = int | Collection[int]


@runtime_checkable
class Decoder(Protocol):
    """A model of the next token. `context` is the longest input it takes, None for any length."""

    context: int | None

    def __call__(self, tokens: Int[Tensor, "b n"], cache: Any = None) -> Float[Tensor, "b n v"]: ...

    def new_cache(self) -> Any: ...


def greedy(decoder: Decoder, prompt: Iterable[int], count: int, stop: Stop = (), cache: bool = True) -> Iterator[int]:
    r"""The most likely token each time, at most `count` of them, up to a stop token.

    $$y_t = \operatorname{argmax}_y P(y \mid y_{<t})$$
    """
    return stream(decoder, prompt_tokens(prompt, count), count, stop, cache, lambda logits: int(logits.argmax(dim=-1)))


def sample(
    decoder: Decoder,
    prompt: Iterable[int],
    count: int,
    T: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
    stop: Stop = (),
    cache: bool = True,
) -> Iterator[int]:
    r"""Tokens drawn at random, at most `count` of them, up to a stop token.

    $$y_t \sim \operatorname{softmax}(\text{logits} / T)$$

    The same `generator` seed gives the same tokens.
    """
    tokens = prompt_tokens(prompt, count)
    _check_distribution(T, top_k, top_p)

    def draw(logits: Tensor) -> int:
        return draw_token(next_token_probabilities(logits, T, top_k, top_p), generator)

    return stream(decoder, tokens, count, stop, cache, draw)


def draw_token(p: Float[Tensor, " v"], generator: torch.Generator | None = None) -> int:
    r"""A token by its probability: the first of v waiting times, each with rate p, is that of token y with probability p_y.

    $$y = \operatorname{argmin}_y \frac{e_y}{p_y} = \operatorname{argmax}_y \frac{p_y}{e_y}, \qquad
    e_y \sim \operatorname{Exp}(1)$$

    That is what `torch.multinomial` does too, with the same draws, in about twice the time.

    >>> draw_token(torch.tensor([0.0, 1.0, 0.0]))
    1
    """
    if type(p) is Tensor:
        e = torch.empty_like(p).exponential_(1, generator=generator)
        y = int((p / e).argmax().item())
        if p[y].item() > 0:  # else p is no distribution
            return y
    return int(torch.multinomial(p, 1, generator=generator))


def next_token_probabilities(logits: Logits, T: float = 1.0, top_k: int | None = None, top_p: float | None = None) -> Logits:
    r"""The distribution that `sample` draws from.

    $$p = \operatorname{softmax}(\text{logits} / T)$$

    `top_k` keeps the k most likely tokens. `top_p` keeps the fewest most likely ones whose weight reaches p (nucleus
    sampling, Holtzman et al. 2020), after `top_k`. What is kept is scaled to sum to 1; of equal tokens the first are kept.

    >>> next_token_probabilities(torch.tensor([0.1, 0.4, 0.3, 0.2]).log(), top_p=0.6)
    tensor([0.0000, 0.5714, 0.4286, 0.0000])
    """
    _check_distribution(T, top_k, top_p)
    s = logits if T == 1 else logits / T
    if top_k is not None:
        s = s.masked_fill(rank(s) >= top_k, -inf)
    p = s.softmax(dim=-1)
    if top_p is not None:
        order = p.argsort(dim=-1, descending=True, stable=True)
        ordered = p.gather(-1, order)
        before = ordered.cumsum(dim=-1) - ordered
        kept = torch.where(before < top_p, ordered, torch.zeros_like(ordered))
        p = torch.zeros_like(p).scatter(-1, order, kept / kept.sum(dim=-1, keepdim=True))
    return p


def rank(s: Logits) -> Int[Tensor, "*b v"]:
    """The place of each score from the largest, 0, down; equal ones in their order.

    >>> rank(torch.tensor([1.0, 5.0, 5.0, 2.0]))
    tensor([3, 0, 1, 2])
    """
    return s.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)


@dataclass(frozen=True)
class Beam:
    """A sequence that beam search found: the tokens after the prompt, Σ log p, and the score it is ranked by."""

    tokens: list[int]
    log_p: float
    score: float


def beam(
    decoder: Decoder,
    prompt: Iterable[int],
    count: int,
    beams: int = 4,
    alpha: float = 0.0,
    stop: Stop = (),
    cache: bool = True,
) -> list[Beam]:
    r"""The best sequences found by extending the `beams` best beginnings token by token, best first.

    $$\text{score} = \frac{1}{n^{\alpha}} \sum_{t=1}^{n} \log P(y_t \mid y_{<t})$$

    `alpha` is the length penalty: 0 ranks by probability, which favours short sequences, 1 by the mean of log p. With one
    beam and no penalty this is `greedy`; with as many beams as there are sequences it is exhaustive.
    """
    tokens, ends = prompt_tokens(prompt, count), stops(stop)
    if beams < 1:
        raise DomainError(f"Beam search needs at least 1 beam, not {beams}.")
    if not alpha >= 0:
        raise DomainError(f"Beam search needs a length penalty α ≥ 0, not {alpha}.")
    store = decoder.new_cache() if cache else None
    stepper = Stepper(decoder, store)
    begun = [Beam([], 0.0, 0.0)]
    finished: list[Beam] = []
    for n in range(1, count + 1):
        with torch.no_grad():
            logits = next_logits(decoder, [[*tokens, *b.tokens] for b in begun], stepper)
        rows, begun, ended = extensions(begun, as_float(logits).log_softmax(dim=-1), beams, alpha, ends)
        finished = best([*finished, *ended, *(begun if n == count else [])], beams)
        bound = max((b.log_p / count**alpha for b in begun), default=-inf)
        if not begun or (len(finished) == beams and bound <= finished[-1].score):  # no beginning can still get in
            break
        if store is not None:
            store.select(torch.tensor(rows))
    return finished


def extensions(
    begun: list[Beam], log_p: Float[Tensor, "b v"], beams: int, alpha: float, ends: frozenset[int]
) -> tuple[list[int], list[Beam], list[Beam]]:
    """The `beams` best beginnings with one more token, the row each came from, and what ended among better ones."""
    total = torch.tensor([b.log_p for b in begun], dtype=log_p.dtype)[:, None] + log_p
    rows: list[int] = []
    longer: list[Beam] = []
    ended: list[Beam] = []
    for place in total.flatten().argsort(descending=True, stable=True).tolist():
        row, token = divmod(place, total.shape[1])
        value, n = total[row, token].item(), len(begun[row].tokens) + 1
        if value == -inf or len(rows) == beams:
            break
        found = Beam([*begun[row].tokens, token], value, value / n**alpha)
        if token in ends:
            ended.append(found)
        else:
            rows.append(row)
            longer.append(found)
    return rows, longer, ended


def best(found: list[Beam], beams: int) -> list[Beam]:
    """The `beams` sequences with the highest score; of equal ones those found first."""
    return sorted(found, key=lambda b: -b.score)[:beams]


# one token at a time


def stream(
    decoder: Decoder, tokens: list[int], count: int, stop: Stop, cache: bool, choose: Callable[[Tensor], int]
) -> Iterator[int]:
    """Yield the chosen tokens as they come, and stop after a stop token."""
    ends, stepper = stops(stop), Stepper(decoder, decoder.new_cache() if cache else None)
    for _ in range(count):
        with torch.no_grad():
            token = choose(next_logits(decoder, [tokens], stepper)[0])
        yield token
        tokens.append(token)
        if token in ends:
            return


def next_logits(decoder: Decoder, rows: list[list[int]], stepper: Stepper) -> Float[Tensor, "b v"]:
    """The logits of the token after each row; with a cache only what is new goes through the model.

    Rows longer than the model's context lose their oldest tokens. Their positions move then, so the cache is of no use.
    """
    store, length = stepper.cache, len(rows[0])
    if decoder.context is not None and length > decoder.context:
        return decoder(torch.tensor([row[-decoder.context :] for row in rows]))[:, -1]
    if store is None:
        return decoder(torch.tensor(rows))[:, -1]
    if stepper.ready(length - store.length):
        return stepper([row[-1] for row in rows])
    return decoder(torch.tensor([row[store.length :] for row in rows]), store)[:, -1]


def as_float(logits: Logits) -> Logits:
    """Exact logits as floats: beam search adds log p in floating point."""
    return logits.float64() if follows_equations([logits]) else logits.to(torch.float64)  # type: ignore[attr-defined]


def stops(stop: Stop) -> frozenset[int]:
    return frozenset([stop] if isinstance(stop, int) else stop)


# what decoding asks of its arguments


def prompt_tokens(prompt: Iterable[int], count: int) -> list[int]:
    """The prompt as a list, not empty."""
    tokens = [int(token) for token in prompt]
    if not tokens:
        raise DomainError("Decoding needs a prompt of at least one token, such as a start token; this one is empty.")
    if count < 0:
        raise DomainError(f"Decoding makes 0 tokens or more, not {count}.")
    return tokens


def _check_distribution(T: float, top_k: int | None, top_p: float | None) -> None:
    if not T > 0:
        raise DomainError(f"Sampling needs a temperature T > 0, not {T}. Its limit for T → 0 is greedy decoding.")
    if top_k is not None and top_k < 1:
        raise DomainError(f"Top-k sampling keeps k ≥ 1 tokens, not {top_k}.")
    if top_p is not None and not 0 < top_p <= 1:
        raise DomainError(f"Top-p sampling keeps a weight p with 0 < p ≤ 1, not {top_p}.")

r"""Dedupe and sort: a decoder reads letters and writes the distinct ones in order.

    D A A <START> A D <STOP>
    L = −1/M Σ log P(token_{t+1} | tokens_{≤t})      over the M tokens of the answers, ⟨STOP⟩ included

The answer depends on which letters came, not on their places, so the model has no positions. A tenth of all strings, chosen
by a checksum of the string, is never trained on; the figures are exact match on strings of that tenth, and `fixed_weights`,
the exact match there of the exam's matrices. Those fail whatever the string: W_O Eᵀ has equal columns for A and C and for B
and D, so these logits always tie, and those of ⟨START⟩ and ⟨STOP⟩ are always 0, so it cannot stop.

Axes: b strings, n tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from zlib import crc32

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from workings.course.dedupe import DedupeDecoder
from workings.course.dedupe_task import START, STOP, answer, decode, encode, example, is_right, prompts
from workings.nn.objectives.losses import cross_entropy

IGNORE = -100
_LONGEST_ANSWER = 5
"""Four letters and ⟨STOP⟩."""
Tokens = Int[Tensor, "b n"]


def strings(longest: int, generator: torch.Generator | None = None, held_out: bool = False) -> Iterator[str]:
    """Random strings without end, all of the tenth that is never trained on, or none of it."""
    while True:
        yield from (prompt for prompt in prompts(256, longest, generator) if is_held_out(prompt) == held_out)


def unseen_strings(longest: int, generator: torch.Generator, count: int) -> list[str]:
    """The different ones among `count` random strings that are never trained on: of short strings there are few."""
    return [*dict.fromkeys(islice(strings(longest, generator, held_out=True), count))]


def is_held_out(prompt: str) -> bool:
    return crc32(prompt.encode()) % 10 == 0


def training_pairs(drawn: list[str]) -> tuple[Tokens, Tokens]:
    """What goes in, and what should come out after each token: the answer; nothing is asked before ⟨START⟩."""
    rows = [example(prompt) for prompt in drawn]
    tokens = pad_sequence(rows, batch_first=True, padding_value=IGNORE)
    y = tokens[:, 1:].masked_fill((tokens == START).cumsum(dim=1)[:, :-1] == 0, IGNORE)
    x = tokens[:, :-1].masked_fill(tokens[:, :-1] == IGNORE, STOP)
    return x, y


def loss(model: nn.Module, batch: tuple[Tokens, Tokens]) -> Tensor:
    x, y = batch
    θ = model(x)
    L = cross_entropy(θ.flatten(0, 1), y.flatten(), ignore=IGNORE)
    return L


def figures(model: nn.Module, test: list[str]) -> dict[str, float]:
    """The loss, and the share of strings that are answered exactly."""
    right = sum(is_right(prompt, tokens) for prompt, tokens in answers(model, test))
    return {"loss": loss(model, training_pairs(test[:2000])).item(), "exact_match": right / len(test)}


def answers(model: nn.Module, test: list[str]) -> Iterator[tuple[str, Tensor]]:
    """The answer to each string, strings of one length at a time; the most likely token each time."""
    for length in sorted({len(prompt) for prompt in test}):
        same = [prompt for prompt in test if len(prompt) == length]
        tokens = torch.stack([encode([*prompt, "<START>"]) for prompt in same])
        for _ in range(_LONGEST_ANSWER):
            tokens = torch.cat([tokens, model(tokens)[:, -1:].argmax(dim=-1)], dim=1)
        yield from zip(same, (_up_to_stop(row[length + 1 :]) for row in tokens), strict=True)


def letters(prompt: str) -> str:
    """The letters of a prompt, without spaces; others than those of the task are refused."""
    word = prompt.replace(" ", "").upper()
    answer(word)
    return word


def _up_to_stop(row: Int[Tensor, " n"]) -> Int[Tensor, " m"]:
    stopped = (row == STOP).nonzero()
    return row[: int(stopped[0]) + 1] if len(stopped) else row


def answer_of(model: nn.Module, prompt: str) -> str:
    """What a model writes behind a string."""
    return decode(next(answers(model, [prompt]))[1])


def fixed_match(test: list[str]) -> float:
    """The exact match of the exam's weights."""
    return sum(is_right(prompt, fixed_answer(prompt)) for prompt in test) / len(test)


def fixed_answer(prompt: str) -> list[int]:
    """What the exam's weights write: of tied tokens the first."""
    model, tokens = DedupeDecoder(), encode([*prompt, "<START>"]).tolist()
    with torch.no_grad():
        for _ in range(_LONGEST_ANSWER):
            tokens.append(int(model(torch.tensor(tokens))[-1].argmax()))
    return tokens[len(prompt) + 1 :]

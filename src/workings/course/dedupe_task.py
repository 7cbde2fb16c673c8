"""Dedupe and sort: from a string over A, B, C, D to its distinct letters in order.

An example is one sequence, the prompt, ⟨START⟩, the answer, ⟨STOP⟩. The prompt D A A has the answer A D:

    D A A <START> A D <STOP>

The answer depends on which letters the prompt has, not on their order or number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from workings.errors import DomainError

LETTERS = ("A", "B", "C", "D")
START, STOP = 4, 5
VOCABULARY = (*LETTERS, "<START>", "<STOP>")

Tokens = Int[Tensor, " n"]


def encode(text: str | Iterable[str]) -> Tokens:
    """The numbers of the tokens in a text with spaces between them.

    >>> encode("D A A <START>")
    tensor([3, 0, 0, 4])
    """
    words = text.split() if isinstance(text, str) else list(text)
    unknown = [word for word in words if word not in VOCABULARY]
    if unknown:
        raise DomainError(f"The tokens of dedupe-and-sort are {', '.join(VOCABULARY)}; {unknown[0]!r} is not one of them.")
    return torch.tensor([VOCABULARY.index(word) for word in words], dtype=torch.long)


def decode(tokens: Iterable[int] | Tokens) -> str:
    """The text of some tokens.

    >>> decode([3, 0, 0, 4])
    'D A A <START>'
    """
    return " ".join(VOCABULARY[int(token)] for token in tokens)


def answer(prompt: Sequence[str]) -> list[str]:
    """The distinct letters of the prompt in order.

    >>> answer("DAA")
    ['A', 'D']
    """
    wrong = [letter for letter in prompt if letter not in LETTERS]
    if wrong or not prompt:
        found = f"{wrong[0]!r}" if wrong else "nothing"
        raise DomainError(f"A prompt of dedupe-and-sort has one letter or more of A, B, C, D; this one has {found}.")
    return sorted(set(prompt))


def example(prompt: Sequence[str]) -> Tokens:
    """Prompt, ⟨START⟩, answer, ⟨STOP⟩ as tokens.

    >>> decode(example("DAA"))
    'D A A <START> A D <STOP>'
    """
    return encode([*prompt, "<START>", *answer(prompt), "<STOP>"])


def is_right(prompt: Sequence[str], output: Iterable[int] | Tokens) -> bool:
    """Whether the tokens that follow ⟨START⟩ are exactly the answer and ⟨STOP⟩.

    >>> is_right("DAA", encode("A D <STOP>")), is_right("DAA", encode("A D")), is_right("DAA", encode("D A <STOP>"))
    (True, False, False)
    """
    return decode(output).split() == [*answer(prompt), "<STOP>"]


def prompts(count: int, longest: int = 6, generator: torch.Generator | None = None) -> Iterator[str]:
    """Random prompts of 1 to `longest` letters, each letter equally likely.

    >>> list(prompts(3, longest=4, generator=torch.Generator().manual_seed(0)))
    ['D', 'AD', 'DDBD']
    """
    if longest < 1:
        raise DomainError(f"The longest prompt needs at least 1 letter, not {longest}.")
    for _ in range(count):
        n = int(torch.randint(1, longest + 1, (), generator=generator))
        yield "".join(LETTERS[i] for i in torch.randint(0, len(LETTERS), (n,), generator=generator).tolist())

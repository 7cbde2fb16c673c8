"""The beginning of a study of one's own, to be filled in; as it stands, it runs and holds."""

from __future__ import annotations

import re

from workings.errors import WorkingsError

_TEXT = '''"""What the study is about, and the equations that it rests on.

Run it: workings study {name}.py:{name}
"""

from typing import Annotated, Literal

import torch

from workings.studies import Bounds, Part, Range, Seed, measured, study


@study()
def {name}(
    d: Annotated[int, Range(1, 1024, "a width is at least 1"), "width of queries and keys"] = 64,
    seed: Seed = 0,
    broken: Literal["", "no division by the root of d"] = "",
) -> list[Part]:
    """Dividing by √d keeps the variance of a score at 1."""
    generator = torch.Generator().manual_seed(seed)
    scale = 1.0 if broken else d**0.5

    def squared_scores(n: int) -> torch.Tensor:
        q, k = torch.randn(2, n, d, generator=generator)
        return ((q * k).sum(dim=-1) / scale) ** 2

    sentence = "The variance of q·k/√d is 1, within a tenth"
    return [measured(sentence, squared_scores, Bounds(0.9, 1.1), what="variance", reference="Var(q·k) = d")]
'''


def skeleton(name: str) -> str:
    """The text of a new study's file.

    >>> "def my_claim(" in skeleton("my-claim")
    True
    """
    word = name.replace("-", "_")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", word):
        raise WorkingsError(f"A study is called like a function, such as my-claim; got {name!r}.")
    return _TEXT.format(name=word)

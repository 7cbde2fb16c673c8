r"""Where a token stands: absolute encodings, relative ones, and what a shift of the whole sequence does to each.

PE(pos + k) = R_k PE(pos)       sinusoids: a shift is a rotation of each pair of entries by the angle k ω_i
A(X; start) = A(X; 0)           relative bias, ALiBi, RoPE: the pattern depends on i − j alone
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from workings.errors import DomainError
from workings.nn.transformer.dot_product import attention_weights
from workings.nn.transformer.positions import Learned, alibi, frequencies, relative_bias, rope, sinusoidal
from workings.studies.claim import Bounds
from workings.studies.decide.proof import compared, proved
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Worked
from workings.studies.pictures.kinds import Curves, Heatmap, Line

_RELATIVE, _ABSOLUTE = ("relative bias", "ALiBi", "RoPE"), ("sinusoids", "learned table")


def _turned(PE: Tensor, k: float, ω: Tensor) -> Tensor:
    """Each pair (sin, cos) of encodings, turned on by the angle k ω."""
    s, c = PE[..., 0::2], PE[..., 1::2]
    sine = s * (k * ω).cos() + c * (k * ω).sin()
    cosine = c * (k * ω).cos() - s * (k * ω).sin()
    return torch.stack((sine, cosine), dim=-1).flatten(-2)


def _pattern(name: str, X: Tensor, start: int, tables: dict[str, Tensor]) -> Tensor:
    """The attention weights among tokens that stand at `start`, `start` + 1, …"""
    n, d = X.shape
    places = torch.arange(start, start + n, dtype=X.dtype)
    match name:
        case "relative bias":
            return attention_weights(X, X, bias=relative_bias(tables["bias"], n + start)[start:, start:])
        case "ALiBi":
            return attention_weights(X, X, bias=alibi(1, n + start)[0].to(X)[start:, start:])
        case "RoPE":
            return attention_weights(rope(X, places), rope(X, places))
        case "sinusoids":
            Y = X + sinusoidal(places, d)
        case _:
            Y = X + tables["learned"][start : start + n]
    return attention_weights(Y, Y)


@study(rows=("B9", "B10"))
def position_shifts(
    width: Annotated[int, Range(4, 256, "pairs of entries have angles; an even number")] = 16,
    shift: Annotated[int, Range(1, 100, "0 shifts nothing"), "places that the sequence moves by"] = 7,
    seed: Seed = 0,
    broken: Literal["", "sines alone", "encodings exchanged"] = "",
) -> list[Part]:
    """A shift rotates sinusoids and leaves relative patterns alone; a learned table ends.

    Six random tokens, read at the start of a text and `shift` places on.
    """
    g = torch.Generator().manual_seed(seed)
    width += width % 2
    X = torch.randn(6, width, generator=g, dtype=torch.float64)
    tables = {"bias": torch.randn(15, generator=g).double(), "learned": torch.randn(6 + shift, width, generator=g).double()}
    places = torch.arange(40, dtype=torch.float64)
    PE, moved = sinusoidal(places, width), sinusoidal(places + shift, width)
    if broken == "sines alone":
        PE, moved = (torch.stack((each[..., 0::2], each[..., 0::2]), -1).flatten(-2) for each in (PE, moved))
    off = float((_turned(PE, shift, frequencies(places, width)) - moved).abs().max())
    change = {
        name: float((_pattern(name, X, shift, tables) - _pattern(name, X, 0, tables)).abs().max())
        for name in (*_RELATIVE, *_ABSOLUTE)
    }
    relative, absolute = (_ABSOLUTE, _RELATIVE) if broken == "encodings exchanged" else (_RELATIVE, _ABSOLUTE)
    dots = PE @ PE.T
    return [
        compared(
            "Sinusoids of a place k further on are those of the place, each pair turned by the angle k ω_i",
            off,
            Bounds(high=1e-12),
            "largest |PE(pos + k) − R_k PE(pos)|",
            "sin(a + b) and cos(a + b)",
        ),
        compared(
            "Relative positions keep the attention pattern when the whole sequence moves",
            max(change[name] for name in relative),
            Bounds(high=1e-12),
            f"largest change of a weight, of {', '.join(relative)}",
            "scores depend on i − j alone",
        ),
        compared(
            "Absolute positions do not: some weight changes by more than a hundredth",
            min(change[name] for name in absolute),
            Bounds(low=0.01),
            f"largest change of a weight, the least of {', '.join(absolute)}",
            "(x_i + p_i)·(x_j + p_j) has terms of i and of j alone",
        ),
        proved(
            "A learned table of n places has none for the next one; sinusoids have",
            _table_ends(8, width, broken),
            "a table of 8 was asked for place 8",
            "a table has a row for each place that it was made for",
        ),
        Heatmap(
            "Sinusoidal encodings of 16 places",
            PE[:16, :12].tolist(),
            [str(i) for i in range(16)],
            [str(i) for i in range(min(12, width))],
            "entry",
            "place",
            diverging=True,
        ),
        Curves(
            "How alike two places are by sinusoids",
            list(range(40)),
            [Line("PE(0)·PE(k)", dots[0].tolist())],
            "distance k",
            "dot product",
        ),
        Table(
            f"What a shift by {shift} changes in the attention weights",
            ["positions", "largest change"],
            [[name, value] for name, value in change.items()],
        ),
        _worked(),
    ]


def _table_ends(n: int, width: int, broken: str) -> bool:
    """Whether the encoding, made for n places, refuses the next one."""
    encoding: Any = (lambda count: sinusoidal(count, width)) if broken == "encodings exchanged" else Learned(n, width)
    try:
        encoding(n + 1)
    except DomainError:
        return True
    return False


def _worked() -> Part:
    from workings import exact, show

    return Worked("Sinusoids of three places", show(sinusoidal, exact("0 1 2"), 4))

"""How the command line prints exact tensors: the exact values, then their certified decimals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from torch import Tensor

    from workings.exact import ExactTensor


def print_worked(formula: str, x: Tensor | None) -> None:
    """Print `formula`, the exact values of `x` under it and, where they say more, the decimals."""
    from workings.exact import ExactTensor

    assert isinstance(x, ExactTensor), f"{formula} is not exact"
    typer.echo(f"{formula} =\n{x.text()}")
    if any(not number.is_integer() for number in x.float64().flatten().tolist()):
        typer.echo(decimals(x))
    typer.echo()


def decimals(x: ExactTensor, digits: int = 6) -> str:
    """The certified decimals of `x`, after an ≈, in the layout of `layout`."""
    first, *rest = layout(x.decimals(digits)).split("\n")
    return "\n".join([f"≈ {first}", *(f"  {line}" for line in rest)])


def layout(nested: Any) -> str:
    """Nested lists of text as rows and columns.

    >>> print(layout([["1", "0.5"], ["0.25", "2"]]))
    ⎡   1  0.5⎤
    ⎣0.25    2⎦
    >>> print(layout(["1", "2"]))
    [1  2]
    >>> print(layout("0.5"))
    0.5
    """
    if isinstance(nested, str):
        return nested
    if not nested or isinstance(nested[0], str):
        return matrix([nested])
    if not nested[0] or isinstance(nested[0][0], str):
        return matrix(nested)
    return "\n\n".join(layout(part) for part in nested)


def matrix(rows: list[list[str]]) -> str:
    """Rows of text between tall brackets, each column aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.rjust, row, widths)) for row in rows]
    if len(lines) == 1:
        return f"[{lines[0]}]"
    middle = len(lines) - 2
    left, right = f"⎡{'⎢' * middle}⎣", f"⎤{'⎥' * middle}⎦"
    return "\n".join(map("{}{}{}".format, left, lines, right))

"""How the command line prints exact tensors: the exact values, then their certified decimals."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    """The certified decimals of `x`, after an ≈."""
    from workings.exact.typeset.grid import grid

    first, *rest = grid(x.decimals(digits)).replace("-", "−").split("\n")
    return "\n".join([f"≈ {first}", *(f"  {line}" for line in rest)])

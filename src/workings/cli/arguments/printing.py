"""How the command line prints the decimals of exact tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workings.exact import ExactTensor


def decimals(x: ExactTensor, digits: int = 6) -> str:
    """The certified decimals of `x`, after an ≈."""
    from workings.exact.typeset.grid import grid

    first, *rest = grid(x.decimals(digits)).replace("-", "−").split("\n")
    return "\n".join([f"≈ {first}", *(f"  {line}" for line in rest)])

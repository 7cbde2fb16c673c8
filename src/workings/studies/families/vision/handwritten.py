"""The handwritten digits of 8×8 pixels that small studies train on."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor

from workings.train.data.images import digits


def digit_pixels() -> tuple[Float[Tensor, "n 64"], Int[Tensor, " n"], Float[Tensor, "m 64"], Int[Tensor, " m"]]:
    """Digits to learn from and digits to be judged by: pixels about 0 as rows, and labels."""
    found = digits()
    return found.x.flatten(1) - 0.5, found.y, found.x_test.flatten(1) - 0.5, found.y_test

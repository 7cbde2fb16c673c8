"""`exactify`: an `nn.Module` whose parameters and buffers are exact."""

from __future__ import annotations

from typing import TypeVar

import torch

from workings.exact.make import exact
from workings.exact.tensor import ExactTensor

M = TypeVar("M", bound=torch.nn.Module)


def exactify(module: M, *, recover: bool = False) -> M:
    """Turn every floating-point parameter and buffer exact, in place.

    Tied parameters stay tied, and an optimizer made before keeps working: the tensors keep their identity. Values are
    taken as the floats are; `recover=True` reads 0.1 as 1/10.

    >>> from workings import exact
    >>> layer = exact.exactify(torch.nn.Linear(2, 1))
    >>> type(layer.weight).__name__, layer.weight.requires_grad
    ('ExactTensor', True)
    """

    def convert(t: torch.Tensor) -> torch.Tensor:
        if isinstance(t, ExactTensor) or not t.is_floating_point():
            return t
        return exact(t, recover=recover)

    return module._apply(convert)

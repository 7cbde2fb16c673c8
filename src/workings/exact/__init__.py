"""PyTorch on exact and symbolic numbers.

`exact("1 0; 0 1")` makes a tensor of rationals, roots, e^x, logarithms and letters; `exact.symbols(w=0.3)` a letter with a
sample value; `exact.exactify(module)` an exact module; inside `with exact.mode():` every new tensor is exact.

The rooms, each importing only from those before it: `numbers/` the values themselves, `typeset/` their textbook form,
`reading/` text and floats as values, `tensor/` the tensor class, `dispatch/` how PyTorch's operations reach it, `ops/`
operations with a rule of their own. Below stand `workings.equations` and the ground floor.
"""

from __future__ import annotations

from workings.exact.dispatch import collate, foreign, memory, optimizer, write  # noqa: F401  (they register)
from workings.exact.dispatch.dispatch import dispatch as answer
from workings.exact.dispatch.exactify import exactify
from workings.exact.dispatch.mode import mode
from workings.exact.dispatch.substitute import substitute
from workings.exact.numbers.assume import Assumption, recording
from workings.exact.ops import (  # noqa: F401  (they register rules)
    attention,
    contract,
    convolution,
    ctc,
    fourier,
    histogram,
    ldl,
    linalg,
    losses,
    packed,
    polynomials,
    pseudoinverse,
    qr,
    sampling,
    segments,
    spectral,
    textbook,
)
from workings.exact.tensor.arena import live
from workings.exact.tensor.equality import Proof, equal
from workings.exact.tensor.exact_tensor import HOOKS, ExactTensor
from workings.exact.tensor.make import arange, exact, eye, from_json, full, linspace, ones, symbols, zeros

__all__ = [
    "Assumption",
    "ExactTensor",
    "Proof",
    "arange",
    "equal",
    "exact",
    "exactify",
    "eye",
    "from_json",
    "full",
    "linspace",
    "live",
    "mode",
    "ones",
    "recording",
    "symbols",
    "zeros",
]

from workings.exact.dispatch import compiled  # noqa: F401  (it marks the methods that the others have set)

HOOKS.dispatch, HOOKS.substitute = answer, substitute


def __dir__() -> list[str]:
    return sorted(__all__)

"""Tensors made of nothing: constants, ranges, identities. Nothing flows back to them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from workings.trace.formula import notation
from workings.trace.formula.operation import Operation, called


def like(operands: Mapping[str, Any]) -> Tensor:
    """A tensor of the kind the statement works with: its dtype, its device, exact or not."""
    tensors = (value for value in operands.values() if isinstance(value, Tensor) and value.is_floating_point())
    return next(tensors, torch.empty((), dtype=torch.get_default_dtype()))


def _ones(operands: Mapping[str, Any], *, shape: tuple[int, ...]) -> Tensor:
    return like(operands).new_ones(shape)


def _zeros(operands: Mapping[str, Any], *, shape: tuple[int, ...]) -> Tensor:
    return like(operands).new_zeros(shape)


def _identity(operands: Mapping[str, Any], *, size: int) -> Tensor:
    return _ones(operands, shape=(size,)).diag()


def _causal_mask(operands: Mapping[str, Any], *, shape: tuple[int, ...]) -> Tensor:
    return _zeros(operands, shape=shape).masked_fill(torch.ones(shape, dtype=torch.bool).triu(1), -math.inf)


ROWS = (
    *(
        called(declaration, constant=True)
        for declaration in (
            "arange: whole numbers in order",
            "linspace: numbers at equal distances",
            "eye: the identity matrix",
            "full: a tensor of one number",
            "zeros_like: zeros in the shape of a",
            "ones_like: ones in the shape of a",
            "full_like: one number in the shape of a",
            "tensor: the numbers that were written",
        )
    ),
    Operation("empty_like: room in the shape of a, with no values yet", others="empty empty_like new_empty", constant=True),
    Operation("random: random numbers", others="rand randn rand_like randn_like randint randperm bernoulli multinomial"),
    Operation(
        "ones: a tensor of ones; option shape",
        others="ones new_ones",
        notation=notation.constant("1"),
        constant=True,
        compute_in_scope=_ones,
    ),
    Operation(
        "zeros: a tensor of zeros; option shape",
        others="zeros new_zeros",
        notation=notation.constant("0"),
        constant=True,
        compute_in_scope=_zeros,
    ),
    Operation("identity: the identity matrix; option size", notation=notation.letter("I"), compute_in_scope=_identity),
    Operation(
        "causal_mask: 0 on and below the diagonal, −∞ above it; option shape",
        notation=notation.letter("M"),
        constant=True,
        compute_in_scope=_causal_mask,
    ),
)

"""Elementwise: a rule per element, each distinct combination of values computed once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from workings.exact.dispatch.operation import wrap
from workings.exact.dispatch.scalar import CHOICES, COMPARISONS, RULES, scalar
from workings.exact.tensor.arena import payload_of, values_of
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.exact.tensor.lift import payload


def apply(name: str, *operands: Any) -> ExactTensor:
    """The scalar rule `name` over broadcast operands (tensors or numbers)."""
    return wrap(payload_of(*_map(partial(scalar, name), operands)))


def choose(name: str, *operands: Any) -> ExactTensor:
    """maximum, minimum and their like: one of the operands, element by element."""
    return wrap(payload_of(*_map(CHOICES[name], operands)))


def comparison(name: str, *operands: Any) -> torch.Tensor:
    """A comparison, as an ordinary tensor of booleans."""
    found, shape = _map(COMPARISONS[name], operands)
    return torch.tensor(found, dtype=torch.bool).reshape(shape)


def _map(f: Callable[..., Any], operands: tuple[Any, ...]) -> tuple[list[Any], torch.Size]:
    """f of the operands, element by element, and the shape of the result."""
    spread = torch.broadcast_tensors(*[payload(x) for x in operands])
    rows = list(zip(*map(values_of, spread), strict=True))
    found = {xs: f(*xs) for xs in dict.fromkeys(rows)}  # few are distinct: zeros, ones, the entries of a mask
    return [found[xs] for xs in rows], spread[0].shape


def elementwise(name: str, args: Any, kwargs: Any) -> Any:
    """The answer where `name` has a scalar rule and the call gives nothing but operands."""
    if any(v is not None for k, v in kwargs.items() if k != "dtype"):
        return NotImplemented
    if not all(isinstance(x, (torch.Tensor, int, float)) for x in args):
        return NotImplemented
    if name in RULES:
        return apply(name, *args)
    if name in COMPARISONS:
        return comparison(name, *args)
    if name in CHOICES:
        return choose(name, *args)
    return NotImplemented

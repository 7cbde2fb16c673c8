"""Elementwise: a rule per element, each distinct combination of values computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from workings.exact.dispatch.operation import wrap
from workings.exact.dispatch.scalar import CHOICES, COMPARISONS, RULES, scalar
from workings.exact.tensor.arena import payload_of, values_of
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.exact.tensor.lift import payload


def apply(name: str, *operands: Any) -> ExactTensor:
    """The scalar rule `name` over broadcast operands (tensors or numbers)."""
    return wrap(_map(lambda *xs: scalar(name, *xs), operands))


def choose(name: str, *operands: Any) -> ExactTensor:
    """maximum, minimum and their like: one of the operands, element by element."""
    return wrap(_map(CHOICES[name], operands))


def comparison(name: str, *operands: Any) -> torch.Tensor:
    """A comparison, as an ordinary tensor of booleans."""
    columns, shape = _columns(operands)
    seen: dict[Any, bool] = {}
    out = []
    for xs in zip(*columns, strict=True):
        known = seen.get(xs)
        if known is None:
            known = seen[xs] = COMPARISONS[name](*xs)
        out.append(known)
    return torch.tensor(out, dtype=torch.bool).reshape(shape)


def _columns(operands: tuple[Any, ...]) -> tuple[list[Any], torch.Size]:
    spread = torch.broadcast_tensors(*[payload(x) for x in operands])
    return [values_of(p) for p in spread], spread[0].shape


def _map(f: Callable[..., Any], operands: tuple[Any, ...]) -> torch.Tensor:
    columns, shape = _columns(operands)
    seen: dict[Any, Any] = {}
    out = []
    for xs in zip(*columns, strict=True):
        v = seen.get(xs)
        if v is None:
            v = seen[xs] = f(*xs)
        out.append(v)
    return payload_of(out, shape)


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

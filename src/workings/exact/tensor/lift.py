"""Floats into exact values: read as the number people meant where that is recognised, else kept as they are and noted."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import torch
from flint import fmpq

from workings.errors import DomainError
from workings.exact.numbers.assume import assume
from workings.exact.numbers.value import NEG_INF, Value, rational
from workings.exact.reading.recover import as_is, recover
from workings.exact.tensor.arena import handle_of, payload_of
from workings.exact.tensor.exact_tensor import ExactTensor

_LOWEST = frozenset(-int(torch.finfo(d).max) for d in (torch.bfloat16, torch.float32, torch.float64))
"""The lowest floats. Attention masks hold them for −∞: added to scores, or filled in for them."""


def _is_lowest(x: float, dtype: str) -> bool:
    return x in _LOWEST or (dtype == "float16" and x == -torch.finfo(torch.float16).max)


def as_mask(v: Value) -> Value:
    """−∞ for the lowest float, noted; every other value as it is."""
    if v.kind == "q" and type(v.args[0]) is int and v.args[0] in _LOWEST:
        assume("mask", f"the lowest float, {float(v.args[0]):.6g}, is read as −∞")
        return NEG_INF
    return v


def lift_float(x: float, dtype: str = "float64", *, masks: bool = True) -> Value:
    """A float that arrives in exact code: recovered, or kept as the fraction it is with a note.

    The lowest float is read as −∞ where it is a mask. A factor is not: in (1 − mask)·lowest it becomes one.
    """
    if _is_lowest(x, dtype):
        return as_mask(as_is(x)) if masks else as_is(x)
    found = recover(x, dtype)
    if found is None:
        assume("rounded", f"{x!r} is kept as the fraction it is: no exact number was recognised")
    return as_is(x) if found is None else found


def lift_number(x: Any) -> Value:
    """A Python number (or an exact value) as a value."""
    if isinstance(x, Value):
        return x
    if isinstance(x, (bool, int)):
        return rational(int(x))
    if isinstance(x, float):
        return lift_float(x)
    if isinstance(x, fmpq):
        return rational(x)
    if isinstance(x, complex):
        raise DomainError(f"Exact values are real; {x} is complex.")
    if isinstance(x, Decimal) and not x.is_finite():
        return as_is(float(x))
    if isinstance(x, (Fraction, Decimal)):
        return rational(fmpq(*x.as_integer_ratio()))
    if type(x).__module__.startswith("sympy."):
        from workings.exact.numbers.sympy_form import from_sympy

        return from_sympy(x)
    raise TypeError(f"An exact value is made from a number or text, not from {type(x).__name__}.")


def _lift_all(xs: list[Any], dtype: str = "float64", *, masks: bool = True) -> list[Value]:
    """Many numbers, each distinct one read once."""
    lift = {x: lift_float(x, dtype, masks=masks) if isinstance(x, float) else lift_number(x) for x in dict.fromkeys(xs)}
    return [lift[x] for x in xs]


def lift_tensor(t: torch.Tensor, *, masks: bool = True) -> torch.Tensor:
    """The payload of an ordinary tensor that meets exact ones.

    In a short format some of any numbers look like decimals: a whole tensor is read as constants, or as the data it is.
    """
    t = t.detach()
    flat, dtype = _flat(t), _format(t)
    if t.dim() and dtype != "float64" and not all(_is_lowest(x, dtype) or recover(x, dtype) for x in set(flat)):
        assume("rounded", f"{t.numel()} numbers of {dtype} are kept as the fractions they are: they are not all recognised")
        return payload_of([lift_float(x, dtype, masks=masks) if _is_lowest(x, dtype) else as_is(x) for x in flat], t.shape)
    return payload_of(_lift_all(flat, dtype, masks=masks), t.shape)


def lift_recovered(t: torch.Tensor) -> torch.Tensor:
    """The payload of an ordinary tensor, each number read as the one people meant where that is recognised."""
    return payload_of(_lift_all(_flat(t.detach()), _format(t)), t.shape)


def lift_as_is(t: torch.Tensor) -> torch.Tensor:
    """The payload of an ordinary tensor with every float as the fraction it is."""
    return payload_of([as_is(x) if isinstance(x, float) else rational(int(x)) for x in _flat(t.detach())], t.shape)


def _format(t: torch.Tensor) -> str:
    return str(t.dtype).removeprefix("torch.") if t.is_floating_point() else "float64"


def _flat(t: torch.Tensor) -> list[Any]:
    if t.is_complex():
        raise DomainError(f"Exact values are real: a complex tensor of shape {[*t.shape]} has no exact form.")
    return [0.0] * t.numel() if t._is_zerotensor() else t.reshape(-1).tolist()


def payload(x: Any) -> torch.Tensor:
    """The payload of whatever stands beside an exact tensor: a tensor or a number."""
    if isinstance(x, ExactTensor):
        return x.payload
    if isinstance(x, torch.Tensor):
        return lift_tensor(x)
    return torch.tensor(handle_of(lift_number(x)), dtype=torch.float64)

"""Floats into exact values: read as the number people meant where that is recognised, else kept as they are and noted."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import torch
from flint import fmpq

from workings.exact.arena import handle_of, payload_of
from workings.exact.assume import assume
from workings.exact.recover import as_is, recover
from workings.exact.value import INF, NAN, NEG_INF, Value, rational

_LOWEST = {-torch.finfo(d).max for d in (torch.bfloat16, torch.float32, torch.float64)}


def lift_float(x: float, dtype: str = "float64") -> Value:
    """A float that arrives in exact code: recovered, or kept as the fraction it is with a note."""
    if x != x:
        return NAN
    if math.isinf(x):
        return INF if x > 0 else NEG_INF
    if x in _LOWEST or (dtype == "float16" and x == -torch.finfo(torch.float16).max):
        assume("mask", f"the lowest float, {x:.6g}, is read as −∞")
        return NEG_INF
    found = recover(x, dtype)
    if found is not None:
        return found
    v = as_is(x)
    assume("rounded", f"{x!r} is kept as the fraction it is: no exact number was recognised")
    return v


def lift_number(x: Any) -> Value:
    """A Python number (or an exact value) as a value."""
    if isinstance(x, Value):
        return x
    if isinstance(x, (bool, int)):
        return rational(int(x))
    if isinstance(x, float):
        return lift_float(x)
    if isinstance(x, (Fraction, fmpq)):
        return rational(fmpq(x.numerator, x.denominator) if isinstance(x, Fraction) else x)
    if isinstance(x, complex):
        from workings.errors import DomainError

        raise DomainError(f"Exact values are real; {x} is complex.")
    raise TypeError(f"An exact value is made from a number or text, not from {type(x).__name__}.")


def lift_all(xs: Iterable[Any], dtype: str = "float64") -> list[Value]:
    """Many numbers, each distinct one read once."""
    seen: dict[Any, Value] = {}
    out = []
    for x in xs:
        key = x if x == x else "nan"
        v = seen.get(key)
        if v is None:
            v = seen[key] = lift_float(x, dtype) if isinstance(x, float) else lift_number(x)
        out.append(v)
    return out


def lift_tensor(t: torch.Tensor) -> torch.Tensor:
    """The payload of an ordinary tensor that meets exact ones."""
    t = t.detach()
    if t._is_zerotensor():
        return torch.zeros(t.shape, dtype=torch.float64)
    if t.is_complex():
        from workings.errors import DomainError

        raise DomainError("Exact values are real: a complex tensor cannot meet an exact one.")
    dtype = str(t.dtype).removeprefix("torch.") if t.is_floating_point() else "float64"
    return payload_of(lift_all(t.reshape(-1).tolist(), dtype), t.shape)


def lift_as_is(t: torch.Tensor) -> torch.Tensor:
    """The payload of an ordinary tensor with every float as the fraction it is."""
    flat = t.detach().reshape(-1).tolist()
    return payload_of([as_is(x) if isinstance(x, float) else rational(int(x)) for x in flat], t.shape)


def payload(x: Any) -> torch.Tensor:
    """The payload of whatever stands beside an exact tensor: a tensor or a number."""
    from workings.exact.tensor import ExactTensor

    if isinstance(x, ExactTensor):
        return x.payload
    if isinstance(x, torch.Tensor):
        return lift_tensor(x)
    return torch.tensor(handle_of(lift_number(x)), dtype=torch.float64)

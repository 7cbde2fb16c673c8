"""Floats into exact values: read as the number they are nearest to where one is recognised, else kept as they are; noted."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import torch
from flint import fmpq, fmpz

from workings.errors import DomainError
from workings.exact.numbers.assume import assume, pass_on, recording
from workings.exact.numbers.value import NEG_INF, Value, rational
from workings.exact.reading.recover import TAKEN, as_is, is_simple, nearly, recover, remembered
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


_LIBRARIES = frozenset(("numpy", "sympy", "flint", "decimal"))
"""Libraries whose numbers are read."""


def library_of(x: Any) -> str:
    """The library that an object comes from."""
    return type(x).__module__.partition(".")[0]


def is_library_number(x: Any) -> bool:
    """Whether this is a number or an array of another library; NumPy's double is a float of Python."""
    return library_of(x) in _LIBRARIES and not isinstance(x, float)


def lift_float(x: float, dtype: str = "float64", *, masks: bool = True) -> Value:
    """A float that arrives in exact code: read as the number it is nearest to, or kept as the fraction it is; both noted.

    The lowest float is read as −∞ where it is a mask. A factor is not: in (1 − mask)·lowest it becomes one.
    """
    if x in TAKEN.values:
        return TAKEN.values[x]
    if _is_lowest(x, dtype):
        return as_mask(as_is(x)) if masks else as_is(x)
    if is_simple(x, dtype):
        return as_is(x)
    found = remembered(x) or recover(x, dtype)
    return _noted_as_is(repr(x), as_is(x), nearly(x)) if found is None else _noted_reading(x, found)


def _noted_reading(x: float, v: Value) -> Value:
    if v.kind != "q" or v is not as_is(x):
        assume("recovered", f"{x!r} is read as {v.text()}", as_is(x), "≈", v)
    return v


def _noted_as_is(shown: str, v: Value, near: Value | None = None) -> Value:
    why = "no exact number was recognised" if near is None else f"it is not the double nearest to {near.text()}"
    assume("rounded", f"{shown} is kept as the fraction it is: {why}")
    return v


def lift_number(x: Any) -> Value:
    """A Python number (or an exact value) as a value."""
    if isinstance(x, Value):
        return x
    if isinstance(x, (bool, int)):
        return rational(int(x))
    if isinstance(x, float):
        return lift_float(float(x))
    if isinstance(x, (fmpq, fmpz)):
        return rational(fmpq(x))
    if isinstance(x, complex):
        raise DomainError(f"Exact values are real; {x} is complex.")
    if isinstance(x, Decimal) and not x.is_finite():
        return as_is(float(x))
    if isinstance(x, (Fraction, Decimal)):
        return rational(fmpq(*x.as_integer_ratio()))
    if library_of(x) == "numpy" and hasattr(x, "as_integer_ratio"):  # a float of another width: 0.1 in it is not 0.1
        finite = x == x and abs(x) != float("inf")
        return _noted_as_is(repr(x), rational(fmpq(*x.as_integer_ratio())) if finite else as_is(float(x)))
    if library_of(x) == "numpy" and getattr(x, "ndim", None) == 0:
        return lift_number(x.item())
    if library_of(x) == "sympy":
        from workings.exact.numbers.sympy_form import from_sympy

        return from_sympy(x)
    raise TypeError(f"An exact value is made from a number or text, not from {type(x).__name__}.")


_MOST_NAMED = 6
"""Numbers of one tensor that are noted one by one; more are counted."""


def _lift_all(xs: list[Any], dtype: str = "float64", *, masks: bool = True) -> list[Value]:
    """Many numbers, each distinct one read once."""
    lift: dict[Any, Value] = {}
    with recording(outwards=False) as made:
        for x in dict.fromkeys(xs):
            lift[x] = lift_float(x, dtype, masks=masks) if isinstance(x, float) else lift_number(x)
    for kind in sorted({note.kind for note in made}):
        of_kind = sorted(note for note in made if note.kind == kind)
        if len(of_kind) <= _MOST_NAMED:
            pass_on(of_kind)
        else:
            assume(kind, f"{len(of_kind)} numbers of a tensor, such as: {of_kind[0].text}")
    return [lift[x] for x in xs]


def lift_tensor(t: torch.Tensor, *, masks: bool = True) -> torch.Tensor:
    """The payload of an ordinary tensor that meets exact ones.

    Doubles are read like numbers that are written in the code. In a shorter format some of any numbers look like decimals,
    so those are the data they are.
    """
    t = t.detach()
    flat, dtype = _flat(t), _format(t)
    if dtype == "float64":
        return payload_of(_lift_all(flat, masks=masks), t.shape)
    if not all(is_simple(x, dtype) or _is_lowest(x, dtype) for x in set(flat)):
        words = f"{t.numel()} numbers of {dtype} are" if t.dim() else f"{flat[0]!r} of {dtype} is"
        each = "the fractions they are" if t.dim() else "the fraction it is"
        assume("rounded", f"{words} kept as {each}: exact(t, recover=True) reads 0.1 as 1/10")
    return payload_of([lift_float(x, dtype, masks=masks) if _is_lowest(x, dtype) else as_is(x) for x in flat], t.shape)


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
    if t.is_nested:
        raise DomainError(
            "Nested tensors have no exact form: use rows of one length, as pad_sequence makes them, and a mask."
        )
    return [0.0] * t.numel() if t._is_zerotensor() else t.reshape(-1).tolist()


def payload(x: Any) -> torch.Tensor:
    """The payload of whatever stands beside an exact tensor: a tensor or a number."""
    if isinstance(x, ExactTensor):
        return x.payload
    if isinstance(x, torch.Tensor):
        return lift_tensor(x)
    return torch.tensor(handle_of(lift_number(x)), dtype=torch.float64)

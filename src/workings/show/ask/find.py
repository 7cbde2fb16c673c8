"""Which step an address asks for.

h            what the name h stood for in the end, in whichever turn of a loop it was assigned last
h#1, h#2     its first value, its second, in the order they came about, turns of loops and h[0] = … included, as gradients
             are numbered: ∂L/∂h#2
turn 2.h     the one of that turn
∂L/∂h        the gradient of the first value that was called h: ∂L/∂h#2 is that of the second, «∂L/∂h from y» a part of a sum
∂L/∂lin.W    the same as ∂L/∂self.lin.W, and as lin.∂L/∂W
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import torch

from workings.errors import WorkingsError, did_you_mean
from workings.show.write.names import without_self
from workings.trace.record import Trace
from workings.trace.step import Step
from workings.trace.tensors.difference import largest_difference

_TURN = re.compile(r"turn \d+\.")
_NUMBERED = re.compile(r"∂([^#/]+)#\d+/∂")
"""∂h#3/∂x, which ∂h/∂x asks for as well"""


def find_step(trace: Trace, address: str) -> Step:
    """The step at an address; an error with the nearest ones if there is none."""
    if not isinstance(address, str):
        raise WorkingsError(f"Ask for a step by its address, a string such as 'A', not by {address!r}.")
    steps = [step for step in trace.steps() if step.address]
    found = _statement(steps, address) or _gradient(steps, address)
    if found is None:
        hint = did_you_mean(address, dict.fromkeys(step.address for step in steps), most=3)
        raise WorkingsError(f"No step is called {address!r}.{hint}")
    return found


def _statement(steps: Iterable[Step], address: str) -> Step | None:
    """What is no gradient: the last of this name, or the one of exactly this address."""
    own = [step for step in steps if step.kind != "gradient"]
    named = [step for step in own if _plain(step.address) == address]
    found = _numbered(steps, address) or named or [step for step in own if step.address == address]
    found = found or [step for step in own if without_self(_plain(step.address)) == without_self(address)]
    return found[-1] if found else None


def _numbered(steps: Iterable[Step], address: str) -> list[Step]:
    """The value of this number among those that a name had."""
    name, _, number = address.rpartition("#")
    if not name or not number.isdigit():
        return []
    values = [step for step in steps if step.kind in _VALUES and _changed(step) == name]
    return values[int(number) - 1 : int(number)]


_VALUES = frozenset("input assign update operation".split())


def _changed(step: Step) -> str:
    """The address of what a statement gives a value, without its number: h of `h = e` and of `h[0] = e`."""
    target, plain = step.syntax.target, _plain(step.address)
    return plain if target is None or target.whole is None else plain.removesuffix(step.name) + target.whole.text


def _plain(address: str) -> str:
    return _TURN.sub("", address).partition("#")[0]


def _gradient(steps: Iterable[Step], address: str) -> Step | None:
    """The gradient of exactly this value: by its address, without the turns, without self, or by a parameter's path."""
    own = [step for step in steps if step.kind == "gradient"]
    wanted = without_self(address)
    readings: tuple[Callable[[Step], Any], ...] = (
        lambda step: step.address == address,
        lambda step: _NUMBERED.sub(r"∂\1/∂", step.address) == address,
        lambda step: without_self(_TURN.sub("", step.address)) == wanted,
        lambda step: _by_path(step) == wanted,
    )
    for reading in readings:
        found = [step for step in own if reading(step)]
        if found:
            return found[-1]
    named = [step for step in own if without_self(step.name) == wanted]
    return named[-1] if named and all(_same(step, named[-1]) for step in named) else None


def _by_path(step: Step) -> str:
    """lin.∂L/∂self.W as ∂L/∂lin.W"""
    around = re.sub(r"#\d+", "", _TURN.sub("", step.address.removesuffix(step.name)))
    loss, between, name = without_self(step.name).partition("/∂")
    return f"{loss}{between}{around}{name}"


def _same(one: Step, other: Step) -> bool:
    both = isinstance(one.result, torch.Tensor) and isinstance(other.result, torch.Tensor)
    return both and one.result.shape == other.result.shape and largest_difference(one.result, other.result) == 0

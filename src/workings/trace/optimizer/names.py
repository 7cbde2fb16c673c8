"""What the author calls a parameter: the name it has where `optimizer.step()` is called.

def train(model, x):  …  optimizer.step()      fc1.weight, of the model
self.w  …  self.opt.step()                     w
w, b = …; params = [w, b]  …                   w, b
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torch import Tensor, nn

_OURS = ("workings", "torch")
_DEEPEST = 64
"""Frames that are looked at."""


def names_around(tensors: Iterable[Tensor]) -> dict[int, str]:
    """The names of tensors by their identity, from the nearest function of the author's outwards, then its globals."""
    wanted, found = {id(t) for t in tensors}, dict[int, str]()
    for frame in _frames():
        for values in (frame.f_locals, frame.f_globals):
            for name, tensor in _named_tensors(values):
                if id(tensor) in wanted and id(tensor) not in found:
                    found[id(tensor)] = name
        if len(found) == len(wanted):
            break
    return found


def _frames() -> Iterator[types.FrameType]:
    """The running functions of the author, from the inside."""
    frame: types.FrameType | None = sys._getframe(1)
    for _ in range(_DEEPEST):
        if frame is None:
            return
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in _OURS:
            yield frame
        frame = frame.f_back


def _named_tensors(values: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """The tensors that a function can name: its variables, the attributes of its objects, the entries of its lists.

    >>> [name for name, _ in _named_tensors({"w": Tensor(), "fc": nn.Linear(2, 1), "params": [Tensor()], "n": 3})]
    ['w', 'weight', 'bias', 'params[0]']
    """
    own = {name: value for name, value in values.items() if not name.startswith("_")}
    yield from ((name, value) for name, value in own.items() if isinstance(value, Tensor))
    for value in own.values():
        if isinstance(value, nn.Module):
            yield from value.named_parameters()
    attributes = [a for a in map(_attributes_of, own.values()) if a]
    yield from ((name, v) for held in attributes for name, v in held.items() if isinstance(v, Tensor))
    yield from (
        pair for held in attributes for v in held.values() if isinstance(v, nn.Module) for pair in v.named_parameters()
    )
    for name, value in own.items():
        if type(value) in (list, tuple):
            yield from ((f"{name}[{i}]", item) for i, item in enumerate(value) if isinstance(item, Tensor))


def _attributes_of(value: Any) -> dict[str, Any]:
    """The attributes of an object of the author's; of modules and of what PyTorch made, none."""
    kind = type(value)
    if isinstance(value, (nn.Module, type, types.ModuleType, Tensor)) or kind.__module__.partition(".")[0] in _OURS:
        return {}
    held = getattr(value, "__dict__", {})
    return held if isinstance(held, dict) else {}


def better(known: str, found: str) -> str:
    """The name to show: the one that is known, unless that is a number only or the end of a longer path.

    >>> better("parameter 1", "w"), better("weight", "fc1.weight"), better("w", "θ"), better("parameter 1", "")
    ('w', 'fc1.weight', 'w', 'parameter 1')
    """
    return found if found and (known.startswith("parameter ") or found.endswith(f".{known}")) else known

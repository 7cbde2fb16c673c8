"""Inputs of foreign code from the few words of the list.

| in the list | is |
|---|---|
| `3`, `"text"`, `true`, `[1, 2]` | itself |
| `{ normal = [2, 3] }`, `uniform`, `ones`, `zeros` | a tensor of that shape; `dtype`, `scale`, `numpy = true` beside it |
| `{ ints = [1, 6], below = 16 }` | whole numbers from 0 to 15 |
| `{ bools = [4, 4] }`, `{ causal = 4 }`, `{ eye = 4 }`, `{ range = 4 }`, `{ values = [1, 2] }` | tensors |
| `{ none = true }` | None |
| `{ tuple = […] }`, `{ dict = {…} }`, `{ options = {…} }` | a tuple, a dict, an object with these attributes |
| `{ call = "GPTConfig", n_layer = 2 }` | what a class or function gives; `"*"` are the positional arguments |
| `{ the = "torch.nn:ReLU" }` | a class or function itself, of the piece's file, or of a module before the colon |
| `{ module = "math" }` | a module |
"""

from __future__ import annotations

import importlib
import sys
from argparse import Namespace
from typing import Any

import torch

_FILLED = ("normal", "uniform", "ones", "zeros", "ints", "bools", "causal", "eye", "range", "values")


def arguments(given: Any, home: Any) -> tuple[list[Any], dict[str, Any]]:
    """Positional and named arguments of a list or a table; `home` is the module whose names it may use."""
    if isinstance(given, dict):
        named = {name: build(value, home) for name, value in given.items() if name != "*"}
        return [build(value, home) for value in given.get("*", [])], named
    return [build(value, home) for value in given], {}


def build(value: Any, home: Any) -> Any:
    """What an entry of the list stands for."""
    if isinstance(value, list):
        return [build(item, home) for item in value]
    if isinstance(value, str):
        return sys.intern(value)  # as Python does with names in source: some code asks `name is 'conv2d'`
    if not isinstance(value, dict):
        return value
    match value:
        case {"none": True}:
            return None
        case {"tuple": items}:
            return tuple(build(item, home) for item in items)
        case {"dict": items}:
            return {name: build(item, home) for name, item in items.items()}
        case {"options": items}:
            return Namespace(**{name: build(item, home) for name, item in items.items()})
        case {"the": name}:
            return find(name, home)
        case {"call": name, **rest}:
            args, named = arguments(rest, home)
            return find(name, home)(*args, **named)
        case {"module": name}:
            return importlib.import_module(name)
    return _tensor(value)


def find(name: str, home: Any) -> Any:
    """A name of the piece's file, or `module:name`; dots go into classes."""
    module, _, path = name.rpartition(":")
    found = importlib.import_module(module) if module else home
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _tensor(value: dict[str, Any]) -> Any:
    kind = next((kind for kind in _FILLED if kind in value), None)
    if kind is None:
        raise ValueError(f"An input is one of {', '.join(_FILLED)}, call, the, tuple, dict, options, none, not {value}.")
    shape = value[kind]
    made = {
        "normal": lambda: torch.randn(shape),
        "uniform": lambda: torch.rand(shape),
        "ones": lambda: torch.ones(shape),
        "zeros": lambda: torch.zeros(shape),
        "ints": lambda: torch.randint(value.get("from", 0), value["below"], shape),
        "bools": lambda: torch.rand(shape) < 0.5,
        "causal": lambda: torch.ones(shape, shape, dtype=torch.bool).tril(),
        "eye": lambda: torch.eye(shape),
        "range": lambda: torch.arange(shape),
        "values": lambda: torch.tensor(shape),
    }[kind]()
    if "scale" in value:
        made = made * value["scale"]
    if "dtype" in value:
        made = made.to(getattr(torch, value["dtype"]))
    return made.numpy() if value.get("numpy") else made

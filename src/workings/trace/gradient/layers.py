"""What a call of a library layer means: `self.lin(x)` is linear(x, lin.weight, lin.bias), where the layer is known.

The row of an operation names the classes of layers that are it, their parameters, and the options that change it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from workings.trace.formula.operation import OPERATIONS
from workings.trace.formula.tree import Apply, Call, Formula, Leaf, Number, Sequence, walk
from workings.trace.step import Step

_SAME = (nn.Identity, nn.Dropout)
"""Layers that hand on what they get (dropout, when it is not training)."""


_WEIGHTS = ("weight", "pos_weight")
"""Tensors of a layer that are part of what it computes, whether or not its rule knows them."""


def with_layers(formula: Formula, step: Step, modules: Mapping[str, nn.Module]) -> tuple[Formula, dict[str, Any]]:
    """The formula with the calls of known layers written as their operations, and the parameters of these by name."""
    calls = [part.name for part in walk(formula) if isinstance(part, Call)]
    paths = [child.name for child in step.children if child.kind == "module"]
    known: dict[str, tuple[str, nn.Module]] = {}
    for name in calls:
        last = name.partition(".")[2] or name
        path = next((p for p in paths if p in modules and (p == last or p.endswith(f".{last}"))), None)
        if path is not None:
            known[name] = path, modules[path]
    others = [name for name in dict.fromkeys(calls) if name not in known]
    left = [path for path in paths if path in modules and path not in {path for path, _ in known.values()}]
    opened = any(child.kind == "call" for child in step.children)
    if len(others) == len(left) == 1 and not opened:  # layer(x) in a loop over the layers, layers[i](x)
        known[others[0]] = left[0], modules[left[0]]
    given: dict[str, Any] = {}
    return (_replace(formula, known, given) if known else formula), given


def _replace(formula: Formula, known: Mapping[str, tuple[str, nn.Module]], given: dict[str, Any]) -> Formula:
    match formula:
        case Call(name=name, args=args, options=()) if name in known:
            parts = tuple(_replace(arg, known, given) for arg in args)
            return _layer(formula, parts, *known[name], given)
        case Apply(op=op, args=args, options=options):
            return Apply(op, tuple(_replace(arg, known, given) for arg in args), options)
        case Sequence(items=items):
            return Sequence(tuple(_replace(item, known, given) for item in items))
    return formula


def _layer(call: Call, args: tuple[Formula, ...], path: str, module: nn.Module, given: dict[str, Any]) -> Formula:
    if isinstance(module, _SAME) and not (module.training and isinstance(module, nn.Dropout)):
        return args[0]
    row, layer = OPERATIONS.layers.get(type(module), (None, None))
    if row is None or layer is None or layer.parameters is None or getattr(module, "padding_mode", "zeros") != "zeros":
        return call
    if any(getattr(module, name, None) is not None for name in _WEIGHTS if name not in layer.parameters.split()):
        return call
    own = tuple(_parameter(path, name, getattr(module, name), given) for name in layer.parameters.split())
    chosen = {name: getattr(module, name) for name in layer.options.split()}
    options = tuple((name, _option(value)) for name, value in chosen.items() if value is not None)
    return Apply(row.name, (*args, *own), options)


def _parameter(path: str, name: str, value: Any, given: dict[str, Any]) -> Formula:
    if isinstance(value, Tensor):
        text = f"{path}.{name}" if path else name
        given[text] = value
        return Leaf(text)
    return Sequence(tuple(map(Number, value))) if isinstance(value, tuple) else Number(value)


def _option(value: Any) -> Any:
    return Number(value) if isinstance(value, str) else value

"""The values a statement reads, by names and plain attributes only: nothing of the author's runs."""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping
from typing import Any

import torch

from workings.trace.code.statement import Lookup

MISSING = object()
"""A leaf whose value could not be looked up."""


def look_up(wanted: Lookup, here: Mapping[str, Any], outside: Mapping[str, Any]) -> Any:
    """The value of a leaf among the names here and the globals outside."""
    value = here.get(wanted.name, MISSING)
    if value is MISSING:
        value = outside.get(wanted.name, MISSING)
    for attribute in wanted.attributes:
        value = plain_attribute(value, attribute)
    if type(value) is torch.Tensor:
        return value
    if wanted.entry and isinstance(value, (torch.Size, tuple)):
        try:
            return value[int(wanted.entry)]
        except (ValueError, IndexError):
            return MISSING
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, torch.nn.ParameterList):
        return list(value)
    if isinstance(value, torch.nn.ParameterDict):
        return dict(value.items())
    return MISSING if isinstance(value, (types.ModuleType, type)) or callable(value) else value


OF_TENSORS = frozenset(("shape", "data"))


def plain_attribute(value: Any, name: str, of_tensors: frozenset[str] = OF_TENSORS) -> Any:
    """An attribute that the object itself holds; of a tensor, `grad` and these."""
    if isinstance(value, torch.nn.Module):
        for table in (value._parameters, value._buffers, value._modules, value.__dict__):
            if name in table:
                return table[name]
        return MISSING
    if isinstance(value, torch.Tensor):
        return getattr(value, name) if name in of_tensors else _gradient(value) if name == "grad" else MISSING
    closed = isinstance(value, (type, types.FunctionType, types.MethodType)) or not hasattr(value, "__dict__")
    return MISSING if closed else vars(value).get(name, MISSING)


def class_attribute(value: Any, name: str) -> Any:
    """An attribute that an object's class holds, or one of its slots, where to read it runs nothing."""
    found = inspect.getattr_static(value, name, MISSING)
    if isinstance(found, types.MemberDescriptorType) and not isinstance(value, type):
        return getattr(value, name, MISSING)  # one of __slots__
    own = name in getattr(value, "__dict__", ())
    return found if own or not hasattr(type(found), "__get__") else MISSING


def _gradient(value: torch.Tensor) -> Any:
    """PyTorch warns where the gradient of a value in the middle of a computation is read: there is none."""
    held = value.is_leaf or value.retains_grad
    return value.grad if held and value.grad is not None else MISSING


def computed_attributes(owner: type, code: types.CodeType) -> frozenset[str]:
    """The attributes this code reads that are properties of the class."""
    key = owner, id(code)
    if key not in _COMPUTED:
        _COMPUTED[key] = frozenset(name for name in code.co_names if property_of(owner, name) is not None)
    return _COMPUTED[key]


_COMPUTED: dict[tuple[type, int], frozenset[str]] = {}


def property_of(owner: type, name: str) -> property | None:
    """The property of a class by this name, if that is what it is."""
    found = next((vars(cls)[name] for cls in owner.__mro__ if name in vars(cls)), None)
    return found if isinstance(found, property) and isinstance(found.fget, types.FunctionType) else None

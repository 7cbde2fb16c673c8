"""What a parameter takes, by its annotation: a tensor, whole numbers, text, a list of matrices.

Annotations may be strings or other names for a type (`Scalar = Float[Tensor, ""]`); they are looked up before they are read.
"""

from __future__ import annotations

import collections.abc
import inspect
import re
import types
import typing
from typing import Any

ANYTHING = "anything"
"""No annotation, or one that leaves open which: a plain integer is a number, all else a tensor."""
_PLAIN = {str: "text", int: "int", float: "float", bool: "bool", type(None): "none"}
_LISTS = (list, tuple, collections.abc.Sequence, collections.abc.Iterable)


def kinds(function: Any) -> dict[str, str]:
    """The kind of each parameter in order; a module is asked for those of its `forward`.

    >>> def f(x: typing.Sequence[int], name: str, n): ...
    >>> kinds(f)
    {'x': 'ints', 'name': 'text', 'n': 'anything'}
    """
    function = getattr(function, "forward", function)
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    try:
        known = typing.get_type_hints(function)
    except Exception:  # a name that only type checkers import, or no function at all: the text must do
        known = {}
    return {name: _kind(known.get(name, p.annotation)) for name, p in parameters.items()}


def _kind(annotation: Any) -> str:
    """What one annotation asks for.

    >>> import torch
    >>> _kind(torch.Tensor | None), _kind(torch.Tensor | float), _kind(list[torch.Tensor]), _kind("Tensor | None")
    ('tensor', 'anything', 'tensors', 'tensor')
    """
    if isinstance(annotation, str):
        return "tensor" if "Tensor" in annotation and not re.search(r"\b(int|float|bool|list)\b", annotation) else ANYTHING
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        found = {_kind(part) for part in typing.get_args(annotation)} - {"none"}
        return "classes" if found == {"indices", "tensor"} else found.pop() if len(found) == 1 else ANYTHING
    if typing.get_origin(annotation) is typing.Literal:
        found = {_PLAIN.get(type(choice), ANYTHING) for choice in typing.get_args(annotation)}
        return found.pop() if len(found) == 1 else ANYTHING
    if typing.get_origin(annotation) in _LISTS:
        inside = {_kind(part) for part in typing.get_args(annotation) if part is not Ellipsis}
        return {"int": "ints", "tensor": "tensors"}.get(inside.pop(), ANYTHING) if len(inside) == 1 else ANYTHING
    return _of_class(annotation)


def _of_class(annotation: Any) -> str:
    """Of `Tensor`, `Int[Tensor, "n"]`, `Bool[Tensor, "n m"]`, `int` …"""
    import torch

    if annotation in _PLAIN:
        return _PLAIN[annotation]
    array = getattr(annotation, "array_type", annotation)
    if not (inspect.isclass(array) and issubclass(array, torch.Tensor)):
        return ANYTHING
    numbers = set(map(str, getattr(annotation, "dtypes", ())))
    if "bool" in numbers:
        return "mask"
    return "indices" if "int64" in numbers and "float32" not in numbers else "tensor"

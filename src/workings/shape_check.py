"""Shapes held against the jaxtyping annotations of a function, with a message in the letters of its equations.

    Q: Float[Tensor, "*#b n d"], K: Float[Tensor, "*#b m d"]      d is one number, the batches fit together

jaxtyping's own check is for tests: it costs more than a small attention. Here shapes that fitted once are remembered, so
that a right call costs one look-up; the annotations are read for new shapes only.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from itertools import groupby, islice
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import torch
from torch import Tensor

from workings.errors import ShapeError

_MOST = 65536
"""Combinations of shapes that are remembered; a text that grows token by token brings a new one each time."""
_FITTED: set[tuple[Any, ...]] = set()
_Found = dict[str, tuple[Any, str, bool]]
"""Axis → its size, the parameter that it was found in, and whether it may still grow by broadcasting."""


def check_shapes(function: Callable[..., Any], *given: Any, empty: str = "") -> None:
    """Refuse tensors whose shapes break the annotations of `function`, whose first arguments they are.

    Only the axes listed in `empty` may have no entries.

    >>> from jaxtyping import Float
    >>> def product(A: Float[Tensor, "n m"], B: Float[Tensor, "m k"]) -> Float[Tensor, "n k"]: ...
    >>> check_shapes(product, torch.zeros(2, 3), torch.zeros(3, 1))
    >>> check_shapes(product, torch.zeros(2, 3), torch.zeros(4, 1))
    Traceback (most recent call last):
    workings.errors.ShapeError: product needs A as [n, m] and B as [m, k]: m is 3 in A [2, 3], but 4 in B [4, 1].
    """
    key = (function, *[x.shape if isinstance(x, Tensor) else _shapes(x) for x in given])
    if torch.compiler.is_compiling() or key in _FITTED:
        return
    _annotations(function).check(given, empty.split())
    if len(_FITTED) >= _MOST:
        _FITTED.clear()
    _FITTED.add(key)


class _Annotations:
    """What a function says of the shapes of its parameters."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        whole = function.__qualname__.rpartition("<locals>.")[2]
        self.name = whole.removesuffix(".__init__").removesuffix(".forward")

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The annotation of each parameter, in order."""
        annotated = getattr(self.function, "__arguments__", self.function)  # of a special case of an equation
        hints = get_type_hints(annotated, include_extras=True)
        return {name: hints.get(name) for name in inspect.signature(annotated).parameters}

    @cached_property
    def axes(self) -> dict[str, list[str]]:
        """The axes of each parameter that is annotated as a tensor, {"Q": ["*#b", "n", "d"], …}, and of those in tuples."""
        hints = [part for name, hint in self.hints.items() for part in _parts(name, hint, hint)]
        return {name: axes for name, _, hint in hints if (axes := _axes(hint)) is not None}

    def check(self, given: tuple[Any, ...], empty: list[str]) -> None:
        pairs = zip(self.hints.items(), given, strict=False)
        parts = [part for (name, hint), x in pairs for part in _parts(name, x, hint)]
        shapes = {name: [*x.shape] for name, x, _ in parts if isinstance(x, Tensor) and name in self.axes}
        sizes: _Found = {}
        for name in shapes:
            self.fit(name, shapes, sizes, empty)

    def fit(self, name: str, shapes: dict[str, list[int]], sizes: _Found, empty: list[str]) -> None:
        """Match the axes of one parameter with its shape and with what is known of the sizes."""
        axes, shape = self.axes[name], shapes[name]
        single = [axis for axis in axes if not _is_several(axis)]
        if len(shape) < len(single) or (len(single) == len(axes) and len(shape) > len(axes)):
            hint = f" One vector is a matrix: {name}.unsqueeze(0) is a row, {name}.unsqueeze(1) a column."
            raise ShapeError(self.refusal(name, shape) + hint * (len(single) == 2 and len(shape) == 1))
        pairs = list(_pairs(axes, shape))
        if letter := next((_letter(axis) for axis, size in pairs if size == 0 and _letter(axis) not in empty), ""):
            raise ShapeError(f"{self.needs(name)} with {letter} ≥ 1{self.legend([letter])}, but {name} is {shape}.")
        for axis, size in pairs:
            self.match(name, axis, size, shapes, sizes)

    def match(self, name: str, axis: str, size: Any, shapes: dict[str, list[int]], sizes: _Found) -> None:
        """Hold the size of one axis, or the sizes of several, against those that other parameters have there."""
        letter, grows = _letter(axis), "#" in axis
        known, first, may_grow = sizes.setdefault(letter, (size, name, grows))
        common = _broadcast(known, size)
        if common is None or (common != known and not may_grow) or (common != size and not grows):
            if first == name:
                raise ShapeError(self.refusal(name, shapes[name]))
            if _is_several(axis) and len(self.axes[first]) == len(self.axes[name]) == 1:
                raise ShapeError(f"{self.one_shape(first, name)}: {first} is {shapes[first]}, {name} is {shapes[name]}.")
            raise ShapeError(
                f"{self.needs(first, name)}: {letter}{self.legend([letter])} is {known} in {first} {shapes[first]}, "
                f"but {size} in {name} {shapes[name]}."
            )
        sizes[letter] = common, first if common == known else name, may_grow and grows

    def refusal(self, name: str, shape: list[int]) -> str:
        """What one parameter is to be, and what it is."""
        letters = list(dict.fromkeys(_letter(axis) for axis in self.axes[name] if not _is_several(axis)))
        return f"{self.needs(name)}{self.legend(letters)}, but {name} is {shape}."

    def needs(self, *names: str) -> str:
        """`attention needs Q as […, n, d] and K as […, m, d]`."""
        shown = [f"{name} as {_shown(self.axes[name])}" for name in names]
        return f"{self.name} needs {' and '.join(shown)}"

    def one_shape(self, *names: str) -> str:
        """`sgd needs theta and g of one shape`, or how one may be repeated."""
        whole = [name for name in names if "#" not in self.axes[name][0]]
        part = [name for name in names if name not in whole]
        if whole and part:
            return f"{self.name} needs {whole[0]} and a {part[0]} whose shape can be repeated to that of {whole[0]}"
        return f"{self.name} needs {names[0]} and {names[1]} of {'one shape' if whole else 'shapes that broadcast'}"

    def legend(self, letters: list[str]) -> str:
        """` (m keys, d width of a key)`: what the module's docstring says of the letters."""
        known = _legend(sys.modules[self.function.__module__].__doc__ or "")
        if len(letters) == 1:
            return f" ({known[letters[0]]})" if letters[0] in known else ""
        said = groupby((letter for letter in letters if letter in known), known.__getitem__)
        meanings = [f"{' '.join(same)} {meaning}" for meaning, same in said]
        return f" ({', '.join(meanings)})" if meanings else ""


_annotations = cache(_Annotations)


def _shapes(x: Any) -> Any:
    """The shape of a tensor, the shapes of those in a tuple."""
    return tuple(map(_shapes, x)) if isinstance(x, tuple) and not isinstance(x, torch.Size) else getattr(x, "shape", None)


def _parts(name: str, x: Any, hint: Any) -> Iterator[tuple[str, Any, Any]]:
    """A parameter, its value and its annotation; of a tuple of tensors with names each of these.

    The names are those of a `NamedTuple`, or stand in the annotation: tuple[Annotated[Float[Tensor, "n"], "b"], …].
    """
    if hasattr(hint, "_fields"):
        parts = get_type_hints(hint)
    elif get_origin(hint) is tuple and all(get_origin(part) is Annotated for part in get_args(hint)):
        parts = {part.__metadata__[0]: part.__origin__ for part in get_args(hint)}
    else:
        yield name, x, hint
        return
    yield from zip(parts, parts.values() if x is hint else x, parts.values(), strict=True)


def _axes(hint: Any) -> list[str] | None:
    """The axes that an annotation gives a tensor; None where it is none, or its alternatives differ."""
    found = {one.dim_str for one in get_args(hint) or [hint] if hasattr(one, "dim_str")}
    return found.pop().split() if len(found) == 1 else None


def _letter(axis: str) -> str:
    return axis.strip("*#")


def _legend(docstring: str) -> dict[str, str]:
    """The meaning of each letter in the sentence on the axes.

    >>> _legend("Axes: b batch, i j inside a kernel.")
    {'b': 'batch', 'i': 'inside a kernel', 'j': 'inside a kernel'}
    """
    sentence = re.search(r"^Axes: (.*?)\.?(?:\n\n|\Z|\.\s)", docstring.rstrip(), re.MULTILINE | re.DOTALL)
    parts = re.split(r",\s+", sentence[1]) if sentence else []
    found = [re.fullmatch(r"((?:\w )+)([^=]{2,})", " ".join(part.split())) for part in parts]
    return {letter: match[2] for match in found if match for letter in match[1].split()}


def _shown(axes: list[str]) -> str:
    """`[…, m, d]`, or `a number` where there are no axes."""
    return f"[{', '.join('…' if _is_several(axis) else _letter(axis) for axis in axes)}]" if axes else "a number"


def _is_several(axis: str) -> bool:
    """Whether the axis stands for any number of them: `*b`, `...`."""
    return axis[0] in "*."


def _pairs(axes: list[str], shape: list[int]) -> Iterator[tuple[str, Any]]:
    """Each axis with its size, `*b` with a list of sizes; what is not compared is left out."""
    several = len(shape) - len(axes) + 1
    sizes = iter(shape)
    for axis in axes:
        size = list(islice(sizes, several)) if _is_several(axis) else next(sizes)
        if axis not in ("...", "_"):
            yield axis, size


def _broadcast(a: Any, b: Any) -> Any:
    """The size, or the sizes, that two broadcast to; None where they do not.

    >>> _broadcast(1, 3), _broadcast([2, 1], [5]), _broadcast(2, 3)
    (3, [2, 5], None)
    """
    if not isinstance(a, list):
        return a if b in (1, a) else b if a == 1 else None
    longest = max(len(a), len(b))  # `torch.broadcast_shapes` would import SymPy, which takes as long as the whole command
    sizes = [_broadcast(x, y) for x, y in zip([1] * (longest - len(a)) + a, [1] * (longest - len(b)) + b, strict=True)]
    return None if None in sizes else sizes

"""Make exact tensors: from text, numbers, nested lists and tensors; letters; constant tensors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

import torch
from flint import fmpq

from workings.errors import ParseError, ShapeError
from workings.exact.numbers import algebra
from workings.exact.numbers.assume import Assumption, recording
from workings.exact.numbers.letter import declared_letter
from workings.exact.numbers.names import spelling
from workings.exact.numbers.rounding import floor_of
from workings.exact.numbers.value import ONE, ZERO, Value
from workings.exact.reading.parse import parse, parse_matrix
from workings.exact.reading.recover import as_is
from workings.exact.tensor.arena import ARENA, payload_of
from workings.exact.tensor.exact_tensor import HOOKS, ExactTensor, SharedNotes
from workings.exact.tensor.json_form import contents
from workings.exact.tensor.lift import library_of, lift_as_is, lift_number, lift_recovered


class TensorOptions(TypedDict, total=False):
    """What every function that makes a tensor takes: its label, and whether autograd follows it."""

    dtype: torch.dtype
    requires_grad: bool


def exact(data: Any, *, requires_grad: bool = False, recover: bool | None = None) -> ExactTensor:
    """An exact tensor.

    Text is read by a small parser: rows end with `;`, entries are separated by spaces or commas. Nested lists may mix
    numbers and text. An ordinary tensor is taken as its floats are; `recover=True` reads them as the numbers people meant
    (1/10 for 0.1, 1/√2 for 0.7071…). Floats you write yourself are read as written; `recover=False` takes them as they are.

    >>> from workings import exact
    >>> print(exact([[1, "1/2"], ["sqrt(2)", "w"]]).text())
    ⎡ 1  1/2⎤
    ⎣√2    w⎦
    """
    if isinstance(data, ExactTensor):
        return data.detach().requires_grad_() if requires_grad else data
    with ARENA.working(), recording() as made:
        payload, dtype = _payload(data, recover)
        return ExactTensor(payload, dtype=dtype, requires_grad=requires_grad, shared=SharedNotes(frozenset(made)))


def _payload(data: Any, recover: bool | None) -> tuple[torch.Tensor, torch.dtype]:
    if isinstance(data, torch.Tensor):
        dtype = data.dtype if data.is_floating_point() else torch.float64
        return (lift_recovered(data) if recover else lift_as_is(data)), dtype
    if hasattr(data, "tolist") and (library_of(data) == "sympy" or _holds_objects(data)):
        data = data.tolist()
    if hasattr(data, "__array__") and not isinstance(data, (int, float)) and not _is_long(data):
        return _payload(torch.as_tensor(data), recover)
    shape, flat = _flatten(parse_matrix(data) if isinstance(data, str) else data)
    return payload_of([value_from(x, recover) for x in flat], shape), torch.float64


def _holds_objects(data: Any) -> bool:
    """Whether a NumPy array holds fractions, text and the like, or floats longer than PyTorch's."""
    return getattr(getattr(data, "dtype", None), "kind", "") in ("O", "U") or (_is_long(data) and data.ndim > 0)


def _is_long(data: Any) -> bool:
    dtype: Any = getattr(data, "dtype", None)
    return getattr(dtype, "kind", "") == "f" and bool(dtype.itemsize > torch.float64.itemsize)


def value_from(x: Any, recover: bool | None) -> Value:
    if isinstance(x, str):
        return parse(x)
    if isinstance(x, float) and recover is False:
        return as_is(x)
    if isinstance(x, torch.Tensor) and x.numel() != 1:
        raise ShapeError(f"One number is needed here, not a tensor of shape {[*x.shape]}: pick an element, as in x[0].")
    if isinstance(x, ExactTensor):
        return x.elements()[0]
    if isinstance(x, torch.Tensor):
        x = x.item()
    return lift_number(x)


def from_json(text: str) -> ExactTensor:
    """Read what `x.to_json()` wrote; anything else is refused with the reason.

    >>> from workings import exact
    >>> x = exact("sqrt(2) w")
    >>> exact.equal(exact.from_json(x.to_json()), x)
    Proof(equal=True, how='proved')
    """
    with ARENA.working():
        values, shape, dtype, notes = contents(text)
        return ExactTensor(payload_of(values, shape), dtype=dtype, shared=SharedNotes(notes))


def _unpickled(text: str, requires_grad: bool, is_parameter: bool) -> ExactTensor:
    """An exact tensor from what its pickle holds, which is its JSON: reading it runs no code."""
    x = from_json(text).requires_grad_(requires_grad)
    return torch.nn.Parameter(x, requires_grad) if is_parameter else x  # type: ignore[return-value]


HOOKS.unpickled = _unpickled
torch.serialization.add_safe_globals([_unpickled])


def _flatten(data: Any) -> tuple[tuple[int, ...], list[Any]]:
    """Shape and entries of nested lists, tensors among them."""
    if isinstance(data, torch.Tensor) and data.dim():
        data = data.unbind()
    if not isinstance(data, (list, tuple, range)):
        return (), [data]
    parts = [_flatten(row) for row in data]
    shapes = {shape for shape, _ in parts}
    if len(shapes) > 1:
        lengths = [shape[0] if shape else "a single number" for shape, _ in parts]
        raise ShapeError(f"Rows of one tensor need one length; these are {lengths}.")
    inner = shapes.pop() if shapes else ()
    return (len(parts), *inner), [x for _, flat in parts for x in flat]


def symbols(names: str = "", /, shape: Sequence[int] | int = (), **samples: Any) -> ExactTensor | Any:
    """Letters: unknown real numbers.

    `symbols("w b")` gives two 0-dim tensors; `symbols("W", shape=(2, 3))` a matrix of W_1,1 … W_2,3. A keyword gives
    a letter a sample value, which decides comparisons (and the result says so). Several letters come as a tuple, which
    the type leaves open: a type checker does not count the names in a text.

    >>> from workings import exact
    >>> w = exact.symbols(w=0.3).requires_grad_()
    >>> loss = (4 * w - 2) ** 2 / 2
    >>> loss.backward()
    >>> print(loss.text(), "·", w.grad.text())
    8(w − 1/2)² · 16w − 8
    """
    size = (shape,) if isinstance(shape, int) else tuple(shape)
    with ARENA.working():
        made = [_letters(name, size, None) for name in _names(names)]
        made += [_letters(name, size, sample) for name, sample in samples.items()]
    if not made:
        raise ParseError("Name at least one letter, as in symbols('w b') or symbols(w=0.3).", names, 0)
    return made[0] if len(made) == 1 else tuple(made)


def _names(text: str) -> list[str]:
    names = [name for name in re.split(r"[\s,]+(?![^{]*\})", text) if name]
    for name in names:
        letter_name(name, text)
    return names


def letter_name(name: str, text: str) -> str:
    """The canonical name of a letter: `W_1,2` for `W_{1,2}` and for `W_1,2`."""
    try:
        v = parse(spelling(name) if "{" not in name else name)
    except ParseError:
        v = ZERO
    if v.kind != "letter":
        raise ParseError(f"{name!r} is not a letter: names such as w, w_h, W_{{1,2}} and α are.", text, text.index(name))
    return v.args[0]


def _letters(name: str, shape: tuple[int, ...], sample: Any) -> ExactTensor:
    number = None if sample is None else _sample(name, sample)
    base = letter_name(name, name)
    if not shape:
        return ExactTensor(payload_of([declared_letter(base, number)], ()))
    entries = [declared_letter(f"{base}_{','.join(str(i + 1) for i in at)}", number) for at in _indices(shape)]
    return ExactTensor(payload_of(entries, shape))


def _indices(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [tuple(int(i) for i in at) for at in torch.ones(shape).nonzero()]


def _sample(name: str, sample: Any) -> Any:
    v = value_from(sample, None)
    if v.rational is None:
        raise ParseError(f"The sample value of {name} must be a rational number, such as 0.3 or '1/3'.", str(sample), 0)
    return v.rational


def zeros(*shape: Any, **options: Unpack[TensorOptions]) -> ExactTensor:
    """Exact zeros of this shape."""
    return _full(ZERO, shape, **options)


def ones(*shape: Any, **options: Unpack[TensorOptions]) -> ExactTensor:
    """Exact ones of this shape."""
    return _full(ONE, shape, **options)


def full(shape: Sequence[int], value: Any, **options: Unpack[TensorOptions]) -> ExactTensor:
    """A tensor of one exact value."""
    if isinstance(shape, int):
        raise TypeError(f"full takes the shape as a tuple: full(({shape},), …).")
    with ARENA.working(), recording() as made:
        return _noted(_full(value_from(value, None), (tuple(shape),), **options), made)


def eye(n: int, m: int | None = None, **options: Unpack[TensorOptions]) -> ExactTensor:
    """The identity matrix."""
    return ExactTensor(torch.eye(n, n if m is None else m, dtype=torch.float64), **options)


def arange(*bounds: Any, **options: Unpack[TensorOptions]) -> ExactTensor:
    """`arange(end)`, `arange(start, end)` or `arange(start, end, step)`: from start up to end, without it.

    >>> from workings import exact
    >>> print(exact.arange(0, 0.3, 0.1).text())
    [0  1/10  1/5]
    """
    with ARENA.working(), recording() as made:
        given = [value_from(b, None) for b in ((0, *bounds) if len(bounds) == 1 else bounds)]
        start, end, step = [*given, ONE][:3]
        count = max(_ceil((end - start) / step), 0)
        return _noted(_steps(start, step, count, options), made)


def linspace(start: Any, end: Any, steps: int, **options: Unpack[TensorOptions]) -> ExactTensor:
    """`steps` evenly spaced values from start to end, with both.

    >>> from workings import exact
    >>> print(exact.linspace(0, 1, 4).text())
    [0  1/3  2/3  1]
    """
    with ARENA.working(), recording() as made:
        first, last = value_from(start, None), value_from(end, None)
        return _noted(_steps(first, algebra.scale(last - first, fmpq(1, max(steps - 1, 1))), steps, options), made)


def _noted(x: ExactTensor, made: set[Assumption]) -> ExactTensor:
    x.shared.notes |= made
    return x


def _ceil(v: Value) -> int:
    return -floor_of(algebra.scale(v, -1))


def _steps(start: Value, step: Value, count: int, options: TensorOptions) -> ExactTensor:
    return ExactTensor(payload_of([start + algebra.scale(step, i) for i in range(count)], (count,)), **options)


def _full(v: Value, shape: Any, **options: Unpack[TensorOptions]) -> ExactTensor:
    size = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    with ARENA.working():
        return ExactTensor(payload_of([v], ()).expand(tuple(size)).clone(), **options)

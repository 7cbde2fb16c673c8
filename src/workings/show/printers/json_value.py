"""Any value of a trace as JSON, and back: numbers and containers as they are, tensors bit by bit, all else by its `repr`.

`_TAGS` has a row for each kind of value that JSON has no form for: {"tuple": […]}, {"dtype": "float32"}. Tensors are kept in
a table, each distinct one once, and named by their place in it. Nothing that is read is ever run.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from workings.errors import WorkingsError
from workings.exact import ExactTensor, from_json
from workings.show.write.brief import name_of, short_repr
from workings.show.write.saved import from_row, saved_from, saved_of, to_row, without_values

_DTYPES = {str(d).removeprefix("torch."): d for d in vars(torch).values() if isinstance(d, torch.dtype)}
_FEW = 64
"""Entries of a tensor that are written as numbers, for a person to read; more are written as bytes."""
_DEEP = 50
"""Containers nested deeper are kept by their `repr` (a list may contain itself)."""
_EXACT_IN_A_DOUBLE = 2**53


@dataclass(frozen=True)
class Opaque:
    """What is left of an object that JSON cannot hold: its `repr`, and the name it is shown by."""

    text: str
    name: str = "Opaque"

    @property
    def __name__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.text


class RecordedError(WorkingsError):
    """What is left of an exception that was saved: the name of its type, and its message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class DamagedTrace(ValueError):
    """Why JSON is not the JSON of a trace."""


def check(condition: bool, reason: str) -> None:
    if not condition:
        raise DamagedTrace(reason)


# ------------------------------------------------------------------------------------------------- writing


@dataclass
class Writer:
    """Writes values; `tensors` is the table of the tensors they hold."""

    most: int | None = None
    tensors: list[Any] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def value(self, x: Any, depth: int = 0) -> Any:
        if x is None or type(x) in (bool, str):
            return x
        if depth > _DEEP:
            return _object(x)
        for kind, write in _WRITERS:
            if isinstance(x, kind):
                found = write(self, x, depth)
                if found is not None:
                    return found
        return _object(x)

    def items(self, x: Any, depth: int) -> list[Any]:
        return [self.value(item, depth + 1) for item in x]

    def tensor(self, x: Tensor, depth: int) -> Any:
        """The place of the tensor in the table; None for one without readable values."""
        row = _row_of(x, self.most)
        if row is None:
            return None
        key = json.dumps(row)
        if key not in self.places:
            self.places[key] = len(self.tensors)
            self.tensors.append(row)
        return {"tensor": self.places[key]}


def _row_of(x: Tensor, most: int | None) -> dict[str, Any] | None:
    if (saved := saved_of(x)) is not None:
        return _head(x) | to_row(saved)
    large = most is not None and x.numel() > most
    if isinstance(x, ExactTensor):
        written = x.to_json()
        return _head(x) | to_row(saved_from(x, written.encode())) if large else {"exact": json.loads(written)}
    if (
        type(x) not in (Tensor, torch.nn.Parameter)
        or x.layout != torch.strided
        or x.is_meta
        or x.is_quantized
        or x.is_nested
    ):
        return None
    plain = x.detach().cpu().resolve_conj().resolve_neg().contiguous()
    row = _head(x)
    if large:
        return row | to_row(saved_from(plain, _bytes(plain)))
    if x.numel() <= _FEW and not x.is_complex():
        numbers = row | {"values": [_number(v) for v in plain.flatten().tolist()]}
        if _bytes(_tensor(numbers)) == _bytes(plain):
            return numbers
    return row | {"data": base64.b64encode(_bytes(plain)).decode()}


def _head(x: Tensor) -> dict[str, Any]:
    return {"dtype": str(x.dtype).removeprefix("torch."), "shape": list(x.shape)}


def _bytes(x: Tensor) -> bytes:
    """Little-endian, in row-major order."""
    row = x.reshape(-1).clone(memory_format=torch.contiguous_format)  # one entry alone may have any stride
    return row.view(torch.uint8).numpy().tobytes() if x.numel() else b""


def _number(x: Any) -> Any:
    """A number where JSON has one, else its name: "nan", "inf", "-inf"."""
    return x if not isinstance(x, float) or math.isfinite(x) else str(x)


def _int(writer: Writer, x: int, depth: int) -> Any:
    return int(x) if abs(x) < _EXACT_IN_A_DOUBLE else {"int": hex(x)}


def _float(writer: Writer, x: float, depth: int) -> Any:
    return float(x) if math.isfinite(x) else {"float": str(float(x))}


def _pairs(writer: Writer, x: dict[Any, Any], depth: int) -> Any:
    return {"dict": [writer.items(pair, depth + 1) for pair in x.items()]}


def _tuple(writer: Writer, x: tuple[Any, ...], depth: int) -> Any:
    """A NamedTuple keeps its name and those of its items, by which it is shown."""
    names = getattr(x, "_fields", None)
    return (
        {"tuple": writer.items(x, depth)}
        if names is None
        else {"named": [type(x).__name__, [*names], writer.items(x, depth)]}
    )


def _error(writer: Writer, x: BaseException, depth: int) -> Any:
    return {"error": [x.kind if isinstance(x, RecordedError) else type(x).__name__, _message(x)]}


def _object(x: Any) -> dict[str, Any]:
    return {"repr": [name_of(x), short_repr(x)]}


def _message(x: BaseException) -> str:
    try:
        return str(x)
    except Exception:
        return ""


_WRITERS: list[tuple[type[Any], Callable[[Writer, Any, int], Any]]] = [
    (Tensor, Writer.tensor),
    (bool, lambda writer, x, depth: bool(x)),
    (int, _int),
    (float, _float),
    (complex, lambda writer, x, depth: {"complex": [_number(x.real), _number(x.imag)]}),
    (str, lambda writer, x, depth: str(x)),
    (torch.Size, lambda writer, x, depth: {"size": list(x)}),
    (list, lambda writer, x, depth: writer.items(x, depth)),
    (tuple, _tuple),
    (dict, _pairs),
    (slice, lambda writer, x, depth: {"slice": writer.items((x.start, x.stop, x.step), depth)}),
    (torch.dtype, lambda writer, x, depth: {"dtype": str(x).removeprefix("torch.")}),
    (torch.device, lambda writer, x, depth: {"device": str(x)}),
    (type(Ellipsis), lambda writer, x, depth: {"ellipsis": True}),
    (BaseException, _error),
    (Opaque, lambda writer, x, depth: {"repr": [x.name, x.text]}),
]


# ------------------------------------------------------------------------------------------------- reading


def tensors_of(rows: Any) -> list[Tensor]:
    """The table of tensors."""
    check(isinstance(rows, list), '"tensors" is not a list')
    return [_tensor(row) for row in rows]


def _tensor(row: Any) -> Tensor:
    check(isinstance(row, dict), f"{short_repr(row)} is no tensor")
    if "exact" in row:
        return from_json(json.dumps(row["exact"]))
    dtype, shape = _DTYPES.get(row.get("dtype")), row.get("shape")
    check(dtype is not None, f"{row.get('dtype')!r} is no dtype of this PyTorch")
    check(isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape), f"{shape!r} is no shape")
    assert dtype is not None
    if "summary" in row:
        return without_values(shape, dtype, from_row(row))
    if "values" in row:
        check(
            isinstance(row["values"], list) and len(row["values"]) == math.prod(shape),
            f"values do not fill the shape {shape}",
        )
        return torch.tensor([_read_number(v) for v in row["values"]], dtype=dtype).reshape(shape)
    data = base64.b64decode(str(row.get("data", "")), validate=True)
    size = dtype.itemsize * math.prod(shape)
    check(len(data) == size, f"a tensor of shape {shape} and dtype {row['dtype']} has {size} bytes, not {len(data)}")
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape) if data else torch.empty(shape, dtype=dtype)


def _read_number(x: Any) -> Any:
    check(type(x) in (int, float, bool) or x in ("nan", "inf", "-inf"), f"{short_repr(x)} is no number")
    return float(x) if isinstance(x, str) else x


@dataclass
class Reader:
    """Reads values; `tensors` is the table they name."""

    tensors: list[Tensor]

    def value(self, x: Any) -> Any:
        if isinstance(x, list):
            return [self.value(item) for item in x]
        if not isinstance(x, dict):
            return x
        check(len(x) == 1, f"a value has one tag, not {len(x)}")
        ((tag, inside),) = x.items()
        check(tag in _TAGS, f"{tag!r} is no tag of a value")
        return _TAGS[tag](self, inside)

    def items(self, x: Any, count: int | None = None) -> list[Any]:
        check(
            isinstance(x, list) and count in (None, len(x)), f"{short_repr(x)} is no list{f' of {count}' if count else ''}"
        )
        return [self.value(item) for item in x]

    def tensor(self, i: Any) -> Tensor:
        check(type(i) is int and 0 <= i < len(self.tensors), f"there is no tensor {i!r}")
        return self.tensors[i]


def word(x: Any) -> str:
    check(isinstance(x, str), f"{short_repr(x)} is no text")
    return str(x)


def _dict(reader: Reader, x: Any) -> dict[Any, Any]:
    check(isinstance(x, list), f"{short_repr(x)} is no list of pairs")
    return dict(reader.items(pair, 2) for pair in x)


def _named(reader: Reader, x: Any) -> tuple[Any, ...]:
    """A tuple whose items have names; its class is made here, without code from the file."""
    check(isinstance(x, list) and len(x) == 3 and isinstance(x[1], list), f"{short_repr(x)} is no tuple with names")
    names, items = tuple(map(word, x[1])), reader.items(x[2], len(x[1]))
    return type(word(x[0]), (tuple,), {"_fields": names})(items)


def _dtype(reader: Reader, x: Any) -> torch.dtype:
    check(x in _DTYPES, f"{x!r} is no dtype of this PyTorch")
    return _DTYPES[x]


_TAGS: dict[str, Callable[[Reader, Any], Any]] = {
    "tensor": Reader.tensor,
    "int": lambda reader, x: int(word(x), 16),
    "float": lambda reader, x: float(word(x)),
    "complex": lambda reader, x: complex(*[_read_number(part) for part in reader.items(x, 2)]),
    "tuple": lambda reader, x: tuple(reader.items(x)),
    "named": _named,
    "size": lambda reader, x: torch.Size(reader.items(x)),
    "dict": _dict,
    "slice": lambda reader, x: slice(*reader.items(x, 3)),
    "dtype": _dtype,
    "device": lambda reader, x: torch.device(word(x)),
    "ellipsis": lambda reader, x: ...,
    "error": lambda reader, x: RecordedError(*map(word, reader.items(x, 2))),
    "repr": lambda reader, x: Opaque(*reversed([word(part) for part in reader.items(x, 2)])),
}

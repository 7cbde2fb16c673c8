"""Exact tensors as JSON: the graph of their values, each node once, checked when it is read.

    {"format": "workings.exact", "version": 2, "dtype": "float64", "shape": [2],
     "assumptions": [{"kind": "order", "text": "w > 0 (decided at w = 3/10)", "where": "model.py:3", "expression": 1,
                      "relation": ">", "value": 3}],
     "nodes": [["q", "1/2"], ["letter", "w", "3/10"], ["mul", [1, "2"]], ["q", "0"]], "values": [0, 2]}

A node names earlier nodes by their position. `add` lists [coefficient, node] pairs, `mul` [node, exponent] pairs, `dot` two
lists of nodes, a function its arguments. A letter has its sample value, if it has one. In version 1,
which is still read, the sample values stood in "letters": {"w": "3/10"}, and an assumption was a list: [kind, text].
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from flint import fmpq, fmpz

from workings.errors import DomainError, ParseError
from workings.exact.numbers import algebra
from workings.exact.numbers.assume import Assumption, Notes
from workings.exact.numbers.build import build
from workings.exact.numbers.functions import FUNCTIONS
from workings.exact.numbers.letter import stored_letter
from workings.exact.numbers.roots import root_of
from workings.exact.numbers.value import SPECIAL, Rational, Value, bottom_up, constant, rational, special, whole

_DTYPES = {str(d).removeprefix("torch."): d for d in (torch.float64, torch.float32, torch.float16, torch.bfloat16)}
_NUMBER = re.compile(r"-?\d+(/[1-9]\d*)?")


class Contents(NamedTuple):
    """What the JSON of a tensor says."""

    values: list[Value]
    shape: list[int]
    dtype: torch.dtype
    assumptions: Notes


def to_json(values: list[Value], shape: Sequence[int], dtype: torch.dtype, assumptions: Sequence[Assumption]) -> str:
    """A tensor of these values as JSON text."""
    parts = [v for note in assumptions for v in (note.expression, note.value) if v is not None]
    order = bottom_up(*values, *parts)
    position = {v: i for i, v in enumerate(order)}
    return json.dumps(
        {
            "format": "workings.exact",
            "version": 2,
            "dtype": str(dtype).removeprefix("torch."),
            "shape": list(shape),
            "assumptions": [_assumption(note, position) for note in assumptions],
            "nodes": [_row(v, position) for v in order],
            "values": [position[v] for v in values],
        },
        ensure_ascii=False,
    )


def _assumption(note: Assumption, position: dict[Value, int]) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": note.kind, "text": note.text, "where": note.where}
    if note.expression is not None and note.value is not None:
        row |= {"expression": position[note.expression], "relation": note.relation, "value": position[note.value]}
    return row


def _read_assumption(row: Any, made: list[Value]) -> Assumption:
    if isinstance(row, list):
        kind, words = row
        return Assumption(str(kind), str(words))
    sides = [made[_position(row[side], made)] for side in ("expression", "value")] if "expression" in row else [None, None]
    relation = row.get("relation", "")
    if relation not in ("", "<", "=", ">", "≠", "≈"):
        raise ValueError(f"no relation {relation!r} between an expression and a value")
    return Assumption(str(row["kind"]), str(row["text"]), sides[0], relation, sides[1], str(row.get("where", "")))


def _row(v: Value, position: dict[Value, int]) -> list[Any]:
    if v.kind == "q":
        return ["q", str(fmpq(v.args[0]))]
    if v.kind == "letter" and v.sample is not None:
        return ["letter", v.args[0], str(fmpq(v.sample))]
    if v.kind in ("letter", "const"):
        return [v.kind, v.args[0]]
    if v.kind == "add":
        return ["add", *[[str(fmpq(c)), position[t]] for c, t in v.args]]
    if v.kind == "mul":
        return ["mul", *[[position[b], str(r)] for b, r in v.args]]
    if v.kind == "dot":
        return ["dot", [position[x] for x in v.args[0]], [position[y] for y in v.args[1]]]
    return [v.kind, *[position[a] for a in v.args]]


def contents(text: str) -> Contents:
    """Read what `to_json` wrote; anything else is refused with the reason."""
    try:
        return _contents(json.loads(text))
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, DomainError) as reason:
        shown = text if len(text) <= 60 else text[:60] + "…"
        raise ParseError(f"This is not the JSON of an exact tensor ({reason}).", shown, 0) from None


def _contents(data: dict[str, Any]) -> Contents:
    if data["format"] != "workings.exact" or data["version"] not in (1, 2):
        raise ValueError(f"format {data['format']!r}, version {data['version']!r}; needed workings.exact, version 1 or 2")
    made: list[Value] = []
    for row in data["nodes"]:
        made.append(_read(row, made, data.get("letters", {})))
    values = [made[_position(i, made)] for i in data["values"]]
    shape = [int(n) for n in data["shape"]]
    if len(values) != math.prod(shape) or min(shape, default=0) < 0:
        raise ValueError(f"shape '{shape}' is invalid for input of size {len(values)}")
    notes = frozenset(_read_assumption(row, made) for row in data["assumptions"])
    return Contents(values, shape, _DTYPES[data["dtype"]], notes)


def _position(i: Any, made: list[Value]) -> int:
    if not isinstance(i, int) or not 0 <= i < len(made):
        raise ValueError(f"node {i!r} does not come before its use")
    return i


def _number(text: Any) -> Rational:
    if not isinstance(text, str) or not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not a rational number")
    top, _, bottom = text.partition("/")
    return fmpq(fmpz(top), fmpz(bottom or 1))


def _read(row: list[Any], made: list[Value], samples: dict[str, str]) -> Value:
    kind, *rest = row

    def at(i: Any) -> Value:
        return made[_position(i, made)]

    if kind == "q":
        return rational(_number(rest[0]))
    if kind == "letter":
        sample = rest[1] if len(rest) > 1 else samples.get(rest[0])
        return stored_letter(str(rest[0]), None if sample is None else whole(_number(sample)))
    if kind == "const" and rest[0] in ("pi", "euler"):
        return constant(rest[0])
    if kind in SPECIAL:
        return special(kind)
    if kind == "add":
        return algebra.add_all([algebra.scale(at(i), _number(c)) for c, i in rest])
    if kind == "mul":
        return algebra.multiply_all([algebra.power(at(i), _number(r)) for i, r in rest])
    if kind == "dot":
        return algebra.dot(tuple(at(i) for i in rest[0]), tuple(at(i) for i in rest[1]))
    if kind == "root_of":
        return root_of(*[at(i) for i in rest])
    if kind in FUNCTIONS and len(rest) == FUNCTIONS[kind].takes:
        return build(kind, *[at(i) for i in rest])
    raise ValueError(f"no node of kind {kind!r} with {len(rest)} parts")

"""A trace as JSON, documented in docs/trace-format.md, and back to an equal trace.

    {"format": "workings.trace", "version": 2, "steps": […], "tensors": […], "result": …, "agreement": "…", …}

The steps stand in the order they happened, each with the place of the step it is inside; `json_value.py` writes values.
Formulas, indices and targets are arrays and objects; nothing that is read is ever run. What was not written by `to_json` is
refused with the reason.
"""

from __future__ import annotations

import ast
import binascii
import json
import re
from typing import Any

from workings.errors import BudgetError, ParseError, WorkingsError
from workings.show.options import MOST_SAVED
from workings.show.printers.json_value import DamagedTrace, Reader, RecordedError, Writer, check, tensors_of, word
from workings.show.write.brief import short_repr
from workings.trace.formula.targets import Target
from workings.trace.formula.tree import Apply, Call, Code, Formula, Index, Leaf, Number, Sequence, Slice
from workings.trace.record import Trace
from workings.trace.step import KINDS, NO_NUMBERS, Numbers, Step, Syntax, Where

_FORMAT, _VERSION = "workings.trace", 2
_TEXTS = ("name", "source", "note", "address")
"""Fields of a step that are text; empty ones are left out."""
_SYNTAX = ("count", "stopped", "targets", "augmented")
"""Fields of a step that are left out where there is nothing to say."""


_NUMBERS = ("read", "made")
"""Which value of a name a step reads and makes, where there are several."""


def to_json(trace: Trace, most: int | None = MOST_SAVED) -> str:
    """The trace as JSON text; of a tensor of more than `most` entries, a summary of it.

    >>> text = to_json(Trace(Step("root", children=[Step("assign", "y", result=2.5)])))
    >>> from_json(text).root.children[0].result
    2.5
    """
    try:
        data = to_data(trace, most)
        text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise BudgetError("A formula of this trace is nested too deeply for JSON.") from None
    return json.dumps(data) if _HALF_CHARACTERS.search(text) else text


def to_data(trace: Trace, most: int | None = MOST_SAVED) -> dict[str, Any]:
    """What the text of `to_json` says: two traces with equal data have the same steps, names, formulas and values."""
    writer = Writer(most)
    steps = _flat(trace.root)
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "agreement": trace.agreement,
        **({} if trace.matches is None else {"matches": trace.matches}),
        "difference": writer.value(trace.difference),
        "error": writer.value(trace.error),
        "first_bad": _place(trace.first_bad, steps),
        **({} if trace.first_nan is None else {"first_nan": _place(trace.first_nan, steps)}),
        "notes": list(trace.notes),
        "result": writer.value(trace.result),
        "steps": [_step(step, parent, writer) for step, parent in steps],
        "tensors": writer.tensors,
    }


_HALF_CHARACTERS = re.compile("[\ud800-\udfff]")
"""Half of a character, as in undecodable file names, cannot be written as UTF-8; JSON escapes it."""


def _flat(root: Step) -> list[tuple[Step, int | None]]:
    """Every step with the place of its parent, in the order they happened; no recursion, so depth is no matter."""
    found: list[tuple[Step, int | None]] = []
    todo: list[tuple[Step, int | None]] = [(root, None)]
    while todo:
        step, parent = todo.pop()
        todo += [(child, len(found)) for child in reversed(step.children)]
        found.append((step, parent))
    return found


def _step(step: Step, parent: int | None, writer: Writer) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": step.kind, "parent": parent}
    out |= {key: getattr(step, key) for key in _TEXTS if getattr(step, key)}
    out |= {"count": step.count} if step.count else {}
    out |= {"stopped": True} if step.is_stopped else {}
    out |= {"targets": [_target(target, writer) for target in step.syntax.targets]} if step.syntax.targets else {}
    out |= {"augmented": True} if step.syntax.is_augmented else {}
    out |= {key: numbers for key in _NUMBERS if (numbers := getattr(step.numbers, key))}
    if step.formula is not None:
        out["formula"] = _formula(step.formula, writer)
    if step.operands:
        out["operands"] = {text: writer.value(value) for text, value in step.operands.items()}
    if step.result is not None:
        out["result"] = writer.value(step.result)
    if step.where is not None:
        out["where"] = [step.where.file, step.where.line]
    return out


def _formula(f: Formula, writer: Writer) -> list[Any]:
    """["apply", "matmul", [["leaf", "Q"], ["leaf", "K"]], [["dim", -1]]]"""
    match f:
        case Leaf(text, size):
            return ["leaf", text] if size is None else ["leaf", text, _formula(size, writer)]
        case Number(value):
            return ["number", writer.value(value)]
        case Sequence(items, is_list):
            return ["list" if is_list else "sequence", [_formula(item, writer) for item in items]]
        case Code(text):
            return ["code", text]
        case Apply(name, args, options) | Call(name, args, options):
            kind = "apply" if isinstance(f, Apply) else "call"
            chosen = [_option(key, value, writer) for key, value in options]
            return [kind, name, [_formula(a, writer) for a in args], chosen]


def _option(key: str, value: Any, writer: Writer) -> list[Any]:
    """["dim", -1], ["dim", {"formula": ["leaf", "axis"]}], ["at", {"index": [["number", 0]]}]"""
    if isinstance(value, Index):
        return [key, {"index": _index(value, writer)}]
    return [key, {"formula": _formula(value, writer)} if isinstance(value, Formula) else writer.value(value)]


def _index(index: Index, writer: Writer) -> list[Any]:
    return [_slice(part, writer) if isinstance(part, Slice) else _formula(part, writer) for part in index.parts]


def _slice(part: Slice, writer: Writer) -> list[Any]:
    return ["slice", *(None if end is None else _formula(end, writer) for end in (part.start, part.stop, part.step))]


def _target(target: Target, writer: Writer) -> dict[str, Any]:
    """{"text": "y[0]", "whole": {"text": "y"}, "at": [["number", 0]]}"""
    out: dict[str, Any] = {"text": target.text}
    out |= {"parts": [_target(part, writer) for part in target.parts]} if target.parts else {}
    out |= {"starred": True} if target.is_starred else {}
    out |= {} if target.whole is None else {"whole": _target(target.whole, writer)}
    return out | ({} if target.at is None else {"at": _index(target.at, writer)})


# ------------------------------------------------------------------------------------------------- reading


def from_json(text: str) -> Trace:
    """The trace that `to_json` wrote; anything else raises `ParseError` with the reason."""
    try:
        return _trace(json.loads(text))
    except json.JSONDecodeError as reason:
        raise ParseError(f"This is not JSON ({reason.msg}).", text, reason.pos) from None
    except RecursionError:
        raise ParseError("This JSON is nested too deeply to be a trace.", text[:60], 0) from None
    except ParseError as reason:
        raise ParseError(f"This is not the JSON of a trace ({reason.reason}).", text[:60], 0) from None
    except (DamagedTrace, binascii.Error, WorkingsError, ValueError, TypeError, RuntimeError, OverflowError) as reason:
        raise ParseError(f"This is not the JSON of a trace ({reason}).", text[:60], 0) from None


def _place(wanted: Step | None, steps: list[tuple[Step, Any]]) -> int | None:
    return next((i for i, (step, _) in enumerate(steps) if step is wanted), None)


def _trace(data: Any) -> Trace:
    check(isinstance(data, dict), "it is no object")
    made = (data.get("format"), data.get("version"))
    check(made == (_FORMAT, _VERSION), f"format {made[0]!r}, version {made[1]!r}; needed {_FORMAT}, version {_VERSION}")
    reader = Reader(tensors_of(data.get("tensors")))
    steps = _steps(data.get("steps"), reader)
    error, difference = reader.value(data.get("error")), reader.value(data.get("difference"))
    check(error is None or isinstance(error, RecordedError), f"{short_repr(error)} is no error")
    check(difference is None or type(difference) in (int, float), f"{short_repr(difference)} is no difference")
    notes = data.get("notes", [])
    check(isinstance(notes, list), f"{short_repr(notes)} is no list of notes")
    bad, nan = _read_place(data, "first_bad", steps), _read_place(data, "first_nan", steps)
    agreement, matches, notes = word(data.get("agreement", "")), data.get("matches"), [word(n) for n in notes]
    check(matches in (None, True, False), f"{short_repr(matches)} is not true or false")
    result = reader.value(data.get("result"))
    return Trace(steps[0], result, agreement, difference, error, bad, notes, nan, matches=matches)


def _read_place(data: Any, name: str, steps: list[Step]) -> Step | None:
    i = data.get(name)
    check(i is None or (type(i) is int and 0 <= i < len(steps)), f"there is no step {i!r}")
    return None if i is None else steps[i]


def _steps(rows: Any, reader: Reader) -> list[Step]:
    check(isinstance(rows, list) and bool(rows), "it has no steps")
    made: list[Step] = []
    for i, row in enumerate(rows):
        try:
            step, parent = _read_step(row, reader), row.get("parent")
            earlier = parent is None if i == 0 else type(parent) is int and 0 <= parent < i
            check(earlier, f"its parent {parent!r} is no earlier step")
        except (ValueError, TypeError, RuntimeError) as reason:
            raise DamagedTrace(f"step {i}: {reason}") from None
        made.append(step)
        if parent is not None:
            made[parent].children.append(step)
    return made


def _read_step(row: Any, reader: Reader) -> Step:
    check(isinstance(row, dict), f"{short_repr(row)} is no step")
    unknown = set(row) - {"kind", "parent", "formula", "operands", "result", "where", *_TEXTS, *_SYNTAX, *_NUMBERS}
    check(not unknown, f"no field of a step is called {', '.join(sorted(map(repr, unknown)))}")
    check(row.get("kind") in KINDS, f"{row.get('kind')!r} is no kind of step")
    operands, count, targets = row.get("operands", {}), row.get("count", 0), row.get("targets", [])
    check(isinstance(operands, dict), f"{short_repr(operands)} are no operands")
    check(type(count) is int, f"{short_repr(count)} is no count")
    check(isinstance(targets, list), f"{short_repr(targets)} is no list of targets")
    numbered = any(key in row for key in _NUMBERS)
    texts: dict[str, Any] = {key: word(row.get(key, "")) for key in _TEXTS}
    return Step(
        row["kind"],
        **texts,
        count=count,
        is_stopped=row.get("stopped") is True,
        syntax=Syntax(tuple(_read_target(target, reader) for target in targets), row.get("augmented") is True),
        formula=_read_formula(row["formula"], reader) if "formula" in row else None,
        operands={text: reader.value(value) for text, value in operands.items()},
        result=reader.value(row.get("result")),
        where=_read_where(row["where"]) if "where" in row else None,
        numbers=Numbers(*(_read_numbers(row[key]) if key in row else {} for key in _NUMBERS)) if numbered else NO_NUMBERS,
    )


def _read_numbers(row: Any) -> dict[str, int]:
    valid = isinstance(row, dict) and all(type(number) is int and number > 1 for number in row.values())
    check(valid, f"{short_repr(row)} are no numbers of values")
    return dict(row)


def _read_target(row: Any, reader: Reader) -> Target:
    check(isinstance(row, dict) and isinstance(row.get("parts", []), list), f"{short_repr(row)} is no target")
    return Target(
        word(row.get("text")),
        tuple(_read_target(part, reader) for part in row.get("parts", [])),
        row.get("starred") is True,
        _read_target(row["whole"], reader) if "whole" in row else None,
        _read_index(row["at"], reader) if "at" in row else None,
    )


def _read_index(row: Any, reader: Reader) -> Index:
    check(isinstance(row, list), f"{short_repr(row)} is no index")
    return Index(tuple(_read_index_part(part, reader) for part in row))


def _read_index_part(row: Any, reader: Reader) -> Formula | Slice:
    match row:
        case ["slice", start, stop, step]:
            return Slice(*(None if end is None else _read_formula(end, reader) for end in (start, stop, step)))
    return _read_formula(row, reader)


def _read_where(row: Any) -> Where:
    check(isinstance(row, list) and len(row) == 2 and type(row[1]) is int, f"{short_repr(row)} is no place")
    return Where(word(row[0]), row[1])


def _read_formula(row: Any, reader: Reader) -> Formula:
    match row:
        case ["leaf", str(text), *size] if len(size) < 2:
            return Leaf(text, _read_formula(size[0], reader) if size else None)
        case ["number", value]:
            return Number(reader.value(value))
        case ["code", str(text)]:
            return Code(text, _parse(text))
        case [("sequence" | "list") as kind, list(items)]:
            return Sequence(tuple(_read_formula(item, reader) for item in items), kind == "list")
        case [("apply" | "call") as kind, str(name), list(args), list(options)]:
            chosen = tuple(_read_option(option, reader) for option in options)
            return (Apply if kind == "apply" else Call)(name, tuple(_read_formula(a, reader) for a in args), chosen)
    raise DamagedTrace(f"{short_repr(row)} is no formula")


def _read_option(row: Any, reader: Reader) -> tuple[str, Any]:
    match row:
        case [str(key), {"index": parts}]:
            return key, _read_index(parts, reader)
        case [str(key), {"formula": inside}]:
            return key, _read_formula(inside, reader)
        case [str(key), value]:
            return key, reader.value(value)
    raise DamagedTrace(f"{short_repr(row)} is no option")


def _parse(text: str) -> ast.expr | None:
    """Python without a formula is text in JSON, and was an expression before."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError):
        return None

"""A trace as JSON, documented in docs/trace-format.md, and back to an equal trace.

    {"format": "workings.trace", "version": 1, "steps": […], "tensors": […], "result": …, "agreement": "…", …}

The steps stand in the order they happened, each with the place of the step it is inside; `json_value.py` writes values.
Targets, indices and options are written as Python has them, and read by Python's parser; nothing is run. What was not
written by `to_json` is refused with the reason.
"""

from __future__ import annotations

import ast
import binascii
import json
import re
from typing import Any

from workings.errors import BudgetError, ParseError, WorkingsError
from workings.show.options import MOST_SAVED
from workings.show.printers.json_value import Damaged, Reader, RecordedError, Writer, check, tensors_of, word
from workings.show.write.brief import short_repr
from workings.trace.formula.from_python import argument, index_of, keywords
from workings.trace.formula.targets import target_of
from workings.trace.formula.tree import Apply, Call, Code, Formula, Leaf, Number, Sequence
from workings.trace.record import Trace
from workings.trace.step import KINDS, Step, Syntax, Where

FORMAT, VERSION = "workings.trace", 1
TEXTS = ("name", "source", "note", "address")
"""Fields of a step that are text; empty ones are left out."""


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
        "format": FORMAT,
        "version": VERSION,
        "agreement": trace.agreement,
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
    out |= {key: getattr(step, key) for key in TEXTS if getattr(step, key)}
    if step.kind == "folded" and step.count:
        out["name"] = str(step.count)
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
        case Leaf(text):
            return ["leaf", text]
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
    """["dim", -1]; what is an argument as Python has it: ["dim", "axis"], ["text", "0, :"], ["text", "view(2, 3)"]."""
    if key in ("at", "by"):
        return ["text", str(value)]
    return [key, str(value) if isinstance(value, Formula) else writer.value(value)]


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
    except (Damaged, binascii.Error, WorkingsError, ValueError, TypeError, RuntimeError, OverflowError) as reason:
        raise ParseError(f"This is not the JSON of a trace ({reason}).", text[:60], 0) from None


def _place(wanted: Step | None, steps: list[tuple[Step, Any]]) -> int | None:
    return next((i for i, (step, _) in enumerate(steps) if step is wanted), None)


def _trace(data: Any) -> Trace:
    check(isinstance(data, dict), "it is no object")
    made = (data.get("format"), data.get("version"))
    check(made == (FORMAT, VERSION), f"format {made[0]!r}, version {made[1]!r}; needed {FORMAT}, version {VERSION}")
    reader = Reader(tensors_of(data.get("tensors")))
    steps = _steps(data.get("steps"), reader)
    error, difference = reader.value(data.get("error")), reader.value(data.get("difference"))
    check(error is None or isinstance(error, RecordedError), f"{short_repr(error)} is no error")
    check(difference is None or type(difference) in (int, float), f"{short_repr(difference)} is no difference")
    notes = data.get("notes", [])
    check(isinstance(notes, list), f"{short_repr(notes)} is no list of notes")
    bad, nan = _named(data, "first_bad", steps), _named(data, "first_nan", steps)
    agreement, notes = word(data.get("agreement", "")), [word(n) for n in notes]
    return Trace(steps[0], reader.value(data.get("result")), agreement, difference, error, bad, notes, nan)


def _named(data: Any, name: str, steps: list[Step]) -> Step | None:
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
            raise Damaged(f"step {i}: {reason}") from None
        made.append(step)
        if parent is not None:
            made[parent].children.append(step)
    return made


def _read_step(row: Any, reader: Reader) -> Step:
    check(isinstance(row, dict), f"{short_repr(row)} is no step")
    unknown = set(row) - {"kind", "parent", "formula", "operands", "result", "where", *TEXTS}
    check(not unknown, f"no field of a step is called {', '.join(sorted(map(repr, unknown)))}")
    check(row.get("kind") in KINDS, f"{row.get('kind')!r} is no kind of step")
    operands = row.get("operands", {})
    check(isinstance(operands, dict), f"{short_repr(operands)} are no operands")
    texts = {key: word(row.get(key, "")) for key in TEXTS}
    counted = row["kind"] in ("turn", "folded") and texts["name"].isdecimal()
    step = Step(
        row["kind"],
        count=int(texts["name"]) if counted else 0,
        is_stopped=row.get("result") is None and texts["note"].startswith("raised "),
        syntax=_read_syntax(row["kind"], texts["name"], texts["source"]),
        formula=_read_formula(row["formula"], reader) if "formula" in row else None,
        operands={text: reader.value(value) for text, value in operands.items()},
        result=reader.value(row.get("result")),
        where=_read_where(row["where"]) if "where" in row else None,
    )
    for key, said in texts.items():
        setattr(step, key, "" if step.kind == "folded" and counted and key == "name" else said)
    return step


def _read_syntax(kind: str, name: str, source: str) -> Syntax:
    """What the name of a statement says: its targets, and whether its source has `+=` after them."""
    if kind not in ("assign", "operation"):
        return Syntax()
    nodes = [_python(f"({text})") for text in name.split(" = ")]
    targets = tuple(target_of(node) for node in nodes if isinstance(node, _PLACES))
    return Syntax(targets, is_augmented=source.startswith(name) and not source[len(name) :].lstrip().startswith("="))


_PLACES = (ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List)


def _python(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError):
        return None


def _read_where(row: Any) -> Where:
    check(isinstance(row, list) and len(row) == 2 and type(row[1]) is int, f"{short_repr(row)} is no place")
    return Where(word(row[0]), row[1])


def _read_formula(row: Any, reader: Reader) -> Formula:
    match row:
        case ["leaf", str(text)]:
            return Leaf(text)
        case ["number", value]:
            return Number(reader.value(value))
        case ["code", str(text)]:
            return Code(text, _python(text))
        case [("sequence" | "list") as kind, list(items)]:
            return Sequence(tuple(_read_formula(item, reader) for item in items), kind == "list")
        case [("apply" | "call") as kind, str(name), list(args), list(options)]:
            chosen = tuple(_read_option(name, word(key), reader.value(value)) for key, value in options)
            return (Apply if kind == "apply" else Call)(name, tuple(_read_formula(a, reader) for a in args), chosen)
    raise Damaged(f"{short_repr(row)} is no formula")


def _read_option(op: str, key: str, value: Any) -> tuple[str, Any]:
    if key == "relation" or not isinstance(value, str) or (key, op) == ("text", "einsum"):
        return key, value
    if key == "text" and op == "reshape":
        return "by", _read_call(value)
    node = _python(f"_[{value}]" if key == "text" else value)
    if isinstance(node, ast.Subscript) and key == "text":
        return "at", index_of(node.slice)
    return key, value if node is None else argument(node)


def _read_call(text: str) -> Call:
    match _python(text):
        case ast.Call(func=ast.Name(id=name), args=args, keywords=named):
            return Call(name, tuple(map(argument, args)), keywords(named))
    raise Damaged(f"{short_repr(text)} is no change of shape")

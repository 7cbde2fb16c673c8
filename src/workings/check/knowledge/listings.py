"""Code listings of stacked layers (`nn.Sequential`): commas that are missing, and sizes that do not fit.

A listing is parsed, never run. The input's size is what the document says of it near the listing: `32×32 grayscale`.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from workings.check.argument.argument import Argument
from workings.check.document.document import Listing
from workings.check.knowledge.images import image_size
from workings.check.knowledge.layers import SIGNATURES, Flow, Layer, Pair, after
from workings.check.value.scope import Scope

_LONGEST = 100_000
_CALL = re.compile(r"[ \t]*(?:torch\.)?nn\.[A-Z]\w*\(|[ \t]*(?:Conv|Linear|ReLU|MaxPool|AvgPool|Flatten)\w*\(")


@dataclass(frozen=True)
class Source:
    """A listing's text as Python sees it, and how to find a place of it in the document."""

    text: str
    written: str
    start: int
    indent: int

    @staticmethod
    def of(listing: Listing) -> Source:
        """Without the indent that all lines share."""
        text = textwrap.dedent(listing.text.expandtabs(1))
        first = next((line for line in listing.text.splitlines() if line.strip()), "")
        kept = next((line for line in text.splitlines() if line.strip()), "")
        return Source(text, listing.text, listing.start, len(first) - len(kept))

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines(keepends=True)

    @cached_property
    def starts(self) -> list[int]:
        """Where each row begins in the document; every row lost the same indent, blank rows all of theirs."""
        found = [self.start]
        for line in self.written.split("\n"):
            found.append(found[-1] + len(line) + 1)
        return found

    def position(self, row: int, column: int) -> int:
        """Where a row (from 1) and column of the text stand in the document."""
        return self.starts[row - 1] + self.indent + column


def check_listings(argument: Argument, scope: Scope) -> None:
    """Every listing that names layers."""
    for listing in argument.document.listings:
        if "nn." in listing.text or "Sequential(" in listing.text:
            _check_listing(argument, listing)


def _check_listing(argument: Argument, listing: Listing) -> None:
    """Its commas, then its sizes."""
    if len(listing.text) > _LONGEST or ">>>" in listing.text:
        return
    source = Source.of(listing)
    tree = python_tree(source.text)
    if tree is None:
        mended = _mend(source)
        if mended is None:
            return
        tree, rows = mended
        for row in rows:
            line = source.lines[row - 1].rstrip()
            at = source.position(row, len(line.partition("#")[0].rstrip()))
            why = "Between two layers a comma is needed: as it is, this listing is no Python."
            argument.add_at(at - 1, at, "error", "listing", "a comma behind this bracket", why)
    numbers = _whole_numbers(tree)
    for call in _sequentials(tree):
        _check_stack(argument, source, listing, call, numbers)


def python_tree(text: str) -> ast.Module | None:
    """The syntax tree, if it is Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _mend(source: Source) -> tuple[ast.Module, list[int]] | None:
    """The tree with the missing commas put in, and the rows behind which they are missing; none if that is not all."""
    lines = list(source.lines)
    written = [i for i, line in enumerate(lines) if line.partition("#")[0].strip()]
    rows = []
    for here, there in pairwise(written):
        code, comment = lines[here].partition("#")[0].rstrip(), lines[here].partition("#")[2]
        if code.endswith(")") and _CALL.match(lines[there]):
            lines[here] = code + "," + (f"  #{comment}" if comment else "\n")
            rows.append(here + 1)
    tree = python_tree("".join(lines)) if rows else None
    return (tree, rows) if tree is not None else None


def _whole_numbers(tree: ast.Module) -> dict[str, int]:
    """Names that are given one whole number, once."""
    found: dict[str, list[int]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = _whole(node.value, {})
            found.setdefault(node.targets[0].id, []).append(value if value is not None else -1)
        elif isinstance(node, ast.AugAssign | ast.For) and isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, []).append(-1)
    return {name: values[0] for name, values in found.items() if len(values) == 1 and values[0] >= 0}


def _whole(node: ast.expr, numbers: dict[str, int]) -> int | None:
    """A whole number: written, named before, or by + − * //."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool) and abs(value) < 10**12:
            return value
        case ast.Name(id=name):
            return numbers.get(name)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _whole(left, numbers), _whole(right, numbers)
            if a is None or b is None or abs(a) > 10**12 or abs(b) > 10**12:
                return None
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.FloorDiv() if b:
                    return a // b
    return None


def _sequentials(tree: ast.Module) -> Iterator[list[ast.expr]]:
    """The layers of each `Sequential(…)`, also of a list in it; those inside another are read with it."""
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called_name(node) == "Sequential" and id(node) not in inner:
            inner |= {id(part) for part in ast.walk(node)} - {id(node)}
            yield _sequential_layers(node)


def _sequential_layers(call: ast.Call) -> list[ast.expr]:
    """The layers of a Sequential, one after the other."""
    found: list[ast.expr] = []
    for argument in call.args:
        match argument:
            case ast.Starred(value=ast.List(elts=items)):
                found += items
            case ast.Call() if _called_name(argument) == "Sequential":
                found += _sequential_layers(argument)
            case ast.Call(args=[ast.List(elts=items)]) if _called_name(argument) == "OrderedDict":
                found += [item.elts[1] for item in items if isinstance(item, ast.Tuple) and len(item.elts) == 2]
            case _:
                found.append(argument)
    return found


def _called_name(call: ast.expr) -> str:
    """The last name of what is called."""
    match call:
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
            return name
    return ""


def _read_layer(call: ast.expr, numbers: dict[str, int]) -> tuple[Layer, dict[str, ast.expr]] | None:
    """A layer with its arguments by name, and where each is written; none if something cannot be read."""
    if not isinstance(call, ast.Call):
        return None
    name = _called_name(call)
    if len(call.args) > len(SIGNATURES.get(name, ())):
        return (Layer(name, {}), {}) if name not in SIGNATURES else None
    places: dict[str, ast.expr] = dict(zip(SIGNATURES.get(name, ()), call.args, strict=False))
    places |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    options: dict[str, int | Pair | str | bool] = {}
    for key, node in places.items():
        value = _argument_value(node, numbers)
        if value is None:
            if name in SIGNATURES and key in SIGNATURES[name] and key not in ("bias", "groups"):
                return None
            continue
        options[key] = value
    return Layer(name, options), places


def _argument_value(node: ast.expr, numbers: dict[str, int]) -> int | Pair | str | bool | None:
    """A whole number, two of them, a word or a truth value."""
    match node:
        case ast.Constant(value=bool() | str() as value):
            return value
        case ast.Tuple(elts=[one, other]):
            a, b = _whole(one, numbers), _whole(other, numbers)
            return (a, b) if a is not None and b is not None else None
    return _whole(node, numbers)


def _check_stack(
    argument: Argument, source: Source, listing: Listing, calls: list[ast.expr], numbers: dict[str, int]
) -> None:
    """Follow the sizes through a stack."""
    flow: Flow | None = None
    sure = True
    for call in calls:
        read = _read_layer(call, numbers)
        if read is None:
            flow = Flow()
            continue
        layer, places = read
        if flow is None:
            first = layer.whole("in_channels") if layer.name == "Conv2d" else None
            size, sure = image_size(argument, listing, first) if first else (None, True)
            sure = sure or size is None
            flow = Flow(channels=first, size=size)
        flow, misfit = after(layer, flow)
        at = places.get(misfit.argument) if misfit is not None else None
        if misfit is None or at is None:
            continue
        start = source.position(at.lineno, at.col_offset)
        end = start + (at.end_col_offset or 0) - at.col_offset
        why = f"{misfit.why} Write {misfit.needed.partition(' = ')[0]}." if misfit.needed[0].isdigit() else misfit.why
        level = "likely" if sure or misfit.argument == "in_channels" else "note"  # of a data set the size is only usual
        argument.add_at(start, max(end, start + 1), level, "listing", misfit.needed, why)

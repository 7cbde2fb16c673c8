"""What a statement means to the rules of differentiation.

`from_python.py` gives a formula to what has a notation. The rules know more: `x.cumsum(0)` is an operation on x,
`addmm(b, x, W)` is b + x W, and a statement that changes a tensor in place makes a new value of it:

    y = x.cumsum(0)     cumsum(x)
    h.mul_(2)           h#2 = h ⊙ 2
    y[0] = v            y#2 = y with v at [0]
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from typing import Any

from torch import Tensor

from workings.trace.formula.from_python import LIBRARIES, formula_of, is_pair, is_path, keywords
from workings.trace.formula.operation import OPERATIONS, TENSORS
from workings.trace.formula.tree import Apply, Call, Code, Formula, Index, Leaf, Number, Options, Sequence, Slice, walk
from workings.trace.gradient.entries import assigned_entry, entry_target
from workings.trace.operations.patterns import read_pattern
from workings.trace.step import Step

_CASTS = frozenset({"half", "bfloat16"})
_SIZES = frozenset({"size", "dim", "numel", "len"})


def reading(step: Step, known: Collection[str] = ()) -> Formula | None:
    """The formula of a statement as the rules need it; `known` are the names that have a value here, such as `parts[0]`."""
    if step.formula is None:
        return None
    found = _read_formula(step.formula, known)
    base = entry(step)
    if _is_unpacking_rows(step):
        return Apply("unbind", (found,))
    if appended_list(step) and isinstance(found, Call):
        return found.args[0]
    if base and assigned_entry(step) is None:
        return Apply("put", (Leaf(base[0]), found), (("at", base[1]),))
    return found


def _is_unpacking_rows(step: Step) -> bool:
    """Whether a statement takes a tensor apart: `a, b = x`."""
    target = step.syntax.target
    return step.kind == "assign" and isinstance(step.live, Tensor) and target is not None and bool(target.parts)


def appended_list(step: Step) -> str:
    """hs of `hs.append(h)`."""
    match step.formula:
        case Call(name=name, args=(_,)) if name.endswith(".append"):
            return name.removesuffix(".append")
    return ""


def loop_rows(step: Step) -> tuple[str, Formula] | None:
    """Of `for r in x:` the name r and unbind(x), whose parts the turns take one by one."""
    target, items = step.syntax.target, step.syntax.items
    match items:
        case Call("enumerate", (items,)):
            target = target.parts[1] if target is not None and len(target.parts) == 2 else target
    if target is None or items is None or not target.text.isidentifier():
        return None
    found = _read_formula(items, ())
    whole = gives(found) == "parts"
    return target.text, found if whole else Apply("unbind", (found,))


def names_in_options(formula: Formula) -> list[str]:
    """The names in the indices, sizes and options of a formula: the i of x[i]."""
    options = [value for part in walk(formula) if isinstance(part, Apply) for _, value in part.options]
    return [name for option in options for name in _names_in(option)]


def _names_in(argument: Any) -> list[str]:
    match argument:
        case Leaf(text):
            return [text]
        case Code(_, ast.expr() as node):
            return [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
        case Index(parts) | Sequence(parts) | Call(_, parts):
            return [name for part in parts for name in _names_in(part)]
        case Slice(start, stop, step):
            return [name for part in (start, stop, step) for name in _names_in(part)]
    return []


def hidden_names(formula: Formula) -> list[str]:
    """The names that a formula reads without having them as leaves: in Python without a formula, before a method's dot."""
    found: list[str] = []
    for part in walk(formula):
        if isinstance(part, Call):
            found += [part.name.rpartition(".")[0]] if "." in part.name else []
            found += [path for _, value in part.options for path in _paths_in(value)]
        elif isinstance(part, Code):
            found += _paths_in(part)
    return list(dict.fromkeys(found))


def _paths_in(argument: Any) -> list[str]:
    match argument:
        case Leaf(text):
            return [text]
        case Code(_, ast.expr() as node):
            return [ast.unparse(n) for n in ast.walk(node) if isinstance(n, ast.expr) and is_path(n)]
        case Sequence(items):
            return [path for item in items for path in _paths_in(item)]
    return []


def with_items(formula: Formula, lengths: Mapping[str, int]) -> Formula:
    """Lists by their items: stack(hs) is stack(hs[0], hs[1]), hs[−1] is hs[1], and hs + (h) is (hs[0], hs[1], h)."""
    match formula:
        case Leaf(text=text) if text in lengths:
            return Sequence(tuple(Leaf(f"{text}[{i}]") for i in range(lengths[text])))
        case Apply(op="index", args=(Leaf(text=text),), options=((_, Index() as at),)) if text in lengths:
            if at.numbers is None or len(at.numbers) > 1:
                return formula
            return Leaf(f"{text}[{at.numbers[0] % lengths[text] if lengths[text] else 0}]")
        case Apply(op=op, args=args, options=options):
            return _join(Apply(op, tuple(with_items(arg, lengths) for arg in args), options))
        case Sequence(items=items):
            return Sequence(tuple(with_items(item, lengths) for item in items))
    return formula


def _join(formula: Apply) -> Formula:
    """(a, b) + (c) is (a, b, c) where these are lists."""
    match formula:
        case Apply(op="add", args=(Sequence(items=left), Sequence(items=right))):
            return Sequence((*left, *right))
    return formula


def changed_name(step: Step) -> str:
    """The name of the tensor that a statement changes in place by a method (`h.mul_(2)`), or nothing."""
    target = step.syntax.changes
    return "" if target is None or target.whole is not None else target.text


def entry(step: Step) -> tuple[str, Index] | None:
    """Of `y[0] = v` and of `y[0].add_(v)` the name y and the index 0."""
    target = step.syntax.changes if step.kind == "expression" else entry_target(step)
    if target is None or target.whole is None or target.at is None:
        return None
    return target.whole.text, target.at


# ---- calls


def _read_formula(formula: Formula, known: Collection[str]) -> Formula:
    match formula:
        case Leaf(text) if text.endswith((".real", ".imag")) and text[:-5] in known:
            return Apply(text[-4:], (Leaf(text[:-5]),))
        case Apply("index", (Leaf(name),), ((_, at),)) if f"{name}[{at}]" in known:
            return Leaf(f"{name}[{at}]")
        case Apply(op=op, args=args, options=options):
            return _apply(op, tuple(_read_formula(arg, known) for arg in args), options)
        case Call(name=name, args=args, options=()) if name.rpartition(".")[2] in _SIZES and (size := _size(name, args)):
            return size
        case Call(name=name, args=args, options=options):
            return read_call(name, tuple(_read_formula(arg, known) for arg in args), options)
        case Sequence(items=items):
            return Sequence(tuple(_read_formula(item, known) for item in items))
        case Code():
            return _code(formula, known)
    return formula


def read_call(name: str, args: tuple[Formula, ...], options: Options) -> Formula:
    """The operation that a call is, with its operands among the arguments; the call itself where there is none.

    >>> read_call("x.cumsum", (Number(0),), ())
    Apply(op='cumsum', args=(Leaf(text='x'), Number(value=0)), options=())
    """
    path, _, method = name.rpartition(".")
    if path and method in _CASTS and not args:
        return Apply("reshape", (Leaf(path),), (("by", Call(method, ())),))
    if path in ("", "einops") and (patterned := read_pattern(method, args, options)) is not None:
        return patterned
    op = _operation(method)
    words = any(isinstance(arg, Code) and arg.text[:1] in "\"'" for arg in args)
    if op is None or path in ("self", "cls") or (op == "repeat" and words):  # a pattern that is not known
        return Call(name, args, options)
    own = path and path.split(".")[0] not in LIBRARIES
    return _apply(op, (Leaf(path), *args) if own else args, options)


def _size(name: str, args: tuple[Formula, ...]) -> Leaf | None:
    """`x.size(-1)` and `len(x)` as values that can be read off x."""
    texts = [_plain(arg) for arg in args]
    if name in _SIZES - {"len"} and args:
        name, texts, args = f"{texts[0]}.{name}", texts[1:], args[1:]
    known = all(texts) and not name.startswith(".")
    return Leaf(f"{name}({', '.join(texts)})", Call(name, tuple(map(_literal, args)))) if known else None


def _literal(formula: Formula) -> Formula:
    """−1 as a number."""
    match formula:
        case Apply("neg", (Number(value),)):
            return Number(-value)
    return formula


def _plain(formula: Formula) -> str:
    """A name or a number as Python has it; nothing for what is longer."""
    match formula:
        case Leaf(text=text):
            return text
        case Number(value=value):
            return str(value)
        case Apply(op="neg", args=(Number(value=value),)):
            return f"-{value}"
    return ""


def _operation(method: str) -> str | None:
    op = OPERATIONS.calls.get(method.removesuffix("_"))
    return None if op in ("reshape", "transpose") else op


def _apply(op: str, args: tuple[Formula, ...], options: Options) -> Formula:
    """The operation with its operands among the arguments, written by simpler ones where it is no more than these."""
    options = tuple(option for option in options if option[0] != "inplace")
    if op == "index" and is_pair(args[0]) and dict(options)["at"].numbers == (0,):
        return args[0]
    if op == "reshape" or op == "index":
        return Apply(op, args, options)
    args, options = _place_operands(op, args, options)
    means = OPERATIONS[op].means if op in OPERATIONS else None
    return (means and means(args, options)) or Apply(op, args, options)


def _place_operands(op: str, args: tuple[Formula, ...], options: Options) -> tuple[tuple[Formula, ...], Options]:
    """Operands that were given by name (`weight=w`) put where they stand in the order of the arguments."""
    names, given = OPERATIONS.signature(op), dict(options)
    last = max((i for i, name in enumerate(names) if name in given and name in TENSORS), default=-1)
    if last < len(args):
        return args, options
    more = tuple(_operand(given.pop(name, None)) for name in names[len(args) : last + 1])
    return (*args, *more), tuple(given.items())


def _operand(value: Any) -> Formula:
    if isinstance(value, Code) and value.node is not None:
        return _read_formula(formula_of(value.node), ())
    return value if isinstance(value, Formula) else Number(value)


def gives(formula: Formula) -> str:
    """What PyTorch returns for a formula: a value, a pair of values and places, or parts."""
    row = OPERATIONS.get(formula.op) if isinstance(formula, Apply) else None
    return "value" if row is None else row.gives


# ---- Python without a formula of its own


def _code(code: Code, known: Collection[str]) -> Formula:
    match code.node:
        case ast.Attribute(value=value, attr="values"):
            pair = _read_formula(formula_of(value), known)
            return pair if is_pair(pair) else code
        case ast.Call(func=ast.Attribute(value=value, attr=method), args=args, keywords=named) if _operation(method):
            if any(isinstance(arg, ast.Starred) for arg in args) or any(k.arg is None for k in named):
                return code
            op = _operation(method)
            assert op is not None
            read = tuple(_read_formula(formula_of(arg), known) for arg in (value, *args))
            return _apply(op, read, keywords(named))
    return code

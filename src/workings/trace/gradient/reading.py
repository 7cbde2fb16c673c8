"""What a statement means to the rules of differentiation.

`build.py` gives a formula to what has a notation. The rules know more: `x.cumsum(0)` is an operation on x, `addmm(b, x, W)`
is b + x W, and a statement that changes a tensor in place makes a new value of it:

    y = x.cumsum(0)     cumsum(x)
    h.mul_(2)           h#2 = h ⊙ 2
    y[0] = v            y#2 = y with v at [0]
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from typing import Any

from torch import Tensor

from workings.trace.formula.from_python import LIBRARIES, formula_of, is_path
from workings.trace.formula.operation import OPERATIONS, TENSORS
from workings.trace.formula.targets import parsed, targets
from workings.trace.formula.tree import Apply, Call, Code, Formula, Leaf, Number, Options, Sequence, walk
from workings.trace.gradient.entries import assigned
from workings.trace.step import Step

CASTS = frozenset({"half", "bfloat16"})
SIZES = frozenset({"size", "dim", "numel", "len"})


def reading(step: Step, known: Collection[str] = ()) -> Formula | None:
    """The formula of a statement as the rules need it; `known` are the names that have a value here, such as `parts[0]`."""
    if step.formula is None:
        return None
    found = _read(step.formula, known)
    base = entry(step)
    if unpacked_rows(step):
        return Apply("unbind", (found,))
    if appended(step) and isinstance(found, Call):
        return found.args[0]
    if base and assigned(step) is None:
        return Apply("put", (Leaf(base[0]), found), (("text", base[1]),))
    return found


def unpacked_rows(step: Step) -> bool:
    """Whether a statement takes a tensor apart: `a, b = x`."""
    return step.kind == "assign" and isinstance(step.live, Tensor) and bool(targets(step.name))


def appended(step: Step) -> str:
    """hs of `hs.append(h)`."""
    match step.formula:
        case Call(name=name, args=(_,)) if name.endswith(".append"):
            return name.removesuffix(".append")
    return ""


def iterated(step: Step) -> tuple[str, Formula] | None:
    """Of `for r in x:` the name r and unbind(x), whose parts the turns take one by one."""
    try:
        (loop,) = ast.parse(f"{step.source.rstrip(':')}:\n    pass").body
    except (SyntaxError, ValueError):
        return None
    match loop:
        case ast.For(target=target, iter=ast.Call(func=ast.Name(id="enumerate"), args=[items])):
            target = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else target
        case ast.For(target=target, iter=items):
            pass
        case _:
            return None
    if not isinstance(target, ast.Name):
        return None
    found = _read(formula_of(items), ())
    whole = gives(found) == "parts"
    return target.id, found if whole else Apply("unbind", (found,))


def mentioned(formula: Formula) -> list[str]:
    """The names in the texts that a formula keeps: the i of x[i]."""
    texts = [value for part in walk(formula) if isinstance(part, Apply) for _, value in part.options]
    nodes = [ast.parse(f"_[{text}]", mode="eval") for text in texts if isinstance(text, str) and parsed(f"_[{text}]")]
    return [n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name) and n.id != "_"]


def hidden(formula: Formula) -> list[str]:
    """The names that a formula reads without having them as leaves: in Python without a formula, before a method's dot."""
    found: list[str] = []
    for part in walk(formula):
        if isinstance(part, Call):
            texts = [value for _, value in part.options if isinstance(value, str)]
            found += [part.name.rpartition(".")[0]] if "." in part.name else []
        else:
            texts = [part.text] if isinstance(part, Code) else []
        for node in filter(None, map(parsed, texts)):
            found += [ast.unparse(n) for n in ast.walk(node) if isinstance(n, ast.expr) and is_path(n)]
    return list(dict.fromkeys(found))


def with_items(formula: Formula, lengths: Mapping[str, int]) -> Formula:
    """Lists by their items: stack(hs) is stack(hs[0], hs[1]), hs[−1] is hs[1], and hs + (h) is (hs[0], hs[1], h)."""
    match formula:
        case Leaf(text=text) if text in lengths:
            return Sequence(tuple(Leaf(f"{text}[{i}]") for i in range(lengths[text])))
        case Apply(op="index", args=(Leaf(text=text),), options=options) if text in lengths:
            place = str(dict(options)["text"])
            if not place.removeprefix("-").isdigit():
                return formula
            return Leaf(f"{text}[{int(place) % lengths[text] if lengths[text] else 0}]")
        case Apply(op=op, args=args, options=options):
            return _joined(Apply(op, tuple(with_items(arg, lengths) for arg in args), options))
        case Sequence(items=items):
            return Sequence(tuple(with_items(item, lengths) for item in items))
    return formula


def _joined(formula: Apply) -> Formula:
    """(a, b) + (c) is (a, b, c) where these are lists."""
    match formula:
        case Apply(op="add", args=(Sequence(items=left), Sequence(items=right))):
            return Sequence((*left, *right))
    return formula


def changed(step: Step) -> str:
    """The name of the tensor that a statement changes in place by a method (`h.mul_(2)`), or nothing."""
    match step.formula:
        case Call(name=name) if name.endswith("_") and not name.endswith("__"):
            path = name.rpartition(".")[0]
            first = step.formula.args[0] if step.formula.args else None
            if path and path.split(".")[0] not in LIBRARIES:
                return path
            return first.text if isinstance(first, Leaf) else ""
        case Apply(args=(Leaf(text=text), *_)) if _method(step.source).endswith("_"):
            return text
        case Code(text=text):
            return _receiver(text)
    return ""


def entry(step: Step) -> tuple[str, str] | None:
    """Of `y[0] = v` and of `y[0].add_(v)` the name y and the text 0."""
    target = parsed(step.name) if step.name.endswith("]") and " = " not in step.name else None
    if step.kind == "expression":
        target = parsed(step.source)
        while isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute) and target.func.attr.endswith("_"):
            target = target.func.value
    match target:
        case ast.Subscript(value=base, slice=place) if is_path(base) or isinstance(base, ast.Subscript):
            parts = place.elts if isinstance(place, ast.Tuple) else [place]
            return ast.unparse(base), ", ".join(map(ast.unparse, parts))
    return None


# ---- calls


def _read(formula: Formula, known: Collection[str]) -> Formula:
    match formula:
        case Apply(op="index", args=(Leaf(text=name),)) if f"{name}[{dict(formula.options)['text']}]" in known:
            return Leaf(f"{name}[{dict(formula.options)['text']}]")
        case Apply(op=op, args=args, options=options):
            return _applied(op, tuple(_read(arg, known) for arg in args), options)
        case Call(name=name, args=args, options=()) if name.rpartition(".")[2] in SIZES and (size := _size(name, args)):
            return size
        case Call(name=name, args=args, options=options):
            return _called(name, tuple(_read(arg, known) for arg in args), options)
        case Sequence(items=items):
            return Sequence(tuple(_read(item, known) for item in items))
        case Code(text=text):
            return _code(text, known)
    return formula


def _called(name: str, args: tuple[Formula, ...], options: Options) -> Formula:
    path, _, method = name.rpartition(".")
    if path and method in CASTS and not args:
        return Apply("reshape", (Leaf(path),), (("text", f"{method}()"),))
    op = _operation(method)
    words = any(isinstance(arg, Code) and arg.text[:1] in "\"'" for arg in args)
    if op is None or path in ("self", "cls") or (op == "repeat" and words):  # repeat(x, "n -> 2 n") is einops'
        return Call(name, args, options)
    own = path and path.split(".")[0] not in LIBRARIES
    return _applied(op, (Leaf(path), *args) if own else args, options)


def _size(name: str, args: tuple[Formula, ...]) -> Leaf | None:
    """`x.size(-1)` and `len(x)` as values that can be read off x."""
    texts = [_plain(arg) for arg in args]
    if name in SIZES - {"len"} and args:
        name, texts = f"{texts[0]}.{name}", texts[1:]
    return Leaf(f"{name}({', '.join(texts)})") if all(texts) and not name.startswith(".") else None


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


def _applied(op: str, args: tuple[Formula, ...], options: Options) -> Formula:
    """The operation with its operands among the arguments, written by simpler ones where it is no more than these."""
    options = tuple(option for option in options if option[0] != "inplace")
    if op == "index" and _first_of_pair(args[0]) and dict(options)["text"] == "0":
        return args[0]
    if op == "reshape" or op == "index":
        return Apply(op, args, options)
    args, options = _placed(op, args, options)
    means = OPERATIONS[op].means if op in OPERATIONS else None
    return (means and means(args, options)) or Apply(op, args, options)


def _placed(op: str, args: tuple[Formula, ...], options: Options) -> tuple[tuple[Formula, ...], Options]:
    """Operands that were given by name (`weight=w`) put where they stand in the order of the arguments."""
    names, given = OPERATIONS.signature(op), dict(options)
    last = max((i for i, name in enumerate(names) if name in given and name in TENSORS), default=-1)
    if last < len(args):
        return args, options
    more = tuple(_operand(given.pop(name, None)) for name in names[len(args) : last + 1])
    return (*args, *more), tuple(given.items())


def _operand(value: Any) -> Formula:
    if isinstance(value, str):
        node = parsed(value)
        return Code(value) if node is None else _read(formula_of(node), ())
    return value if isinstance(value, Formula) else Number(value)


def gives(formula: Formula) -> str:
    """What PyTorch returns for a formula: a value, a pair of values and places, or parts."""
    row = OPERATIONS.get(formula.op) if isinstance(formula, Apply) else None
    return "value" if row is None else row.gives


def _first_of_pair(formula: Formula) -> bool:
    if not isinstance(formula, Apply) or gives(formula) != "pair":
        return False
    return formula.op in ("sort", "topk") or len(formula.args) > 1 or "dim" in dict(formula.options)


# ---- Python without a formula of its own


def _code(text: str, known: Collection[str]) -> Formula:
    match parsed(text):
        case ast.Attribute(value=value, attr="values"):
            pair = _read(formula_of(value), known)
            return pair if _first_of_pair(pair) else Code(text)
        case ast.Call(func=ast.Attribute(value=value, attr=method), args=args, keywords=named) if _operation(method):
            if any(isinstance(arg, ast.Starred) for arg in args) or any(k.arg is None for k in named):
                return Code(text)
            op = _operation(method)
            assert op is not None
            read = tuple(_read(formula_of(arg), known) for arg in (value, *args))
            return _applied(op, read, tuple((str(k.arg), ast.unparse(k.value)) for k in named))
    return Code(text)


def _receiver(text: str) -> str:
    """h of `h.mul_(2).add_(1)`."""
    node = parsed(text)
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
        node = node.func.value
        if is_path(node):
            return ast.unparse(node)
    return ""


def _method(source: str) -> str:
    """The method or function that a statement calls last."""
    try:
        (statement,) = ast.parse(source).body
    except (SyntaxError, ValueError):
        return ""
    value = getattr(statement, "value", None)
    return ast.unparse(value.func) if isinstance(value, ast.Call) else ""

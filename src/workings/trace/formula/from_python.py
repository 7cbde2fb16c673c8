"""From Python to mathematics: the formula of an expression.

The row of an operation has its spellings: `a @ b`, `torch.matmul(a, b)` and `a.bmm(b)` are all `matmul`. A call is read as a
method (its first operand is what stands before the dot) unless what stands there is a module: one that the file imports, as
its source was marked (`code/imports.py`), or in unmarked source a name that means one to everybody: `torch`, `F`, `np`.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable
from typing import Any

import torch

from workings.trace.formula.completion import numpys
from workings.trace.formula.operation import OPERATIONS, TENSORS, Operation
from workings.trace.formula.tree import (
    Apply,
    Call,
    Code,
    Formula,
    Index,
    Leaf,
    Number,
    Options,
    Sequence,
    Slice,
    entry,
)

LIBRARIES = frozenset("torch F nn math np numpy functional special linalg init einops optim".split())
"""Names that are modules of mathematics where nothing else is known of them."""
_MATHEMATICAL = frozenset("torch numpy math einops".split())
MODULE = "workings_module"
"""The attribute of a name in a syntax tree that says which module it stands for: nothing where it is a value."""

SPECIAL_METHODS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.Mod: "mod",
    ast.FloorDiv: "floordiv",
    ast.USub: "neg",
    ast.Not: "invert",
    ast.Invert: "invert",
}
"""Python's operators by their special methods, which the rows of operations name."""
_COMPARISONS = {"lt": "<", "le": "≤", "gt": ">", "ge": "≥", "eq": "=", "ne": "≠"}
_METHODS = frozenset({"transpose", "swapaxes", "size", "item", *_COMPARISONS})
"""Methods of tensors that are read though no row has their name."""
_RELATIONS = {ast.Lt: "<", ast.LtE: "≤", ast.Gt: ">", ast.GtE: "≥", ast.Eq: "=", ast.NotEq: "≠"}

_FIRST = ("input", "tensors", "query", "x1", "condition")
_SECOND = ("other", "mat2", "exponent")
"""What PyTorch calls its operands where they are given by name."""


def formula_of(node: ast.expr) -> Formula:
    """The formula of an expression; what has no mathematics is `Code`."""
    rule = _RULES.get(type(node))
    found = rule(node) if rule is not None else None
    return _as_written(node) if found is None else found


def _as_written(node: ast.expr) -> Code:
    """Python without a formula. It keeps a copy of the expression, since instrumenting a function changes its own."""
    return Code(ast.unparse(node), copy.deepcopy(node))


def argument(node: ast.expr) -> Formula:
    """An index, a size or an option: a literal, a name, several of these; anything else as it is written.

    >>> argument(ast.parse("(-1, n)", mode="eval").body)
    Sequence(items=(Number(value=-1), Leaf(text='n')), is_list=False)
    """
    match node:
        case ast.Constant(value=value):
            return Number(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return Number(-value)
        case ast.Name(id=name):
            return Leaf(name)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return Sequence(tuple(map(argument, items)), isinstance(node, ast.List))
    return _as_written(node)


def index_of(node: ast.expr) -> Index:
    """What stands in brackets.

    >>> str(index_of(ast.parse("x[0, 1:n]", mode="eval").body.slice))
    '0, 1:n'
    """
    return Index(tuple(map(_place, node.elts if isinstance(node, ast.Tuple) else [node])))


def _place(node: ast.expr) -> Formula | Slice:
    if not isinstance(node, ast.Slice):
        return argument(node)
    return Slice(*(None if end is None else argument(end) for end in (node.lower, node.upper, node.step)))


def _name(node: ast.Name) -> Formula:
    return Leaf(node.id)


def _constant(node: ast.Constant) -> Formula | None:
    return Number(node.value) if isinstance(node.value, (int, float, complex, bool)) or node.value is None else None


def _binary(node: ast.BinOp) -> Formula | None:
    op = _operation(node.op)
    if isinstance(node.op, ast.FloorDiv):
        return Apply("floor", (Apply("div", (formula_of(node.left), formula_of(node.right))),))
    if op is None or (op == "mod" and _is_text(node.left)):
        return None
    left, right = formula_of(node.left), formula_of(node.right)
    if op == "pow" and isinstance(right, Number) and right.value == 0.5:
        return Apply("sqrt", (left,))
    if op == "pow" and isinstance(right, Apply) and right == Apply("neg", (Number(0.5),)):
        return Apply("rsqrt", (left,))
    return Apply(op, (left, right))


def _operation(sign: ast.operator | ast.unaryop) -> str | None:
    return OPERATIONS.operators.get(SPECIAL_METHODS.get(type(sign), ""))


def _is_text(node: ast.expr) -> bool:
    """Whether this is a string, of which % makes another."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)))


def _unary(node: ast.UnaryOp) -> Formula | None:
    op = _operation(node.op)
    return formula_of(node.operand) if op is None else Apply(op, (formula_of(node.operand),))


def _compare(node: ast.Compare) -> Formula | None:
    relation = _RELATIONS.get(type(node.ops[0]))
    if len(node.ops) > 1 or relation is None:
        return None
    return Apply("compare", (formula_of(node.left), formula_of(node.comparators[0])), (("relation", relation),))


def _logic(node: ast.BoolOp) -> Formula:
    op = "and" if isinstance(node.op, ast.And) else "or"
    first, *rest = [formula_of(value) for value in node.values]
    for part in rest:
        first = Apply(op, (first, part))
    return first


def _attribute(node: ast.Attribute) -> Formula:
    own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    if node.attr in ("T", "mT", "H", "mH") and not own:
        return Apply("transpose", (formula_of(node.value),))
    if is_path(node):
        return Leaf(ast.unparse(node))
    return (_of_pair(formula_of(node.value), node.attr) if node.attr in _PAIR else None) or _as_written(node)


_PAIR = frozenset({"values", "indices"})
"""What PyTorch calls the two parts of a pair."""


def is_path(node: ast.expr) -> bool:
    """Whether this is a name or a chain of attributes: self.attn.W"""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _subscript(node: ast.Subscript) -> Formula:
    if isinstance(node.value, ast.Attribute) and node.value.attr == "shape" and is_path(node.value):
        return Leaf(ast.unparse(node), entry(Leaf(ast.unparse(node.value)), index_of(node.slice)))
    whole, at = formula_of(node.value), index_of(node.slice)
    return _of_pair(whole, at.numbers[0] if at.numbers and len(at.numbers) == 1 else None) or entry(whole, at)


def is_pair(formula: Formula) -> bool:
    """Whether PyTorch gives two things for a formula, of which it means the first: max(x, axis 1), and where it stands."""
    row = OPERATIONS.get(formula.op) if isinstance(formula, Apply) else None
    if not isinstance(formula, Apply) or row is None or row.gives != "pair":
        return False
    return formula.op in ("sort", "topk") or len(formula.args) > 1 or "dim" in dict(formula.options)


def _of_pair(formula: Formula, which: Any) -> Formula | None:
    """The values of a pair, or where they stand: x.max(1)[0] is max(x, axis 1), x.max(1).indices is arg max(x, axis 1)."""
    if not is_pair(formula) or not isinstance(formula, Apply):
        return None
    if which in (0, "values"):
        return formula
    places = {"max": "argmax", "min": "argmin"}.get(formula.op) if which in (1, -1, "indices") else None
    return None if places is None else Call(places, formula.args, formula.options)


def _items(node: ast.Tuple | ast.List) -> Formula:
    return Sequence(tuple(formula_of(item) for item in node.elts), isinstance(node, ast.List))


def _call(node: ast.Call) -> Formula | None:
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return None
    if isinstance(node.func, ast.Attribute):
        return _dotted_call(node, node.func)
    if isinstance(node.func, ast.Name):
        return _named_call(node, node.func.id, [formula_of(a) for a in node.args])
    if isinstance(node.func, ast.Subscript):  # self.layers[i](x)
        return Call(ast.unparse(node.func), tuple(formula_of(a) for a in node.args), keywords(node.keywords))
    return None


def _dotted_call(node: ast.Call, func: ast.Attribute) -> Formula | None:
    args = [formula_of(a) for a in node.args]
    root = func.value
    if is_library(root):
        node = _in_order(node, func.attr)
        found = _named_call(node, func.attr, [formula_of(a) for a in node.args])
        return numpys(found) if found is not None and _module(root).partition(".")[0] in ("np", "numpy") else found
    if _module(root):
        return Call(ast.unparse(func), tuple(args), keywords(node.keywords))  # a function of another module
    if isinstance(root, ast.Name) and root.id in ("self", "cls"):
        return Call(ast.unparse(func), tuple(args), keywords(node.keywords))  # a module or method of the author's
    if func.attr in OPERATIONS.spellings or func.attr in _METHODS:
        return _named_call(node, func.attr, [formula_of(root), *args], method=True)
    if is_path(func):
        return Call(ast.unparse(func), tuple(args), keywords(node.keywords))
    inner = formula_of(root)  # (W @ x).chunk(2) reads chunk(W x, 2)
    of_tensor = isinstance(inner, Apply) and inner.op != "index" and hasattr(torch.Tensor, func.attr)
    return Call(func.attr, (inner, *args), keywords(node.keywords)) if of_tensor and not func.attr.endswith("_") else None


def is_library(node: ast.expr) -> bool:
    """Whether this is a module of mathematics, or a part of one: torch, F, np.linalg."""
    module = _module(node)
    return module in LIBRARIES or module.partition(".")[0] in _MATHEMATICAL


def _module(node: ast.expr) -> str:
    """The module that a path begins with; nothing where it begins with a value."""
    while isinstance(node, ast.Attribute):
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    known: str | None = getattr(node, MODULE, None)
    return known if known is not None else node.id if node.id in LIBRARIES else ""


def _in_order(node: ast.Call, name: str) -> ast.Call:
    """A call whose operands are given by name, with these in their places: softmax(input=x, dim=1) is softmax(x, dim=1)."""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    first = next((word for word in _FIRST if word in given), None)
    if node.args or first is None:
        return node
    names = OPERATIONS.signature(OPERATIONS.spellings.get(name, name))
    names = names if names[0] == first and len(names) > 2 else [first, *(word for word in _SECOND if word in given)]
    placed = list[ast.expr]()
    while len(placed) < len(names) and (names[len(placed)] in given):
        placed.append(given.pop(names[len(placed)]))
        if len(placed) < len(names) and names[len(placed)] not in TENSORS:
            break
    rest = [keyword for keyword in node.keywords if keyword.arg in given]
    return ast.copy_location(ast.Call(node.func, placed, rest), node)


def _named_call(node: ast.Call, name: str, args: list[Formula], method: bool = False) -> Formula | None:
    if name in ("transpose", "swapaxes") and args:
        return _swap(node, name, args, method)
    if method and name == "item" and len(args) == 1:
        return args[0]  # the number that a tensor of one entry is
    if name in _COMPARISONS and len(args) == 2 and not node.keywords and not isinstance(node.func, ast.Name):
        return Apply("compare", tuple(args), (("relation", _COMPARISONS[name]),))
    op = OPERATIONS.spellings.get(name.rstrip("_") if name.endswith("_") else name)
    bare = isinstance(node.func, ast.Name)
    if op is None or (bare and op == "reshape") or _other_meaning(OPERATIONS[op], args, node):
        return Call(name, tuple(args), keywords(node.keywords))
    if not args:
        return None
    if op == "reshape":
        return Apply(op, (args[0],), (("by", _last_call(node, name, method)),))
    if op == "where" and method and len(args) == 3:
        args = [args[1], args[0], args[2]]  # P.where(c, Q) is P where c
    count = OPERATIONS[op].operands
    rest = args[count:]
    if rest and _is_pairwise(name, rest[0], bare):
        return Call(name, tuple(args), keywords(node.keywords))
    options = _positional(op, count, node.args[len(node.args) - len(rest) :]) if rest else ()
    return None if options is None else Apply(op, tuple(args[:count]), (*options, *keywords(node.keywords)))


def _is_pairwise(name: str, second: Formula, bare: bool) -> bool:
    """Whether the second argument is an operand, no axis: max(a, 0) and torch.max(a, b) are the larger of two."""
    if bare and hasattr(builtins, name):  # Python has a max, a min and a sum too, whose second argument is no axis
        return True
    parts = second.items if isinstance(second, Sequence) else (second,)
    return name in ("max", "min") and not all(isinstance(_plain(part), int) for part in parts)


def _positional(op: str, count: int, given: list[ast.expr]) -> Options | None:
    """Options that are given by their place, by their names: x.sum(0, True) is x.sum(dim=0, keepdim=True)."""
    names = OPERATIONS.signature(op)
    names = [name for name in names if name != "dim"] if op == "var" and _is_truth(given[0]) else names
    if len(given) > len(names) - count:
        return None
    return tuple((name, _option(value)) for name, value in zip(names[count:], given, strict=False))


def _is_truth(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def _other_meaning(row: Operation, args: list[Formula], node: ast.Call) -> bool:
    """Whether options change what the notation says: x.add(y, alpha=2) is not x + y, log(8, 2) not log 8."""
    if row.keeps_options:
        return False
    options = {k.arg for k in node.keywords} - {"approximate", "reduction", "input", "other"}
    return bool(options) or len(args) > row.operands


def _swap(node: ast.Call, name: str, args: list[Formula], method: bool) -> Formula:
    """aᵀ where the last two axes change places, else a change of shape."""
    if {_plain(axis) for axis in args[1:]} == {-1, -2}:
        return Apply("transpose", (args[0],))
    return Apply("reshape", (args[0],), (("by", _last_call(node, name, method)),))


def _last_call(node: ast.Call, name: str, method: bool) -> Call:
    """`flatten(1)` of `x.flatten(1)` and of `torch.flatten(x, 1)`, where x is the first argument."""
    return Call(name, tuple(map(argument, node.args[0 if method else 1 :])), keywords(node.keywords))


def _plain(formula: Formula) -> Any:
    """The number a formula is, if it is one (−1 is `neg` of 1)."""
    if isinstance(formula, Number):
        return formula.value
    if isinstance(formula, Apply) and formula.op == "neg" and isinstance(formula.args[0], Number):
        return -formula.args[0].value
    return None


def keywords(given: list[ast.keyword]) -> Options:
    """The options of a call, by their names."""
    return tuple((str(keyword.arg), _option(keyword.value)) for keyword in given)


def _option(node: ast.expr) -> Any:
    """The value of an option: a number, a truth value or None as it is, else an argument that is read when it is needed."""
    found = argument(node)
    plain = isinstance(found, Number) and (found.value is None or isinstance(found.value, (int, float, complex)))
    return found.value if plain and isinstance(found, Number) else found


_RULES: dict[type[ast.expr], Callable[[Any], Formula | None]] = {
    ast.Name: _name,
    ast.Constant: _constant,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _logic,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Tuple: _items,
    ast.List: _items,
    ast.Call: _call,
}

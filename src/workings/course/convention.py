r"""Rows or columns: two ways to write the same attention, each the transpose of the other.

    rows       tokens are rows      Z = softmax(Q Kᵀ / √d) V     each row of the weights sums to 1
    columns    tokens are columns   H = V softmax(Kᵀ Q / √d)     each column does

    H = Zᵀ, every operand transposed: tokens, weights W, masks (a lower triangle becomes an upper one); products turn round,
    and what stood side by side stands one above the other.

Formulas are Python text: `softmax(Q @ K.T / sqrt(d)) @ V`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from workings.errors import ShapeError, WorkingsError

Size = tuple[int, int]
_ELEMENTWISE = frozenset("softmax argmax argmax_weights relu exp tanh sigmoid".split())
"""Functions that keep the shape of a matrix. A softmax runs over rows in one convention, over columns in the other."""


def other_convention(arguments: Any) -> Any:
    """The same arguments in the other convention: every matrix transposed, everything else as it is.

    Takes a tensor, or a list, tuple or dict of arguments. Doing it twice gives back what came.

    >>> import torch
    >>> other_convention({"Q": torch.zeros(4, 6), "causal": True})["Q"].shape
    torch.Size([6, 4])
    """
    if isinstance(arguments, Tensor):
        return arguments.mT if arguments.dim() > 1 else arguments
    if isinstance(arguments, Mapping):
        return {name: other_convention(value) for name, value in arguments.items()}
    if isinstance(arguments, Sequence) and not isinstance(arguments, str):
        return type(arguments)(other_convention(value) for value in arguments)  # type: ignore[call-arg]
    return arguments


def other_formula(formula: str) -> str:
    """The same formula in the other convention: the transpose of its value, in letters that are transposed too.

    >>> other_formula("softmax(Q @ K.T / sqrt(d)) @ V")
    'V @ softmax(K.T @ Q / sqrt(d))'
    >>> other_formula("concat(Z_1, Z_2) @ W_O")
    'W_O @ stack(Z_1, Z_2)'
    """
    return ast.unparse(_transposed(_parsed(formula)))


def shape_of(formula: str, **operands: Tensor | Size) -> Size:
    """The size of a formula's value, from the sizes of its letters; an error that names the product that does not fit.

    >>> shape_of("V @ softmax(K.T @ Q)", Q=(6, 4), K=(6, 5), V=(3, 5))
    (3, 4)
    """
    sizes = {name: _size(name, value) for name, value in operands.items()}
    return _shape(_parsed(formula), sizes)


def _parsed(formula: str) -> ast.expr:
    try:
        return ast.parse(formula.strip().replace("ᵀ", ".T"), mode="eval").body
    except SyntaxError as error:
        raise WorkingsError(f"The formula {formula!r} cannot be read: write it as Python, such as 'A @ V'.") from error


def _size(name: str, value: Tensor | Size) -> Size:
    size = tuple(value.shape[-2:]) if isinstance(value, Tensor) else tuple(value)
    if len(size) != 2:
        raise ShapeError(f"{name} needs two axes to be a matrix, but it is {[*size]}.")
    return size


def _transposed(node: ast.expr) -> ast.expr:
    """The transpose of a formula, if every letter stands for its transpose."""
    match node:
        case ast.Name() | ast.Constant():
            return node
        case ast.Attribute(value, ("T" | "mT") as attribute):
            return ast.Attribute(_transposed(value), attribute, ast.Load())
        case ast.BinOp(left, ast.MatMult(), right):
            return ast.BinOp(_transposed(right), ast.MatMult(), _transposed(left))
        case ast.BinOp(left, operator, right):
            return ast.BinOp(_transposed(left), operator, _transposed(right))
        case ast.UnaryOp(operator, operand):
            return ast.UnaryOp(operator, _transposed(operand))
        case ast.Call(ast.Name(name), arguments):
            turned = {"concat": "stack", "stack": "concat"}.get(name, name)
            return ast.Call(ast.Name(turned, ast.Load()), [_transposed(argument) for argument in arguments], [])
    raise WorkingsError(f"{ast.unparse(node)} has no known transpose: formulas have letters, @, + − * /, .T and functions.")


def _shape(node: ast.expr, sizes: dict[str, Size]) -> Size:
    match node:
        case ast.Name(name) if name in sizes:
            return sizes[name]
        case ast.Attribute(value, "T" | "mT"):
            rows, columns = _shape(value, sizes)
            return columns, rows
        case ast.BinOp(left, ast.MatMult(), right):
            return _product(left, right, sizes)
        case ast.BinOp(left, _, right) if _is_number(right, sizes):
            return _shape(left, sizes)
        case ast.BinOp(left, _, right) if _is_number(left, sizes):
            return _shape(right, sizes)
        case ast.BinOp(left, _, right):
            return _alike(node, _shape(left, sizes), _shape(right, sizes))
        case ast.UnaryOp(_, operand):
            return _shape(operand, sizes)
        case ast.Call(ast.Name(name), [argument]) if name in _ELEMENTWISE:
            return _shape(argument, sizes)
        case ast.Call(ast.Name(("concat" | "stack") as name), arguments):
            return _together(node, name, [_shape(argument, sizes) for argument in arguments])
    raise WorkingsError(f"The size of {spelling(node)} is not known: give it, as in shape_of('A @ V', A=(5, 4), V=(4, 3)).")


def _is_number(node: ast.expr, sizes: dict[str, Size]) -> bool:
    return not any(isinstance(n, ast.Name) and n.id in sizes for n in ast.walk(node))


def _product(left: ast.expr, right: ast.expr, sizes: dict[str, Size]) -> Size:
    (a, b), (c, d) = _shape(left, sizes), _shape(right, sizes)
    if b == c:
        return a, d
    fix = f" {spelling(right)} {spelling(left)} would fit and is {c}×{b}." if d == a else ""
    raise ShapeError(f"{spelling(left)} {spelling(right)} is not conformable: {a}×{b} times {c}×{d}.{fix}")


def _alike(node: ast.expr, a: Size, b: Size) -> Size:
    if a != b:
        raise ShapeError(f"{spelling(node)} needs two matrices of one size, but they are {a[0]}×{a[1]} and {b[0]}×{b[1]}.")
    return a


def _together(node: ast.expr, name: str, parts: list[Size]) -> Size:
    along = 1 if name == "concat" else 0
    if len({size[1 - along] for size in parts}) > 1:
        side = "side by side" if along else "one above the other"
        sizes = ", ".join(f"{a}×{b}" for a, b in parts)
        raise ShapeError(
            f"{spelling(node)} puts matrices {side}, so they need as many {'rows' if along else 'columns'}: {sizes}."
        )
    total, same = sum(size[along] for size in parts), parts[0][1 - along]
    return (same, total) if along else (total, same)


def spelling(node: ast.expr) -> str:
    """A formula as it is printed: softmax(Kᵀ Q)."""
    text = ast.unparse(node)
    return text.replace(" @ ", " ").replace(".mT", "ᵀ").replace(".T", "ᵀ")

"""Matrix products.

Z = A V        ∂L/∂A = ∂L/∂Z Vᵀ     ∂L/∂V = Aᵀ ∂L/∂Z
y = x Wᵀ + b   ∂L/∂x = ∂L/∂y W      ∂L/∂W = (∂L/∂y)ᵀ x     ∂L/∂b = Σ ∂L/∂y
y = A b        ∂L/∂A = ∂L/∂y bᵀ     ∂L/∂b = Aᵀ ∂L/∂y       b, y vectors
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from workings import equations
from workings.precedence import MATMUL, POWER
from workings.trace.definitions.definition import Definition, refuse
from workings.trace.formula import notation
from workings.trace.formula.operation import EVERY, Args, Cells, Index, Layer, Operation, Rewrite, called, captured
from workings.trace.formula.simplify import ONE, join, linear, negate, over, split, times, transposed
from workings.trace.formula.tree import Apply, Code, Formula, Leaf, Number, Options, Sequence
from workings.trace.operations.arithmetic import argument, minus_first
from workings.trace.operations.node import Gradients, Node, RuleError, f, unbroadcast
from workings.trace.shapes import explain_entries, explain_layers, explain_tensors
from workings.trace.shapes.arithmetic import Size


def _column(G: Formula) -> Formula:
    return linear("unsqueeze", G, dim=(-1,))


def _outer(a: Formula, b: Formula) -> Formula:
    """a bᵀ"""
    (p, x), (q, y) = split(a), split(b)
    assert x is not None and y is not None, "a vector is no number"
    return join(p * q, f("outer", x, y))


def _matmul(node: Node) -> Gradients:
    a, b = node.args
    p, q = len(node.shape(a)), len(node.shape(b))
    if p == 1 and q == 1:
        return node.scale(b, b) if node.varies(a) else None, node.scale(a, a) if node.varies(b) else None
    if q == 1:
        return _times_vector(node, a, b)
    if p == 1:
        return _vector_times(node, a, b)
    batch = node.shape()[:-2]
    return (
        node.fit(lambda: node.matrix_product(node.G, transposed(b)), a, (*batch, *node.shape(a)[-2:])),
        node.fit(lambda: node.matrix_product(transposed(a), node.G), b, (*batch, *node.shape(b)[-2:])),
    )


def _times_vector(node: Node, a: Formula, b: Formula) -> Gradients:
    shape = node.shape(a)
    to_a = None
    if node.varies(a):
        to_a = _outer(node.G, b) if len(shape) == 2 else times(_column(node.G), b)
    if not node.varies(b):
        return to_a, None
    if len(shape) == 2:
        return to_a, node.matrix_product(transposed(a), node.G)
    return to_a, unbroadcast(times(_column(node.G), a), shape, node.shape(b))


def _vector_times(node: Node, a: Formula, b: Formula) -> Gradients:
    if len(node.shape(b)) > 2:
        raise RuleError("there is no rule for the product of a vector and a stack of matrices")
    to_a = node.matrix_product(node.G, transposed(b)) if node.varies(a) else None
    return to_a, _outer(a, node.G) if node.varies(b) else None


def _transpose(node: Node) -> Gradients:
    top, bottom = node.divisor(node.G)
    return (over(transposed(top), bottom),)


def _linear(node: Node) -> Gradients:
    x, W, *b = node.args
    to_x = node.matrix_product(node.G, W) if node.varies(x) else None
    to_b = [node.fit(lambda: node.G, bias) for bias in b]
    if len(node.shape(x)) == 1:
        return to_x, _outer(node.G, x) if node.varies(W) else None, *to_b
    shape = (*node.shape()[:-2], *node.shape(W))
    return to_x, node.fit(lambda: node.matrix_product(transposed(node.G), x), W, shape), *to_b


def _outer_product(node: Node) -> Gradients:
    """y = a bᵀ"""
    a, b = node.args
    if len(node.shape(a)) != 1 or len(node.shape(b)) != 1:
        raise RuleError("there is no rule for the outer product of stacks of vectors")
    return node.matrix_product(node.G, b), node.matrix_product(transposed(node.G), a)


def _det(node: Node) -> Gradients:
    """y = |A|: ∂L/∂A = ∂L/∂y |A| (A⁻¹)ᵀ"""
    (A,) = node.args
    if len(node.shape(A)) != 2:
        raise RuleError("there is no rule for the determinants of a stack of matrices")
    return (times(times(node.G, node.Y), transposed(f("inverse", A))),)


def _log_det(node: Node) -> Gradients:
    """y = log|A|: ∂L/∂A = ∂L/∂y (A⁻¹)ᵀ; of slogdet the second part, and the sign does not vary"""
    (A,) = node.args
    if len(node.shape(A)) != 2:
        raise RuleError("there is no rule for the determinants of a stack of matrices")
    G = node.G.items[1] if isinstance(node.G, Sequence) else node.G
    return (times(G, transposed(f("inverse", A))),)


def _inverse(node: Node) -> Gradients:
    """Y = A⁻¹: ∂L/∂A = −Yᵀ ∂L/∂Y Yᵀ"""
    turned = transposed(node.Y)
    return (negate(node.matrix_product(node.matrix_product(turned, node.G), turned)),)


def _einsum(node: Node) -> Gradients:
    """The letters of the result change places with those of the operand."""
    text = str(node.options["text"])
    inputs, arrow, output = text.partition("->")
    letters = inputs.split(",")
    if not arrow or "." in text or any(len(set(part)) != len(part) for part in letters) or len(letters) != len(node.args):
        raise RuleError(f"there is no rule for einsum with '{text}'")
    found: list[Formula | None] = []
    for i, own in enumerate(letters):
        others = [part for j, part in enumerate(letters) if j != i]
        if not node.varies(node.args[i]):
            found.append(None)
            continue
        if set(own) - set(output).union(*others):
            raise RuleError(f"there is no rule for einsum with '{text}': a letter is summed within one operand")
        equation = ",".join([output, *others]) + "->" + own
        rest = [arg for j, arg in enumerate(node.args) if j != i]
        found.append(Apply("einsum", (node.G, *rest), (("text", equation),)))
    return tuple(found)


def _added_product(op: str) -> Rewrite:
    """β b + α A B"""

    def made(args: Args, options: Options) -> Formula:
        beta, alpha = (argument(op, name, args, options) for name in ("beta", "alpha"))
        product = f("matmul", *args[1:3])
        return f("add", times(beta, args[0]), product if alpha == ONE else times(alpha, product))

    return made


def _einsum_as_matrices(args: Args, options: Options) -> Formula | None:
    """einsum('ij,kj->ik', A, B) is A Bᵀ: the product of two matrices, of stacks of them, or of vectors."""
    inputs, arrow, output = str(dict(options).get("text", "")).partition("->")
    letters = inputs.split(",")
    if not arrow or "." in inputs or len(letters) != len(args):
        return None
    if letters == [output, output]:
        return f("mul", *args)
    stack = _common_start([*letters, output]) if len(args) > 1 else ""
    rule = _MATRICES.get(_renamed([word[len(stack) :] for word in (*letters, output)]))
    return None if rule is None or (stack and len(output) != len(stack) + 2) else rule(*args)


def _common_start(words: list[str]) -> str:
    """
    >>> _common_start(["bqd", "bkd", "bqk"])
    'b'
    """
    alike = [len(set(letters)) == 1 for letters in zip(*words, strict=False)]
    return words[0][: [*alike, False].index(False)]


def _renamed(words: list[str]) -> str:
    """Letters by the order in which they come: qd, kd, qk as ab, cb, ac."""
    order = list(dict.fromkeys("".join(words)))
    return " ".join("".join(chr(ord("a") + order.index(letter)) for letter in word) for word in words)


_MATRICES: dict[str, Callable[..., Formula]] = {
    "ab bc ac": lambda A, B: f("matmul", A, B),
    "ab cb ac": lambda A, B: f("matmul", A, transposed(B)),
    "ab ac bc": lambda A, B: f("matmul", transposed(A), B),
    "ab ca bc": lambda A, B: f("matmul", transposed(A), transposed(B)),
    "ab bc ca": lambda A, B: f("matmul", transposed(B), transposed(A)),
    "ab cb ca": lambda A, B: f("matmul", B, transposed(A)),
    "ab ac cb": lambda A, B: f("matmul", transposed(B), A),
    "ab ca cb": lambda A, B: f("matmul", B, A),
    "ab b a": lambda A, x: f("matmul", A, x),
    "ab a b": lambda A, x: f("matmul", transposed(A), x),
    "a ab b": lambda x, A: f("matmul", transposed(A), x),
    "a ba b": lambda x, A: f("matmul", A, x),
    "a a ": lambda x, y: f("inner", x, y),
    "a b ab": lambda x, y: f("outer", x, y),
    "a b ba": lambda x, y: f("outer", y, x),
    "ab ba": lambda A: transposed(A),
    "aa ": lambda A: f("trace", A),
    "aa a": lambda A: f("diagonal", A),
    "a ab b ": lambda x, A, y: f("inner", x, f("matmul", A, y)),
}
"""What einsum computes, by its letters in the order in which they come."""


def _einsum_of_operands(args: Args, options: Options) -> Formula:
    """einsum('ij,jk->ik', a, b) with its letters as an option."""
    if dict(options).get("text"):
        return Apply("einsum", args, options)
    first, *rest = args
    operands = rest[0].items if len(rest) == 1 and isinstance(rest[0], Sequence) else tuple(rest)
    if not isinstance(first, Code) or first.text[:1] not in "'\"":
        return Apply("einsum", args, options)
    return f("einsum", *operands, text=first.text[1:-1].replace(" ", ""))


# ---- how they are written and defined


def _spelled_linear(args: Args, options: Options) -> Formula | None:
    args = tuple(a for a in args if a != Number(None))
    if not 2 <= len(args) <= 3 or options:
        return None
    product = f("matmul", args[0], f("transpose", args[1]))
    return product if len(args) == 2 else f("add", product, args[2])


def _product_of(left: Formula, right: Formula) -> Formula:
    """aᵀ A b, which needs no brackets."""
    match right:
        case Apply("matmul", (first, last), ()):
            return f("matmul", _product_of(left, first), last)
    return f("matmul", left, right)


def _matmul_of_vectors(args: Args, options: Options, ranks: list[int | None]) -> Formula | None:
    match ranks:
        case [1, 1]:
            return f("inner", *args)
        case [1, 2]:
            return f("matmul", transposed(args[1]), args[0])
    return None


def _linear_of_vector(args: Args, options: Options, ranks: list[int | None]) -> Formula | None:
    """W x + b of one vector; of several, which are rows, x Wᵀ + b."""
    args = tuple(a for a in args if a != Number(None))
    if ranks[0] != 1 or options or not 2 <= len(args) <= 3:
        return None
    product = f("matmul", args[1], args[0])
    return product if len(args) == 2 else f("add", product, args[2])


def _define_linear(input: Tensor, weight: Tensor, bias: Any = None) -> Definition:
    refuse(weight.dim() != 2, f"a weight of {weight.dim()} axes")
    return Definition(equations.linear, (input, weight, bias))


# ---- which cells a cell needs


def _matmul_reach(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Cells | None:
    if len(index) >= 2:
        return [(*index[:-1], EVERY), (*index[:-2], EVERY, index[-1])]
    sizes = [operands[part.text].dim() if isinstance(part, Leaf) and part.text in operands else 0 for part in formula.args]
    vector: dict[tuple[int, int], Cells] = {(2, 1): [(*index, EVERY), (EVERY,)], (1, 2): [(EVERY,), (EVERY, *index)]}
    return vector.get((sizes[0], sizes[1])) if len(index) == 1 else None


def _transpose_reach(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Cells | None:
    return [(*index[:-2], index[-1], index[-2])] if len(index) >= 2 and not formula.options else None


def _linear_reach(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Cells | None:
    own: Cells = [(*index[:-1], EVERY), (index[-1], EVERY), (index[-1],)]
    return own[: len(formula.args)] if index else None


def _einsum_reach(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Cells | None:
    """bhqd, bhkd → bhqk: a letter of the result is where the index says, any other goes over all."""
    first = [
        part.text for part in formula.args[:1] if isinstance(part, Code)
    ]  # the equation, if it stands among the operands
    sides = (first or [str(dict(formula.options).get("text", ""))])[0].strip("\"'").replace(" ", "").split("->")
    inputs = sides[0].split(",")
    if len(sides) != 2 or "." in sides[0] or len(inputs) + len(first) != len(formula.args) or len(sides[1]) != len(index):
        return None
    places = dict(zip(sides[1], index, strict=True))
    own: Cells = [tuple(places.get(letter, EVERY) for letter in letters) for letters in inputs]
    return [None, *own] if first else own


ROWS = (
    captured(
        "matmul(input other): a b, matrix product",
        also="mm bmm",
        calls="mv dot vdot",
        operator="matmul",
        notation=notation.infix("", MATMUL, MATMUL, POWER),
        spelled=minus_first("matmul"),
        of_vectors=_matmul_of_vectors,
        gradient=_matmul,
        linear=True,
        reach=_matmul_reach,
        misfit=explain_tensors.matmul,
        misfits={
            "mm": explain_tensors.product_of(2, "mm"),
            "bmm": explain_tensors.product_of(3, "bmm"),
            "__rmatmul__": lambda a, b, before=(): explain_tensors.matmul(b, a),
        },
        one_dtype=True,
    ),
    captured(
        "transpose: aᵀ: the last two axes exchanged",
        also="t adjoint mT T H",
        compute=lambda a: a.mT if a.dim() > 1 else a,
        notation=notation.transpose,
        of_vectors=lambda a, o, ranks: a[0] if ranks == [1] else None,
        gradient=_transpose,
        moves=True,
        reach=_transpose_reach,
    ),
    captured(
        "linear(input weight bias?): x Wᵀ + b; args x, W and possibly b",
        spelled=_spelled_linear,
        of_vectors=_linear_of_vector,
        gradient=_linear,
        linear=True,
        reach=_linear_reach,
        definitions={F.linear: _define_linear},
        misfit=explain_layers.linear,
        one_dtype=True,
        layers=Layer(
            classes=(nn.Linear,),
            parameters="weight bias",
            misfit=explain_layers.linear_layer,
            size=lambda m, x, y: Size(f"{m.in_features} → {m.out_features}"),
            count=lambda m: f"{m.in_features}·{m.out_features}" + (f" + {m.out_features}" if m.bias is not None else ""),
            arguments="in_features out_features",
        ),
    ),
    Operation(
        "bilinear: xᵀ W y + b",
        others="bilinear",
        layers=Layer(classes=(nn.Bilinear,), arguments="in1_features in2_features out_features"),
    ),
    called(
        "outer: a bᵀ for vectors: every entry of a times every entry of b",
        also="ger",
        compute=lambda a, b: a.unsqueeze(-1) * b.unsqueeze(-2),
        spelled=lambda a, o: None if len(a) != 2 else f("matmul", a[0], f("transpose", a[1])),
        gradient=_outer_product,
        linear=True,
    ),
    Operation(
        "inner: aᵀ b for vectors: one number",
        compute=torch.dot,
        spelled=lambda a, o: None if len(a) != 2 else _product_of(transposed(a[0]), a[1]),
        reduces=True,
        linear=True,
    ),
    called("det: |A|, the determinant", notation=notation.fence("|", "|"), gradient=_det, reduces=True),
    called("logdet: log |A|", spelled=lambda a, o: f("log", f("det", a[0])), gradient=_log_det, reduces=True),
    called("slogdet: the sign of |A|, and the log of its absolute value", gradient=_log_det, gives="parts"),
    called("inverse: A⁻¹", also="inv", notation=notation.inverse, gradient=_inverse),
    called(
        "einsum: the sum over the letters of option text that are not in the result",
        compute=lambda *args, text: torch.einsum(text, *args),
        means=_einsum_of_operands,
        notation=notation.einsum,
        spelled=_einsum_as_matrices,
        gradient=_einsum,
        linear=True,
        reach=_einsum_reach,
        misfit=explain_entries.einsum,
    ),
    *(
        called(f"{name}({parameters}): {meaning}", means=_added_product(name))
        for name, meaning, parameters in (
            ("addmm", "β b + α A B", "input mat1 mat2 beta alpha"),
            ("addmv", "β b + α A x", "input mat vec beta alpha"),
            ("baddbmm", "β b + α A B, for a batch of matrices", "input batch1 batch2 beta alpha"),
        )
    ),
)

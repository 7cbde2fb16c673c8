"""Why shapes or dtypes do not fit: what the operation needs, what came, and the fix to try.

The explanation is worked out from the operands themselves, never from the text of PyTorch's message. `in_names` says it in
the names of the statement that failed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from workings.errors import WorkingsError
from workings.trace.formula.tree import Apply, Formula, Leaf, walk
from workings.trace.shapes.arithmetic import axes_of, each, places, product
from workings.trace.shapes.explain_entries import cross_entropy, cross_entropy_layer, einsum, gather, index_entries
from workings.trace.shapes.explain_tensors import (
    Explanation,
    Shape,
    cat,
    elementwise,
    in_place,
    matmul,
    product_of,
    reshape,
    shape,
    stack,
    view,
    word,
)
from workings.trace.shapes.layer_text import layer_call, plain

__all__ = ["FUNCTIONS", "Explanation", "explain", "in_names"]

AXES = {1: "length", 2: "height, width", 3: "depth, height, width"}


def in_names(formula: Formula | None, operands: Mapping[str, Any], source: str = "") -> Explanation | None:
    """Why a statement failed, in its author's names: the first operation, inside out, whose operands do not fit.

    An operand that is more than a name is computed again and written as in the source of the statement.

    >>> from workings.trace.formula.tree import Apply, Leaf
    >>> import torch
    >>> print(in_names(Apply("matmul", (Leaf("Q"), Leaf("K"))), {"Q": torch.zeros(2, 3), "K": torch.zeros(4, 3)}))
    [2, 3] @ [4, 3] needs 3 = 4: the columns of the left, the rows of the right; use Q @ K.mT
    """
    for part in reversed([] if formula is None else [*walk(formula)]):
        if not isinstance(part, Apply) or part.op not in NAMED:
            continue
        given = [value_of(a, operands) for a in part.args]
        if all(isinstance(x, Tensor) for x in given):
            found = explain(RuntimeError(), with_name(part.op), given)
            if found is not None:
                return replace(found, names=operand_texts(part, source) or found.names)
    return None


def value_of(part: Formula, operands: Mapping[str, Any]) -> Any:
    """The value of an operand; None where it cannot be computed again."""
    from workings.trace.formula.evaluate import evaluate

    if isinstance(part, Leaf):
        return operands.get(part.text)
    try:
        return evaluate(part, operands)
    except WorkingsError:
        return None


def operand_texts(part: Apply, source: str) -> tuple[str, ...]:
    """How the operands of an operation are written: their names, else the text in the source."""
    from workings.trace.formula.from_python import formula_of

    texts = [a.text if isinstance(a, Leaf) else "" for a in part.args]
    if all(texts):
        return tuple(texts)
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.BinOp, ast.Call))] if source else []
    node = next((n for n in nodes if formula_of(n) == part), None)
    match node:
        case ast.BinOp(left=left, right=right):
            return tuple(ast.unparse(n) if isinstance(n, PLAIN) else f"({ast.unparse(n)})" for n in (left, right))
    return ()


PLAIN = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


NAMED = frozenset("matmul add sub mul div pow mse_loss cross_entropy".split())
"""Operations of a formula whose operands are two tensors, called as their functions are."""


def with_name(op: str) -> Any:
    """Something with this name: a rule is found by it."""
    return type(op, (), {"__name__": op})()


def explain(
    error: BaseException,
    call: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    before: Sequence[int] | None = None,
) -> Explanation | None:
    """Explain a failing call of a module or PyTorch function by its operands; None when their shapes are not at fault.

    `before` is what the input was before it was flattened, if it was.

    >>> import torch
    >>> x = torch.zeros(1, 144)
    >>> print(explain(RuntimeError(), nn.Linear(120, 10), (x,), before=(16, 3, 3)))
    nn.Linear(120, 10) received 144 features = 16·3·3; use nn.Linear(144, 10)
    """
    if not isinstance(error, (RuntimeError, ValueError, IndexError, TypeError)):
        return None
    rule = MODULES.get(type(call)) if isinstance(call, nn.Module) else FUNCTIONS.get(getattr(call, "__name__", ""))
    if rule is None:
        return None
    given = (call, *args) if isinstance(call, nn.Module) else tuple(args)
    try:
        found = rule(*given, before=tuple(before or ()), **(kwargs or {}))
        return found or dtypes(call, args)
    except (TypeError, IndexError, AttributeError):
        return None  # the call itself is malformed: PyTorch's own message says how


def dtypes(call: Any, args: Sequence[Any]) -> Explanation | None:
    """A product or a layer of operands whose dtypes differ: PyTorch converts in sums, not in products."""
    if isinstance(call, nn.Module):
        weight = getattr(call, "weight", None)
        if not args or not isinstance(weight, Tensor) or isinstance(call, nn.Embedding) or args[0].dtype == weight.dtype:
            return None
        problem = f"nn.{layer_call(call)} has weights of {word(weight)} and received {word(args[0])}"
        return Explanation(problem, f"use {{x}}.to({weight.dtype})")
    both = [x for x in args[:2] if isinstance(x, Tensor)]
    if getattr(call, "__name__", "") not in PRODUCTS or len({x.dtype for x in both}) < 2:
        return None
    wider = both[0] if both[0].dtype == torch.promote_types(both[0].dtype, both[1].dtype) else both[1]
    side = "{right}" if wider is both[0] else "{left}"
    problem = f"{shape(both[0])} @ {shape(both[1])} needs one dtype: the left is {word(both[0])}, the right {word(both[1])}"
    return Explanation(problem, f"use {side}.to({wider.dtype})")


PRODUCTS = frozenset("matmul __matmul__ mm bmm linear conv1d conv2d conv3d".split())


# ---- layers
def linear_layer(m: nn.Linear, input: Tensor, before: Shape = ()) -> Explanation | None:
    return features(f"nn.{layer_call(m)}", f"nn.{layer_call(m, in_features=input.shape[-1])}", m.in_features, input, before)


def linear(input: Tensor, weight: Tensor, bias: Any = None, before: Shape = ()) -> Explanation | None:
    (o, i), n = weight.shape, input.shape[-1]
    return features(f"linear with a weight of {shape(weight)}", f"a weight of [{o}, {n}]", i, input, before)


def features(name: str, fixed: str, needed: int, x: Tensor, before: Shape) -> Explanation | None:
    """A linear layer's features, told apart from an input that was not flattened and from a batch axis that is missing."""
    got = x.shape[-1]
    if got == needed:
        return None
    origin = f" = {product(before)}" if len(before) > 1 and prod(before) == got else ""
    for start in [*range(1, x.dim() - 1), 0][: x.dim() - 1]:
        if prod(x.shape[start:]) == needed:
            problem = f"{name} needs {needed} features and received {got} in the last axis of {shape(x)}, but "
            problem += f"{product(x.shape[start:])} = {needed}"
            return Explanation(problem, f"flatten first: nn.Flatten({start})" if start else "is the batch axis missing?")
    return Explanation(f"{name} received {got} features{origin}", f"use {fixed}")


def convolution_layer(m: Any, input: Tensor, before: Shape = ()) -> Explanation | None:
    axes = axes_of(m)
    fixed = f"nn.{layer_call(m, in_channels=input.shape[-axes - 1])}" if m.groups == 1 and input.dim() > axes else ""
    padding = 0 if m.padding == "valid" else m.padding
    return channels(f"nn.{layer_call(m)}", fixed, m.in_channels, input, axes) or (
        None if padding == "same" else kernel(f"nn.{layer_call(m)}", input, m.kernel_size, m.stride, padding, m.dilation)
    )


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    before: Shape = (),
) -> Explanation | None:
    name, axes = f"convolution with a weight of {shape(weight)}", weight.dim() - 2
    fixed = f"a weight of {[weight.shape[0], input.shape[-axes - 1] // groups, *weight.shape[2:]]}"
    return channels(name, fixed, weight.shape[1] * groups, input, axes) or (
        None if padding == "same" else kernel(name, input, tuple(weight.shape[2:]), stride, padding, dilation)
    )


def channels(name: str, fixed: str, needed: int, x: Tensor, axes: int) -> Explanation | None:
    """The channel axis: missing, in the wrong place, or of another size."""
    need = f"{name} needs [batch, {needed}, {AXES[axes]}]"
    if x.dim() not in (axes + 1, axes + 2):
        fix = "add the missing axes with {x}.unsqueeze" if x.dim() <= axes else "merge the extra axes with {x}.flatten"
        return Explanation(f"{need} and received {shape(x)}, {x.dim()} axes instead of {axes + 2}", fix)
    got = x.shape[-axes - 1]
    if got == needed:
        return None
    if x.shape[-1] == needed:
        order = ", ".join(map(str, [*range(x.dim() - axes - 1), x.dim() - 1, *range(x.dim() - axes - 1, x.dim() - 1)]))
        return Explanation(f"{need} and received {shape(x)}, with the channels last", f"use {{x}}.permute({order})")
    fix = f"use {fixed}" if fixed else ""
    return Explanation(f"{name} needs {needed} channels and received {got}, in {shape(x)}", fix)


def pool_layer(m: Any, input: Tensor, before: Shape = ()) -> Explanation | None:
    return kernel(f"nn.{layer_call(m)}", input, m.kernel_size, m.stride, m.padding, getattr(m, "dilation", 1), axes_of(m))


def pool(name: str, axes: int) -> Callable[..., Explanation | None]:
    def rule(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, before: Shape = (), **options: Any
    ) -> Explanation | None:
        return kernel(f"{name}({kernel_size})", input, kernel_size, stride or kernel_size, padding, 1, axes)

    return rule


def kernel(name: str, x: Tensor, size: Any, stride: Any, padding: Any, dilation: Any, axes: int = 0) -> Explanation | None:
    """A kernel that is larger than what it slides over."""
    axes = axes or len(size)
    every = zip(x.shape[-axes:], *(each(value, axes) for value in (size, stride, padding, dilation)), strict=True)
    for n, k, s, p, d in every:
        if d * (k - 1) + 1 > n + 2 * p:
            fix = f"use a kernel of at most {n + 2 * p}, or padding of at least {-(-(d * (k - 1) + 1 - n) // 2)}"
            return Explanation(f"{name} does not fit in {shape(x)}: {places(n, k, s, p, d)}", fix)
    return None


def batch_norm_layer(m: Any, input: Tensor, before: Shape = ()) -> Explanation | None:
    got = input.shape[1]
    if got == m.num_features:
        return None
    return Explanation(
        f"nn.{layer_call(m)} needs {m.num_features} channels and received {got}, in {shape(input)}",
        f"use nn.{layer_call(m, num_features=got)}",
    )


def layer_norm_layer(m: nn.LayerNorm, input: Tensor, before: Shape = ()) -> Explanation | None:
    needed = tuple(m.normalized_shape)
    got = tuple(input.shape[-len(needed) :])
    if got == needed:
        return None
    problem = f"nn.{layer_call(m)} needs {[*needed]} in the last axes and received {[*got]}, in {shape(input)}"
    return Explanation(problem, f"use nn.{layer_call(m, normalized_shape=plain(got))}")


def embedding_layer(m: nn.Embedding, input: Tensor, before: Shape = ()) -> Explanation | None:
    if input.is_floating_point():
        return Explanation(f"nn.{layer_call(m)} needs whole numbers and received {input.dtype}", "use {x}.long()")
    if input.is_meta or not input.numel() or 0 <= int(input.min()) <= int(input.max()) < m.num_embeddings:
        return None
    worst = int(input.max()) if int(input.max()) >= m.num_embeddings else int(input.min())
    problem = f"nn.{layer_call(m)} has rows 0 … {m.num_embeddings - 1} and received the index {worst}"
    return Explanation(problem, f"use nn.{layer_call(m, num_embeddings=worst + 1)}" if worst > 0 else "")


MODULES: dict[type[nn.Module], Callable[..., Explanation | None]] = {
    nn.Linear: linear_layer,
    nn.Embedding: embedding_layer,
    nn.LayerNorm: layer_norm_layer,
    nn.CrossEntropyLoss: cross_entropy_layer,
    **dict.fromkeys([nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d], batch_norm_layer),
    **dict.fromkeys([nn.Conv1d, nn.Conv2d, nn.Conv3d], convolution_layer),
    **dict.fromkeys([nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d], pool_layer),
}
FUNCTIONS: dict[str, Callable[..., Explanation | None]] = {
    "linear": linear,
    **dict.fromkeys("conv1d conv2d conv3d".split(), convolution),
    **{f"{kind}_pool{axes}d": pool(f"{kind}_pool{axes}d", axes) for kind in ("max", "avg") for axes in (1, 2, 3)},
    **dict.fromkeys("matmul __matmul__".split(), matmul),
    "__rmatmul__": lambda a, b, before=(): matmul(b, a),
    "mm": product_of(2, "mm"),
    "bmm": product_of(3, "bmm"),
    **dict.fromkeys("cat concat concatenate".split(), cat),
    "stack": stack,
    **dict.fromkeys("add sub mul div true_divide pow maximum minimum eq ne lt le gt ge mse_loss".split(), elementwise),
    **dict.fromkeys("__add__ __sub__ __mul__ __truediv__ __pow__ __eq__ __lt__ __gt__ __le__ __ge__".split(), elementwise),
    **dict.fromkeys("__radd__ __rsub__ __rmul__ __rtruediv__".split(), elementwise),
    **dict.fromkeys("add_ sub_ mul_ div_ __iadd__ __isub__ __imul__ __itruediv__".split(), in_place),
    "reshape": reshape,
    "view": view,
    "__getitem__": index_entries,
    **dict.fromkeys("gather index_select".split(), gather),
    "cross_entropy": cross_entropy,
    "einsum": einsum,
}
"""Functions by their names: `torch.add`, `Tensor.add` and `Tensor.__add__` are one operation with several objects."""

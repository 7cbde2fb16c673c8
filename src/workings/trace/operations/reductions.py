"""Along axes: sums, means, products, norms, extremes, softmax.

A = softmax(S)   ∂L/∂S = A ⊙ (∂L/∂A − rowsum(A ⊙ ∂L/∂A))       y = ‖a‖   ∂L/∂a = ∂L/∂y ⊙ a/y
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from workings import equations
from workings.trace.definitions.definition import Definition, refuse
from workings.trace.formula import notation
from workings.trace.formula.operation import CALL, EVERY, FORMULA, Cells, Index, Layer, Operation, called, captured
from workings.trace.formula.simplify import linear, minus, over, times
from workings.trace.formula.tree import Apply, Formula, Number, Sequence
from workings.trace.operations.node import Gradients, Node, Rule, RuleError, axes, f, indicator
from workings.trace.shapes.explain_tensors import elementwise


def _reduce_along(op: str, a: Formula, dim: Any, rank: int) -> Formula:
    """A reduction whose axis is kept, so that the result broadcasts against `a`."""
    if op == "sum" and axes(dim, rank) == (rank - 1,) and rank > 1:
        return linear("rowsum", a)
    if len(axes(dim, rank)) == rank and op in ("sum", "mean", "max", "min"):
        return linear(op, a) if op in ("sum", "mean") else Apply(op, (a,))
    if op in ("sum", "mean"):
        return linear(op, a, dim=dim, keepdim=True)
    return Apply(op, (a,), (("dim", dim), ("keepdim", True)))


def _spread(node: Node) -> Formula:
    """G in the shape of what was reduced."""
    (a, *_), dim = node.args, node.plain("dim")
    rank = len(node.shape(a))
    reduced = axes(dim, rank)
    missing = () if node.plain("keepdim", False) or len(reduced) == rank else reduced
    return node.spread(node.G, node.shape(a), missing)


def _count(node: Node) -> int:
    shape = node.shape(node.args[0])
    return math.prod(shape[axis] for axis in axes(node.plain("dim"), len(shape)))


def _sum(node: Node) -> Gradients:
    items = node.args[0]
    if isinstance(items, Sequence):
        zero = Apply("zeros", (), (("shape", ()),))
        return (
            Sequence(tuple(node.fit(lambda: node.G, item) or zero for item in items.items)),
            *(None for _ in node.args[1:]),
        )
    return node.to_first(_spread(node))


def _mean(node: Node) -> Gradients:
    return node.to_first(over(_spread(node), Number(_count(node))))


def _var(node: Node) -> Gradients:
    (a,), options = node.args, node.options
    unbiased = options.get("unbiased")
    correction = options.get("correction", 1) if unbiased is None else int(unbiased)
    centred = minus(a, _reduce_along("mean", a, options.get("dim"), len(node.shape(a))))
    return (over(times(Number(2), node.scale(centred, a, _spread(node))), Number(_count(node) - correction)),)


def _larger(node: Node, relation: str) -> Gradients:
    """The greater (or smaller) of two values: the gradient goes to it."""
    a, b = node.args
    x, y = node.value(a), node.value(b)
    if isinstance(x, Tensor) and isinstance(y, Tensor) and bool((x == y).any()):
        raise RuleError(f"there is no rule for {node.formula.op} where the two are equal")
    return (
        node.fit(lambda: node.scale(indicator(a, relation, b), node.formula), a),
        node.fit(lambda: node.scale(indicator(b, relation, a), node.formula), b),
    )


def _extreme(relation: str) -> Rule:
    def rule(node: Node) -> Gradients:
        if len(node.args) == 2:
            return _larger(node, relation)
        (a,), dim = node.args, node.options.get("dim")
        op, rank = node.formula.op, len(node.shape(a))
        hit = indicator(a, "=", _reduce_along(op.removeprefix("a"), a, dim, rank))
        hits = node.context.value(hit).sum(dim=axes(dim, rank), keepdim=True) if rank else None
        if hits is None or not bool((hits > 1).any()):
            return (node.scale(hit, a, _spread(node)),)
        if op in ("max", "min") and dim is not None:
            return (_to_the_chosen(node, a, axes(dim, rank)[0]),)
        return (node.scale(over(hit, _reduce_along("sum", hit, dim, rank)), a, _spread(node)),)

    return rule


def _to_the_chosen(node: Node, a: Formula, axis: int) -> Formula:
    """Of several largest entries along an axis `max` chooses one, and the gradient goes there."""
    G = node.G if node.plain("keepdim", False) else linear("unsqueeze", node.G, dim=(axis,))
    where = Apply(f"arg{node.formula.op}", (a,), (("dim", axis),))
    return Apply("scatter_add", (G, where), (("dim", axis), ("shape", node.shape(a))))


def _softmax(node: Node) -> Gradients:
    A, rank = node.Y, len(node.shape())
    inner = _reduce_along("sum", times(A, node.bare(node.G, node.formula)), node.options.get("dim", -1), rank)
    return node.to_first(times(A, minus(node.G, inner)))


def _log_softmax(node: Node) -> Gradients:
    dim, rank = node.options.get("dim", -1), len(node.shape())
    return node.to_first(minus(node.G, times(Apply("exp", (node.Y,)), _reduce_along("sum", node.G, dim, rank))))


def _logsumexp(node: Node) -> Gradients:
    a, dim = node.args[0], node.plain("dim")
    if len(axes(dim, len(node.shape(a)))) > 1:
        raise RuleError("there is no rule for logsumexp along several axes")
    return node.to_first(node.scale(Apply("softmax", (a,), (("dim", dim),)), a, _spread(node)))


def _prod(node: Node) -> Gradients:
    a = node.args[0]
    if bool((node.value(a) == 0).any()):
        raise RuleError("there is no rule for prod where a factor is 0")
    kept = _reduce_along("prod", a, node.plain("dim"), len(node.shape(a))) if node.plain("dim") is not None else node.Y
    y = node.Y if node.plain("keepdim", False) else kept
    return node.to_first(over(times(node.bare(_spread(node), a), y), a))


def _std(node: Node) -> Gradients:
    a, dim = node.args[0], node.plain("dim")
    unbiased = node.plain("unbiased")
    correction = node.options.get("correction", 1) if unbiased is None else int(unbiased)
    centred = minus(a, _reduce_along("mean", a, dim, len(node.shape(a))))
    y = _with_axis(node)
    return (over(node.scale(over(centred, y), a, _spread(node)), Number(_count(node) - correction)),) + (None,) * (
        len(node.args) - 1
    )


def _norm(node: Node) -> Gradients:
    """y = ‖a‖: the gradient points along a."""
    a, p = node.args[0], node.plain("p", 2)
    if p not in (2, 2.0, "fro"):
        raise RuleError(f"there is no rule for the norm with p = {p}")
    return node.to_first(node.scale(over(a, _with_axis(node)), a, _spread(node)))


def _with_axis(node: Node) -> Formula:
    """The result with the axis it was reduced along, so that it stands beside what was reduced."""
    rank, dim = len(node.shape(node.args[0])), node.plain("dim")
    missing = axes(dim, rank) if dim is not None and not node.plain("keepdim", False) else ()
    return node.Y if len(missing) in (0, rank) else linear("unsqueeze", node.Y, dim=missing)


def _cumsum(node: Node) -> Gradients:
    return node.to_first(linear("reversed_cumsum", node.G, dim=node.plain("dim")))


def _cumprod(node: Node) -> Gradients:
    x = node.args[0]
    if bool((node.value(x) == 0).any()):
        raise RuleError("there is no rule for cumprod where a factor is 0")
    back = over(linear("reversed_cumsum", node.scale(node.Y, node.formula), dim=node.plain("dim")), x)
    return node.to_first(back)


# ---- values


def _reduction(name: str) -> Callable[..., Any]:
    def compute(a: Tensor, *, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
        if dim is None and not keepdim:
            return getattr(a, name)(**options)
        return getattr(a, name)(dim=tuple(range(a.dim())) if dim is None else dim, keepdim=keepdim, **options)

    return compute


def _variance(a: Tensor, *, unbiased: bool | None = None, correction: Any = 1, **options: Any) -> Any:
    return _reduction("var")(a, correction=correction if unbiased is None else int(unbiased), **options)


def _extreme_value(name: str, pairwise: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def compute(a: Any, b: Any = None, *, dim: Any = None, keepdim: bool = False) -> Any:
        if b is not None:
            return getattr(torch, f"{name}imum")(_tensor(a, b), _tensor(b, a)) if _any_tensor(a, b) else pairwise(a, b)
        if isinstance(dim, int):
            return getattr(a, name)(dim, keepdim)[0]
        return getattr(a, name)() if dim is None else getattr(a, f"a{name}")(dim=dim, keepdim=keepdim)

    return compute


def _all_of(name: str) -> Callable[..., Tensor]:
    return lambda a, *, dim=(), keepdim=False: getattr(a, name)(dim, keepdim)


def _any_tensor(*values: Any) -> bool:
    return any(isinstance(value, Tensor) for value in values)


def _tensor(a: Any, like: Any) -> Tensor:
    return a if isinstance(a, Tensor) else torch.as_tensor(a, dtype=like.dtype)


def _norm_value(a: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False, **_: Any) -> Tensor:
    return torch.linalg.vector_norm(a, 2 if p in (None, "fro") else p, dim, keepdim)


def _optional_axis(name: str) -> Callable[..., Tensor]:
    """prod and std take no axis at all, or one."""
    return lambda a, *args, **options: getattr(a, name)(*args, **{k: v for k, v in options.items() if v is not None})


# ---- which cells a cell needs


def _along(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Cells | None:
    """Softmax: all cells along its axis."""
    dim = dict(formula.options).get("dim")
    if not isinstance(dim, int) or not -len(index) <= dim < len(index):
        return None
    return [_all_along(index, dim % len(index))]


def _row(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Cells | None:
    return [_all_along(index, len(index) - 1)] if index else None


def _sum_reach(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Cells | None:
    """A sum along one axis, which is gone from the result or has one cell there."""
    if len(formula.args) == 2:  # the larger of two
        return [index, index]
    options = dict(formula.options)
    dim, kept = options.get("dim"), options.get("keepdim") in (True, "True")
    axes = len(index) if kept else len(index) + 1
    if not isinstance(dim, int) or not -axes <= dim < axes or len(formula.args) != 1:
        return None
    dim %= axes
    return [_all_along(index, dim) if kept else (*index[:dim], EVERY, *index[dim:])]


def _all_along(index: Index, axis: int) -> Index:
    return tuple(EVERY if i == axis else at for i, at in enumerate(index))


# ---- definitions


def _definitions(equation: Callable[[], Callable[..., Any]], *functions: Any, functional: Any) -> dict[Any, Any]:
    """The written-out definition of each function; `equation` gives it when wanted, so that importing rows is quick."""

    def entry(input: Tensor, dim: Any, dtype: Any = None) -> Definition:
        return Definition(equation(), (input, dim, dtype))

    def functional_entry(input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Definition:
        refuse(dim is None, "dim=None (PyTorch guesses the axis)")
        return entry(input, dim, dtype)

    return {functional: functional_entry, **dict.fromkeys(functions, entry)}


def _reduction_row(declaration: str, read: Any, **columns: Any) -> Operation:
    """The row of what makes one number of many, of all or along an axis."""
    return Operation(declaration, read=read, reduces=True, reach=_sum_reach, **columns)


ROWS = (
    _reduction_row(
        "sum(input | dim keepdim): Σ a, along option dim if given",
        FORMULA,
        compute=lambda a, *args, **options: sum(a) if isinstance(a, list) else _reduction("sum")(a, *args, **options),
        notation=notation.big("Σ"),
        gradient=_sum,
        linear=True,
    ),
    _reduction_row(
        "mean(input | dim keepdim): mean of a, along option dim if given",
        FORMULA,
        compute=_reduction("mean"),
        gradient=_mean,
        linear=True,
    ),
    _reduction_row(
        "var(input | dim unbiased keepdim): variance of a; options dim, correction",
        FORMULA,
        compute=_variance,
        gradient=_var,
    ),
    _reduction_row(
        "std(input dim unbiased keepdim): standard deviation of a; options dim, correction",
        CALL,
        compute=_optional_axis("std"),
        gradient=_std,
    ),
    _reduction_row(
        "prod(input dim keepdim): ∏ a, along option dim if given", CALL, compute=_optional_axis("prod"), gradient=_prod
    ),
    _reduction_row(
        "norm(input p dim keepdim): ‖a‖; options p, dim",
        CALL,
        also="vector_norm",
        compute=_norm_value,
        notation=notation.norm,
        gradient=_norm,
    ),
    *(
        _reduction_row(
            f"{name}(input | dim keepdim): {name} a along option dim if given",
            FORMULA,
            compute=_extreme_value(name, plain),
            gradient=_extreme(relation),
            gives="pair",
        )
        for name, plain, relation in (("max", max, ">"), ("min", min, "<"))
    ),
    *(
        _reduction_row(
            f"a{name}(input | dim keepdim): as {name}; of several {word} entries, each has its share of the gradient",
            FORMULA,
            compute=_all_of(f"a{name}"),
            notation=notation.function(name),
            gradient=_extreme(relation),
        )
        for name, word, relation in (("max", "largest", ">"), ("min", "smallest", "<"))
    ),
    called("maximum: max(a, b)", also="fmax", means=lambda a, o: Apply("max", a), misfit=elementwise),
    called("minimum: min(a, b)", also="fmin", means=lambda a, o: Apply("min", a), misfit=elementwise),
    _reduction_row(
        "logsumexp(input | dim keepdim): log Σ e^a along option dim",
        FORMULA,
        spelled=lambda a, o: f("log", Apply("sum", (f("exp", a[0]),), o)),
        gradient=_logsumexp,
    ),
    captured(
        "softmax(input | dim): softmax along option dim",
        notation=notation.function("softmax", hidden=(("dim", -1),)),
        gradient=_softmax,
        reach=_along,
        definitions=_definitions(lambda: equations.softmax, torch.softmax, Tensor.softmax, functional=F.softmax),
        layers=Layer(classes=(nn.Softmax,), parameters="", options="dim"),
    ),
    captured(
        "log_softmax(input | dim): log softmax along option dim",
        spelled=lambda a, o: f("log", Apply("softmax", (a[0],), o)),
        gradient=_log_softmax,
        reach=_along,
        definitions=_definitions(
            lambda: equations.log_softmax, torch.log_softmax, Tensor.log_softmax, functional=F.log_softmax
        ),
        layers=Layer(classes=(nn.LogSoftmax,), parameters="", options="dim"),
    ),
    called(
        "cumsum(input dim): sums from the first entry to each along option dim", gradient=_cumsum, linear=True, reach=_along
    ),
    called("cumprod(input dim): products from the first entry to each along option dim", gradient=_cumprod),
    called("numel: the number of entries of a", constant=True),
    Operation(
        "argmax: where the largest entry of a stands along option dim; of several, the one that max chose",
        others="argmax",
        compute=lambda a, *, dim: a.max(dim, keepdim=True).indices,
        notation=notation.function("arg max"),
    ),
    Operation(
        "argmin: where the smallest entry of a stands along option dim; of several, the one that min chose",
        others="argmin",
        compute=lambda a, *, dim: a.min(dim, keepdim=True).indices,
        notation=notation.function("arg min"),
    ),
    Operation(
        "rowsum: the sum of each row: along the last axis, which is kept",
        compute=lambda g: g.sum(-1, keepdim=True),
        linear=True,
        reach=_row,
    ),
)

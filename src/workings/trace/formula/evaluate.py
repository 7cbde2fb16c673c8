"""A formula computed again with PyTorch.

Works wherever PyTorch does: floats, exact tensors, plain numbers. `COMPUTE` has one entry for each operation of a formula;
an operation that needs more than its arguments (the kind of numbers at hand, the text of an index) stands in `CONTEXTUAL`.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from workings.trace.formula.arguments import FormulaError, argument_value, call_values, index_value
from workings.trace.formula.kernels import BACKWARD, CALLS
from workings.trace.formula.tree import Apply, Call, Formula, Index, Leaf, Number, Sequence

RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "≤": operator.le,
    ">": operator.gt,
    "≥": operator.ge,
    "=": operator.eq,
    "≠": operator.ne,
}
RESHAPES = frozenset(
    """
    view reshape flatten unflatten squeeze unsqueeze permute transpose swapaxes swapdims movedim moveaxis t expand
    broadcast_to contiguous view_as reshape_as expand_as ravel clone detach float double half bfloat16 to type type_as cpu
    """.split()
)


def evaluate(formula: Formula, operands: Mapping[str, Any]) -> Any:
    """The value of a formula, its leaves looked up in `operands`.

    >>> evaluate(Apply("add", (Leaf("x"), Number(1))), {"x": torch.tensor(2.0)})
    tensor(3.)
    """
    match formula:
        case Leaf(text=text) if text in operands:
            return operands[text]
        case Leaf(text=text):
            raise FormulaError(f"'{text}' cannot be computed again: its value was not recorded.")
        case Number(value=value):
            return value
        case Sequence(items=items):
            return [evaluate(item, operands) for item in items]
        case Apply(op=op, args=args, options=options):
            return _apply(op, [evaluate(part, operands) for part in args], dict(options), operands)
        case Call(name=name):
            raise FormulaError(f"{name}(…) cannot be computed again: it has no formula here.")
        case _:
            raise FormulaError(f"'{formula.text}' cannot be computed again: it is Python without a formula.")


def _apply(op: str, args: list[Any], options: dict[str, Any], operands: Mapping[str, Any]) -> Any:
    try:
        options = {key: option(value, operands) for key, value in options.items()}
        if op in CONTEXTUAL:
            return CONTEXTUAL[op](operands, *args, **options)
        if op in COMPUTE:
            return COMPUTE[op](*_of_one_kind(args), **options)
    except FormulaError:
        raise
    except RuntimeError as error:  # what PyTorch refuses is told to the reader as the reason
        raise FormulaError(f"{op} cannot be computed again: {error}") from error
    except Exception as error:
        raise FormulaError(f"{op} cannot be computed again with such arguments.") from error
    raise FormulaError(f"{op} cannot be computed again: it is not in the table of operations.")


def _of_one_kind(args: list[Any]) -> list[Any]:
    """Floats of several precisions, as autocast mixes them, in the widest of them."""
    kinds = {value.dtype for value in args if isinstance(value, Tensor) and value.is_floating_point()}
    if len(kinds) < 2:
        return args
    widest = functools.reduce(torch.promote_types, kinds)
    return [value.to(widest) if isinstance(value, Tensor) and value.dtype in kinds else value for value in args]


def option(value: Any, operands: Mapping[str, Any]) -> Any:
    """The value of an option: as it is, or computed where it is a formula; which change of shape it is, its row reads."""
    if isinstance(value, Apply):
        return evaluate(value, operands)
    return argument_value(value, operands) if isinstance(value, Formula) and not isinstance(value, Call) else value


def _either(name: str) -> Callable[[Any], Any]:
    """PyTorch's function on tensors, Python's on plain numbers."""
    return lambda a: getattr(torch, name)(a) if isinstance(a, Tensor) else getattr(math, name)(a)


def _reduction(name: str) -> Callable[..., Any]:
    def compute(a: Tensor, *, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
        if dim is None and not keepdim:
            return getattr(a, name)(**options)
        return getattr(a, name)(dim=tuple(range(a.dim())) if dim is None else dim, keepdim=keepdim, **options)

    return compute


def _variance(a: Tensor, *, unbiased: bool | None = None, correction: Any = 1, **options: Any) -> Any:
    return _reduction("var")(a, correction=correction if unbiased is None else int(unbiased), **options)


def _extreme(name: str, pairwise: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def compute(a: Any, b: Any = None, *, dim: Any = None, keepdim: bool = False) -> Any:
        if b is not None:
            return getattr(torch, f"{name}imum")(_tensor(a, b), _tensor(b, a)) if _any_tensor(a, b) else pairwise(a, b)
        if isinstance(dim, int):
            return getattr(a, name)(dim, keepdim)[0]
        return getattr(a, name)() if dim is None else getattr(a, f"a{name}")(dim=dim, keepdim=keepdim)

    return compute


def _any_tensor(*values: Any) -> bool:
    return any(isinstance(value, Tensor) for value in values)


def _tensor(a: Any, like: Any) -> Tensor:
    return a if isinstance(a, Tensor) else torch.as_tensor(a, dtype=like.dtype)


def _transpose(a: Tensor) -> Tensor:
    return a.mT if a.dim() > 1 else a


def _layer_norm(x: Tensor, *rest: Any, normalized_shape: Any = None, eps: float = 1e-5, **given: Any) -> Tensor:
    tensors = [value for value in rest if isinstance(value, Tensor)]
    eps = next((value for value in rest if isinstance(value, float)), eps)
    shape = next((value for value in rest if isinstance(value, (int, tuple, list))), normalized_shape)
    shape = tensors[0].shape if shape is None and tensors else shape if shape is not None else x.shape[-1]
    options = dict(zip(("weight", "bias"), tensors, strict=False)) | given
    return F.layer_norm(x, (shape,) if isinstance(shape, int) else tuple(shape), eps=eps, **options)


def _logical(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: getattr(torch, f"logical_{name}")(*args) if _any_tensor(*args) else plain(*args)


def _scatter_rows(g: Tensor, x: Tensor, *, rows: int) -> Tensor:
    zeros = torch.zeros_like(g).new_zeros((rows, g.shape[-1]))
    return zeros.index_add(0, x.reshape(-1), g.reshape(-1, g.shape[-1]))


def _unsqueeze(g: Tensor, *, dim: tuple[int, ...]) -> Tensor:
    for axis in dim:
        g = g.unsqueeze(axis)
    return g


COMPUTE: dict[str, Callable[..., Any]] = {
    **CALLS,
    **BACKWARD,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "pow": operator.pow,
    "neg": operator.neg,
    "abs": operator.abs,
    "matmul": operator.matmul,
    "transpose": _transpose,
    **{name: _either(name) for name in "sqrt exp log sin cos tanh".split()},
    "rsqrt": lambda a: torch.rsqrt(a) if isinstance(a, Tensor) else 1 / math.sqrt(a),
    "square": lambda a: torch.square(a) if isinstance(a, Tensor) else a * a,
    "sign": torch.sign,
    "normal_cdf": lambda a: (1 + torch.erf(a / math.sqrt(2))) / 2,
    "normal_pdf": lambda a: torch.exp(-(a * a) / 2) / math.sqrt(2 * math.pi),
    **{name: getattr(torch, name) for name in "sigmoid relu".split()},
    **{
        name: getattr(F, name)
        for name in "gelu silu softmax log_softmax linear embedding cross_entropy mse_loss conv2d".split()
    },
    "layer_norm": _layer_norm,
    "scaled_dot_product_attention": F.scaled_dot_product_attention,
    "logsumexp": torch.logsumexp,
    "sum": lambda a, *args, **options: sum(a) if isinstance(a, list) else _reduction("sum")(a, *args, **options),
    "mean": _reduction("mean"),
    "var": _variance,
    "max": _extreme("max", max),
    "min": _extreme("min", min),
    "amax": lambda a, *, dim=(), keepdim=False: a.amax(dim, keepdim),
    "amin": lambda a, *, dim=(), keepdim=False: a.amin(dim, keepdim),
    "cat": torch.cat,
    "stack": torch.stack,
    "masked_fill": torch.masked_fill,
    "where": torch.where,
    "compare": lambda a, b, *, relation: RELATIONS[relation](a, b),
    "not": _logical("not", operator.not_),
    "and": _logical("and", lambda a, b: a and b),
    "or": _logical("or", lambda a, b: a or b),
    "rowsum": lambda g: g.sum(-1, keepdim=True),
    "unbroadcast": lambda g, *, shape: g.sum_to_size(shape),
    "unsqueeze": _unsqueeze,
    "scatter_rows": _scatter_rows,
}


def _like(operands: Mapping[str, Any]) -> Tensor:
    """A tensor of the kind the statement works with: its dtype, its device, exact or not."""
    tensors = (value for value in operands.values() if isinstance(value, Tensor) and value.is_floating_point())
    return next(tensors, torch.empty((), dtype=torch.get_default_dtype()))


def _ones(operands: Mapping[str, Any], *, shape: tuple[int, ...]) -> Tensor:
    return _like(operands).new_ones(shape)


def _zeros(operands: Mapping[str, Any], *, shape: tuple[int, ...]) -> Tensor:
    return _like(operands).new_zeros(shape)


def _identity(operands: Mapping[str, Any], *, size: int) -> Tensor:
    return _ones(operands, shape=(size,)).diag()


def _causal_mask(operands: Mapping[str, Any], *, shape: tuple[int, ...]) -> Tensor:
    return _zeros(operands, shape=shape).masked_fill(torch.ones(shape, dtype=torch.bool).triu(1), -math.inf)


def _put(operands: Mapping[str, Any], a: Tensor, b: Any, *, at: Index) -> Tensor:
    found = a.clone()
    found[index_value(at, operands)] = b
    return found


def _onehot(operands: Mapping[str, Any], y: Tensor, *, classes: int) -> Tensor:
    return F.one_hot(y, classes).to(_like(operands).dtype)


def _indicator(operands: Mapping[str, Any], a: Any, b: Any, *, relation: str) -> Any:
    return RELATIONS[relation](a, b).to(_like(operands).dtype)


def _reshape(operands: Mapping[str, Any], a: Tensor, *, by: Call) -> Any:
    args, options = call_values(by, operands)
    if by.name not in RESHAPES:
        raise FormulaError(f"'{by}' cannot be computed again: {by.name} is not in the table of reshapes.")
    return getattr(a, by.name)(*args, **options)


def _index(operands: Mapping[str, Any], a: Any, *, at: Index) -> Any:
    return a[index_value(at, operands)]


def _scatter(operands: Mapping[str, Any], g: Any, *, at: Index, shape: tuple[int, ...]) -> Tensor:
    place = torch.arange(math.prod(shape)).reshape(shape)[index_value(at, operands)]
    g = g if isinstance(g, Tensor) else _like(operands).new_tensor(g).expand(place.shape)
    return g.new_zeros(math.prod(shape)).index_add(0, place.reshape(-1), g.reshape(-1)).reshape(shape)


def _expand(operands: Mapping[str, Any], g: Any, *, shape: tuple[int, ...], dim: int | tuple[int, ...] = ()) -> Tensor:
    g = g if isinstance(g, Tensor) else _like(operands).new_tensor(g)  # 1 / n of two plain numbers is one
    return _unsqueeze(g, dim=(dim,) if isinstance(dim, int) else dim).expand(shape)


CONTEXTUAL: dict[str, Callable[..., Any]] = {
    "ones": _ones,
    "zeros": _zeros,
    "identity": _identity,
    "causal_mask": _causal_mask,
    "put": _put,
    "onehot": _onehot,
    "indicator": _indicator,
    "reshape": _reshape,
    "index": _index,
    "scatter": _scatter,
    "expand": _expand,
}

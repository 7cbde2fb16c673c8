"""PyTorch's functions that are no more than simpler operations, and the order of the arguments of those that are.

addmm(b, x, W) = b + x W      lerp(a, b, t) = a + t (b − a)      maximum(a, b) = max(a, b)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workings.trace.formula.simplify import ONE, minus, over, plus, times
from workings.trace.formula.tree import Apply, Call, Code, Formula, Index, Number, Options, Sequence

Args = tuple[Formula, ...]
EVERYWHERE = Index((Number(...),))
_LOSS = "input target size_average reduce reduction"
_POOL = "input kernel_size stride padding"
SIGNATURES = {
    "add": "input other alpha",
    "sub": "input other alpha",
    "addmm": "input mat1 mat2 beta alpha",
    "addmv": "input mat vec beta alpha",
    "baddbmm": "input batch1 batch2 beta alpha",
    "addcmul": "input tensor1 tensor2 value",
    "addcdiv": "input tensor1 tensor2 value",
    "lerp": "input end weight",
    "linear": "input weight bias",
    "embedding": "input weight padding_idx max_norm norm_type scale_grad_by_freq sparse",
    "scaled_dot_product_attention": "query key value attn_mask dropout_p is_causal scale",
    **dict.fromkeys(("conv1d", "conv2d"), "input weight bias stride padding dilation groups"),
    **dict.fromkeys(("max_pool1d", "max_pool2d"), f"{_POOL} dilation ceil_mode return_indices"),
    "avg_pool1d": f"{_POOL} ceil_mode count_include_pad",
    "avg_pool2d": f"{_POOL} ceil_mode count_include_pad divisor_override",
    "layer_norm": "input normalized_shape weight bias eps",
    "rms_norm": "input normalized_shape weight eps",
    "batch_norm": "input running_mean running_var weight bias training momentum eps",
    "normalize": "input p dim eps",
    "cosine_similarity": "x1 x2 dim eps",
    "norm": "input p dim keepdim",
    "clamp": "input min max",
    "masked_fill": "input mask value",
    "softplus": "input beta threshold",
    "leaky_relu": "input negative_slope",
    "elu": "input alpha",
    "gelu": "input approximate",
    "cross_entropy": "input target weight size_average ignore_index reduce reduction label_smoothing",
    "nll_loss": "input target weight size_average ignore_index reduce reduction",
    "mse_loss": _LOSS,
    "l1_loss": _LOSS,
    "smooth_l1_loss": f"{_LOSS} beta",
    "huber_loss": "input target reduction delta",
    "kl_div": f"{_LOSS} log_target",
    "binary_cross_entropy": "input target weight size_average reduce reduction",
    "binary_cross_entropy_with_logits": "input target weight size_average reduce reduction pos_weight",
    **dict.fromkeys(("cumsum", "cumprod", "unbind"), "input dim"),
    **dict.fromkeys(("sum", "mean", "prod", "max", "min", "amax", "amin", "logsumexp"), "input dim keepdim"),
    **dict.fromkeys(("var", "std"), "input dim unbiased keepdim"),
    **dict.fromkeys(("softmax", "log_softmax"), "input dim"),
    "sort": "input dim descending stable",
    "topk": "input k dim largest sorted",
    "chunk": "input chunks dim",
    "split": "input split_size_or_sections dim",
    **dict.fromkeys(("gather", "index_select"), "input dim index"),
    **dict.fromkeys(("tril", "triu"), "input diagonal"),
    "roll": "input shifts dims",
    "pad": "input pad mode value",
}
TENSORS = frozenset(
    """
    input other end weight bias target mask value mat1 mat2 mat vec batch1 batch2 tensor1 tensor2 query key attn_mask index
    running_mean running_var pos_weight x1 x2
    """.split()
)
"""Parameters that are operands, wherever they stand."""


def signature(op: str) -> list[str]:
    """The parameters of an operation in PyTorch's order."""
    return SIGNATURES.get(op, "input").split()


def _value(op: str, name: str, args: Args, options: Options) -> Formula:
    """An argument by its name, 1 where it is not given."""
    place = signature(op).index(name)
    given: Any = args[place] if place < len(args) else dict(options).get(name, ONE)
    return given if isinstance(given, Formula) else Number(given)


def _sum_of(op: str, sign: Callable[[Formula, Formula], Formula]) -> Callable[[Args, Options], Formula]:
    """a ± α b"""

    def made(args: Args, options: Options) -> Formula:
        alpha = _value(op, "alpha", args, options)
        if len(args) < 2 or isinstance(alpha, Code):
            return Apply(op, args, options)
        return sign(args[0], args[1] if alpha == ONE else times(alpha, args[1]))

    return made


def _added_product(op: str) -> Callable[[Args, Options], Formula]:
    """β b + α A B"""

    def made(args: Args, options: Options) -> Formula:
        beta, alpha = (_value(op, name, args, options) for name in ("beta", "alpha"))
        product = Apply("matmul", args[1:3])
        return Apply("add", (times(beta, args[0]), product if alpha == ONE else times(alpha, product)))

    return made


def _added_entries(op: str, combine: Callable[[Formula, Formula], Formula]) -> Callable[[Args, Options], Formula]:
    """a + c b₁ ⊙ b₂, or a + c b₁/b₂"""
    return lambda args, options: plus(args[0], times(_value(op, "value", args, options), combine(*args[1:3])))


def _einsum(args: Args, options: Options) -> Formula:
    if dict(options).get("text"):
        return Apply("einsum", args, options)
    first, *rest = args
    operands = rest[0].items if len(rest) == 1 and isinstance(rest[0], Sequence) else tuple(rest)
    if not isinstance(first, Code) or first.text[:1] not in "'\"":
        return Apply("einsum", args, options)
    return Apply("einsum", operands, (("text", first.text[1:-1].replace(" ", "")),))


def _clamp(lower: bool) -> Callable[[Args, Options], Formula]:
    """clamp from one side"""
    return lambda args, options: Apply("clamp", (args[0], args[1]) if lower else (args[0], Number(None), args[1]))


def _along(args: Args, options: Options) -> Formula:
    """take_along_dim(x, index, dim) is gather(x, dim, index); without dim it is of x in one row"""
    given = dict(options) | dict(zip(("indices", "dim"), args[1:], strict=False))
    if "dim" not in given or not isinstance(index := given.get("indices"), Formula):
        return Call("take_along_dim", args, options)
    dim = given["dim"]
    return Apply("gather", (args[0], dim if isinstance(dim, Formula) else Number(dim), index))


def _outer(args: Args, options: Options) -> Formula:
    return Apply("outer", args)


DEFINED: dict[str, Callable[[Args, Options], Formula]] = {
    "add": _sum_of("add", lambda a, b: Apply("add", (a, b))),
    "sub": _sum_of("sub", lambda a, b: Apply("sub", (a, b))),
    "rsub": lambda args, options: Apply("sub", (args[1], args[0])),
    "take_along_dim": _along,
    "addmm": _added_product("addmm"),
    "addmv": _added_product("addmv"),
    "baddbmm": _added_product("baddbmm"),
    "addcmul": _added_entries("addcmul", times),
    "addcdiv": _added_entries("addcdiv", over),
    "lerp": lambda args, options: plus(args[0], times(args[2], minus(args[1], args[0]))),
    **{name: lambda args, options: Apply("matmul", args) for name in ("mv", "dot", "mm", "bmm", "vdot")},
    "outer": _outer,
    "ger": _outer,
    "maximum": lambda args, options: Apply("max", args),
    "minimum": lambda args, options: Apply("min", args),
    "clamp_min": _clamp(True),
    "clamp_max": _clamp(False),
    "relu6": lambda args, options: Apply("clamp", (args[0], Number(0), Number(6))),
    "reciprocal": lambda args, options: over(ONE, args[0]),
    "vector_norm": lambda args, options: Apply("norm", args, options),
    "copy": lambda args, options: Apply("put", (args[0], args[1]), (("at", EVERYWHERE),)),
    "fill": lambda args, options: Apply("put", (args[0], args[1]), (("at", EVERYWHERE),)),
    "zero": lambda args, options: Apply("put", (args[0], Number(0)), (("at", EVERYWHERE),)),
    "einsum": _einsum,
}

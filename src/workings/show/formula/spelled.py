"""Operations that are written as a formula of simpler ones: linear is x Wᵀ + b, in every notation.

`SPELLED` has a row for each. To teach the printers such an operation, add a row that returns a formula.
"""

from __future__ import annotations

from collections.abc import Callable

from workings.trace.formula.tree import Apply, Call, Code, Formula, Leaf, Number, Options, Sequence

Args = tuple[Formula, ...]
ONE, TWO = Number(1), Number(2)


def spelled(formula: Apply) -> Formula:
    """The operation by simpler ones, or itself."""
    rule = SPELLED.get(formula.op)
    args = formula.args if formula.op in PLACED else tuple(a for a in formula.args if a != Number(None))
    return formula if rule is None else rule(args, formula.options) or formula


def spelled_call(formula: Call) -> Formula:
    """A call that has a notation after all: floor(x) and x.floor() are ⌊x⌋, float("-inf") is −∞. Others stay.

    >>> spelled_call(Call("S.diagonal", ()))
    Apply(op='diagonal', args=(Leaf(text='S'),), options=())
    """
    owner, _, name = formula.name.rpartition(".")
    if formula.options or owner in ("self", "cls"):
        return formula
    if formula.name == "float" and len(formula.args) == 1 and isinstance(formula.args[0], Code):
        return INFINITE.get(formula.args[0].text, formula)
    args = (Leaf(owner), *formula.args) if owner else formula.args
    return Apply(name, args) if CALLED.get(name) == len(args) else formula


INFINITE: dict[str, Formula] = {"'inf'": Number(float("inf")), "'-inf'": Number(-float("inf"))}
INFINITY = frozenset(("inf", "math.inf", "torch.inf", "np.inf"))
CALLED = {"floor": 1, "ceil": 1, "logsigmoid": 1, "xlogy": 2, "diagonal": 1}
"""Calls that are operations, with the number of their operands."""


def _apply(op: str, *args: Formula, options: Options = ()) -> Apply:
    return Apply(op, args, options)


def _linear(args: Args, options: Options) -> Formula | None:
    if not 2 <= len(args) <= 3 or options:
        return None
    product = _apply("matmul", args[0], _apply("transpose", args[1]))
    return product if len(args) == 2 else _apply("add", product, args[2])


def _attention(args: Args, options: Options) -> Formula | None:
    if len(args) < 3:
        return None
    Q, K, V, *mask = args
    S: Formula = _apply("div", _apply("matmul", Q, _apply("transpose", K)), _apply("sqrt", Leaf("d")))
    named = dict(options)
    shift: Formula | None = mask[0] if mask else Leaf(str(named["attn_mask"])) if named.get("attn_mask") else None
    shift = _apply("causal_mask") if named.get("is_causal") in (True, "True") else shift
    S = S if shift is None else _apply("add", S, shift)
    return _apply("matmul", _apply("softmax", S), V)


def _layer_norm(args: Args, options: Options) -> Formula | None:
    """Arguments as torch has them (x, shape, γ, β, ε), or x, γ, β."""
    x, *rest = args
    named = dict(options)
    is_shape = rest and (isinstance(rest[0], Sequence | Number) or "shape" in getattr(rest[0], "text", ""))
    given: dict[str, Formula] = {k: Leaf(str(named[k])) for k in ("weight", "bias") if named.get(k)}
    given |= zip(("weight", "bias"), rest[1:3] if is_shape else rest[:2], strict=False)
    spread = _apply("sqrt", _apply("add", _apply("square", Leaf("sigma")), Leaf("epsilon")))
    out = _apply("div", _apply("sub", x, Leaf("mu")), spread)
    for op, scale in (("mul", given.get("weight")), ("add", given.get("bias"))):
        out = out if scale in (None, Number(None)) else _apply(op, out, scale)
    return out


PLACED = frozenset(("layer_norm",))
"""Operations of which an operand that is None keeps its place: a bias without a weight is no weight."""


def _convolution(args: Args, options: Options) -> Formula | None:
    if not 2 <= len(args) <= 3 or options:
        return None
    out = _apply("convolve", args[0], args[1])
    return out if len(args) == 2 else _apply("add", out, args[2])


FACTORS = ("mul", "div", "matmul")


def _minus_first(op: str) -> Callable[[Args, Options], Formula | None]:
    """(−a) b is −a b: the sign of a first factor stands before the whole."""

    def rule(args: Args, options: Options) -> Formula | None:
        first, *rest = args
        first = spelled(first) if isinstance(first, Apply) and first.op in FACTORS else first
        match first:
            case Apply("neg", (a,)) if not options:
                return _apply("neg", _apply(op, a, *rest))
        return None

    return rule


SPELLED: dict[str, Callable[[Args, Options], Formula | None]] = {
    "rsqrt": lambda a, o: _apply("div", ONE, _apply("sqrt", a[0])),
    "square": lambda a, o: _apply("pow", a[0], TWO),
    "relu": lambda a, o: _apply("maximum", Number(0), a[0]),
    "silu": lambda a, o: _apply("mul", a[0], _apply("sigmoid", a[0])),
    "log_softmax": lambda a, o: _apply("log", _apply("softmax", a[0], options=o)),
    "logsumexp": lambda a, o: _apply("log", _apply("sum", _apply("exp", a[0]), options=o)),
    "mse_loss": lambda a, o: None if o or len(a) != 2 else _apply("mean", _apply("pow", _apply("sub", *a), TWO)),
    "embedding": lambda a, o: None if len(a) != 2 else _apply("entry", a[1], a[0]),
    "logsigmoid": lambda a, o: _apply("log", _apply("sigmoid", a[0])),
    "xlogy": lambda a, o: None if len(a) != 2 else _apply("mul", a[0], _apply("log", a[1])),
    "outer": lambda a, o: None if len(a) != 2 else _apply("matmul", a[0], _apply("transpose", a[1])),
    **{op: _minus_first(op) for op in FACTORS},
    "linear": _linear,
    "layer_norm": _layer_norm,
    "conv2d": _convolution,
    "scaled_dot_product_attention": _attention,
}

"""Every written rule of differentiation agrees with autograd, and reads as a person would write it."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.formulas import at, by
from workings import exact
from workings.trace.formula.arguments import FormulaError
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.tree import Apply, Call, Code, Leaf, Number, Sequence
from workings.trace.gradient.adjoint import adjoints
from workings.trace.operations import OPERATIONS, complex_numbers
from workings.trace.operations.node import RuleError

a, b, c, W, G = (Leaf(text) for text in ("a", "b", "c", "W", "∂L/∂y"))
COMPARED = 1e-9


def op(name, *args, **options):
    return Apply(name, tuple(Number(x) if isinstance(x, (int, float)) else x for x in args), tuple(options.items()))


def disagreement(formula, operands, wanted=None, name="y"):
    """The largest difference between the rules of a formula and autograd, over all leaves."""
    asked = [k for k, v in operands.items() if _float(v) and (wanted is None or k in wanted)]
    lives = {k: v.clone().requires_grad_(k in asked) if _float(v) else v for k, v in operands.items()}
    y = evaluate(formula, lives)
    upstream = torch.randn_like(y)
    theirs = torch.autograd.grad(y, [lives[k] for k in asked], upstream, allow_unused=True, materialize_grads=True)
    rules = adjoints(formula, G, operands, name=name, wanted=asked)
    known = {**operands, "∂L/∂y": upstream, name: y.detach()}
    largest = 0.0
    for key, their in zip(asked, theirs, strict=True):
        ours = evaluate(rules[key], known) if key in rules else torch.zeros_like(their)
        assert ours.shape == their.shape, f"∂L/∂{key} has shape {[*ours.shape]}, {key} has {[*their.shape]}"
        largest = max(largest, float((ours - their).abs().max()))
    return largest


def _float(value):
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def normal(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed + sum(shape)))


def positive(*shape, seed=0):
    return normal(*shape, seed=seed).abs() + 0.5


PAIR = {"a": normal(2, 3), "b": normal(2, 3, seed=1)}
MASK = torch.tensor([[True, False, True], [False, False, True]])
TIED = torch.tensor([[1.0, 3.0, 3.0], [2.0, 0.0, 2.0]], dtype=torch.float64)
CLASSES = torch.tensor([2, 0])
CASES = {
    "add": [(op("add", a, b), PAIR), (op("add", a, 1), {"a": normal(3)})],
    "sub": [(op("sub", a, b), PAIR), (op("sub", 1, a), {"a": normal(3)})],
    "mul": [(op("mul", a, b), PAIR), (op("mul", a, a), PAIR), (op("mul", 2, op("mul", a, 3)), PAIR)],
    "div": [(op("div", a, b), {"a": normal(2, 3), "b": positive(2, 3)}), (op("div", 2, a), {"a": positive(3)})],
    "pow": [
        (op("pow", a, 2), PAIR),
        (op("pow", a, 1), PAIR),
        (op("pow", a, 3), PAIR),
        (op("pow", a, -0.5), {"a": positive(2, 3)}),
        (op("pow", a, b), {"a": positive(2, 3), "b": normal(3)}),
        (op("pow", 2, a), {"a": normal(3)}),
    ],
    "neg": [(op("neg", a), PAIR), (op("neg", op("neg", a)), PAIR)],
    "matmul": [
        (op("matmul", a, b), {"a": normal(2, 3), "b": normal(3, 4)}),
        (op("matmul", a, b), {"a": normal(3), "b": normal(3, seed=1)}),
        (op("matmul", a, b), {"a": normal(2, 3), "b": normal(3)}),
        (op("matmul", a, b), {"a": normal(5, 2, 3), "b": normal(3)}),
        (op("matmul", a, b), {"a": normal(3), "b": normal(3, 4)}),
        (op("matmul", a, b), {"a": normal(5, 2, 3), "b": normal(3, 4)}),
        (op("matmul", a, b), {"a": normal(2, 3), "b": normal(5, 3, 4)}),
        (op("matmul", a, b), {"a": normal(1, 5, 2, 3), "b": normal(6, 1, 3, 4)}),
        (op("matmul", a, a), {"a": normal(3, 3)}),
    ],
    "transpose": [(op("transpose", a), PAIR), (op("matmul", a, op("transpose", b)), PAIR)],
    "linear": [
        (op("linear", a, W, b), {"a": normal(2, 3), "W": normal(4, 3), "b": normal(4)}),
        (op("linear", a, W), {"a": normal(5, 2, 3), "W": normal(4, 3)}),
        (op("linear", a, W, b), {"a": normal(3), "W": normal(4, 3), "b": normal(4)}),
    ],
    "embedding": [(op("embedding", a, W), {"a": torch.tensor([[2, 0], [2, 2]]), "W": normal(4, 3)})],
    **{name: [(op(name, a), {"a": normal(2, 3)})] for name in "exp square abs sin cos tanh sigmoid relu gelu silu".split()},
    **{name: [(op(name, a), {"a": positive(2, 3)})] for name in "sqrt rsqrt log".split()},
    **{
        name: [(op(name, a, dim=dim), {"a": normal(2, 3)}) for dim in (-1, 0, 1)]
        + [(op(name, a, dim=0), {"a": normal(3)}), (op(name, a, dim=1), {"a": normal(2, 3, 4)})]
        for name in ("softmax", "log_softmax")
    },
    "logsumexp": [(op("logsumexp", a, dim=-1), PAIR), (op("logsumexp", a, dim=0, keepdim=True), PAIR)],
    **{
        name: [
            (op(name, a), PAIR),
            (op(name, a), {"a": normal(3)}),
            (op(name, a, dim=0), PAIR),
            (op(name, a, dim=-1, keepdim=True), PAIR),
            (op(name, a, dim=(0, 2)), {"a": normal(2, 3, 4)}),
        ]
        for name in ("sum", "mean", "var")
    },
    **{
        name: [
            (op(name, a), PAIR),
            (op(name, a), {"a": TIED}),
            (op(name, a, dim=-1), PAIR),
            (op(name, a, dim=-1), {"a": TIED}),
            (op(name, a, dim=0, keepdim=True), PAIR),
            (op(name, a, dim=0, keepdim=True), {"a": TIED.T.contiguous()[[0, 0, 1]]}),
            (op(name, a, b), PAIR),
        ]
        for name in ("max", "min")
    },
    **{
        name: [
            (op(name, a), {"a": TIED}),
            (op(name, a, dim=-1), {"a": TIED}),
            (op(name, a, dim=(0, 1), keepdim=True), {"a": TIED}),
            (op(name, a, dim=0), PAIR),
        ]
        for name in ("amax", "amin")
    },
    "cat": [(op("cat", Sequence((a, b, a)), dim=dim), PAIR) for dim in (-1, 0)],
    "stack": [(op("stack", Sequence((a, b, a)), dim=dim), PAIR) for dim in (0, 1, -1)],
    "reshape": [
        (op("reshape", a, by=by(text)), {"a": normal(2, 3, 4), "n": 6})
        for text in "view(n,-1) flatten(1) permute(2,0,1) transpose(1,2) unsqueeze(0) movedim(0,2) ravel()".split()
    ]
    + [
        (op("reshape", a, by=by("flatten(1)")), {"a": normal(2, 3, 4)}),
        (op("reshape", a, by=by("expand(2, -1)")), {"a": normal(3)}),
        (op("add", a, op("reshape", a, by=by("detach()"))), {"a": normal(3)}),
        (op("reshape", op("sum", a), by=by("view(1, 1)")), {"a": normal(3)}),
    ],
    "index": [
        (op("index", a, at=at(text)), {"a": normal(3, 4), "i": torch.tensor([2, 2, 0]), "n": 2})
        for text in ("0", ":, -1", "1:n, ::2", "i", "[0, 1], [2, 3]", "..., None", "a.size(0) - 1", "torch.arange(n), i[:2]")
    ],
    "masked_fill": [
        (op("masked_fill", a, Leaf("m"), float("-inf")), {"a": normal(2, 3), "m": MASK}),
        (op("masked_fill", a, Leaf("m"), 0.0), {"a": normal(3), "m": MASK}),
    ],
    "where": [(op("where", Leaf("m"), a, b), {**PAIR, "m": MASK}),
        (op("where", Leaf("m"), a, b), {"a": normal(3), "b": normal(2, 1), "m": MASK})],
    "cross_entropy": [
        (op("cross_entropy", a, b), {"a": normal(2, 3), "b": CLASSES}),
        (op("cross_entropy", a, b, reduction=Number("sum")), {"a": normal(2, 3), "b": CLASSES}),
        (op("cross_entropy", a, b, reduction=Number("none")), {"a": normal(2, 3), "b": CLASSES}),
        (op("cross_entropy", a, b), {"a": normal(3), "b": torch.tensor(1)}),
    ],
    "mse_loss": [
        (op("mse_loss", a, b), PAIR),
        *((op("mse_loss", a, b, reduction=Number(r)), PAIR) for r in ("sum", "none")),
    ],
    "layer_norm": [
        (op("layer_norm", a, Sequence((Number(3),)), W, b), {"a": normal(2, 3), "W": normal(3), "b": normal(3, seed=2)}),
        (op("layer_norm", a, Sequence((Number(3),))), {"a": normal(2, 3)}),
        (op("layer_norm", a, Sequence((Number(3),)), W, b, 0.1), {"a": normal(4, 2, 3), "W": normal(3), "b": normal(3)}),
    ],
}  # fmt: skip
IMAGE, KERNEL = normal(2, 2, 5, 5), normal(3, 2, 3, 3)
CODES, ROWS = torch.tensor([2, 0, 1]), normal(3, 4)
HEADS = {"Q": normal(2, 3, 4), "K": normal(2, 5, 4), "V": normal(2, 5, 2)}
Q_, K_, V_ = Leaf("Q"), Leaf("K"), Leaf("V")
CASES |= {
    # entries that move
    "put": [
        (op("put", a, b, at=at("0")), {"a": normal(2, 3), "b": normal(3)}),
        (op("put", a, b, at=at(":, 1:")), {"a": normal(2, 3), "b": normal(2)[:, None]}),
        (op("put", a, b, at=at("...")), {"a": normal(2, 3), "b": normal(3)}),
        (op("put", a, 0, at=at("a > 0")), {"a": normal(2, 3)}),
    ],
    "gather": [(op("gather", a, 1, Leaf("i")), {"a": normal(2, 3), "i": torch.tensor([[0, 2], [1, 1]])})],
    "index_select": [(op("index_select", a, 0, Leaf("i")), {"a": normal(4, 3), "i": torch.tensor([3, 0, 3])})],
    "chunk": [(op("index", op("chunk", a, 2, dim=-1), at=at("1")), {"a": normal(2, 4)})],
    "split": [(op("index", op("split", a, 3), at=at("0")), {"a": normal(4, 2)})],
    "add_at": [
        (
            op("add_at", a, 0, Leaf("i"), b),
            {"a": normal(2, 3), "b": normal(2, 3, seed=1), "i": torch.tensor([[0, 1, 1], [0, 0, 1]])},
        )
    ],
    "add_slices": [
        (op("add_slices", a, 0, Leaf("i"), b), {"a": normal(2, 3), "b": normal(3, 3), "i": torch.tensor([1, 0, 1])})
    ],
    "unbind": [(op("index", op("unbind", a, 1), at=at("-1")), {"a": normal(2, 3)})],
    "sort": [(op("sort", a), PAIR), (op("sort", a, dim=0, descending=True), PAIR)],
    "topk": [(op("topk", a, 2), PAIR), (op("topk", a, 1, dim=0, largest=False), PAIR)],
    "cumsum": [(op("cumsum", a, 0), PAIR), (op("cumsum", a, dim=-1), PAIR)],
    "cumprod": [(op("cumprod", a, 0), PAIR), (op("cumprod", a, dim=-1), PAIR)],
    "flip": [(op("flip", a, 0), PAIR), (op("flip", a, Sequence((Number(0), Number(1)))), PAIR)],
    "tril": [(op("tril", a), PAIR), (op("tril", a, 1), PAIR)],
    "triu": [(op("triu", a), PAIR), (op("triu", a, diagonal=1), PAIR)],
    "roll": [(op("roll", a, 1, 0), PAIR), (op("roll", a, shifts=-1, dims=1), PAIR)],
    "repeat": [(op("repeat", a, 2, 3), PAIR), (op("repeat", a, 2, 3, 1), PAIR), (op("repeat", a, 4), {"a": normal(3)})],
    "pad": [
        (op("pad", a, Sequence((Number(1), Number(2)))), PAIR),
        (op("pad", a, Sequence(tuple(map(Number, (0, 1, 2, 0))))), PAIR),
    ],
    "trace": [(op("trace", a), {"a": normal(3, 3)})],
    # products
    "outer": [(op("outer", a, b), {"a": normal(3), "b": normal(2)})],
    "logdet": [(op("logdet", op("matmul", a, op("transpose", a))), {"a": normal(3, 3)})],
    "slogdet": [(op("index", op("slogdet", a), at=at("1")), {"a": normal(3, 3)})],
    "diag": [(op("diag", a), {"a": normal(3)}), (op("diag", a), {"a": normal(3, 3)})],
    "det": [(op("det", a), {"a": normal(3, 3)})],
    "inverse": [(op("inverse", a), {"a": normal(3, 3)}), (op("inverse", a), {"a": normal(2, 3, 3)})],
    "einsum": [
        (op("einsum", a, b, text="bik,bjk->bij"), {"a": normal(2, 3, 4), "b": normal(2, 5, 4)}),
        (op("einsum", a, b, text="i,j->ij"), {"a": normal(3), "b": normal(2)}),
        (op("einsum", a, b, c, text="ij,jk,k->i"), {"a": normal(2, 3), "b": normal(3, 4), "c": normal(4)}),
    ],
    # entry by entry
    **{name: [(op(name, a), PAIR)] for name in "logsigmoid tan sinh cosh expm1 exp2 erf atan".split()},
    **{name: [(op(name, a), PAIR)] for name in "softplus leaky_relu elu".split()},
    **{name: [(op(name, a), {"a": positive(2, 3)})] for name in "log1p log2 log10".split()},
    "clamp": [(op("clamp", a, -0.5, 0.5), PAIR), (op("clamp", a, min=0), PAIR), (op("clamp", a, max=0.1), PAIR)],
    # along axes
    "prod": [(op("prod", a), PAIR), (op("prod", a, 1), PAIR), (op("prod", a, dim=0, keepdim=True), PAIR)],
    "std": [(op("std", a), PAIR), (op("std", a, dim=-1), PAIR), (op("std", a, dim=0, unbiased=False, keepdim=True), PAIR)],
    "norm": [(op("norm", a), PAIR), (op("norm", a, dim=-1), PAIR), (op("norm", a, dim=0, keepdim=True), PAIR)],
    # layers
    "rms_norm": [
        (op("rms_norm", a, Sequence((Number(3),)), W), {"a": normal(2, 3), "W": normal(3)}),
        (op("rms_norm", a, Sequence((Number(2), Number(3))), eps=0.1), {"a": normal(4, 2, 3)}),
    ],
    "batch_norm": [
        (
            op("batch_norm", a, Number(None), Number(None), W, b, training=True),
            {"a": normal(4, 3), "W": normal(3), "b": normal(3, seed=1)},
        ),
        (
            op("batch_norm", a, Leaf("m"), Leaf("v"), W, b),
            {"a": normal(4, 3), "m": normal(3), "v": positive(3), "W": normal(3), "b": normal(3)},
        ),
        (
            op("batch_norm", a, Number(None), Number(None), W, b, training=True),
            {"a": normal(2, 3, 2, 2), "W": normal(3), "b": normal(3, seed=1)},
        ),
        (
            op("batch_norm", a, Leaf("m"), Leaf("v"), W, b),
            {"a": normal(2, 3, 4), "m": normal(3), "v": positive(3), "W": normal(3), "b": normal(3)},
        ),
        (op("batch_norm", a, Leaf("m"), Leaf("v")), {"a": normal(2, 3, 2, 2), "m": normal(3), "v": positive(3)}),
    ],
    "normalize": [(op("normalize", a), PAIR), (op("normalize", a, dim=0), PAIR)],
    "cosine_similarity": [
        (op("cosine_similarity", a, b), PAIR),
        (op("cosine_similarity", a, b, dim=0), {"a": normal(3), "b": normal(3, seed=1)}),
    ],
    "conv1d": [(op("conv1d", a, W, b), {"a": normal(2, 2, 5), "W": normal(3, 2, 2), "b": normal(3)})],
    "conv2d": [
        (op("conv2d", a, W, b), {"a": IMAGE, "W": KERNEL, "b": normal(3)}),
        (op("conv2d", a, W, stride=2, padding=1), {"a": IMAGE, "W": KERNEL}),
    ],
    "diagonal": [(op("diagonal", a), {"a": normal(3, 3)})],
    "max_pool1d": [
        (op("max_pool1d", a, 2), {"a": normal(2, 2, 5)}),
        (op("max_pool1d", a, 3, stride=1), {"a": normal(2, 5)}),
    ],
    "avg_pool1d": [(op("avg_pool1d", a, 2), {"a": normal(2, 2, 5)})],
    "max_pool2d": [(op("max_pool2d", a, 2), {"a": IMAGE}), (op("max_pool2d", a, 3, 2, padding=1), {"a": IMAGE})],
    "avg_pool2d": [(op("avg_pool2d", a, 2), {"a": IMAGE}), (op("avg_pool2d", a, 3, 2, padding=1), {"a": IMAGE})],
    "scaled_dot_product_attention": [
        (op("scaled_dot_product_attention", Q_, K_, V_), HEADS),
        (op("scaled_dot_product_attention", Q_, K_, V_, scale=0.3), HEADS),
        (op("scaled_dot_product_attention", Q_, K_, V_, is_causal=True), {**HEADS, "Q": normal(2, 5, 4)}),
        (op("scaled_dot_product_attention", Q_, K_, V_, Leaf("m")), {**HEADS, "m": normal(3, 5) > -1}),
    ],
    "attention_with_dropout": [
        (op("attention_with_dropout", Q_, K_, V_, Leaf("m"), scale=0.3), {**HEADS, "m": 2.0 * (normal(3, 5) > 0)}),
        (op("attention_with_dropout", Q_, K_, V_, Leaf("m"), Leaf("v")), {**HEADS, "m": positive(3, 5), "v": normal(3, 5)}),
    ],
    "rearrange": [
        (op("rearrange", a, pattern="b (h d) -> h b d", h=2), {"a": normal(3, 4)}),
        (op("rearrange", a, pattern="... (p q) 1 -> q ... p", p=2), {"a": normal(2, 3, 6, 1)}),
    ],
    "repeat_along": [
        (op("repeat_along", a, pattern="h d -> (h r) b d", r=2, b=3), {"a": normal(2, 3)}),
        (op("repeat_along", a, pattern="d -> d 3"), {"a": normal(4)}),
    ],
    "reduce": [
        (op("reduce", a, pattern="b (g k) -> g", k=2, reduction=reduction), {"a": normal(3, 4)})
        for reduction in ("sum", "mean", "max", "min")
    ]
    + [(op("reduce", a, pattern="b c h w -> b c 1 1", reduction="mean"), {"a": normal(2, 3, 2, 2)})],
    "weight_norm": [
        (op("weight_norm", a, b), {"a": normal(3, 2), "b": positive(3, 1)}),
        (op("weight_norm", a, b, 1), {"a": normal(3, 4, 2), "b": positive(1, 4, 1)}),
    ],
    # losses
    "nll_loss": [
        (op("nll_loss", a, b), {"a": ROWS, "b": CODES}),
        (op("nll_loss", a, b, Leaf("w"), ignore_index=1), {"a": ROWS, "b": CODES, "w": positive(4)}),
    ],
    **{
        name: [(op(name, a, b), PAIR), (op(name, a, b, reduction=Number("sum")), PAIR)]
        for name in ("l1_loss", "huber_loss", "smooth_l1_loss")
    },
    "binary_cross_entropy": [
        (op("binary_cross_entropy", a, b), {"a": normal(3).sigmoid(), "b": normal(3, seed=1).sigmoid()}),
        (
            op("binary_cross_entropy", a, b, Leaf("w")),
            {"a": normal(3).sigmoid(), "b": normal(3, seed=1).sigmoid(), "w": positive(3)},
        ),
    ],
    "binary_cross_entropy_with_logits": [
        (op("binary_cross_entropy_with_logits", a, b), {"a": normal(3), "b": normal(3, seed=1).sigmoid()}),
        (
            op(
                "binary_cross_entropy_with_logits",
                a,
                Leaf("v"),
                Number(None),
                Number(None),
                Number(None),
                Number("mean"),
                Leaf("w"),
            ),
            {"a": normal(3), "v": (normal(3, seed=1) > 0).double(), "w": positive(3)},
        ),
    ],
    "kl_div": [
        (op("kl_div", a, b, reduction=r), {"a": normal(2, 3), "b": positive(2, 3)})
        for r in (Number("sum"), Number("batchmean"))
    ],
}
CASES["gelu"] = [(op("gelu", a), PAIR), (op("gelu", a, approximate=Number("tanh")), PAIR)]
CASES["softplus"] += [(op("softplus", a, beta=2), PAIR)]
CASES["leaky_relu"] += [(op("leaky_relu", a, 0.2), PAIR)]
CASES["elu"] += [(op("elu", a, alpha=0.5), PAIR)]
CASES["sum"] += [(op("sum", Sequence((a, b, op("sum", a)))), PAIR)]
CASES["cross_entropy"] += [
    (op("cross_entropy", a, b, Leaf("w")), {"a": ROWS, "b": CODES, "w": positive(4)}),
    (op("cross_entropy", a, b, Leaf("w"), ignore_index=1), {"a": ROWS, "b": CODES, "w": positive(4)}),
    (op("cross_entropy", a, b, ignore_index=1, reduction=Number("none")), {"a": ROWS, "b": CODES}),
    (op("cross_entropy", a, b), {"a": ROWS, "b": torch.tensor([1, -100, 2])}),
    (op("cross_entropy", a, b, label_smoothing=0.1), {"a": ROWS, "b": CODES}),
    (op("cross_entropy", a, b), {"a": ROWS, "b": ROWS.softmax(-1)}),
]
PLACES = torch.tensor([[[0, 2, 1], [1, 1, 0]], [[2, 2, 0], [0, 1, 2]]])
CASES["cross_entropy"] += [
    (op("cross_entropy", a, b), {"a": normal(2, 3, 2, 3), "b": PLACES}),
    (op("cross_entropy", a, b, Leaf("w"), ignore_index=1), {"a": normal(2, 3, 2, 3), "b": PLACES, "w": positive(3)}),
    (op("cross_entropy", a, b, reduction=Number("none")), {"a": normal(2, 3, 2, 3), "b": PLACES}),
]
CASES["nll_loss"] += [(op("nll_loss", a, b), {"a": normal(2, 3, 2, 3), "b": PLACES})]
CHANNELS = {"a": normal(2, 4, 3, 2), "W": normal(4), "b": normal(4, seed=1)}
CASES["batch_norm"] += [
    (op("batch_norm", a, Number(None), Number(None), W, b, training=True), CHANNELS),
    (op("batch_norm", a, Number(None), Number(None), training=True), {"a": normal(2, 4, 3)}),
    (op("batch_norm", a, Leaf("m"), Leaf("v"), W, b), CHANNELS | {"m": normal(4, seed=2), "v": positive(4)}),
]
CASES |= {
    "group_norm": [
        (op("group_norm", a, 2, W, b), CHANNELS),
        (op("group_norm", a, 4, eps=0.1), {"a": normal(2, 4, 3)}),
    ],
    "conv3d": [
        (op("conv3d", a, W, b, padding=1), {"a": normal(1, 2, 3, 3, 3), "W": normal(2, 2, 2, 2, 2), "b": normal(2)}),
    ],
    "conv_transpose": [
        (op("conv_transpose", a, W, b), {"a": IMAGE, "W": normal(2, 3, 2, 2), "b": normal(3)}),
        (
            op("conv_transpose", a, W, stride=2, padding=1, output_padding=1),
            {"a": normal(2, 2, 3), "W": normal(2, 3, 3)},
        ),
        (op("conv_transpose", a, W, stride=2, dilation=2, groups=2), {"a": normal(1, 4, 3), "W": normal(4, 1, 2)}),
    ],
    "max_pool3d": [(op("max_pool3d", a, 2), {"a": normal(1, 1, 4, 4, 4)})],
    "avg_pool3d": [(op("avg_pool3d", a, 2), {"a": normal(1, 1, 4, 4, 4)})],
    "pixel_shuffle": [(op("pixel_shuffle", a, 2), {"a": normal(1, 4, 2, 3)})],
    "pixel_unshuffle": [(op("pixel_unshuffle", a, 2), {"a": normal(1, 1, 4, 6)})],
    "interpolate": [
        (op("interpolate", a, scale_factor=2), {"a": IMAGE}),
        (op("interpolate", a, size=(7, 3), mode=Number("bilinear"), align_corners=True), {"a": IMAGE}),
    ],
    "adaptive_avg_pool": [(op("adaptive_avg_pool", a, output_size=(2, 3)), {"a": IMAGE})],
    "windows": [(op("windows", a, 1, 2, 1), {"a": normal(2, 5)})],
    "im2col": [(op("im2col", a, kernel_size=2), {"a": IMAGE})],
}
CASES["pad"] += [
    (op("pad", a, Sequence((Number(1), Number(2))), mode=Number("reflect")), {"a": normal(2, 2, 4)}),
    (op("pad", a, Sequence((Number(-1), Number(2)))), {"a": normal(2, 4)}),
]
CASES["layer_norm"] += [(op("layer_norm", a, Sequence((Number(2), Number(3)))), {"a": normal(4, 2, 3)})]
CONSTANTS = frozenset({"w", "m", "v"})
"""Operands that PyTorch does not differentiate by: weights of classes, kept means, masks."""


@pytest.mark.parametrize(
    ("formula", "operands"),
    [pytest.param(*case, id=f"{name}-{i}") for name, cases in CASES.items() for i, case in enumerate(cases)],
)
def test_a_rule_agrees_with_autograd(formula, operands):
    assert disagreement(formula, operands, wanted=operands.keys() - CONSTANTS) < COMPARED


def test_every_rule_is_tested():
    elsewhere = {"lstm_layer"}  # tests/trace/operations/test_recurrent.py
    elsewhere |= {row.name for row in complex_numbers.ROWS}  # tests/trace/operations/test_complex.py
    assert {name for name, row in OPERATIONS.items() if row.gradient is not None} - elsewhere == CASES.keys()


def test_what_has_a_gradient_can_be_computed_again():
    assert all(row.compute or row.compute_in_scope for row in OPERATIONS.values() if row.gradient or row.constant)
    assert not [row.name for row in OPERATIONS.values() if row.gradient is not None and row.constant]


def test_soft_targets():
    y = torch.tensor([[0.2, 0.3, 0.5], [1, 0, 0]], dtype=torch.float64)
    assert disagreement(op("cross_entropy", a, b), {"a": normal(2, 3), "b": y}, wanted=["a"]) < COMPARED


shapes = st.lists(st.integers(1, 3), min_size=0, max_size=3)


@given(shapes, st.data(), st.sampled_from(["add", "sub", "mul", "div"]), st.integers(0, 99))
def test_broadcasting_is_summed_back(shape, data, name, seed):
    def cut():
        return [data.draw(st.sampled_from([1, n])) for n in shape[data.draw(st.integers(0, len(shape))) :]]

    operands = {"a": positive(*cut(), seed=seed), "b": positive(*cut(), seed=seed + 1)}
    assert disagreement(op(name, a, b), operands) < COMPARED
    assert disagreement(op("sum", op(name, op("square", a), b)), operands) < COMPARED


unary = st.sampled_from("neg exp square sin tanh sigmoid silu transpose relu".split())
trees = st.recursive(
    st.sampled_from([a, b, Number(2)]),
    lambda inner: st.one_of(
        st.builds(lambda name, x: op(name, x), unary, inner.filter(lambda x: not isinstance(x, Number))),
        st.builds(lambda name, x, y: op(name, x, y), st.sampled_from(["add", "sub", "mul"]), inner, inner),
        st.builds(lambda x: op("softmax", x, dim=-1), inner.filter(lambda x: not isinstance(x, Number))),
    ),
    max_leaves=5,
)


@given(trees.filter(lambda tree: isinstance(tree, Apply)), st.integers(0, 99))
def test_rules_compose(tree, seed):
    operands = {"a": normal(2, 2, seed=seed) / 2, "b": normal(2, seed=seed) / 2}
    try:
        y = evaluate(tree, operands)
    except FormulaError:
        return  # exp of a plain number's transpose and the like
    if isinstance(y, torch.Tensor):
        scale = 1 + float(y.abs().max()) ** 2
        assert disagreement(op("sum", op("tanh", tree)), operands) < COMPARED * scale


# ---- how the rules read

TWO_BY_TWO = dict.fromkeys("QKVASZxyW", torch.eye(2))
DZ, DS, DA = Leaf("∂L/∂Z"), Leaf("∂L/∂S"), Leaf("∂L/∂A")
Q, K, V, A, S = (Leaf(text) for text in "QKVAS")


def test_attention_reads_as_in_the_textbook():
    assert adjoints(op("matmul", A, V), DZ, TWO_BY_TWO, wanted="AV") == {
        "A": op("matmul", DZ, op("transpose", V)),
        "V": op("matmul", op("transpose", A), DZ),
    }
    assert adjoints(op("softmax", S, dim=-1), DA, TWO_BY_TWO, name="A", wanted="S") == {
        "S": op("mul", A, op("sub", DA, op("rowsum", op("mul", A, DA)))),
    }
    scores = op("div", op("matmul", Q, op("transpose", K)), op("sqrt", Leaf("d")))
    assert adjoints(scores, DS, {**TWO_BY_TWO, "d": 2}, name="S", wanted="QK") == {
        "Q": op("div", op("matmul", DS, K), op("sqrt", Leaf("d"))),
        "K": op("div", op("matmul", op("transpose", DS), Q), op("sqrt", Leaf("d"))),
    }


def test_a_layer_reads_as_in_the_textbook():
    operands = {"x": torch.ones(5, 3), "W": torch.ones(2, 3), "b": torch.ones(2)}
    assert adjoints(op("linear", Leaf("x"), W, b), G, operands) == {
        "x": op("matmul", G, W),
        "W": op("matmul", op("transpose", G), Leaf("x")),
        "b": op("sum", G, dim=0),
    }


def test_coefficients_cancel():
    # L = (2h − 3)²/2: ∂L/∂h = ½ · 2 (2h − 3) · 2 = 2 (2h − 3)
    h = Leaf("h")
    loss = op("div", op("pow", op("sub", op("mul", 2, h), 3), 2), 2)
    assert adjoints(loss, Number(1), {"h": torch.tensor(1.0)}) == {"h": op("mul", 2, op("sub", op("mul", 2, h), 3))}


def test_the_gradient_of_a_sum_of_products_is_not_written_with_ones():
    operands = {"a": torch.ones(2, 3), "b": torch.ones(2, 3)}
    assert adjoints(op("sum", op("mul", a, b)), Number(1), operands) == {"a": b, "b": a}
    assert adjoints(op("sum", a), Number(1), operands, wanted="a") == {"a": Apply("ones", (), (("shape", (2, 3)),))}


def test_a_name_that_is_assigned_again_means_its_old_value():
    x = Leaf("x")
    assert adjoints(op("exp", x), G, {"x": torch.ones(2)}, name="x") == {"x": op("mul", G, op("exp", x))}


def test_exact_values_agree_exactly():
    x = exact("1 2; 0 1").requires_grad_()
    y = x.softmax(-1)
    upstream = exact("1 0; 0 1")
    (theirs,) = torch.autograd.grad(y, x, upstream)
    rule = adjoints(op("softmax", Leaf("x"), dim=-1), G, {"x": x.detach()}, name="y")["x"]
    assert exact.equal(evaluate(rule, {"∂L/∂y": upstream, "y": y.detach()}), theirs) == (True, "proved")


def test_a_reshape_is_undone_without_knowing_its_arguments():
    rules = adjoints(op("reshape", a, by=by("view(*size)")), G, PAIR, result=PAIR["a"].view(6), wanted="a")
    assert rules == {"a": op("reshape", G, by=by("reshape(2, 3)"))}


@pytest.mark.parametrize("shape", [(), (1,), (4,), (1, 4), (3, 1), (3, 4), (1, 1, 4), (1, 3, 1), (2, 1, 1), (2, 1, 4)])
def test_what_is_repeated_is_summed(shape):
    operands = {"a": normal(*shape), "b": normal(2, 3, 4, seed=1)}
    for name in ("add", "mul", "sub", "div"):
        assert disagreement(op(name, a, b), operands) < COMPARED


# ---- what has no rule or no value says so


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (Call("self.attn", (a,)), "there is no rule for self.attn(…): it has no formula here"),
        (Code("a if a > 0 else b"), ""),
        (op("fold", a, b), "there is no rule for fold"),
        (op("diagonal", a), "there is no rule for diagonal of anything but a square matrix"),
        (
            op("conv2d", a, op("reshape", b, by=by("view(1, 1, 2, 3)"))),
            "there is no rule for conv2d of an input without a batch",
        ),
        (op("norm", a, 1), "there is no rule for the norm with p = 1"),
        (op("einsum", a, text="ij->i"), "there is no rule for einsum with 'ij->i': a letter is summed within one operand"),
        (op("prod", op("mul", 0, a)), "there is no rule for prod where a factor is 0"),
        (op("clamp", b, a), "there is no rule for the bounds of clamp"),
        (op("scaled_dot_product_attention", a, a, a, dropout_p=0.5), "there is no rule for attention with dropout"),
        (op("cat", a), "there is no rule for cat of a list that is not written out"),
        (op("max", a, a), "there is no rule for max where the two are equal"),
    ],
)
def test_a_missing_rule_says_so(formula, message):
    if isinstance(formula, Code):
        assert adjoints(formula, G, PAIR) == {}  # nothing of it is a leaf
        return
    with pytest.raises(RuleError) as error:
        adjoints(formula, G, PAIR, result=PAIR["a"])
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("formula", "operands", "message"),
    [
        (op("cross_entropy", a, b, label_smoothing=0.1), PAIR, "cross_entropy of soft targets with weights or smoothing"),
    ],
)
def test_a_loss_without_a_rule_says_so(formula, operands, message):
    with pytest.raises(RuleError) as error:
        adjoints(formula, G, operands)
    assert str(error.value) == f"there is no rule for {message}"


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (Call("self.attn", (a,)), "self.attn(…) cannot be computed again: it has no formula here."),
        (Code("[x for x in a]"), "'[x for x in a]' cannot be computed again: it is Python without a formula."),
        (Leaf("q"), "'q' cannot be computed again: its value was not recorded."),
        (op("index", a, at=at("q")), "'q' cannot be computed again: its value was not recorded."),
        (op("index", a, at=at("f(a)")), "'f(…)' cannot be computed again: its value was not recorded."),
        (op("reshape", a, by=by("cuda()")), "'cuda()' cannot be computed again: cuda is not in the table of reshapes."),
        (op("fold", a), "fold cannot be computed again: it is not in the table of operations."),
    ],
)
def test_what_cannot_be_computed_says_so(formula, message):
    with pytest.raises(FormulaError) as error:
        evaluate(formula, PAIR)
    assert str(error.value) == message


def test_what_pytorch_refuses_is_the_reason():
    with pytest.raises(FormulaError, match="matmul cannot be computed again: mat1 and mat2 shapes cannot be multiplied"):
        evaluate(op("matmul", a, b), PAIR)

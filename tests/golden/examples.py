"""Traces built by hand, one for each thing a printer must do. `python tests/golden/record.py` prints them into files."""

import math

import torch

from tests.formulas import naming
from workings.trace.formula.tree import Apply, Call, Code, Leaf, Number, Sequence
from workings.trace.record import Trace
from workings.trace.step import Step

Q, K, V, S, A, Z = map(Leaf, "QKVSAZ")


def apply(op, *args, **options):
    return Apply(op, args, tuple(options.items()))


def given(**values):
    return [Step("input", name, result=value) for name, value in values.items()]


def assign(name, source, formula, operands, result, **more):
    return Step("assign", name, f"{name} = {source}", formula, operands, result, **more)


def called(*steps, agreement="matches the unmodified run (largest difference 0)", **more):
    return Trace(Step("root", children=[Step("call", "f", children=list(steps))]), agreement=agreement, **more)


def gradient():
    """∂L/∂A = ∂L/∂Z Vᵀ under the line that caused it."""
    a, v, g = torch.tensor([[0.5, 0.5]]), torch.tensor([[2.0, 0], [0, 1]]), torch.ones(1, 2)
    rule = apply("matmul", Leaf("∂L/∂Z"), apply("transpose", V))
    back = Step("gradient", "∂L/∂A", formula=rule, operands={"∂L/∂Z": g, "V": v}, result=g @ v.mT)
    bare = Step("gradient", "∂L/∂V", result=a.mT @ g, note="the rule of this operation is not written out")
    return called(assign("Z", "A @ V", apply("matmul", A, V), {"A": a, "V": v}, a @ v, children=[back, bare]))


def large():
    """Values too large to show: a summary each, NaN counted, a mask, integers."""
    x = torch.linspace(-3, 3, 4096).reshape(64, 64)
    y = x.clone()
    y[0, :2] = math.nan
    negative = apply("compare", Leaf("x"), Number(0), relation="<")
    steps = [
        *given(x=x, ids=torch.arange(100)),
        assign("y", "g(self.x_hat)", Call("self.g", (Leaf("self.x_hat"),)), {"self.x_hat": x}, y),
        assign("mask", "x < 0", negative, {"x": x}, x < 0),
    ]
    return called(*steps, first_bad=steps[2])


def nested():
    """blocks.0 inside the function, attn inside it: folded, open, and open to the end."""
    x = torch.tensor([[1.0, 2.0]])
    w, one = torch.eye(2), torch.ones(2)
    linear = apply("linear", Leaf("x"), Leaf("self.W_Q"), Leaf("self.b"))
    deepest = Step("return", source="return F.linear(x, self.W_Q, self.b)", formula=linear, result=x + 1)
    deepest.operands = {"x": x, "self.W_Q": w, "self.b": one}
    attn = Step("module", "blocks.0.attn", "CausalAttention", children=[*given(x=x), deepest], result=x + 1)
    inner = assign(
        "y_hat", "x + self.attn(x)", apply("add", Leaf("x"), Call("self.attn", (Leaf("x"),))), {"x": x}, 2 * x + 1
    )
    inner.children = [attn]
    block = Step("module", "blocks.0", "Block", children=[*given(x=x), inner], result=2 * x + 1)
    outer = assign("h", "self.blocks[0](x)", Call("self.block", (Leaf("x"),)), {"x": x}, 2 * x + 1, children=[block])
    branch = Step("branch", "if", "if self.training:", Leaf("self.training"), result=False)
    skipped = Step("expression", source="exec(code)", note="not shown: the source is not available")
    return called(*given(x=x), outer, branch, skipped)


def loop():
    """A hundred turns, of which the first ten and the last are kept."""
    double = apply("mul", Number(2), Leaf("h"))
    turns = [
        Step("turn", str(t + 1), count=t + 1, children=[assign("h", "2 * h", double, {"h": 2.0**t}, 2.0 ** (t + 1))])
        for t in (*range(10), 99)
    ]
    for turn in turns:
        turn.operands["t"] = int(turn.name) - 1
    more = Step("folded", count=89, note="turns 11–99 ran and are not shown")
    return called(Step("loop", "t", "for t in range(100):", children=[*turns[:10], more, turns[10]]))


def hostile():
    """Names that are markup in some output: all of them are text."""
    names = ["<script>alert(1)</script>", "a$b$ %x #1 \\input{x} & ~^", "x`y`*z*_w_ [l](u)", "\x1b[31mred", "変数", "été"]
    steps = [assign(n, "1", Code(f"f({n!r})"), {}, torch.tensor([1.0])) for n in names]
    steps += [Step("module", n, n, note=n, result=n) for n in names]
    return called(*steps, notes=names)


def containers():
    """Several outputs, a dict, text, a 3-D tensor, booleans, an unknown object."""
    pair = Sequence((Leaf("a"), Leaf("b")))
    cube = torch.arange(8.0).reshape(2, 2, 2)
    return called(
        *given(flags=torch.tensor([True, False]), cube=cube, words="one", nothing=None, other=object()),
        assign("a, b", "f(x)", Call("f", (Leaf("x"),)), {"x": 1}, (torch.eye(2), 0.5), syntax=naming("a, b")),
        assign("sizes", "{'a': 1}", Code("{'a': 1}"), {}, {"a": 1, "b": [1, 2]}),
        Step("return", source="return a, b", formula=pair, result=(torch.eye(2), 0.5)),
    )


EXAMPLES = {f.__name__: f for f in (gradient, large, nested, loop, hostile, containers)}

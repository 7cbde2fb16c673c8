"""Random programs: the gradient of every name is autograd's, its contributions add up, and every rule agrees."""

from dataclasses import replace

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.formulas import at
from workings import exact
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.tree import Apply, Leaf, Number, Sequence, leaves
from workings.trace.gradient.backward import backward
from workings.trace.operations import OPERATIONS
from workings.trace.record import Trace
from workings.trace.step import Step
from workings.trace.tensors.snapshot import Snapshots


def op(name, *args, **options):
    parts = tuple(Number(x) if isinstance(x, (int, float)) else x for x in args)
    return Apply(name, parts, tuple(options.items()))


RATIONAL = {
    # of one or two matrices of two rows and columns, another; whole numbers stay whole numbers
    "add": lambda a, b: op("add", a, b),
    "sub": lambda a, b: op("sub", a, b),
    "mul": lambda a, b: op("mul", a, b),
    "matmul": lambda a, b: op("matmul", a, b),
    "transpose": lambda a, b: op("transpose", a),
    "square": lambda a, b: op("square", a),
    "cumsum": lambda a, b: op("cumsum", a, dim=1),
    "flip": lambda a, b: op("flip", a, 0),
    "roll": lambda a, b: op("roll", a, 1, 1),
    "tril": lambda a, b: op("tril", a),
    "outer": lambda a, b: op("outer", op("index", a, at=at("0")), op("index", b, at=at(":, 1"))),
    "stack": lambda a, b: op("stack", Sequence((op("sum", a, dim=0), op("index", b, at=at("1")))), dim=0),
    "einsum": lambda a, b: op("einsum", a, b, text="ij,kj->ik"),
    "row": lambda a, b: op("add", a, op("sum", b, dim=1, keepdim=True)),
    "put": lambda a, b: op("put", a, op("index", b, at=at("1")), at=at("0")),
    "mean": lambda a, b: op("mul", op("mean", a), b),
}
REAL = RATIONAL | {
    "tanh": lambda a, b: op("tanh", a),
    "softmax": lambda a, b: op("softmax", a, dim=-1),
    "sigmoid": lambda a, b: op("mul", op("sigmoid", a), b),
    "gelu": lambda a, b: op("gelu", a),
    "softplus": lambda a, b: op("softplus", op("tanh", a)),
    "logsumexp": lambda a, b: op("add", a, op("logsumexp", op("tanh", b), dim=0, keepdim=True)),
    "layer_norm": lambda a, b: op("layer_norm", op("tanh", a), Sequence((Number(2),)), op("index", b, at=at("0")), eps=0.1),
    "rms_norm": lambda a, b: op("rms_norm", op("tanh", a), Sequence((Number(2),)), eps=0.1),
    "sort": lambda a, b: op("sort", a),
    "clamp": lambda a, b: op("clamp", a, -1, 1),
    "attention": lambda a, b: op("scaled_dot_product_attention", op("tanh", a), op("tanh", b), b),
}


class Program:
    """Statements that are run and recorded as the tracer does; `again` changes a value in place."""

    def __init__(self, **inputs):
        self.lives, self.take = {**inputs}, Snapshots().take
        self.trace = Trace(Step("root", children=[Step("input", k, result=self.take(v), live=v) for k, v in inputs.items()]))

    def let(self, name, formula, in_place=False):
        read = {text: self.lives[text] for text in leaves(formula)}
        step = Step("assign", name, f"{name} = …", formula, {k: self.take(v) for k, v in read.items()}, lives=read)
        found = evaluate(formula, read)
        self.lives[name] = self.lives[name].mul_(2).add_(read[leaves(formula)[1]]) if in_place else found
        step.live, step.result = self.lives[name], self.take(self.lives[name])
        self.trace.root.children.append(step)

    def gradients(self):
        backward(self.trace)
        return {s.name: s for s in self.trace.steps() if s.kind == "gradient"}


lines = st.lists(
    st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.booleans()), min_size=1, max_size=5
)


def written(program, table, choices, in_place=True):
    """A program of these choices: each line takes an operation and two names."""
    for number, (which, first, second, changes) in enumerate(choices):
        names = list(program.lives)
        a, b = (Leaf(names[i % len(names)]) for i in (first, second))
        mine = a.text.startswith("t") and a != b
        if changes and mine and in_place:  # t ← 2 t + b, in place
            program.let(a.text, op("add", op("mul", 2, a), b), in_place=True)
        else:
            program.let(f"t{number}", table[list(table)[which % len(table)]](a, b))
    last = Leaf(list(program.lives)[-1])
    program.let("L", op("sum", op("mul", last, Leaf("x"))))
    return program


def holds(program, inputs, close):
    found = program.gradients()
    theirs = torch.autograd.grad(program.lives["L"], inputs.values(), allow_unused=True)
    for name, gradient in zip(inputs, theirs, strict=True):
        if gradient is not None:
            close(found[f"∂L/∂{name}"].result, gradient)
    for step in found.values():
        assert "elsewhere" not in step.note, step.note
        assert step.note.startswith("rule checked") or not step.note, f"{step.name}: {step.note}"
        if step.formula and " from " in str(leaves(step.formula)):
            close(sum(step.operands.values()), step.result)


@settings(max_examples=40, deadline=None)
@given(lines, st.integers(0, 99))
def test_real_programs(choices, seed):
    generator = torch.Generator().manual_seed(seed)
    inputs = {k: torch.randn(2, 2, dtype=torch.float64, generator=generator).requires_grad_() for k in ("x", "y")}
    program = written(Program(**inputs), REAL, choices, in_place=False)
    if float(program.lives["L"].detach().abs()) < 1e6:
        holds(program, inputs, lambda ours, theirs: torch.testing.assert_close(ours, theirs))


@settings(max_examples=40, deadline=None)
@given(lines, st.integers(0, 99))
def test_exact_programs(choices, seed):
    generator = torch.Generator().manual_seed(seed)
    inputs = {k: exact(torch.randint(-2, 3, (2, 2), generator=generator).tolist()).requires_grad_() for k in ("x", "y")}
    program = written(Program(**inputs), RATIONAL, choices[:3], in_place=False)

    def same(ours, theirs):
        assert exact.equal(ours, theirs) == (True, "proved")

    holds(program, inputs, same)


@settings(max_examples=40, deadline=None)
@given(lines, st.integers(0, 99))
def test_programs_that_change_values_in_place(choices, seed):
    # additions only: autograd forbids changing what it still needs
    generator = torch.Generator().manual_seed(seed)
    inputs = {k: torch.randn(2, 2, dtype=torch.float64, generator=generator).requires_grad_() for k in ("x", "y")}
    table = {name: RATIONAL[name] for name in ("add", "sub", "cumsum", "flip", "roll", "tril")}
    program = Program(**inputs)
    program.let("t", op("add", Leaf("x"), Leaf("y")))
    holds(written(program, table, choices), inputs, lambda ours, theirs: torch.testing.assert_close(ours, theirs))


def test_a_rule_broken_on_purpose_turns_it_red(monkeypatch):
    monkeypatch.setitem(OPERATIONS, "flip", replace(OPERATIONS["flip"], gradient=lambda node: (node.G, None)))
    inputs = {k: torch.randn(2, 2, dtype=torch.float64).requires_grad_() for k in ("x", "y")}
    program = Program(**inputs)
    program.let("t", op("flip", Leaf("y"), 0))
    program.let("L", op("sum", op("mul", Leaf("t"), Leaf("x"))))
    try:
        holds(program, inputs, lambda ours, theirs: torch.testing.assert_close(ours, theirs))
    except AssertionError as error:
        assert "the one that was tried gives other numbers than autograd" in str(error)
    else:
        raise AssertionError("a wrong rule was not found out")

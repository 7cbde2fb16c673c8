"""Inside one expression: comprehensions, named values, conditional expressions, properties."""

import torch
from torch import nn

import workings
from workings.trace.capture.capture import capture


def assigned(trace):
    return {s.name: s for s in trace.steps() if s.kind in ("assign", "return")}


def one_loop(step):
    (loop,) = [s for s in step.children if s.kind == "loop"]
    return loop


def test_a_comprehension_has_a_turn_for_each_element():
    def f(xs):
        ys = [x * x + 1 for x in xs]
        return ys

    trace = capture(f, [torch.tensor(2.0), torch.tensor(3.0)])
    loop = one_loop(assigned(trace)["ys"])
    assert loop.source == "for x in xs"
    elements = [turn.children[0] for turn in loop.children]
    assert [(e.source, e.operands["x"].item(), e.result.item()) for e in elements] == [
        ("x * x + 1", 2, 5),
        ("x * x + 1", 3, 10),
    ]
    assert trace.difference == 0


def test_calls_in_a_comprehension_are_opened_in_its_turn():
    def square(t):
        u = t * t
        return u

    trace = capture(lambda xs: [square(x) for x in xs], [torch.tensor(2.0)])
    (element,) = one_loop(trace.root.children[0].children[-1]).children[0].children
    assert [c.name for c in element.children] == ["square"]


def test_nested_filtered_and_keyed_comprehensions():
    def f(xs):
        pairs = [a * b for a in xs for b in xs if b > 1]
        table = {k: v * 2 for k, v in enumerate(xs)}
        total = sum(x * 2 for x in xs)
        kept = {x.item() + 1 for x in xs}
        plain = [x for x in xs]
        return pairs, table, total, kept, plain

    xs = [torch.tensor(1.0), torch.tensor(2.0)]
    trace = capture(f, xs)
    steps = assigned(trace)
    outer = one_loop(steps["pairs"])
    assert [[len(turn.children) for turn in one_loop(turn).children] for turn in outer.children] == [[0, 1], [0, 1]]
    assert [t.item() for t in trace.result[0]] == [2, 4]
    assert [turn.children[0].result.item() for turn in one_loop(steps["table"]).children] == [2, 4]
    assert [turn.children[0].source for turn in one_loop(steps["total"]).children] == ["x * 2"] * 2
    assert one_loop(steps["table"]).source == "for k, v in enumerate(xs)"
    assert len(one_loop(steps["kept"]).children) == 2
    assert steps["plain"].children == []  # nothing happens to the elements
    assert trace.difference == 0


def test_long_comprehensions_are_bounded():
    trace = capture(lambda x: [x * i for i in range(10_000)], torch.ones(1))
    assert len(trace.result) == 10_000
    assert sum(1 for _ in trace.steps()) < 200


def test_generator_expressions_that_are_used_later_run_as_they_are():
    def f(x):
        later = (x * i for i in range(3))
        y = x + 1
        return y, list(later)

    trace = capture(f, torch.ones(1))
    assert [t.item() for t in trace.result[1]] == [0, 1, 2]
    assert not [s for s in trace.steps() if s.kind == "loop"]


def test_a_named_value_is_a_step_before_the_statement_that_reads_it():
    def f(x):
        if (n := x.sum()) > 0:
            y = (m := n + 1) * n
            y = y * m
        return y

    trace = capture(f, torch.tensor([1.0, 2.0]))
    children = trace.root.children[0].children
    assert [s.name for s in children] == ["x", "n", "if", "m", "y", "y", ""]
    n, branch, m, y = children[1:5]
    assert (n.source, n.result.item(), m.source, m.result.item()) == ("n = x.sum()", 3, "m = n + 1", 4)
    assert branch.operands["n"].item() == 3
    assert {name: value.item() for name, value in y.operands.items()} == {"n": 3, "m": 4}
    assert y.result.item() == 12


def test_a_named_value_is_not_read_before_it_is_made():
    def f(x):
        n = x * 100
        y = (n := x + 1) * 2
        return y, n

    y = assigned(capture(f, torch.tensor([1.0])))["y"]
    assert y.operands["n"].item() == 2


def test_a_named_value_in_the_test_of_a_loop_belongs_to_the_turn():
    def f(n):
        total = 0
        while (n := n - 1) > 0:
            total = total + n
        return total

    trace = capture(f, 3)
    (loop,) = [s for s in trace.steps() if s.kind == "loop"]
    assert [[s.name for s in turn.children] for turn in loop.children] == [["n", "total"], ["n", "total", "n"]]
    assert trace.result == 2 + 1


def test_a_conditional_expression_shows_the_branch_it_took():
    def f(x, mask=None):
        S = x * 2 if mask is None else x.masked_fill(mask, 0)
        return S

    x = torch.tensor([1.0, 2.0])
    step = assigned(capture(f, x))["S"]
    assert (list(step.operands), step.note) == (["x"], "since mask is None is true")
    assert "S = x·2 = [1, 2]·2 = [2  4]" in workings.show(f, x).text()
    step = assigned(capture(f, x, torch.tensor([True, False])))["S"]
    assert (list(step.operands), step.note) == (["x", "mask"], "since mask is None is false")
    assert type(step.formula).__name__ == "Apply"


def test_conditional_expressions_inside_others():
    def f(x, a):
        y = (x if a > 1 else -x) + (1 if a > 5 else 2 if a > 3 else 3)
        return y

    notes = {a: assigned(capture(f, torch.ones(1), a))["y"] for a in (0, 4, 6)}
    assert [notes[a].result.item() for a in notes] == [2, 3, 2]
    assert notes[4].note == "since a > 1 is true; since a > 5 is false; since a > 3 is true"
    assert notes[6].note == "since a > 1 is true; since a > 5 is true"


def test_the_test_of_a_conditional_runs_once():
    seen = []

    def f(x):
        y = x if seen.append(1) is None else -x
        return y

    capture(f, torch.ones(1), replay=False)
    assert seen == [1]


def test_gradients_go_through_the_branch_taken():
    work = workings.show(lambda x: (x * 3 if x.sum() > 0 else x).sum(), torch.tensor([1.0, 2.0]), backward=True)
    assert work["∂L/∂x"].tolist() == [3, 3]


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3.0

    @property
    def scale(self):
        r = self.k**2
        return r

    def forward(self, x):
        y = x * self.scale
        return y


def test_properties_are_opened_and_their_values_are_operands():
    trace = capture(Scaled(), torch.ones(1))
    (y,) = [s for s in trace.steps() if s.name == "y"]
    assert y.operands["self.scale"] == 9
    (call,) = y.children
    assert ([s.name for s in call.children], call.result) == (["r", ""], 9)
    assert trace.difference == 0


def test_properties_that_are_not_opened_still_have_a_value():
    trace = capture(Scaled(), torch.ones(1), depth=1)
    (y,) = [s for s in trace.steps() if s.name == "y"]
    assert (y.operands["self.scale"], y.children) == (9, [])


def test_a_property_that_fails_behaves_as_it_does():
    class Fallback:
        @property
        def p(self):
            raise AttributeError("p")

        def __getattr__(self, name):
            return 7

        def run(self, x):
            return x * self.p

    trace = capture(Fallback().run, torch.ones(1))
    assert (trace.error, trace.result.item()) == (None, 7)


def test_attributes_of_objects_that_can_be_called():
    class Scale:
        def __init__(self, by):
            self.by = by

        def __call__(self, x):
            y = x * self.by
            return y

    def f(x):
        double = Scale(2)
        return double(x)

    (y,) = [s for s in capture(f, torch.ones(1)).steps() if s.name == "y"]
    assert y.operands["self.by"] == 2

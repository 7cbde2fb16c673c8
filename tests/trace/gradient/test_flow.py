"""Values that are unpacked, changed in place, kept in lists or taken apart by loops: each has its gradient."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from workings import ExactTensor, exact
from workings.show.formula.notation import text_formula
from workings.trace.capture.capture import capture
from workings.trace.formula.tree import Apply, Leaf, Number, Sequence
from workings.trace.gradient.backward import backward
from workings.trace.gradient.loss import require_gradients
from workings.trace.operations import OPERATIONS


def normal(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed + 7)).requires_grad_()


def worked(function, *args):
    """Every gradient of a function by its name; those of the arguments are autograd's."""
    trace = capture(function, *args)
    assert trace.error is None
    backward(trace)
    found = {step.name: step for step in trace.steps() if step.kind == "gradient"}
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    tensors = {name: value for name, value in zip(names, args, strict=True) if getattr(value, "requires_grad", False)}
    theirs = torch.autograd.grad(function(*args), tensors.values(), allow_unused=True)
    for name, gradient in zip(tensors, theirs, strict=True):
        if gradient is not None:
            torch.testing.assert_close(found[f"∂L/∂{name}"].result, gradient)
    return trace, found


def all_checked(found):
    """Every line has a rule that agrees with autograd, or is a sum of such lines with nothing left over."""
    return all(step.note.startswith("rule checked") or (step.formula and not step.note) for step in found.values())


def filed(trace):
    """Source → names of the gradients under it."""
    return {
        step.source: [child.name for child in step.children if child.kind == "gradient"]
        for step in trace.steps()
        if any(child.kind == "gradient" for child in step.children)
    }


# ---- several results


def test_the_parts_of_a_chunk_stand_side_by_side():
    # ∂L/∂q = k = (3, 4), ∂L/∂k = q = (1, 2), ∂L/∂v = 1: ∂L/∂x = (3 4 1 2 1 1)
    def f(x):
        q, k, v = x.chunk(3, -1)
        L = (q * k + v).sum()
        return L

    _, found = worked(f, exact("1 2 3 4 5 6").requires_grad_())
    assert found["∂L/∂x"].result.text() == "[3  4  1  2  1  1]"
    parts = Sequence((Leaf("∂L/∂q"), Leaf("∂L/∂k"), Leaf("∂L/∂v")))
    assert found["∂L/∂x"].formula == Apply("cat", (parts,), (("dim", -1),))
    assert all_checked(found)


def test_a_part_without_gradient_is_zero():
    def f(x):
        a, _, c = torch.split(x, [1, 1, 2])
        L = (a * c).sum()
        return L

    _, found = worked(f, exact("1 2 3 4").requires_grad_())
    assert found["∂L/∂x"].result.text() == "[7  0  1  1]"
    assert found.keys() == {"∂L/∂a", "∂L/∂c", "∂L/∂x"} and all_checked(found)


def test_nested_and_starred_targets():
    def f(x, z):
        a, (b, *rest) = x, z.unbind()
        L = (a * b * rest[0] + rest[1]).sum()
        return L

    _, found = worked(f, normal(2), normal(3, 2, seed=1))
    assert {"∂L/∂x", "∂L/∂b", "∂L/∂rest[0]", "∂L/∂rest[1]", "∂L/∂z"} == found.keys()


def test_names_that_change_places():
    def f(x, z):
        a, b = x, z
        a, b = b, a * b
        L = (a * b).sum()
        return L

    _, found = worked(f, normal(2), normal(2, seed=1))
    assert all_checked(found)


@pytest.mark.parametrize("way", range(4))
def test_values_and_where_they_stood(way):
    def pair(x):
        m, _ = x.max(dim=1)
        L = (m * m).sum()
        return L

    def attribute(x):
        m = x.max(dim=1)
        L = (m.values * m[0]).sum()
        return L

    def chained(x):
        m = x.max(dim=1).values
        L = (m * m).sum()
        return L

    def first(x):
        m = torch.max(x, 1)[0]
        L = (m * m).sum()
        return L

    # the larger of each row is 3 and 4: ∂L/∂x = 2m there
    _, found = worked((pair, attribute, chained, first)[way], exact("1 3; 4 2").requires_grad_())
    assert found["∂L/∂x"].result.text() == "⎡0  6⎤\n⎣8  0⎦"
    assert all_checked(found)


@pytest.mark.parametrize("way", range(4))
def test_of_several_largest_one_is_chosen(way):
    """x.max(dim) hands the gradient to the entry it chose; x.amax(dim) and x.max() share it among the largest."""

    def first(x):
        m = x.max(1)[0]
        L = (m * m).sum()
        return L

    def chained(x):
        m = x.max(1, keepdim=True).values
        L = (m * m).sum()
        return L

    def shared(x):
        m = x.amax(1)
        L = (m * m).sum()
        return L

    def whole(x):
        m = x.max()
        L = m * m
        return L

    # rows 3 3 and 4 2: ∂L/∂m = 6 and 8; the largest of all is one 4
    gradient = [[[6, 0], [6, 0], [3, 3], [0, 0]][way], [8, 0]]
    rule = {
        0: "∂L/∂x = (∂L/∂m)[:, None] added at arg max(x, axis 1), to zeros (axis 1)",
        1: "∂L/∂x = ∂L/∂m added at arg max(x, axis 1), to zeros (axis 1)",
        2: "∂L/∂x = (∂L/∂m)[:, None] ⊙ ([x = max(x, axis 1)] / rowsum([x = max(x, axis 1)]))",
        3: "∂L/∂x = ∂L/∂m·[x = max(x)]",
    }[way]
    for x in (exact("3 3; 4 2").requires_grad_(), torch.tensor([[3.0, 3.0], [4.0, 2.0]], requires_grad=True)):
        _, found = worked((first, chained, shared, whole)[way], x)
        step = found["∂L/∂x"]
        assert (step.result.float64() if isinstance(x, ExactTensor) else step.result).tolist() == gradient
        assert f"∂L/∂x = {text_formula(step.formula, None, frozenset({'∂L/∂m'} if way == 3 else ()))}" == rule
        assert all_checked(found)


def test_sorting_is_undone():
    # sorted: 1 2 3, weighted 1 2 3: the gradient of the entry that came k-th is k
    def f(x, w):
        s, _ = torch.sort(x)
        L = (s * w).sum()
        return L

    _, found = worked(f, exact("3 1 2").requires_grad_(), exact("1 2 3"))
    assert found["∂L/∂x"].result.text() == "[3  1  2]"
    assert found["ρ"].formula == Apply("order", (Leaf("x"),), (("dim", -1),))
    assert found["ρ"].result.tolist() == [1, 2, 0]


def test_a_running_sum_is_summed_from_the_end():
    def f(x, w):
        y = x.cumsum(0)
        L = (y * w).sum()
        return L

    _, found = worked(f, exact("1 1 1").requires_grad_(), exact("1 2 3"))
    assert found["∂L/∂x"].result.text() == "[6  5  3]"
    assert found["∂L/∂x"].formula == Apply("reversed_cumsum", (Leaf("∂L/∂y"),), (("dim", 0),))


# ---- changes in place


def test_versions_are_numbered_and_filed_under_their_lines():
    # h = 2x = 2, h#2 = 3h = 6, h#3 = h#2 + y = 7, L = h#3²/2: ∂L/∂h#3 = 7, and 42 for x
    def f(x, y):
        h = x * 2
        h.mul_(3)
        h += y
        L = h * h / 2
        return L

    trace, found = worked(f, *(exact("1").requires_grad_() for _ in "xy"))
    assert {name: step.result.text() for name, step in found.items()} == {
        "∂L/∂x": "42",
        "∂L/∂h": "21",
        "∂L/∂h#2": "7",
        "∂L/∂y": "7",
        "∂L/∂h#3": "7",
    }
    assert filed(trace) == {
        "h = x * 2": ["∂L/∂x"],
        "h.mul_(3)": ["∂L/∂h"],
        "h += y": ["∂L/∂h#2", "∂L/∂y"],
        "L = h * h / 2": ["∂L/∂h#3"],
    }
    assert found["∂L/∂h"].formula == Apply("mul", (Number(3), Leaf("∂L/∂h#2")))
    assert all_checked(found)


def test_an_entry_that_is_replaced_has_no_gradient_before():
    def f(x, v):
        h = x * 2
        h[1] = v
        L = (h * h).sum()
        return L

    trace, found = worked(f, exact("1 2 3").requires_grad_(), exact("5").requires_grad_())
    assert found["∂L/∂h"].result.text() == "[4  0  12]"
    assert found["∂L/∂v"].result.text() == "10"
    assert filed(trace)["h[1] = v"] == ["∂L/∂h", "∂L/∂v"]
    assert all_checked(found)


def test_zeros_that_are_filled():
    def f(x, z):
        h = torch.zeros(2, 3, dtype=torch.float64)
        h[0] = x
        h[1] += x * z
        L = (h * h).sum()
        return L

    trace, found = worked(f, normal(3), normal(3, seed=1))
    assert {"∂L/∂h#2", "∂L/∂h#3", "∂L/∂x from h#2", "∂L/∂x from h#3", "∂L/∂z"} <= found.keys()
    assert "no gradient of h: it does not require one" in trace.notes
    assert all_checked(found)


def test_a_value_that_was_read_before_it_changed():
    # y = 2x, z = y + 1 reads y; y#2 = y + 3; L = z y#2
    def f(x):
        y = x * 2
        z = y + 1
        y += 3
        L = z * y
        return L

    trace, found = worked(f, exact("2").requires_grad_())
    # x = 2: y = 4, z = 5, y#2 = 7. ∂L/∂z = 7, ∂L/∂y#2 = 5, ∂L/∂y = 7 + 5 = 12, ∂L/∂x = 24
    assert {name: step.result.text() for name, step in found.items()} == {
        "∂L/∂z": "7",
        "∂L/∂y#2": "5",
        "∂L/∂y from z": "7",
        "∂L/∂y from y#2": "5",
        "∂L/∂y": "12",
        "∂L/∂x": "24",
    }
    assert filed(trace)["y += 3"] == ["∂L/∂y from y#2"]


def in_chain(x, z):
    h = x * 2
    h.add_(1).mul_(z)
    L = (h * h).sum()
    return L


def by_methods(x, z):
    h = x * 2
    h.add_(z, alpha=3)
    h.clamp_(min=0.1)
    h = F.relu(h, inplace=True)
    L = (h * z).sum()
    return L


def copied(x, z):
    h = x * 2
    g = h + 1
    h.copy_(z)
    L = (h * z + g).sum()
    return L


def by_a_mask(x, z):
    h = x * 2
    h[x > 0] = 0.5
    L = (h * z).sum()
    return L


@pytest.mark.parametrize("function", [in_chain, by_methods, copied, by_a_mask])
def test_other_changes_in_place(function):
    _, found = worked(function, normal(4), normal(4, seed=1))
    assert all_checked(found)


def test_an_input_changed_in_place_is_worked_on_a_copy():
    def f(x, y):
        x += y
        L = (x * x).sum()
        return L

    mine = torch.tensor([1.0, 2.0])
    x, y = require_gradients((mine, torch.tensor([3.0, 4.0])), copies=True)
    trace = capture(f, x, y)
    backward(trace)
    found = {step.name: step for step in trace.steps() if step.kind == "gradient"}
    assert {name: step.result.tolist() for name, step in found.items()} == {
        "∂L/∂x": [8, 12],
        "∂L/∂y": [8, 12],
        "∂L/∂x#2": [8, 12],
    }
    assert mine.tolist() == [1, 2] and not mine.requires_grad


def test_what_the_caller_chose_to_vary_stays_chosen():
    x, w = torch.ones(2, requires_grad=True), torch.ones(2)
    assert [t.requires_grad for t in require_gradients((x, w))] == [True, False]
    assert [t.requires_grad for t in require_gradients((w, torch.tensor(1)))] == [True, False]


# ---- loops and lists


def test_a_recurrent_net_adds_up_over_its_turns():
    def net(x, W, h):
        for t in range(3):
            h = torch.tanh(W @ h + x[t])
        L = (h * h).sum()
        return L

    _, found = worked(net, normal(3, 2), normal(2, 2, seed=1), normal(2, seed=2))
    turns = [f"∂L/∂W from h#{n}" for n in (2, 3, 4)]
    assert leaf_names(found["∂L/∂W"].formula) == turns
    torch.testing.assert_close(sum(found[name].result for name in turns), found["∂L/∂W"].result)
    assert all_checked(found)


def leaf_names(formula):
    return [formula.text] if isinstance(formula, Leaf) else [name for arg in formula.args for name in leaf_names(arg)]


def test_a_loop_over_a_tensor_takes_it_apart():
    def f(x, h):
        for r in x:
            h = torch.tanh(r * h)
        L = (h * h).sum()
        return L

    _, found = worked(f, normal(2, 3), normal(3, seed=1))
    assert found["∂L/∂x"].formula == Apply("stack", (Sequence((Leaf("∂L/∂r"), Leaf("∂L/∂r#2"))),), (("dim", 0),))
    assert all_checked(found)


def test_a_list_that_is_filled_and_stacked():
    def f(x, z):
        hs = []
        for r in x.unbind(0):
            hs.append(torch.tanh(r * z))
        y = torch.stack(hs)
        L = (y * y).sum() + hs[-1].sum()
        return L

    _, found = worked(f, normal(2, 3), normal(3, seed=1))
    assert {"∂L/∂hs[0]", "∂L/∂hs[1]", "∂L/∂z from hs[0]", "∂L/∂z from hs[1]"} <= found.keys()
    assert all_checked(found)


def test_python_without_a_formula_has_the_rule_of_what_ran():
    def f(x, z):
        y = torch.stack([r * z for r in x])
        L = (y * y).sum()
        return L

    _, found = worked(f, normal(2, 3), normal(3, seed=1))
    assert all_checked(found)


def cumsum(x, more):
    return x * (3 + more)


def test_a_call_that_is_not_what_its_name_says():
    def f(x):
        y = cumsum(x, 0)
        L = (y * y).sum()
        return L

    trace, _ = worked(f, normal(3))
    (step,) = [step for step in trace.steps() if step.source == "y = cumsum(x, 0)"]
    (gradient,) = [child for child in step.children if child.kind == "gradient"]
    assert gradient.formula == Leaf("∂L/∂cumsum.x") and gradient.note.startswith("rule checked")


def test_a_rule_broken_on_purpose_is_found_out(monkeypatch):
    monkeypatch.setitem(OPERATIONS, "cumsum", replace(OPERATIONS["cumsum"], gradient=lambda node: (node.G, None)))

    def f(x, w):
        y = x.cumsum(0)
        L = (y * w).sum()
        return L

    _, found = worked(f, normal(3), normal(3, seed=1))
    assert "the one that was tried gives other numbers than autograd" in found["∂L/∂x"].note
    assert found["∂L/∂x"].formula is None


def test_a_name_that_was_no_tensor_before_is_counted():
    def f(x, u):
        h = 0
        for t in range(2):
            h = x[t] + u * h
        return h

    trace = capture(f, torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(3.0, requires_grad=True))
    backward(trace)
    names = [s.name for s in trace.steps() if s.kind == "gradient"]
    # h = 0, then h#2 = x₀ + u·0 and h#3 = x₁ + u·h#2: ∂h#3/∂h#2 = u
    assert "∂h#3/∂h#2" in names
    assert not {"∂h/∂h", "∂h#3/∂h"} & {*names}


def test_a_value_before_a_dot_has_no_rule_where_the_method_has_none():
    def f(x):
        S = 2 * x
        c = S * S.logcumsumexp(0)
        return c.sum()

    trace = capture(f, torch.tensor([1.0, 2.0], requires_grad=True))
    backward(trace)
    found = {s.name: s for s in trace.steps() if s.kind == "gradient"}
    step = found["∂L/∂S"]
    assert step.formula is None
    assert step.note == "the rule is not written out: there is no rule for S.logcumsumexp(…): it has no formula here"
    # S = (2, 4), c = (4, 4 ln(e² + e⁴)): by the first entry 2 + 2 + 4 σ(−2), by the second ln(e² + e⁴) + 4 σ(2)
    assert step.result.tolist() == pytest.approx([4.47681, 7.65012], abs=1e-5)

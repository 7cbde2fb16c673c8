"""Everyday ways of writing code, and that each gradient has its line: every part of a sum is its own statement's, none is
missing, none is counted twice."""

import math
from collections import namedtuple

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import workings
from workings.trace.formula.tree import Apply, Leaf, Sequence
from workings.trace.gradient.backward import UNRECORDED
from workings.trace.gradient.loss import GradientError
from workings.trace.gradient.rows import row_of
from workings.trace.gradient.scope import value_of

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def gradients(function, *args, **choices):
    """The lines of the backward pass by their names; of one name, the outermost."""
    work = workings.show(function, *args, backward=True, **choices)
    assert work.error is None and "matches" in work.agreement
    lines = [step for step in work.steps() if step.kind == "gradient"]
    return {step.name: step for step in sorted(lines, key=lambda step: -step.address.count("."))}


def checked(found):
    """Every line has a rule that agrees with autograd, or is a sum of such lines with nothing left over."""
    return all(step.note.startswith("rule checked") or (step.formula and not step.note) for step in found.values())


# ---- what a statement hands on is not made by it


@pytest.mark.parametrize("first", [True, False])
def test_a_value_that_is_returned_beside_the_loss_gets_nothing_from_the_return(first):
    def f(x, w):
        y = x @ w
        z = y.sum()
        return (z, y) if first else (y, z)

    found = gradients(f, X, X)
    assert found.keys() == {"∂z/∂x", "∂z/∂w", "∂z/∂y"} and checked(found)
    assert found["∂z/∂y"].formula == Apply("ones", (), (("shape", (2, 2)),))


def joined(x):
    out = []
    for i in range(2):
        out += [x[i] * 2]
    return torch.stack(out).sum()


def written_out(x):
    out, more = [x[0] * 2], [x[1] * 2, x[0] * 3]
    out = out + more
    return torch.stack(out).sum()


def test_a_list_that_grows_gives_each_statement_its_own_item():
    found = gradients(joined, X)
    # The first turn adds row 0, the second row 1: 2 for each entry of it.
    assert found["∂L/∂x from out[0]"].result.tolist() == [[2, 2], [0, 0]]
    assert found["∂L/∂x from out[1]"].result.tolist() == [[0, 0], [2, 2]]
    assert found["∂L/∂x"].result.tolist() == [[2, 2], [2, 2]] and checked(found)


def test_lists_are_joined_item_by_item():
    found = gradients(written_out, X)
    assert found["∂L/∂x"].result.tolist() == [[5, 5], [2, 2]] and checked(found)


def test_what_a_generator_made_of_its_last_value_is_not_counted_twice():
    def stream(x):
        for _ in range(2):
            x = x * 2
            yield x

    def f(x):
        total = 0
        for v in stream(x):
            total = total + v.sum()
        return total

    found = gradients(f, X)
    # total = Σ 2x + Σ 4x; the first v has 1 of its own and 2 through the second, so ∂total#3/∂x = 2·3 = 6.
    assert found["∂total#3/∂x"].result.tolist() == [[6, 6], [6, 6]]
    assert found["∂total#3/∂v from total#2"].result.tolist() == [[1, 1], [1, 1]]
    assert "∂total#3/∂x from v, v#2" not in found


def test_a_number_beside_tensors_has_no_gradient():
    def f(x):
        n, (a, b) = 2, (x[0] * 3, [x[1]])
        return n, (a * b[0]).sum()

    found = gradients(f, X)
    assert found["∂L/∂x"].result.tolist() == [[9, 12], [3, 6]] and checked(found)


def test_what_flows_through_another_statements_result_is_that_ones():
    def f(x):
        y = x * 2

        def plus(t):
            return t + y

        z = plus(x)
        return (z * y).sum()

    found = gradients(f, X, depth=1)
    # L = Σ (x + y) y: ∂L/∂z = y = 2x comes to x through z alone; ∂L/∂y = z + y = 5x, so y gives 10x.
    assert found["∂L/∂x from z"].result.tolist() == (2 * X).tolist()
    assert (
        found["∂L/∂x from y"].result.tolist() == (10 * X).tolist() and "∂L/∂x from elsewhere" not in found["∂L/∂x"].operands
    )


def test_what_flows_between_the_inputs_is_no_statements():
    def f(a, b):
        L = (a * b).sum()
        return L

    a = X.clone().requires_grad_()
    found = gradients(f, a, 3 * a)
    # L = Σ a b with b = 3a: ∂L/∂a is 6a, but the statement in f adds b = 3a of it; the rest comes through b, made outside.
    assert found["∂L/∂a from L"].result.tolist() == (3 * X).tolist()
    assert found["∂L/∂a"].result.tolist() == (6 * X).tolist()
    assert found["∂L/∂a"].note == "elsewhere: uses of a that are not among these statements"


# ---- what is taken apart


def test_a_tensor_taken_apart_is_stacked_again():
    def f(x):
        a, b = x
        return (a * b).sum()

    found = gradients(f, X)
    rows = Sequence((Leaf("∂L/∂a"), Leaf("∂L/∂b")))
    assert found["∂L/∂x"].formula == Apply("stack", (rows,), (("dim", 0),)) and checked(found)
    assert found["∂L/∂x"].result.tolist() == [[3, 4], [1, 2]]


def test_a_row_that_nobody_reads_has_no_gradient():
    def f(x):
        _, b = x
        return (b * b).sum()

    def stopped(x):
        for row in x:
            y = row * row
            break
        return y.sum()

    found = gradients(f, X)
    assert found["∂L/∂x"].result.tolist() == [[0, 0], [6, 8]] and checked(found)
    found = gradients(stopped, X)
    assert found["∂L/∂x"].result.tolist() == [[2, 4], [0, 0]] and checked(found)


def test_a_starred_name_is_no_row():
    def f(x):
        a, *rest = x
        return (a * rest[0]).sum() + sum(rest).sum()

    # L = Σ a b + Σ b with rows a and b: ∂L/∂a = b and ∂L/∂b = a + 1.
    assert gradients(f, X)["∂L/∂x"].result.tolist() == [[3, 4], [2, 3]]


def test_the_row_of_a_turn_is_found_where_it_is_used():
    def f(xs, W):
        for x in xs:
            i, g = (W @ x).chunk(2)
        return (i * g).sum()

    found = gradients(f, X, X)
    # The last turn: W x = (11, 25), ∂L/∂(W x) = (25, 11), ∂L/∂x = Wᵀ (25, 11) = (58, 94).
    assert found["∂L/∂xs"].result.tolist() == [[0, 0], [58, 94]] and checked(found)


def test_the_rows_of_a_loop_that_counts():
    def f(x):
        L = 0
        for i, r in enumerate(x):
            L = L + (r * r).sum() * (i + 1)
        return L

    found = gradients(f, X)
    assert found["∂L#3/∂x"].result.tolist() == [[2, 4], [12, 16]] and checked(found)  # 2 r (i + 1)
    assert found["∂L#3/∂x"].formula == Apply("stack", (Sequence((Leaf("∂L#3/∂r"), Leaf("∂L#3/∂r#2"))),), (("dim", 0),))


def test_a_row_is_the_part_of_its_number():
    x = X.clone().requires_grad_()
    _, second = x
    row = row_of(value_of(x), 1, [second * 2])
    assert row.key == value_of(second).key and row.then.tolist() == [3, 4]
    assert row_of(value_of(x), 1, [x * 2]) is None and row_of(value_of(x), 2, [second]) is None


@pytest.mark.parametrize("way", ["generator", "map"])
def test_parts_of_a_generator_are_known_when_they_are_read(way):
    def generator(x, A, B):
        q, k = (x @ W for W in (A, B))
        return (q * k).sum()

    def mapped(x, A, B):
        q, k = map(lambda W: x @ W, (A, B))
        return (q * k).sum()

    found = gradients(generator if way == "generator" else mapped, X, X, X)
    # q = k = X X, so ∂L/∂A = Xᵀ k = [1 3; 2 4][7 10; 15 22].
    assert found["∂L/∂A"].result.tolist() == found["∂L/∂B"].result.tolist() == [[52, 76], [74, 108]]
    assert {"∂L/∂q", "∂L/∂k", "∂L/∂x"} <= found.keys()


def test_an_input_that_only_unopened_code_reads_has_autograds_numbers():
    def f(xs, W):
        def g(x):
            return W @ x

        return torch.func.vmap(g)(xs).sum()

    for W in (X, 2 * X.clone().requires_grad_()):  # one that autograd starts from, and one that was made before
        found = gradients(f, X, W)
        assert found["∂L/∂W"].result.tolist() == [[4, 6], [4, 6]] and found["∂L/∂W"].note == UNRECORDED


# ---- inputs in containers


@pytest.mark.parametrize("kind", [list, tuple])
def test_the_items_of_a_list_have_their_names(kind):
    def f(ws, x):
        y = x @ ws[0]
        z = y @ ws[1]
        return z.sum()

    found = gradients(f, kind([X, X.clone()]), X)
    assert {"∂L/∂ws[0]", "∂L/∂ws[1]", "∂L/∂x"} <= found.keys() and checked(found)
    work = workings.show(f, kind([X, X]), X)
    assert [step.name for step in work.steps() if step.kind == "input"] == ["ws", "x"]


def test_arguments_of_any_number_and_by_name():
    def f(x, *ws, p):
        return (x @ ws[0] @ ws[1] + p["b"]).sum()

    found = gradients(f, X, X.clone(), X.clone(), p={"b": X.clone()})
    assert found.keys() == {"∂L/∂x", "∂L/∂ws[0]", "∂L/∂ws[1]", "∂L/∂p['b']"} and checked(found)


# ---- names


def test_a_constant_is_one_value_though_a_copy_of_it_was_kept():
    def f(x):
        with torch.no_grad():
            t = x * 2
        return F.mse_loss(x, t + 1)

    work = workings.show(f, X, backward=True)
    assert work.notes == ["no gradient of t: it does not require one"]
    (found,) = [step for step in work.steps() if step.kind == "gradient"]
    assert "t" in found.operands and "t#2" not in found.operands


def test_an_attribute_and_a_variable_of_one_name_are_told_apart():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cls = nn.Parameter(torch.ones(1, 2))

        def forward(self, x):
            cls = self.cls.expand(2, 2)
            return (cls * x).sum()

    found = gradients(Net(), X)
    assert found.keys() == {"∂L/∂self.cls", "∂L/∂cls#2", "∂L/∂x"} and checked(found)


def test_the_loss_of_a_result_has_its_plain_name():
    Output = namedtuple("Output", "loss")

    def f(x):
        loss = None
        loss = (x * x).sum()
        return Output(loss=loss)

    assert gradients(f, X).keys() == {"∂loss/∂x"}


def test_a_long_loop_counts_the_values_that_are_not_recorded():
    def f(x):
        for _ in range(100):
            x = x * 1
        return x.sum()

    found = gradients(f, X)
    names = [name for name in found if name.partition("#")[2] in ("50", "51", "52", "99", "100", "101")]
    assert names == ["∂L/∂x#50", "∂L/∂x#51", "∂L/∂x#100", "∂L/∂x#101"]
    assert found["∂L/∂x#51"].note == UNRECORDED


# ---- in place, through a view


def test_a_view_that_changes_in_place_changes_its_tensor():
    def f(x):
        y = x.clone()
        y[:, 1].add_(x[:, 0])
        y[0].mul_(3).add_(1)
        return (y * y).sum()

    found = gradients(f, X)
    # y = [4 10; 3 7], ∂L/∂y#3 = 2y; row 0 is 3 times what it was: ∂L/∂y#2 = [24 60; 6 14]; column 1 has x[:, 0] in it.
    assert found["∂L/∂y#2"].result.tolist() == found["∂L/∂y"].result.tolist() == [[24, 60], [6, 14]]
    assert found["∂L/∂x from y#2"].result.tolist() == [[60, 0], [14, 0]] and checked(found)


# ---- sizes, kinds of numbers


def test_sizes_are_read_off_the_tensors():
    def f(q, k, y):
        A = ((q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))).softmax(-1)
        B = A + torch.eye(len(A))
        return (B * y).sum() / len(y) * y.dim() / y.numel()

    assert checked(gradients(f, X / 4, X / 3, X))


def test_a_split_by_the_size_of_another():
    lin = nn.Linear(2, 4)

    def f(x):
        q, k = lin(x).split(x.size(-1), dim=-1)
        return (q * k).sum()

    assert checked(gradients(f, X))


def test_mixed_precision_is_compared_in_the_wider():
    def f(x, w):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ w
        z = x.to(torch.bfloat16) @ w.bfloat16()
        return (y + z).float().sum()

    assert checked(gradients(f, X, X))


def test_a_loss_of_shape_one_is_no_plain_number():
    def f(x, w):
        z = x[x > 3.5] @ w
        return z

    # Of X only 4 is more than 3.5, so z = 4 w.
    found = gradients(f, X, torch.tensor([[2.0]]))
    assert found["∂z/∂x"].result.tolist() == [[0, 0], [0, 2]] and found["∂z/∂w"].result.tolist() == [[4]] and checked(found)


def test_another_librarys_repeat_is_not_pytorchs():
    def repeat(x, pattern):
        return torch.stack([x, x])

    def f(x):
        y = repeat(x, "a b -> 2 a b")
        return (y * y).sum()

    found = gradients(f, X, depth=1)["∂L/∂x"]  # torch.repeat would have added two axes
    assert found.note.startswith("rule checked") and "repeat" not in str(found.formula)


def test_making_a_layer_is_not_calling_it():
    def f(z, y):
        loss = nn.CrossEntropyLoss()(z, y)
        return loss

    work = workings.show(f, X, torch.tensor([0, 1]), depth=4)
    assert [step.name for step in work.steps() if "not shown" in step.note] == []


def test_a_graph_whose_parameters_have_moved_says_what_to_do():
    w = torch.tensor([[1.0], [2.0]], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with workings.trace() as work:
        loss = (X @ w @ w.mT).sum()
        loss.backward(retain_graph=True)
        optimizer.step()
    with pytest.raises(GradientError) as error:
        work.backward("loss")
    assert str(error.value) == (
        "The gradient of loss needs the graph, but a tensor of it was changed in place afterwards, as optimizer.step() "
        "changes the parameters. End the recording before that, or show a function that returns the loss."
    )

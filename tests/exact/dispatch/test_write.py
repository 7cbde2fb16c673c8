"""An ordinary tensor that exact values are written into turns exact, or the write is refused."""

import numpy as np
import pytest
import torch

from workings import exact, show
from workings.errors import DomainError

X = exact("1/3 sqrt(2); w 4")


@pytest.mark.parametrize("make", [torch.zeros, torch.ones, torch.empty])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
def test_a_loop_over_the_entries(make, dtype):
    y = make(2, 2, dtype=dtype)
    same = y
    for i in range(2):
        for j in range(2):
            y[i, j] = 2 * X[i, j]
    assert same is y and y.dtype == dtype and exact.equal(y, 2 * X)


def test_entries_that_are_not_written_stay():
    y = torch.full((2,), 0.5, dtype=X.dtype)
    y[0] = X[0, 0]
    assert y.text() == "[1/3  1/2]"


def test_gradients_go_through_what_was_written():
    a = exact("1 2").requires_grad_()
    y = torch.zeros(2, dtype=a.dtype)
    y[0] = a[0] * a[1]
    y[1] = a[1]
    y.sum().backward()
    assert a.grad.tolist() == [2, 2]


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y.copy_(X),
        lambda y: y.__iadd__(X),
        lambda y: y.add_(X),
        lambda y: y.index_copy_(0, torch.tensor([0, 1]), X),
        lambda y: y.masked_scatter_(torch.ones(2, 2, dtype=torch.bool), X),
    ],
)
def test_methods_that_write(write):
    y = torch.zeros(2, 2)
    write(y)
    assert exact.equal(y, X)


def test_a_view_and_what_it_shows_turn_exact_together():
    a = exact("1/3 2").requires_grad_()
    y = torch.zeros(2, 2, dtype=a.dtype)
    y[0] += a
    y[1][0] = a[1]
    row = y[1]
    row[1] = 5
    assert y.text() == "⎡1/3  2⎤\n⎣  2  5⎦" and row._base is y
    y.sum().backward()
    assert a.grad.tolist() == [1, 2]


def test_every_view_that_is_alive_follows():
    y = torch.zeros(2, 2)
    rows, whole = list(y), y.view(-1)
    for i in range(2):
        for j in range(2):
            y[i][j] += X[i, j]
    assert exact.equal(whole, X.view(-1)) and exact.equal(rows[1], X[1]) and exact.equal(y, X)
    assert whole._base is y and rows[0]._base is y


def test_a_view_alone_brings_its_base_along():
    y = torch.zeros(2, 3)
    column = y[:, 1]
    column.copy_(X[:, 0])
    assert y.text() == "⎡0  1/3  0⎤\n⎣0    w  0⎦" and column._base is y and y.dtype == torch.float32


def test_a_copy_that_somebody_keeps_is_seen_to_be_old():
    def f(x):
        layer = torch.nn.Linear(2, 2)
        with torch.no_grad():
            layer.weight.copy_(x)
        return layer.weight * 1

    work = show(f, X)
    assert "layer.weight.copy_(x) = ⎡1/3  √2⎤" in work.text() and work.matches


def test_in_inference_mode():
    with torch.inference_mode():
        assert (2 * X)[0].text() == "[2/3  2√2]" and X[1].text() == "[w  4]"
        y = torch.zeros(2, 2)
        y[0] = X[1]
        assert exact.equal(y, torch.stack([X[1], 0 * X[1]]))


def test_out():
    y = torch.zeros(2, 2)
    assert torch.add(X, X, out=y) is y and exact.equal(y, 2 * X)


def test_parameters_turn_exact_where_nothing_is_followed():
    layer = torch.nn.Linear(2, 2)
    weight, optimizer = layer.weight, torch.optim.SGD(layer.parameters(), lr=0.5)
    with torch.no_grad():
        layer.weight.copy_(X)
        layer.bias[:] = X[0]
    assert layer.weight is weight and isinstance(weight, torch.nn.Parameter) and weight.requires_grad
    assert exact.equal(layer(exact("1 1")), X.sum(1) + X[0])
    layer(exact("1 1")).sum().backward()
    optimizer.step()
    assert exact.equal(layer.bias, X[0] - 0.5)


def test_what_a_tensor_carries_stays_with_it():
    p = torch.nn.Parameter(torch.zeros(2))
    p.grad, p.decay = torch.tensor([0.5, 1.0]), False
    with torch.no_grad():
        p.copy_(X[0])
    assert p.decay is False and p.grad.text() == "[1/2  1]" and isinstance(p, torch.nn.Parameter)
    q = torch.nn.Parameter(torch.zeros(2))
    q.register_hook(lambda g: 2 * g)
    with torch.no_grad(), pytest.raises(DomainError, match="a hook waits for its gradient"):
        q.copy_(X[0])


def test_a_state_of_exact_tensors_is_loaded_into_an_ordinary_module():
    source, target = exact.exactify(torch.nn.Linear(2, 1)), torch.nn.Linear(2, 1)
    target.load_state_dict(source.state_dict())
    assert exact.equal(target.weight, source.weight) and exact.equal(target.bias, source.bias)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: torch.nn.utils.rnn.pad_sequence([x[0], x[1, :1]], batch_first=True), "⎡1/3  √2⎤\n⎣  w   0⎦"),
        (lambda x: torch.vander(x[0]), "⎡1/3  1⎤\n⎣ √2  1⎦"),
    ],
)
def test_functions_that_write_into_a_tensor_of_their_own(call, text):
    assert call(X).text() == text


def test_a_step_of_an_ordinary_tensor_that_a_graph_holds_is_refused():
    p = torch.nn.Parameter(torch.ones(2, 2))
    y = p * 2
    with torch.no_grad(), pytest.raises(DomainError, match=r"a computed result leads back to it.*exact.exactify\(module\)"):
        p.copy_(X)
    assert y.requires_grad and type(p) is torch.nn.Parameter


def test_integers_take_the_whole_part_as_in_pytorch():
    y = torch.zeros(2, dtype=torch.int64)
    y[0] = exact("7/2")
    assert y.tolist() == [3, 0]
    with pytest.raises(DomainError, match="add_ gives exact values, which a tensor of"):
        y += exact("1/2 1")
    assert y.tolist() == [3, 0]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda y: (y, y.detach()), "a tensor or an array shares its memory"),
        (lambda y: torch.from_numpy(np.zeros(2)), "a tensor or an array shares its memory"),
        (lambda y: 1 * y.requires_grad_(), "autograd follows it"),
    ],
)
def test_refused(make, why):
    base = torch.zeros(2, 2)
    made = make(base)
    target = made[0] if isinstance(made, tuple) else made
    with pytest.raises(DomainError, match=f"__setitem__ would write exact values into an ordinary .*: {why}"):
        target[0] = X[0, 0]
    assert not isinstance(target, exact.ExactTensor)


def test_a_sum_in_place_is_not_replaced_by_another_tensor():
    y = torch.zeros(2, 2)
    view = y.detach().view(-1)
    with pytest.raises(DomainError, match=r"add_ would write exact values.*shares its memory"):
        y += X
    assert y.tolist() == [[0, 0], [0, 0]] and view.tolist() == [0, 0, 0, 0]

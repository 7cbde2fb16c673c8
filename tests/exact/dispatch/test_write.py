"""An ordinary tensor that exact values are written into turns exact, or the write is refused."""

import numpy as np
import pytest
import torch

from workings import exact

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


def test_integers_take_the_whole_part_as_in_pytorch():
    y = torch.zeros(2, dtype=torch.int64)
    y[0] = exact("7/2")
    assert y.tolist() == [3, 0]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda y: y[0], "it is a view of another tensor"),
        (lambda y: (y, y[0]), "a tensor or an array shares its memory"),
        (lambda y: torch.from_numpy(np.zeros(2)), "a tensor or an array shares its memory"),
        (lambda y: 1 * y.requires_grad_(), "autograd follows it"),
    ],
)
def test_refused(make, why):
    base = torch.zeros(2, 2)
    made = make(base)
    target = made[0] if isinstance(made, tuple) else made
    with pytest.raises(TypeError, match=f"__setitem__ would write exact values into an ordinary .*: {why}"):
        target[0] = X[0, 0]
    assert not isinstance(target, exact.ExactTensor)

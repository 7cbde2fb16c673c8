"""Coefficients meet and cancel, whole numbers and decimals alike."""

import pytest
import torch

import workings
from workings.show.formula.notation import text_formula
from workings.trace.formula.simplify import minus, negate, over, plus, product, times
from workings.trace.formula.tree import Leaf, Number

a, b = Leaf("a"), Leaf("b")


def n(value):
    return Number(value)


WRITTEN = [
    (times(n(2), times(n(0.5), a)), "a"),
    (times(n(0.5), times(n(2), a)), "a"),
    (times(n(2), times(n(0.1), a)), "0.2·a"),
    (over(a, n(0.25)), "4·a"),
    (over(times(n(3), a), n(0.5)), "6·a"),
    (times(n(0.044715), a), "0.044715·a"),
    (over(times(n(0.1), a), n(3)), "a / 30"),
    (negate(times(n(0.5), a)), "−0.5·a"),
    (negate(negate(times(n(0.5), a))), "0.5·a"),
    (product(times(n(0.5), a), b), "0.5·a b"),
    (plus(times(n(0.1), a), times(n(0.1), a)), "0.2·a"),
    (plus(plus(b, times(n(0.1), a)), a), "b + 1.1·a"),
    (plus(a, negate(b)), "a − b"),
    (plus(a, a), "2·a"),
    (minus(a, negate(times(n(0.5), a))), "1.5·a"),
    (over(a, n(64)), "a / 64"),
    (times(n(2**0.5), a), "1.41421356237·a"),
]


@pytest.mark.parametrize(("formula", "written"), WRITTEN)
def test_written(formula, written):
    assert text_formula(formula, None, frozenset()) == written


def test_the_half_of_a_squared_error_is_gone_from_its_gradient():
    def loss(y, t):
        L = 0.5 * ((y - t) ** 2).sum()
        return L

    text = workings.show(loss, torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]), backward=True).text()
    assert "∂L/∂y = y − t = " in text and "rule checked: largest difference 0" in text


def test_what_the_author_wrote_stays():
    def f(x):
        y = 2 * (x * 0.5)
        return y

    assert "y = 2·(x·0.5) = " in workings.show(f, torch.tensor([1.0])).text()

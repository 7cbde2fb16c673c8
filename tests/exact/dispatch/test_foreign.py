"""Numbers of other libraries beside exact tensors become exact, or are refused; floats never come out in silence."""

import decimal
import operator
from fractions import Fraction

import numpy as np
import pytest
import sympy
import torch

from workings import exact
from workings.errors import DomainError

X = "1 sqrt(2)"
SEVENTHS = [Fraction(1, 7), sympy.Rational(1, 7), exact("1/7")]


@pytest.mark.parametrize("number", SEVENTHS, ids=lambda n: type(n).__module__)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "truediv", "pow"])
def test_fractions_on_either_side(op, number):
    run = getattr(operator, op)
    expected = run(exact(X), exact("1/7"))
    assert exact.equal(run(exact(X), number), expected)
    assert exact.equal(run(number, exact(X)), run(exact("1/7"), exact(X)))
    assert exact.equal(run(exact("2"), number), run(exact("2"), exact("1/7")))


def test_decimals_and_symbols():
    assert exact.equal(exact(X) * decimal.Decimal("0.1"), exact("1/10 sqrt(2)/10"))
    assert exact.equal(sympy.sqrt(2) + exact("q"), exact("q + sqrt(2)"))
    assert exact.equal(sympy.Symbol("q", real=True) * exact("2"), exact("2q"))
    with pytest.raises(DomainError, match="Float has no exact value here"):
        exact("1") + sympy.Float(0.1)


def test_matrices_of_sympy():
    A, x = sympy.Matrix([[1, 2], [3, 4]]), exact("1 2; 3 4")
    assert exact.equal(x @ A, x @ x) and exact.equal(A @ x, x @ x)
    for product in (lambda: A * x, lambda: x * A):
        with pytest.raises(TypeError, match=r"matrix product in SymPy, elementwise in PyTorch: write A @ x"):
            product()


@pytest.mark.parametrize("array", [np.ones(2), np.ones(2, np.float32), np.array([1, 1]), np.array([True, True])])
def test_arrays_on_either_side(array):
    for result in (exact(X) + array, array + exact(X)):
        assert exact.equal(result, exact("2 1+sqrt(2)")) and result.assumptions == ()
    assert (exact(X) == array).tolist() == [True, False]
    assert (array < exact(X)).tolist() == [False, True]


def test_arrays_are_read_like_tensors():
    assert exact.equal(exact(X) * np.array([0.1, 0.1]), exact("1/10 sqrt(2)/10"))
    assert [note.kind for note in (exact("1") * np.float32(0.1)).assumptions] == ["rounded"]
    assert exact.equal(np.float64(0.5) * exact(X), exact("1/2 sqrt(2)/2"))
    assert exact.equal(exact("1 2; 3 4") @ np.eye(2), exact("1 2; 3 4"))


def test_long_floats_and_objects_of_numpy():
    tenth = np.longdouble("0.1")
    for x in (exact(tenth), exact(np.array([tenth]))[0], exact([tenth])[0]):
        assert x.fraction().as_integer_ratio() == tenth.as_integer_ratio()
    assert exact.equal(exact(np.array([Fraction(1, 3), "w", 2], dtype=object)), exact("1/3 w 2"))
    assert exact([np.float32(0.5), np.int64(3), np.bool_(True)]).tolist() == [0.5, 3, 1]


def test_functions_of_numpy_are_those_of_torch():
    assert exact.equal(np.exp(exact("0 1")), exact("1 e"))
    assert exact.equal(np.multiply(exact(X), np.array([2, 2])), exact("2 2*sqrt(2)"))
    total = np.ones(2)
    for call in (
        lambda: np.sum(exact(X)),
        lambda: np.add.reduce(exact(X)),
        lambda: np.linalg.det(exact("1 2; 3 4")),
        lambda: np.add(total, exact(X), out=total),
        lambda: np.dot(exact(X), np.ones(2)),
    ):
        with pytest.raises(TypeError, match="would turn exact values into floats"):
            call()
    assert np.asarray(exact("1/2 1/4")).tolist() == [0.5, 0.25]


LONG = 2**70 + 1


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (lambda x: x * LONG, f"{LONG}"),
        (lambda x: LONG - x, f"{LONG - 1}"),
        (lambda x: torch.mul(x, LONG), f"{LONG}"),
        (lambda x: torch.full_like(x, LONG), f"{LONG}"),
        (lambda x: x.clone().fill_(LONG), f"{LONG}"),
        (lambda x: torch.where(x > 5, x, LONG), f"{LONG}"),
        (lambda x: x.clamp(min=LONG), f"{LONG}"),
        (lambda x: (x + 1) ** -LONG * 0, "0"),
        (lambda x: x**LONG, "1"),
        (lambda x: -x * LONG // 10**9, f"{-LONG // 10**9}"),
        (lambda x: x + 10**5000 - 10**5000, "1"),
    ],
)
def test_integers_of_any_size(run, text):
    assert exact.equal(run(exact("1")), exact(text))


def test_a_number_of_a_million_digits():
    x = exact("1") * 10 ** (10**6)
    assert x.decimals(3) == "1.00e1000000" or x.decimals(3) == "1e1000000"
    assert exact.equal(x, exact(10) ** 10**6) == (True, "proved")
    assert (x > 5).item() and repr(x % 7) == f"exact({pow(10, 10**6, 7)})"
    assert exact.equal(exact.from_json(x.to_json()), x)
    assert "formula of" in repr(x) or "digits" in repr(x)


def test_long_integers_are_written_into_a_tensor():
    x = exact("1 2")
    x[0] = 2**70
    assert exact.equal(x, exact([2**70, 2]))
    with pytest.raises(ValueError, match="between 0 and 1, but got 7"):
        torch.nn.functional.dropout(x, 7.0)


def test_whole_values_become_integers_that_hold_them():
    assert exact([2**62 + 1, -7, Fraction(-7, 2)]).long().tolist() == [2**62 + 1, -7, -3]
    for x in (exact(2**63), exact("-inf")):
        with pytest.raises(DomainError, match=r"is no integer of 64 bits, the longest that x.to\(torch.int64\) can give"):
            x.long()


def test_functions_of_sympy_take_the_exact_value():
    assert sympy.sqrt(exact("1/2")) == sympy.sqrt(2) / 2
    assert sympy.sympify(exact("w + 1/3")) == exact("w").sympy() + sympy.Rational(1, 3)


def test_comparison_with_other_things():
    assert (exact("1") == "a") is False
    with pytest.raises(TypeError):
        exact("1") + "1/3"
    assert len({exact("1"), exact("1")}) == 2

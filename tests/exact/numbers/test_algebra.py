"""The normal form of values: laws that hold whatever the values are, and identities a person can check."""

import math

import hypothesis.strategies as st
import pytest
import sympy
from flint import fmpq
from hypothesis import given, settings

from workings import exact
from workings.errors import DomainError
from workings.exact.numbers import algebra
from workings.exact.numbers.ball import enclosure
from workings.exact.numbers.build import build
from workings.exact.numbers.letter import declared_letter, letter
from workings.exact.numbers.proof import structural_sign
from workings.exact.numbers.rebuild import with_numbers
from workings.exact.numbers.rounding import to_float
from workings.exact.numbers.sign import sign
from workings.exact.numbers.sympy_form import from_sympy, to_sympy
from workings.exact.numbers.value import ONE, ZERO, Value, rational
from workings.exact.reading.parse import parse

HALF = fmpq(1, 2)


def values() -> st.SearchStrategy[Value]:
    """Random values of a few operations over rationals, roots, exponentials and letters."""
    atoms = st.one_of(
        st.fractions(-3, 3, max_denominator=6).map(lambda q: rational(fmpq(q.numerator, q.denominator))),
        st.sampled_from(["sqrt(2)", "sqrt(3)", "pi", "e", "log(2)", "w_a", "b_a", "e^(1/2)"]).map(parse),
    )
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
            st.tuples(inner, inner).map(lambda p: p[0] * p[1]),
            st.tuples(inner, st.integers(2, 3)).map(lambda p: algebra.power(p[0], p[1])),
            inner.map(lambda x: algebra.exp(x)),
        ),
        max_leaves=6,
    )


@given(values(), values(), values())
def test_sums_and_products_are_commutative_and_sums_associative(a, b, c):
    assert a + b is b + a
    assert a * b is b * a
    assert (a + b) + c is a + (b + c) or (a + b + c).size > 64


@given(values())
def test_zero_one_and_inverses(a):
    assert a + ZERO is a
    assert a * ONE is a
    assert a - a is ZERO
    assert a * ZERO is ZERO
    assert algebra.scale(-a, -1) is a


@settings(deadline=None)
@given(values())
def test_the_value_is_the_value_sympy_gives(a):
    at = {sympy.Symbol("w_a", real=True): sympy.Rational(2, 7), sympy.Symbol("b_a", real=True): sympy.Rational(-3, 5)}
    declared_letter("w_a", fmpq(2, 7)), declared_letter("b_a", fmpq(-3, 5))
    expected = complex(to_sympy(a).subs(at).evalf(20))
    found = to_float(a)
    assert expected.imag == 0
    if math.isfinite(found) and abs(found) < 1e200:
        assert found == pytest.approx(expected.real, rel=1e-12, abs=1e-300)


@given(values())
def test_sympy_and_back(a):
    declared_letter("w_a", fmpq(2, 7)), declared_letter("b_a", fmpq(-3, 5))
    assert enclosure(from_sympy(to_sympy(a))).overlaps(enclosure(a))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("sqrt(2) sqrt(6)", "2 sqrt(3)"),
        ("1/sqrt(2)", "sqrt(2)/2"),
        ("sqrt(8)", "2sqrt(2)"),
        ("e^(1/2) e^(1/2)", "e"),
        ("e^(log(5))", "5"),
        ("e^(2 log(3) + w)", "9 e^w"),
        ("log(e^(w+1))", "w + 1"),
        ("log(8)", "3 log(2)"),
        ("log(1/7)", "-log(7)"),
        ("log(e^w/(1+e^w))", "w - log(1+e^w)"),
        ("2(w+1)", "2w + 2"),
        ("(2w+2)/(w+1)", "2"),
        ("(w+1)^3/(w+1)", "(w+1)^2"),
        ("sqrt((1-sqrt(2))^2)", "sqrt(2) - 1"),
        ("cos(pi/3)", "1/2"),
        ("sin(-pi/4)", "-1/sqrt(2)"),
        ("tan(2pi/3)", "-sqrt(3)"),
        ("sin(-w)", "-sin(w)"),
        ("cosh(-w)", "cosh(w)"),
        ("4^(3/2)", "8"),
        ("(27/8)^(-2/3)", "4/9"),
        ("e^(w)^2", "e^(w^2)"),
    ],
)
def test_equal_formulas_are_one_node(left, right):
    assert parse(left) is parse(right)


def test_a_square_root_of_a_square_keeps_the_sign_open():
    w = letter("w")
    root = algebra.power(w * w, HALF)
    assert root is not w
    assert algebra.power(root, 2) is w * w


def test_powers_of_one_sum_share_their_base():
    w = letter("w")
    base = algebra.scale(w, 5) + ONE
    assert algebra.power(algebra.power(base, 2), -1) is algebra.power(base, -2)
    assert algebra.power(base, 2) * algebra.power(base, -1) is base


def test_signs_are_proved():
    assert sign(parse("e^pi - pi^e")) == 1
    assert sign(parse("sqrt(2) + sqrt(3) - sqrt(5 + 2sqrt(6))")) == 0
    assert sign(parse("262537412640768744 - e^(pi sqrt(163))")) == 1


def test_long_dot_products_are_one_node():
    row = tuple(algebra.exp(rational(fmpq(i, 7))) for i in range(40))
    column = tuple(build("sin", rational(i + 1)) for i in range(40))
    v = algebra.dot(row, column)
    assert v.kind == "dot"
    assert v is algebra.dot(row, column)
    assert to_float(v) == pytest.approx(sum(math.exp(i / 7) * math.sin(i + 1) for i in range(40)), rel=1e-13)


def test_one_hot_dot_products_move():
    x = parse("e^2 + sqrt(2)")
    row = (ZERO,) * 20 + (ONE,) + (ZERO,) * 20
    assert algebra.dot(row, (parse("pi"),) * 20 + (x,) + (parse("pi"),) * 20) is x


def test_a_root_of_a_square_is_positive_beside_a_positive_factor():
    # √(π w²) = √π |w|, which is not √π w at w = −1
    w = exact.symbols(eta=-1)
    assert (exact("pi") * w**2).sqrt().float64().item() == pytest.approx(math.sqrt(math.pi))
    assert (exact("pi") * w**6).sqrt().float64().item() == pytest.approx(math.sqrt(math.pi))


def test_values_in_the_place_of_letters():
    w, b = letter("w_r"), letter("b_r")
    v = w * w * b / rational(3) + algebra.exp(w) * b
    assert with_numbers(v, {"w_r": rational(2), "b_r": rational(6)}) is rational(8) + rational(6) * algebra.exp(rational(2))


@pytest.mark.parametrize("text", ["e - 3", "e^w_a - 1/2*e^b_a", "sqrt(2) - 3/2", "-1/3*e^w_a", "w_a"])
def test_what_may_be_negative_is_not_known_to_be_positive(text):
    assert not algebra.is_known_positive(parse(text))


@pytest.mark.parametrize("text", ["3 - e", "e^w_a + 1/2*e^b_a", "3/2 - sqrt(2)", "1/3*e^w_a", "e^w_a*pi"])
def test_what_is_plainly_positive_is_known_to_be(text):
    assert algebra.is_known_positive(parse(text))
    assert structural_sign(parse(text)) == 1 and structural_sign(algebra.scale(parse(text), fmpq(-1, 2))) == -1


def test_nested_roots():
    assert exact("sqrt(3 + 2*sqrt(2)) - sqrt(2)").fraction() == 1
    assert exact("sqrt(2 + sqrt(3))").text() == "(√2 + √6)/2"
    assert exact("1/sqrt(6 - 4*sqrt(2))").text() == "1/(2 − √2)"
    assert exact("sqrt(1 + sqrt(2))").text() == "√(1 + √2)"
    with pytest.raises(DomainError, match="π is not known to be rational"):
        exact("pi").fraction()

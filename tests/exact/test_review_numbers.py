"""Numbers at the edges: equality of formulas, tiny and enormous values, roots of zeros, long numbers, names and messages."""

import math

import mpmath
import pytest
import torch

from workings import exact
from workings.errors import BudgetError, DomainError, ParseError, UndecidedError
from workings.exact.numbers.ball import enclosure_at
from workings.exact.numbers.value import letter
from workings.exact.reading.parse import parse

UNPROVED = ("sin(2)", "2*sin(1)*cos(1)")
"""Equal numbers that no identity here proves equal."""


def unproved_zero():
    a, b = UNPROVED
    return exact(a) - exact(b)


def tower(height, start="1"):
    """e^e^…^start"""
    x = exact(start)
    for _ in range(height):
        x = x.exp()
    return x


# ---- equality
PROVED = [
    ("sin(q)^2 + cos(q)^2", "1"),
    ("sin(q)^4 + 2*sin(q)^2*cos(q)^2 + cos(q)^4", "1"),
    ("1/cos(q)^2", "1 + tan(q)^2"),
    ("tan(q)", "sin(q)/cos(q)"),
    ("cosh(q)", "(e^q + e^(-q))/2"),
    ("cosh(q)^2 - sinh(q)^2", "1"),
    ("tanh(q)", "2*sigmoid(2q) - 1"),
    ("erfc(q)", "1 - erf(q)"),
    ("sqrt(q^4)", "q^2"),
    ("sqrt(q^2)", "abs(q)"),
    ("abs(q)^2", "q^2"),
    ("(abs(q) + 1)^2", "q^2 + 2*abs(q) + 1"),
    ("log(q^2)", "2*log(abs(q))"),
    ("log(e^q + e^(2q))", "q + log(1 + e^q)"),
    ("log(6)", "log(2) + log(3)"),
    ("sqrt(3 + 2*sqrt(2))", "1 + sqrt(2)"),
]


@pytest.mark.parametrize(("left", "right"), PROVED)
def test_identities_are_proved(left, right):
    assert exact.equal(exact(left), exact(right)) == (True, "proved")


def test_formulas_that_agree_without_a_proof_say_so():
    assert exact.equal(exact("sin(2q)"), exact("2*sin(q)*cos(q)")) == (True, "at 8 points, not proved")
    assert exact.equal(*map(exact, UNPROVED)) == (True, "to 4096 bits")


def test_formulas_that_differ_are_told_apart():
    assert exact.equal(exact("q"), exact("q + 1e-100")) == (False, "different")
    assert exact.equal(exact("sqrt(q^2)"), exact("q")) == (False, "different")  # at negative q
    assert exact.equal(exact("sqrt(-q^2 - 1)"), exact("q")) == (False, "no point found where both have a value")


def test_different_shapes_are_named():
    assert exact.equal(exact("[1 2]"), exact("[1 2 3]")) == (False, "different shapes [2] and [3]")


def test_values_at_a_point_leave_the_sample_values_alone():
    r = exact.symbols(rho=2)
    v = r.exp().elements()[0]
    assert r.exp().item() == math.exp(2)
    assert enclosure_at(v, {"rho": 3}, 128).overlaps(enclosure_at(parse("e^3"), {}, 128))
    exact.equal(r.sin() ** 2, r.cos())
    assert letter("rho").sample == 2
    assert r.exp().item() == math.exp(2)


# ---- signs at sample values
def test_a_sign_at_sample_values_is_refined():
    u = exact.symbols(ups=1)
    positive = torch.sqrt(1 + u * exact("1e-80")) > 1
    assert positive
    with exact.recording() as notes:
        assert (u - 1) == 0
    assert [note.text for note in notes] == ["ups − 1 = 0 (decided at ups = 1)"]


def test_outside_the_domain_there_is_no_sign_and_no_float():
    z, s = exact.symbols(zet=0), exact.symbols(sig=-2)
    pole = r"1/zet has no real value at zet = 0\. Give other sample values\."
    for ask in (torch.relu, lambda x: x.float64(), lambda x: x.decimals()):
        with pytest.raises(UndecidedError, match=pole):
            ask(1 / z)
        with pytest.raises(UndecidedError, match="√sig has no real value at sig = -2"):
            ask(torch.sqrt(s))
    with pytest.raises(UndecidedError, match=r"log\(sig\) has no real value at sig = -2"):
        (3 + torch.log(s)).float64()


# ---- zeros
def test_the_floor_of_a_large_unproved_integer():
    one = 1 + unproved_zero()
    assert torch.floor(exact("1e30") * one).text() == "1" + 30 * "0"
    with pytest.raises(BudgetError, match="The nearest integer of a formula of 3 nodes cannot be certified"):
        torch.floor(exact("e^e^30"))


def test_zeros_that_are_none():
    assert torch.log(1 - torch.sigmoid(exact("3000"))).float64() == -3000
    assert torch.log(1 - torch.sigmoid(exact("30000"))).decimals(10) == "-30000.00000"
    assert torch.sigmoid(exact("50000")) != 1
    assert torch.sqrt(1 + exact("1e-2000")) > 1
    assert exact("exp(-exp(exp(10)))") > 0


def test_a_denominator_that_is_zero_as_a_polynomial():
    q = exact.symbols("q")
    v = 1 / ((q + 1) ** 2 - q**2 - 2 * q - 1)
    assert v.text() == "1/((q + 1)² − q² − 2q − 1)"
    assert v.latex().startswith(r"\frac{1}{")
    with pytest.raises(UndecidedError, match="depends on q"):
        _ = v == 1
    assert (1 / torch.log((q + 1) ** 2 - q**2 - 2 * q)).text() == "1/log((q + 1)² − q² − 2q)"


@pytest.mark.parametrize("zero", [lambda: exact("sin(1)^2 + cos(1)^2") - 1, unproved_zero, lambda: unproved_zero() ** 2])
def test_the_root_of_a_zero(zero):
    z = zero()
    for root in (torch.sqrt(z), torch.pow(z, exact("1/3")), torch.sqrt(torch.sqrt(z))):
        assert root.float64() == 0
        assert root.decimals() == "0"
        assert not root > 0


def test_the_deviation_of_equal_numbers_is_zero():
    assert torch.stack([exact(x) for x in UNPROVED]).std().float64() == 0


def test_arcs_at_the_end_of_their_domain():
    assert torch.acos(1 + unproved_zero()).float64() == 0
    assert torch.asin(1 + unproved_zero()).decimals(5) == "1.5708"


# ---- decimals
def test_thousands_of_digits():
    with mpmath.workdps(5020):
        pi = str(int(mpmath.floor(mpmath.pi * mpmath.mpf(10) ** 4000)))
    assert exact("pi").decimals(5000)[:4002].replace(".", "") == pi
    assert exact("1/3").decimals(6000) == "0." + 6000 * "3"
    x = exact("7^8000")  # of 6,761 digits
    assert x.decimals(6761)[-10:] == f"{7**8000 % 10**10:010}"
    assert exact.equal(exact.from_json(x.to_json()), x)


@pytest.mark.parametrize("digits", [0, -1])
def test_no_digits_are_refused(digits):
    with pytest.raises(DomainError, match=f"at least 1 significant digit; {digits} were asked for"):
        exact("pi").decimals(digits)


def test_decimals_of_a_chaotic_sequence():
    x = exact("1/3")
    for _ in range(400):
        x = exact("37/10") * x * (1 - x)
    assert x.decimals() == "0.808839"


def test_what_is_too_small_for_decimals_says_so():
    with pytest.raises(BudgetError, match="4 digits of a formula of 5 nodes cannot be certified"):
        exact("exp(-exp(exp(10)))").decimals(4)
    assert exact("exp(-exp(exp(10)))").float64() == 0


def test_sympy_has_its_limits():
    x = exact.symbols("q")
    for _ in range(500):
        x = torch.sin(x)
    with pytest.raises(BudgetError, match="SymPy works by recursion, and this formula of 501 nodes is nested too deeply"):
        x.sympy()


# ---- towers
def test_towers_are_compared_by_their_logarithms():
    assert tower(6) > 1
    assert tower(7) > tower(6)
    assert tower(7) < tower(7, "2")
    assert 2 * tower(8) > tower(8)
    assert -tower(7) < -tower(6)
    assert 1 / tower(6) < 1
    assert tower(6) > exact("10") ** 100
    assert (-tower(6)).float64() == -math.inf


# ---- reading
@pytest.mark.parametrize("text", ["0x10", "0b1", "0o7"])
def test_other_bases_are_refused(text):
    with pytest.raises(ParseError, match=f"Expected a decimal number, found '{text[:3]}'"):
        exact(text)


@pytest.mark.parametrize("text", ["1e", "1E", "1e+", "1.5e", "1e*2"])
def test_a_dangling_exponent_is_refused(text):
    with pytest.raises(ParseError, match="Expected digits after"):
        exact(text)


def test_multiples_of_e_are_read():
    assert exact("2e").text() == "2e"
    assert exact("2e^q").text() == "2e^q"
    assert exact("1e3").text() == "1000"


# ---- fractions
def test_nested_roots():
    assert exact("sqrt(3 + 2*sqrt(2)) - sqrt(2)").fraction() == 1
    assert exact("sqrt(2 + sqrt(3))").text() == "(√2 + √6)/2"
    assert exact("1/sqrt(6 - 4*sqrt(2))").text() == "1/(2 − √2)"
    assert exact("sqrt(1 + sqrt(2))").text() == "√(1 + √2)"
    with pytest.raises(DomainError, match="π is not known to be rational"):
        exact("pi").fraction()


# ---- letters
def test_letters_of_a_matrix_are_asked_for_in_python():
    a = exact.symbols("a", shape=(2, 2))
    with pytest.raises(UndecidedError) as error:
        _ = a[0, 1] > 0
    assert 'x.substitute(**{"a_{1,2}": …})' in str(error.value)
    with pytest.raises(UndecidedError) as error:
        a[0, 1].float64()
    assert 'symbols(**{"a_{1,2}": 0.5})' in str(error.value)
    assert a.substitute(**{"a_{1,2}": 0.5})[0, 1].text() == "1/2"
    assert exact.symbols(**{"beta_{1,2}": 0.5}).float64() == 0.5


def test_what_is_no_letter():
    for name in ("sin", "w+b", "2"):
        with pytest.raises(ParseError) as error:
            exact.symbols(name)
        assert error.value.reason == f"{name!r} is not a letter: names such as w, w_h, W_{{1,2}} and α are."
    with pytest.raises(ParseError, match="'sin' is not a letter"):
        exact("q").substitute(sin=2)


# ---- long numbers
def test_long_numbers_are_shortened():
    assert exact("7^500").text() == "3540136494…⟨423 digits⟩"
    assert exact("7^500").latex() == r"3540136494\ldots\langle\text{423 digits}\rangle"
    assert exact("7^500*pi*q").text() == "3540136494…⟨423 digits⟩·π·q"
    assert exact("7^500").fraction() == 7**500
    assert exact("10^59").text() == "1" + 59 * "0"


def test_the_letters_of_an_elided_formula_are_few():
    x = exact.symbols("A", shape=(10,)).sum()
    t = x
    for _ in range(100):
        t = (t + x).exp()
    assert t.text().endswith("nodes in A_1, A_10, A_2, A_3, A_4, A_5, …⟩")
    assert t.latex().endswith(r"A_{4}, A_{5}, \ldots\rangle")

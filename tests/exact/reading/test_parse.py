"""The parser: worked by hand, against SymPy, its messages, and input that means harm."""

import contextlib
import math

import pytest
import sympy
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from workings import exact
from workings.errors import ParseError
from workings.exact.numbers import algebra
from workings.exact.numbers.build import build
from workings.exact.numbers.letter import letter, mean
from workings.exact.numbers.rounding import to_float
from workings.exact.numbers.value import INF, NAN, NEG_INF, ONE, Value, constant, letters, rational
from workings.exact.reading.parse import DEEPEST, parse, parse_matrix
from workings.exact.reading.tokens import LONGEST

HALF = fmpq(1, 2)
w, x = letter("w"), letter("x")


@pytest.fixture(autouse=True)
def the_letters_of_this_file():
    for one in (w, x):
        mean(one)


pi, e = constant("pi"), algebra.exp(ONE)


def q(top: int, bottom: int = 1) -> Value:
    return rational(fmpq(top, bottom))


def root(n: int) -> Value:
    return algebra.power(rational(n), HALF)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", q(12)),
        ("0.1", q(1, 10)),
        (".5", q(1, 2)),
        ("12.3456789", q(123456789, 10**7)),
        ("5.", q(5)),
        ("1e-3", q(1, 1000)),
        ("2.5E2", q(250)),
        ("3/6", q(1, 2)),
        ("½", q(1, 2)),
        ("⅔", q(2, 3)),
        ("0.1 + 0.2", q(3, 10)),
        ("2 - 3 - 4", q(-5)),
        ("2/3/4", q(1, 6)),
        ("2 + 3*4", q(14)),
        ("(2 + 3)·4 ÷ 2 × 5", q(50)),
        ("-2^2", q(-4)),
        ("−2²", q(-4)),
        ("(-2)**2", q(4)),
        ("2^3^2", q(512)),
        ("2^-1", q(1, 2)),
        ("2*-3", q(-6)),
        ("1 - -1", q(2)),
        ("2⁻³", q(1, 8)),
        ("0^0", q(1)),
        ("0^(1/2)", q(0)),
        ("4^(1/2)", q(2)),
    ],
)
def test_rational_numbers(text, value):
    assert parse(text) is value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("√2", root(2)),
        ("√(1 + 1)", root(2)),
        ("sqrt(8)", q(2) * root(2)),
        ("2√3", q(2) * root(3)),
        ("√2w", root(2) * w),
        ("√√16", q(2)),
        ("2 sqrt(2)", q(2) * root(2)),
        ("2π", q(2) * pi),
        ("pi", pi),
        ("e", e),
        ("2e", q(2) * e),
        ("2e^2", q(2) * algebra.exp(q(2))),
        ("e^(1/2)", algebra.exp(q(1, 2))),
        ("exp(w)", algebra.exp(w)),
        ("log(2)", algebra.log(q(2))),
        ("ln(e^w)", w),
        ("log 2 + 1", algebra.log(q(2)) + ONE),
        ("2^w", algebra.exp(w * algebra.log(q(2)))),
        ("2^π", algebra.exp(pi * algebra.log(q(2)))),
        ("w^x", build("pow", w, x)),
        ("pow(w, 2)", algebra.power(w, 2)),
        ("sin(pi/6)", q(1, 2)),
        ("arcsin(1)", algebra.scale(pi, HALF)),
        ("atan2(w, 1)", build("atan2", w, ONE)),
        ("abs(1 - sqrt(2))", root(2) - ONE),
        ("abs(w)", build("abs", w)),
        ("abs(e^w)", algebra.exp(w)),
        ("abs(w^2 + 1)", w * w + ONE),
        ("abs(-w^2)", w * w),
        ("sigmoid(w)", ONE / (ONE + algebra.exp(-w))),
        ("erf(w)", build("erf", w)),
        ("euler_gamma", constant("euler")),
        ("inf", INF),
        ("-∞", NEG_INF),
        ("nan", NAN),
    ],
)
def test_irrational_numbers_and_functions(text, value):
    assert parse(text) is value


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *((name, name) for name in ("w", "w_h", "x1", "x_12", "theta", "α", "i", "j", "E", "layer_1_b")),
        ("w_{h}", "w_h"),
        ("W_{1,2}", "W_1,2"),
        ("W_{ 1 , 2 }", "W_1,2"),
        ("x₁₂", "x_12"),
    ],
)
def test_letters(text, name):
    assert parse(text) is letter(name)


def test_a_missing_sign_multiplies():
    assert parse("2w") is parse("2*w")
    assert parse("3(w + 1)") is parse("3*(w + 1)")
    assert parse("w x") is w * x
    assert parse("w (x + 1)") is parse("w*(x + 1)")
    assert parse("(w+1)(w-1)") is parse("(w+1)*(w-1)")
    assert parse("1/2 w") is parse("(1/2)*w")
    assert letters(parse("wx")) == {"wx"}


ONE_TWO = [q(1), q(2)]


@pytest.mark.parametrize(
    ("text", "matrix"),
    [
        ("1 0; 0 1", [[q(1), q(0)], [q(0), q(1)]]),
        ("1/2, sqrt(2); w, e^(1/2)", [[q(1, 2), root(2)], [w, algebra.exp(q(1, 2))]]),
        ("1 -1; 2 3", [[q(1), q(-1)], [q(2), q(3)]]),
        ("1 - 1", q(0)),
        ("1-1", q(0)),
        ("1 - 1, 2", [q(0), q(2)]),
        ("1 -1, 2", [q(0), q(2)]),
        ("w (x + 1)", [w, x + ONE]),
        ("(1 -1) 2", [q(0), q(2)]),
        ("log 2 sqrt (2)", [algebra.log(q(2)), root(2)]),
        ("1 * -1 2", [q(-1), q(2)]),
        ("1 2\n3 4", [ONE_TWO, [q(3), q(4)]]),
        ("\n1 2;\n\n3 4;\n", [ONE_TWO, [q(3), q(4)]]),
        ("1; 2", [[q(1)], [q(2)]]),
        ("1, 2", ONE_TWO),
        ("[1, 2]", ONE_TWO),
        ("[1 2; 1 2]", [ONE_TWO, ONE_TWO]),
        ("[[1, 2], [1, 2]]", [ONE_TWO, ONE_TWO]),
        ("[[1, 2],\n [1, 2]]", [ONE_TWO, ONE_TWO]),
        ("[[1,\n 1 +\n 1], [1, 2]]", [ONE_TWO, ONE_TWO]),
        ("[[1 2]]", [ONE_TWO]),
        ("[3]", [q(3)]),
        ("3", q(3)),
        ("atan2(1, 2) 2", [build("atan2", q(1), q(2)), q(2)]),
    ],
)  # fmt: skip
def test_matrices(text, matrix):
    assert parse_matrix(text) == matrix


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expected a number, a letter or a bracket.\n  \n  ^"),
        ("1 + ", "Expected a number, a letter or a bracket after '+'.\n  1 +\n      ^"),
        ("2 +* 3", "Expected a number, a letter or a bracket after '+', found '*'.\n  2 +* 3\n     ^"),
        ("(2", "Expected ')' to close the '(' at character 1.\n  (2\n    ^"),
        ("sin(2;", "Expected ')' to close the '(' at character 4, found ';'.\n  sin(2;\n       ^"),
        ("2)", "Expected a sign or the end, found ')'.\n  2)\n   ^"),
        ("1 2", "Expected a sign between '1' and '2'.\n  1 2\n    ^"),
        ("w 2", "Expected a sign between 'w' and '2'.\n  w 2\n    ^"),
        ("1.5.2", "Expected a sign between '1.5' and '.2'.\n  1.5.2\n     ^"),
        ("1/2w", "Expected brackets: a/2w can mean (a/2)·w or a/(2·w).\n  1/2w\n     ^"),
        ("log 2w", "Expected brackets: log 2w can mean two things.\n  log 2w\n       ^"),
        ("log 2/3", "Expected brackets: log 2/ can mean two things.\n  log 2/3\n       ^"),
        ("foo(2)", "Expected a function before '(', but foo is a letter: for a product write foo*(…).\n"
                   "  foo(2)\n     ^"),
        ("sin x", "Expected '(' after the function sin.\n  sin x\n      ^"),
        ("atan2(1)", "atan2 takes 2 arguments, found 1.\n  atan2(1)\n  ^"),
        ("2 $ 3", "Expected a number, a letter or a sign, found '$'.\n  2 $ 3\n    ^"),
        ("2 \x00", "Expected a number, a letter or a sign, found U+0000.\n  2 \x00\n    ^"),
        ("w'", "Expected a letter without primes: write w_1 for w′.\n  w'\n   ^"),
        ("w_", "Expected a subscript of letters or digits: w_h, or W_{1,2}.\n  w_\n   ^"),
        ("{w}", "Expected round brackets; curly ones belong to subscripts: W_{1,2}.\n  {w}\n  ^"),
        ("[1", "Expected a number, a letter or a bracket, found '['.\n  [1\n  ^"),
    ],
)  # fmt: skip
def test_messages(text, message):
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1/0", "Division by zero.\n  1/0\n    ^"),
        ("2/(w - w)", "Division by zero.\n  2/(w - w)\n    ^"),
        ("1/(√2·√2 - 2)", "Division by zero.\n  1/(√2·√2 - 2)\n    ^"),
        ("1 + 0^-1", "Division by zero: 0 has no negative power.\n  1 + 0^-1\n      ^"),
        ("0^w", "A power of 0 needs an exponent whose sign is known.\n  0^w\n  ^"),
        ("log(0)", "log needs a positive number.\n  log(0)\n  ^"),
        ("ln(1 - √2)", "ln needs a positive number.\n  ln(1 - √2)\n  ^"),
        ("sqrt(-1)", "A root of a negative number is not real.\n  sqrt(-1)\n  ^"),
        ("w + √(1 - √2)", "A root of a negative number is not real.\n  w + √(1 - √2)\n      ^"),
        ("(-8)^(1/3)", "A root of a negative number is not real.\n  (-8)^(1/3)\n  ^"),
        ("(-2)^pi", "A power of a negative number is real for whole exponents only.\n  (-2)^pi\n  ^"),
        ("tan(pi/2)", "tan needs a number where cos is not 0.\n  tan(pi/2)\n  ^"),
        ("acos(1.5)", "acos needs a number from −1 to 1.\n  acos(1.5)\n  ^"),
        ("atanh(1)", "atanh needs a number between −1 and 1.\n  atanh(1)\n  ^"),
        ("acosh(0)", "acosh needs a number from 1 on.\n  acosh(0)\n  ^"),
        ("lgamma(-2)", "lgamma needs a number that is not 0, −1, −2, ….\n  lgamma(-2)\n  ^"),
        ("1 + inf", "∞ and nan stand alone: write the result of calculating with them.\n  1 + inf\n  ^"),
    ],
)  # fmt: skip
def test_no_real_number(text, message):
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2; 3", "Expected 2 entries, as in the first row, found 1.\n  1 2; 3\n       ^"),
        ("1;;2", "Expected an entry before ';'.\n  1;;2\n    ^"),
        ("1, 2,", "Expected an entry after ','.\n  1, 2,\n       ^"),
        ("1\n3 +", "Expected a number, a letter or a bracket after '+'.\n  3 +\n     ^"),
        ("[[1, 2], 3]", "Expected a row in brackets, like the first.\n  [[1, 2], 3]\n           ^"),
        ("[[[1]]]", "Expected a number, a letter or a bracket, found '['.\n  [[[1]]]\n    ^"),
        ("(1]", "Expected ')' to close the '(' at character 1, found ']'.\n  (1]\n    ^"),
        ("", "Expected an entry.\n  \n  ^"),
        ("[]", "Expected an entry.\n  []\n    ^"),
    ],
)  # fmt: skip
def test_messages_of_matrices(text, message):
    with pytest.raises(ParseError) as caught:
        parse_matrix(text)
    assert str(caught.value) == message


TOO_LARGE = "Expected a result of at most 16,777,216 bits, about 10^(5·10^6)."
TOO_LONG = "Expected digits for at most 100,000 bits. A longer number is written 10^n."


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("9^9^9^9", TOO_LARGE),
        ("2^100000000", TOO_LARGE),
        ("(1/2)^100000000", TOO_LARGE),
        ("(2√3·w)^100000000", TOO_LARGE),
        ("(4w + 6)^100000000", TOO_LARGE),
        ("10^(10^7)", TOO_LARGE),
        ("exp(1000000000 log(2))", TOO_LARGE),
        ("1e999999999", TOO_LONG),
        ("1e-99999999999999999999", TOO_LONG),
        ("9" * 50_000, TOO_LONG),
        (
            "w^" + "9" * 5_000,
            "Expected an exponent with a numerator and a denominator of at most 2,147,483,648.",
        ),
        (
            "w" + "⁹" * 5_000,
            "Expected an exponent with a numerator and a denominator of at most 2,147,483,648.",
        ),
        ("1/(e^e^e^e^e^9 + 1)", "The sign of a number this large is not known."),
        ("2^(1/10^20)", "Expected an exponent with a numerator and a denominator of at most 2,147,483,648."),
        ("(" * 50_000, f"Expected at most {DEEPEST} brackets, roots and exponents inside one another."),
        ("√" * 50_000, f"Expected at most {DEEPEST} brackets, roots and exponents inside one another."),
        ("w^" * 50_000, f"Expected at most {DEEPEST} brackets, roots and exponents inside one another."),
        ("sin(" * 20_000, f"Expected at most {DEEPEST} brackets, roots and exponents inside one another."),
        ("1" * (LONGEST + 1), "Expected at most 100,000 characters, found 100,001."),
    ],
    ids=lambda text: text[:30],
)
def test_hostile_text_is_refused(text, reason):
    for read in (parse, parse_matrix):
        with pytest.raises(ParseError) as caught:
            read(text)
        assert caught.value.reason == reason


@pytest.mark.parametrize(
    "text",
    [
        "*".join(["9^9999"] * 10_000),
        "+".join(["9^9999/7^9999"] * 1_000),
        "+".join(f"1/{10**9 + k}" for k in range(7_000)),
        "*".join(f"cosh(x_{k})" for k in range(5_000)),
        "e^" * 90 + "9",
        "1/(" + "e^" * 9 + "9)",
        "1/(" + "e^-" * 9 + "9 - 1)",
        "log(" + "e^" * 9 + "9)",
        "sin(10^9999)",
    ],
    ids=lambda text: text[:30],
)
def test_heavy_text_is_read_or_refused(text):
    with contextlib.suppress(ParseError):
        assert isinstance(parse(text), Value)


def test_long_text_that_means_no_harm():
    assert parse("-" * 50_000 + "1") is ONE
    assert parse("(" * DEEPEST + "1" + ")" * DEEPEST) is ONE
    assert parse("+".join(["w"] * 30_000)) is q(30_000) * w
    assert len(parse("+".join(f"12x_{k}" for k in range(9_000))).args) == 9_000
    assert parse("*".join(f"x_{k}" for k in range(9_000))).size > 9_000
    assert parse("7" * 20_000) is rational(7 * (10**20_000 - 1) // 9)
    assert len(parse_matrix("1 " * 40_000)) == 40_000


def sums(inner):
    """Texts of positive numbers and what SymPy makes of the same operations."""
    a, b = inner, inner
    return st.one_of(
        st.tuples(a, b).map(lambda p: (f"{p[0][0]} + {p[1][0]}", p[0][1] + p[1][1])).map(bracketed),
        st.tuples(a, b).map(lambda p: (f"{p[0][0]}*{p[1][0]}", p[0][1] * p[1][1])).map(bracketed),
        st.tuples(a, b).map(lambda p: (f"{p[0][0]}/{p[1][0]}", p[0][1] / p[1][1])).map(bracketed),
        a.map(lambda p: (f"√{p[0]}", sympy.sqrt(p[1]))).map(bracketed),
        a.map(lambda p: (f"{p[0]}^-(2/3)", p[1] ** sympy.Rational(-2, 3))).map(bracketed),
        a.map(lambda p: (f"log(1 + {p[0]})", sympy.log(1 + p[1]))),
        a.map(lambda p: (f"atan({p[0]})", sympy.atan(p[1]))),
        a.map(lambda p: (f"e^-{p[0]}", sympy.exp(-p[1]))).map(bracketed),
        a.map(lambda p: (f"2 - sin({p[0]})", 2 - sympy.sin(p[1]))).map(bracketed),
    )


def bracketed(pair):
    return f"({pair[0]})", pair[1]


NUMBERS = st.one_of(
    st.integers(1, 99).map(lambda n: (str(n), sympy.Integer(n))),
    st.integers(1, 999).map(lambda n: (f"{n / 100:.2f}", sympy.Rational(n, 100))),
    st.just(("π", sympy.pi)),
)


@settings(max_examples=60, deadline=None)
@given(st.recursive(NUMBERS, sums, max_leaves=6))
def test_numbers_agree_with_sympy(pair):
    text, expression = pair
    expected = float(expression.evalf(300))  # fewer digits lose log(1 + tiny) to rounding
    assert math.isclose(to_float(parse(text)), expected, rel_tol=1e-14, abs_tol=1e-300)


@settings(max_examples=400, deadline=None)
@given(st.text("0123456789.eE+-*/^()[],; \n√π½²⁻₁w_{}xlogsinqrt∞naf$'", max_size=24))
def test_any_text_is_read_or_refused(text):
    for read in (parse, parse_matrix):
        try:
            read(text)
        except ParseError as error:
            assert 0 <= error.position <= len(text)
            assert error.reason.endswith(".")


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_poles(name):
    for text in ("1", "1/2", "-1/2", "2"):
        assert parse(f"{name}({text})") is build(name, parse(text))
    for text in ("0", "-1", "-2"):
        with pytest.raises(ParseError, match=f"{name} needs a number that is not 0, −1, −2, …"):
            parse(f"{name}({text})")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("10^(10^6)", lambda: exact(10) ** 10**6),
        ("10**10**6", lambda: exact(10**10**6)),
        ("(1/3)^(10^6)", lambda: exact(1) / exact(3) ** 10**6),
        ("√2^(10^6) / 2^499999", lambda: exact(2)),
        ("exp(10^6 log(7))", lambda: exact(7) ** 10**6),
        ("(2^(10^6) + 1)(2^(10^6) − 1)", lambda: exact(4) ** 10**6 - 1),
    ],
)
def test_long_powers_are_the_same_as_by_integers(text, same):
    assert exact.equal(exact(text), same()) == (True, "proved")
    assert exact.equal(exact(text), same() + 1).equal is False

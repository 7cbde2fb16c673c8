"""The simplest form of a value: worked examples, the same number always, and never long."""

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from workings.exact.numbers.algebra import add_all, exp, power
from workings.exact.numbers.ball import enclosure
from workings.exact.numbers.build import build
from workings.exact.numbers.letter import declared_letter
from workings.exact.numbers.rounding import to_float
from workings.exact.numbers.simplest import MOST, simplest
from workings.exact.numbers.value import INF, ONE, ZERO, Value, rational
from workings.exact.typeset.text import text

HALF = fmpq(1, 2)
w, x, b, u = (declared_letter(name, fmpq(k, 10)) for name, k in [("w", 3), ("x", 7), ("b", -4), ("u", 11)])


def q(top: int, bottom: int = 1) -> Value:
    return rational(fmpq(top, bottom))


def root(top: int, bottom: int = 1) -> Value:
    return power(q(top, bottom), HALF)


E = exp(root(1, 2))
p = E / (ONE + E)

SIMPLEST = [
    (p + ONE / (ONE + E), "1"),
    (ONE - p, "1/(1 + e^(1/√2))"),
    (p - p * p, "e^(1/√2)/(1 + e^(1/√2))²"),
    (p * (ONE - p), "e^(1/√2)/(1 + e^(1/√2))²"),
    (p, "e^(1/√2)/(1 + e^(1/√2))"),
    (ONE / (ONE + exp(-w)), "e^w/(1 + e^w)"),
    (exp(-w) / (ONE + exp(-w)), "1/(1 + e^w)"),
    (exp(-w), "e^(−w)"),
    (q(8) * power(w - q(1, 2), 2), "8(w − 1/2)²"),
    (q(16) * w - q(8), "16w − 8"),
    (w * w - ONE, "w² − 1"),
    ((w * w - ONE) / (w - ONE), "w + 1"),
    (power(w + ONE, 2) - w * w, "2w + 1"),
    (ONE + ONE / w, "1 + 1/w"),
    ((q(2) + root(2)) / root(2), "1 + √2"),
    ((ONE + root(2)) * (ONE - root(2)), "−1"),
    (build("tanh", (w * w - ONE) / (w - ONE)), "tanh(w + 1)"),
    (exp(p + ONE / (ONE + E)), "e"),
    (power((w * w - ONE) / (w - ONE), HALF), "√(w + 1)"),
    ((w - x) / (x - w), "−1"),
    (exp(w + x) / exp(w) - exp(x), "0"),
    (INF, "∞"),
]


@pytest.mark.parametrize(("v", "written"), SIMPLEST, ids=[f"{text(v)} to {written}" for v, written in SIMPLEST])
def test_worked_by_hand(v, written):
    assert text(simplest(v)) == written


@pytest.mark.parametrize(("v", "written"), SIMPLEST, ids=[f"{text(v)} to {written}" for v, written in SIMPLEST])
def test_the_simplest_form_stays(v, written):
    assert simplest(simplest(v)) is simplest(v)


def test_a_denominator_that_vanishes_is_left_alone():
    v = ONE / ((root(2) + ONE) * (root(2) - ONE) - ONE)
    assert simplest(v) is v


def test_another_number_is_refused(monkeypatch):
    monkeypatch.setattr("workings.exact.numbers.simplest._forms", lambda v: [ONE])
    v = p - p * p
    assert simplest(v) is v


def test_long_formulas_stay():
    v = w
    while v.size <= MOST:
        v = build("sin", v + x)
    assert simplest(v) is v


LEAVES = [w, x, b, u, root(2), root(3), exp(ONE), exp(w), exp(-x)]


@st.composite
def values(draw, most: int = 24) -> Value:
    """Random values of 5 to 60 nodes, mostly: sums, products and quotients of a few functions."""

    def grown(size: int) -> Value:
        if size <= 1:
            return draw(st.one_of(st.sampled_from(LEAVES), st.builds(q, st.integers(-5, 5), st.integers(1, 3))))
        kind = draw(st.sampled_from("+++***//2-e√t"))
        if kind in "2-e√t":
            return UNARY[kind](grown(size - 1))
        part = draw(st.integers(1, size - 1))
        left, right = grown(part), grown(size - part)
        return left + right if kind == "+" else left * right if kind == "*" or right is ZERO else left / right

    return grown(draw(st.integers(2, most)))


UNARY = {
    "2": lambda v: power(v, 2),
    "-": lambda v: q(-1, 2) * v,
    "e": exp,
    "√": lambda v: power(v * v + ONE, HALF),
    "t": lambda v: build("tanh", v),
}


@settings(deadline=None, max_examples=200)
@given(values())
def test_the_number_stays_the_same(v):
    found = simplest(v)
    assert found.size <= v.size + 3  # e^x/(1 + e^x) is one node longer than 1/(1 + e^(−x))
    before, after = enclosure(v, 512), enclosure(found, 512)
    assert before.overlaps(after)
    if before.is_finite() and before.rel_accuracy_bits() > 100 and after.is_finite():
        assert to_float(found) == pytest.approx(to_float(v), rel=1e-12)


SOME = [declared_letter(f"{name}_s", fmpq(k + 2, 7)) for k, name in enumerate("abcdefgh")]


def linear(seed: int, n: int) -> Value:
    """A sum of n letters with coefficients, never the same twice."""
    terms = [q((seed * 7 + 3 * i) % 9 + 1) * SOME[(seed + 3 * i) % 8] for i in range(n)]
    return add_all([*terms, q(seed % 5 + 1)])


@pytest.mark.parametrize("n", [2, 3, 4])
def test_worst_cases_keep_their_value(n):
    cases = [
        add_all([linear(k, 2) / linear(k + 5, n) for k in range(4)]),
        power(linear(1, n), 3) / power(linear(2, n), 3) + linear(3, 3) / linear(4, 2),
        power(linear(5, n), 12) - power(linear(6, n), 11) + ONE / power(linear(7, 2), 9),
        (power(w, 40) - ONE) / (power(w, 24) - ONE) + power(x, 30) / (x + ONE),
    ]
    for v in cases:
        assert to_float(simplest(v)) == to_float(v)

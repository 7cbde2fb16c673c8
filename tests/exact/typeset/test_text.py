"""Values in plain text: golden strings, one text for one formula, reading back, and long formulas."""

import random

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from workings.exact.numbers.algebra import exp, log, power, unexpanded_dot
from workings.exact.numbers.assume import recording
from workings.exact.numbers.ball import enclosure
from workings.exact.numbers.build import build
from workings.exact.numbers.letter import declared_letter, letter, mean
from workings.exact.numbers.value import INF, NAN, NEG_INF, ONE, ZERO, Value, constant, rational
from workings.exact.reading.parse import parse
from workings.exact.typeset.surd import surd
from workings.exact.typeset.text import text

HALF = fmpq(1, 2)
w, x, w_h = declared_letter("w", fmpq(3, 10)), declared_letter("x", fmpq(7, 10)), declared_letter("w_h", fmpq(2))


@pytest.fixture(autouse=True)
def the_letters_of_this_file():
    for one in (w, x, w_h):
        mean(one)


pi = constant("pi")


def q(top: int, bottom: int = 1) -> Value:
    return rational(fmpq(top, bottom))


def root(top: int, bottom: int = 1) -> Value:
    return power(q(top, bottom), HALF)


a = root(1, 2)
p = exp(a) / (ONE + exp(a))
tanh_w = build("tanh", w)

GOLDEN = [
    # rationals and constants
    (ZERO, "0"),
    (q(-3, 2), "−3/2"),
    (q(2, 3) * pi, "2π/3"),
    (pi - q(3), "π − 3"),
    (constant("euler"), "euler_gamma"),
    (INF, "∞"),
    (NEG_INF, "−∞"),
    (NAN, "nan"),
    # roots: the shortest of p√n/q, p/(q√n), p√r, p/√r
    (root(1, 2), "1/√2"),
    (root(19, 2), "√9.5"),  # √38/2
    (ONE / root(19, 2), "1/√9.5"),
    (q(-3, 2) / root(19, 2), "−3/√38"),
    (root(2, 3), "√(2/3)"),  # √6/3, and 0.666… does not end
    (q(3, 4) * root(2), "3√2/4"),
    (q(3) / root(2), "3/√2"),
    (root(3) / q(2), "√3/2"),
    (root(8), "2√2"),
    (root(2) * root(3), "√6"),
    (q(1, 10) / root(3), "√3/30"),
    (q(7, 2) / root(97), "7/(2√97)"),
    (power(q(2), fmpq(1, 3)), "2^(1/3)"),
    (q(2) * power(q(3), fmpq(1, 3)), "2·3^(1/3)"),
    (power(q(2) * pi, HALF), "√(2π)"),
    (power(q(2) / pi, HALF), "√(2/π)"),
    ((ONE + root(5)) / q(2), "(1 + √5)/2"),
    (root(2) - root(3), "√2 − √3"),
    # e and log
    (exp(ONE), "e"),
    (exp(q(2)), "e²"),
    (exp(w), "e^w"),
    (exp(-w), "e^(−w)"),
    (exp(root(2)), "e^(√2)"),
    (p, "e^(1/√2)/(1 + e^(1/√2))"),
    (power(ONE + exp(a), -2), "1/(1 + e^(1/√2))²"),
    (exp(q(-1, 2)) / power(q(2) * pi, HALF), "e^(−1/2)/√(2π)"),
    (log(q(2)), "log 2"),
    (q(2) * log(q(2)), "2·log 2"),
    (log(q(2)) / q(2), "(log 2)/2"),
    (log(q(2)) * log(q(3)), "(log 2)·log 3"),
    (log(q(3, 2)), "log(3/2)"),
    (ONE - log(q(2)), "1 − log 2"),
    # letters
    (w_h, "w_h"),
    (letter("W_1,2"), "W_{1,2}"),
    (q(2) * letter("e3"), "2·e3"),  # 2e3 would be 2000
    (w * w, "w²"),
    (power(w, 12), "w¹²"),
    (ONE / w, "1/w"),
    (w * x, "w·x"),
    (w / root(2), "w/√2"),
    (w / root(19, 2), "w/√9.5"),
    (q(16) * w - q(8), "16w − 8"),
    (q(8) * power(w - q(1, 2), 2), "8(w − 1/2)²"),
    (w * w + q(2) * w + ONE, "w² + 2w + 1"),
    (x * x + w * x + w * w, "w² + w·x + x²"),
    (q(1, 2) - w, "1/2 − w"),
    (ONE + q(2) * w - w * w, "1 + 2w − w²"),
    (-w - ONE, "−w − 1"),
    (-(w + ONE) / q(2), "−(w + 1)/2"),
    (w * (x + ONE), "w·(x + 1)"),
    ((w + ONE) * (x + ONE), "(w + 1)(x + 1)"),
    ((w + ONE) * exp(w), "(w + 1)·e^w"),
    (power(w + ONE, HALF), "√(w + 1)"),
    (power(w, fmpq(3, 2)), "w^(3/2)"),
    (power(w * w, HALF), "abs(w)"),
    (ONE + exp(w), "1 + e^w"),
    (ONE / (ONE + exp(-w)), "1/(1 + e^(−w))"),
    # functions
    (tanh_w, "tanh(w)"),
    (ONE - tanh_w * tanh_w, "1 − tanh(w)²"),
    (q(3) * w * build("sin", w), "3w·sin(w)"),
    (q(2) * tanh_w * tanh_w, "2·tanh(w)²"),
    (build("atan2", w, x), "atan2(w, x)"),
    (build("pow", q(2), w), "2^w"),
    (unexpanded_dot((w, q(2)), (x, pi)), "w·x + 2π"),
]


@pytest.mark.parametrize(("v", "written"), GOLDEN, ids=[written for _, written in GOLDEN])
def test_golden(v, written):
    assert text(v) == written


@pytest.mark.parametrize(("v", "written"), GOLDEN, ids=[written for _, written in GOLDEN])
def test_what_is_written_is_read_back(v, written):
    back = parse(written)
    assert back is v or (not v.special and same_number(back, v))


def same_number(u: Value, v: Value) -> bool:
    for name in ("W_1,2", "e3"):
        declared_letter(name, fmpq(5, 3))
    return bool(enclosure(u).overlaps(enclosure(v)))


def test_radicands_without_decimals():
    assert text(root(19, 2), decimals=False) == "√(19/2)"


@given(
    st.integers(1, 60),
    st.integers(1, 60),
    st.sampled_from([1, 2, 3, 5, 6, 7, 10, 14, 15, 19, 38, 105]),
    st.booleans(),
)
def test_each_form_of_a_surd_is_the_same_number(top, bottom, n, decimals):
    c = fmpq(top, bottom)
    s = surd(c, n, decimals)
    r, t = s.radicands
    assert fmpq(s.top, s.bottom) ** 2 * r / t == c**2 * n
    if s.decimals is not None:
        assert len(s.decimals) <= 4 and rational(r if r.q != 1 else t) is parse(s.decimals)


def shuffled(seed: int) -> str:
    """One formula in letters never used before, made in an order that depends on the seed."""
    rng = random.Random(seed)
    names = ["a", "b", "c"]
    fresh = {name: f"{name}_{seed}" for name in names}
    for name in rng.sample(names, 3):
        letter(fresh[name])
    a, b, c = (letter(fresh[name]) for name in names)
    makers = [
        lambda: a * b * q(3),
        lambda: power(c + a, 2),
        lambda: exp(a + b) / (ONE + exp(c)),
        lambda: q(-2) * root(2) * c,
        lambda: build("tanh", a * c + b),
        lambda: root(3) + q(seed, seed),
    ]
    out = ZERO
    for make in rng.sample(makers, len(makers)):
        out = out + make() if rng.random() < 0.5 else make() + out
    written = text(out)
    for name in names:
        written = written.replace(fresh[name], name)
    return written


def test_the_order_in_which_a_formula_was_made_does_not_show():
    assert {shuffled(seed) for seed in range(1, 30)} == {
        "3a·b + (a + c)² − 2√2·c + 1 + √3 + e^(a + b)/(1 + e^c) + tanh(a·c + b)"
    }


def squared(v: Value) -> Value:
    for _ in range(2000):
        v = v * v + ONE
    return v


def nested(v: Value, times: int = 5000) -> Value:
    for _ in range(times):
        v = exp(build("sin", v))
    return v


def doubled(v: Value) -> Value:
    for _ in range(2000):
        v = build("sin", v * v + v)
    return v


LONG = [
    (
        lambda: squared(build("sin", ONE)),
        "⟨formula of 6,002 nodes⟩",
    ),  # too large for decimals: about 10^(10^500)
    (lambda: squared(letter("s")), "⟨formula of 6,001 nodes in s⟩"),
    (lambda: nested(ONE), "1.51402… (exact formula of 10,001 nodes)"),
    (lambda: nested(declared_letter("t", fmpq(1, 2))), "⟨formula of 10,001 nodes in t; 2.71391… at t = 1/2⟩"),
    (lambda: doubled(q(1, 3)), "0.955779… (exact formula of over 1,000,000,000 nodes)"),
]


@pytest.mark.parametrize(("make", "written"), LONG, ids=[written for _, written in LONG])
def test_long_formulas_are_not_walked(make, written):
    assert text(make()) == written


def test_a_long_zero():
    v = nested(ONE, 100)
    zero = power(build("sin", v), 2) + power(build("cos", v), 2) - ONE
    with recording() as notes:
        assert text(zero) == f"0.000000… (exact formula of {zero.size} nodes)"
    assert not notes  # printing decides nothing


def test_depth_is_no_matter():
    assert text(nested(w, 1000), most=20_000) == "e^sin(" * 1000 + "w" + ")" * 1000


def test_long_numbers_are_cut():
    assert text(power(q(3), 50)) == "717897987691852588770249"
    assert text(rational(7**3000)).endswith("digits)")


# ------------------------------------------------------------------------------------- random values

LEAVES = [w, x, w_h, pi, root(2), root(3), log(q(2)), exp(ONE)]


def grown(draw, size: int) -> Value:
    """A random value of about this many operations."""
    if size <= 1:
        return draw(st.one_of(st.sampled_from(LEAVES), st.builds(q, st.integers(-6, 6), st.integers(1, 4))))
    kind = draw(st.sampled_from("++**/fep2"))
    if kind in "fep2":
        v = grown(draw, size - 1)
        if kind == "p":
            return power(v * v + ONE, draw(st.sampled_from([HALF, -HALF, -1, -2])))
        return power(v, 2) if kind == "2" else exp(v) if kind == "e" else build(draw(st.sampled_from(["tanh", "sin"])), v)
    part = draw(st.integers(1, size - 1))
    u, v = grown(draw, part), grown(draw, size - part)
    return u + v if kind == "+" else u * v if kind == "*" or v is ZERO else u / v


@st.composite
def values(draw, most: int = 20) -> Value:
    return grown(draw, draw(st.integers(1, most)))


@settings(deadline=None, max_examples=200)
@given(values())
def test_random_values_are_read_back(v):
    written = text(v)
    ball = enclosure(v)
    if v.size <= 100 and ball.is_finite():
        assert enclosure(parse(written)).overlaps(ball), written


@settings(deadline=None, max_examples=100)
@given(values(60))
def test_text_never_fails(v):
    assert text(v)
    assert text(v, most=1)

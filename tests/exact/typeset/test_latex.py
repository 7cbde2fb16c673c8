r"""Values in LaTeX: golden strings, balanced braces, and only commands that KaTeX and amsmath share."""

import re

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from workings.exact.numbers.algebra import exp, log, power
from workings.exact.numbers.build import build
from workings.exact.numbers.functions import FUNCTIONS
from workings.exact.numbers.letter import declared_letter, letter
from workings.exact.numbers.value import INF, NAN, NEG_INF, ONE, ZERO, Value, constant, rational
from workings.exact.typeset.latex import latex, matrix_latex, name, tensor_latex

HALF = fmpq(1, 2)
w, x, w_h = declared_letter("w", fmpq(3, 10)), declared_letter("x", fmpq(7, 10)), declared_letter("w_h", fmpq(2))
pi = constant("pi")
COMMANDS = {
    *("frac", "sqrt", "left", "right", "cdot", "infty", "ldots", "langle", "rangle", "begin", "end"),
    *("log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "psi", "zeta"),
    *("mathrm", "operatorname", "text", "pi", "gamma", "alpha", "sigma", "Sigma"),
}


def q(top: int, bottom: int = 1) -> Value:
    return rational(fmpq(top, bottom))


def root(top: int, bottom: int = 1) -> Value:
    return power(q(top, bottom), HALF)


a = root(1, 2)
tanh_w = build("tanh", w)

GOLDEN = [
    (ZERO, "0"),
    (q(-3, 2), r"-\frac{3}{2}"),
    (q(2, 3) * pi, r"\frac{2 \pi}{3}"),
    (constant("euler"), r"\gamma"),
    (INF, r"\infty"),
    (NEG_INF, r"-\infty"),
    (NAN, r"\mathrm{NaN}"),
    (a, r"\frac{1}{\sqrt{2}}"),
    (root(19, 2), r"\sqrt{9.5}"),
    (root(2, 3), r"\sqrt{\frac{2}{3}}"),
    (q(3, 4) * root(2), r"\frac{3 \sqrt{2}}{4}"),
    (q(7, 2) / root(97), r"\frac{7}{2 \sqrt{97}}"),
    (root(2) * root(3), r"\sqrt{6}"),
    (q(2) * power(q(3), fmpq(1, 3)), r"2 \cdot 3^{1/3}"),
    (exp(a) / (ONE + exp(a)), r"\frac{e^{1/\sqrt{2}}}{1 + e^{1/\sqrt{2}}}"),
    (exp((w + ONE) / (q(2) * x)), r"e^{(w + 1)/(2 x)}".replace("(", r"\left(").replace(")", r"\right)")),
    (power(ONE + exp(a), -2), r"\frac{1}{\left(1 + e^{1/\sqrt{2}}\right)^{2}}"),
    (exp(q(-1, 2)) / power(q(2) * pi, HALF), r"\frac{e^{-1/2}}{\sqrt{2 \pi}}"),
    (q(2) * log(q(2)), r"2 \log 2"),
    (log(q(2)) * log(q(3)), r"\left(\log 2\right) \log 3"),
    (log(q(3, 2)), r"\log\left(\frac{3}{2}\right)"),
    (w_h, "w_{h}"),
    (q(16) * w - q(8), "16 w - 8"),
    (q(8) * power(w - q(1, 2), 2), r"8 \left(w - \frac{1}{2}\right)^{2}"),
    (q(1, 2) - w, r"\frac{1}{2} - w"),
    (power(w * w, HALF), r"\left|w\right|"),
    (power(w, fmpq(3, 2)), "w^{3/2}"),
    (ONE - tanh_w * tanh_w, r"1 - \tanh\left(w\right)^{2}"),
    (build("erf", w), r"\operatorname{erf}\left(w\right)"),
    (build("bessel_j", ONE, w), r"J_{1}\left(w\right)"),
]


@pytest.mark.parametrize(("v", "written"), GOLDEN, ids=[written for _, written in GOLDEN])
def test_golden(v, written):
    assert latex(v) == written
    assert_compiles(written)


def assert_compiles(written: str) -> None:
    """Braces and \\left … \\right balance, and every command is one that both amsmath and KaTeX know."""
    depth = 0
    for brace in re.findall(r"[{}]", written):
        depth += 1 if brace == "{" else -1
        assert depth >= 0, written
    assert depth == 0, written
    assert written.count(r"\left") == written.count(r"\right"), written
    assert set(re.findall(r"\\([A-Za-z]+)", written)) <= COMMANDS, written
    assert written.isascii(), written
    assert not re.search(r"(?<!\\)[#$%&~]|\^\^|__", re.sub(r" & ", "", written)), written


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
def test_every_function_is_written(function):
    arguments = [w, x] if function in ("pow", "atan2", "zeta", "gamma_lower") or function.startswith("bessel") else [w]
    assert_compiles(latex(build(function, *arguments)))


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("w", "w"),
        ("w1", "w_{1}"),
        ("x_1_2", "x_{1,2}"),
        ("W_1,2", "W_{1,2}"),
        ("weight", r"\mathrm{weight}"),
        ("alpha", r"\alpha"),
        ("σ", r"\sigma"),
        ("Σ_i", r"\Sigma_{i}"),
        ("b_hidden", r"b_{\mathrm{hidden}}"),
    ],
)
def test_names(word, written):
    assert name(word) == written
    assert_compiles(written)


def test_matrices():
    assert matrix_latex([[ONE, a], [w, ZERO]]) == r"\begin{bmatrix} 1 & \frac{1}{\sqrt{2}} \\ w & 0 \end{bmatrix}"
    assert matrix_latex([ONE, w]) == r"\begin{bmatrix} 1 & w \end{bmatrix}"
    assert tensor_latex(w) == "w"
    assert tensor_latex([[ONE], [w]]) == r"\begin{bmatrix} 1 \\ w \end{bmatrix}"
    cube = tensor_latex([[[ONE, w], [w, ONE]], [[ZERO, w], [w, ZERO]]])
    assert cube.count(r"\begin{bmatrix}") == 3 and cube.count(r"\end{bmatrix}") == 3


def test_long_formulas_are_elided():
    v, free = ONE, letter("v_0")
    for _ in range(300):
        v, free = exp(build("sin", v)), exp(build("sin", free))
    assert latex(v) == r"1.51402\ldots"
    assert latex(free) == r"\langle \text{formula of 601 nodes in }v_{0}\rangle"
    sampled = latex(free * w)
    assert sampled == r"\langle \text{formula of 603 nodes in }v_{0}, w\rangle"
    assert_compiles(sampled)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from(["+w", "*x", "/r", "exp", "tanh", "√", "²", "log", "−1"]), max_size=15))
def test_random_values_compile(steps):
    v = w
    for step in steps:
        v = STEPS[step](v)
    assert_compiles(latex(v))
    assert_compiles(latex(v, most=3))


STEPS = {
    "+w": lambda v: v + w,
    "*x": lambda v: v * (x + root(2)),
    "/r": lambda v: v / (root(3) + exp(w)),
    "exp": exp,
    "tanh": lambda v: build("tanh", v),
    "√": lambda v: power(v * v + ONE, HALF),
    "²": lambda v: power(v, 2) + ONE,
    "log": lambda v: log(v * v + q(2)),
    "−1": lambda v: q(-1, 2) * v - ONE,
}

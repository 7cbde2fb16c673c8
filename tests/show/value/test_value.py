"""Values of all kinds and sizes."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from workings import exact
from workings.show.options import Options
from workings.show.value.value import inline_of, latex_of, shape_of, text_of
from workings.show.write.decimals import decimal, latex_decimal
from workings.show.write.sparkline import summary

PLAIN = Options()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1, "1"),
        (-2.5, "−2.5"),
        (0.1 + 0.2, "0.3"),
        (True, "True"),
        (None, "None"),
        (Fraction(1, 3), "1/3"),
        (2j, "0 + 2i"),
        ("a\nb", '"a⏎b"'),
        (torch.float16, "torch.float16"),
        ((1, 2.0), "(1, 2)"),
        ([], "[]"),
        ({"a": 1}, "{'a': 1}"),
        ({"a": 1, 2: "b"}, "{'a': 1, 2: \"b\"}"),
        ({-1: torch.zeros(2)}, "{-1: [0  0]}"),
        ({"a": torch.zeros(2), "b": 1}, "['a'] = [0  0]\n['b'] = 1"),
        ({"a": torch.eye(2)}, "{'a': ⎡1  0⎤}\n      ⎣0  1⎦"),
        ({2, 1}, "{1, 2}"),
        (set(), "⟨set⟩"),
        (lambda x: x, "⟨function⟩"),
        (list(range(10)), "[0, 1, 2, 3, 4, 5, 6, 7, … and 2 more]"),
        (object(), "⟨object⟩"),
        (torch.nn.Linear(1, 1), "⟨Linear⟩"),
        pytest.param(10**400, "about 10^400", id="huge"),
        (torch.tensor(2.0), "2"),
        (torch.tensor([1, -20]), "[1  −20]"),
        (torch.tensor([True, False]), "[T  F]"),
        (torch.tensor([1 + 2j]), "[1 + 2i]"),
        (torch.tensor([math.nan, math.inf, -math.inf]), "[NaN  ∞  −∞]"),
        (torch.zeros(0, 3), "[]"),
        (torch.zeros(2, device="meta"), "no values: a tensor on meta"),
        (exact("1/2"), "1/2 = 0.5"),
        (exact("sqrt(2)"), "√2 ≈ 1.414"),
        (exact("3"), "3"),
        (exact.symbols(w=0.3) + 1, "w + 1"),
    ],
)
def test_one_line(value, shown):
    assert text_of(value, PLAIN) == shown


def test_exact_matrix_with_its_decimals():
    x = exact("1 1; 1 0").div(math.sqrt(2)).softmax(-1)
    assert text_of(x[1:], PLAIN) == "[e^(1/√2)/(1 + e^(1/√2))  1/(1 + e^(1/√2))] ≈ [0.6698  0.3302]"
    assert text_of(x[1:], Options(exact=False)) == "[0.6698  0.3302]"
    assert text_of(x[1:], Options(width=50)) == "[e^(1/√2)/(1 + e^(1/√2))  1/(1 + e^(1/√2))]\n≈ [0.6698  0.3302]"


def test_points_stand_under_each_other():
    x = torch.tensor([[1.5, 100.0], [-12.25, 0.125]])
    assert text_of(x, PLAIN) == "⎡  1.500  100.000⎤\n⎣−12.250    0.125⎦"


def test_slices_are_named():
    assert text_of(torch.arange(4).reshape(2, 1, 2), PLAIN) == "[0, :, :] =\n[0  1]\n\n[1, :, :] =\n[2  3]"


def test_summary_by_hand():
    # 0 … 99: mean 49.5, variance (100² − 1)/12 = 833.25, σ = 28.866
    assert text_of(torch.arange(100), PLAIN) == "int64  0 … 99  ████████████  mean 49.5  std 28.87"
    assert text_of(torch.ones(100), PLAIN) == "all 1"
    assert text_of(torch.tensor([True] * 3 + [False] * 97), PLAIN) == "true in 3 of 100"


def test_what_is_not_finite_is_counted():
    x = torch.ones(100)
    x[:3] = math.nan
    x[3] = math.inf
    assert text_of(x, PLAIN) == "all 1  3 NaN  1 Inf"
    assert text_of(torch.full((100,), math.nan), PLAIN) == "100 NaN"
    assert latex_of(x, PLAIN).endswith(r",\ 3 \text{ NaN},\ 1 \text{ Inf}")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int8, torch.complex64, torch.float64])
def test_every_type_has_a_summary(dtype):
    assert "mean" in text_of(torch.arange(100).to(dtype), PLAIN)


def test_histogram_counts():
    found = summary(torch.tensor([0.0] * 8 + [1.0]))
    assert found.spark == "█▁▁▁▁▁▁▁▁▁▁▂"


def test_ten_million_entries_are_one_line():
    x = torch.randn(10_000_000)
    assert text_of(x, PLAIN).count("\n") == 0


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.5, "0.5"),
        (-1e-9, r"-10^{-9}"),
        (torch.eye(2), r"\begin{bmatrix} 1 & 0 \\ 0 & 1 \end{bmatrix}"),
        (exact("1/2"), r"\frac{1}{2} = 0.5"),
        ("a_b", r"\texttt{''a\_b''}"),
        (None, r"\texttt{None}"),
        ((1, 2), r"\left(1,\ 2\right)"),
        (torch.zeros(1, 11), r"\left[\begin{array}{rrrrrrrrrrr} " + " & ".join("0" * 11) + r" \end{array}\right]"),
    ],
)
def test_latex(value, shown):
    assert latex_of(value, PLAIN) == shown


def test_shapes():
    assert shape_of(torch.zeros(2, 3)) == "(2×3)"
    assert shape_of(torch.zeros(())) == shape_of(1) == ""


def test_inline():
    assert inline_of(torch.eye(2), PLAIN) == "⎡1  0⎤\n⎣0  1⎦"
    assert inline_of(torch.eye(4), PLAIN) is None
    assert inline_of(torch.eye(4), Options(substitution="long")) is not None
    assert inline_of(2, Options(substitution="none")) is None


@given(st.floats(-1e300, 1e300), st.integers(1, 12))
def test_decimals_are_near(x, digits):
    shown = float(decimal(x, digits).replace("−", "-"))
    assert math.isclose(shown, x, rel_tol=10.0 ** (1 - digits), abs_tol=0)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_latex_of_a_number_is_the_number(x):
    shown = latex_decimal(decimal(x, 6)).replace(r" \cdot 10^{", "e").replace("10^{", "1e").replace("}", "")
    assert float(shown) == float(decimal(x, 6).replace("−", "-"))

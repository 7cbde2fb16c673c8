"""Rows and columns: tensors, whole argument sets, formulas, and products that do not fit."""

from math import sqrt

import pytest
import torch
from torch.testing import assert_close

from workings import exact
from workings.course.convention import other_convention, other_formula, shape_of
from workings.errors import ShapeError, WorkingsError
from workings.nn.transformer.dot_product import attention, attention_columns
from workings.nn.transformer.heads import multi_head, multi_head_columns
from workings.nn.transformer.masks import causal_mask

SIZES = {"Q": (6, 4), "K": (6, 5), "V": (3, 5)}


def message(call, error=ShapeError):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def test_a_whole_argument_set():
    rows = {"Q": torch.randn(2, 4, 6), "K": torch.randn(2, 4, 6), "V": torch.randn(2, 4, 3), "mask": causal_mask(4)}
    columns = other_convention(rows)
    assert columns["mask"].equal(causal_mask(4).T)  # a lower triangle becomes an upper one
    H = attention_columns(beta=1 / sqrt(6), **columns)
    assert_close(other_convention(H), attention(**rows))


def test_weights_of_heads():
    X = torch.randn(4, 6)
    W_Q, W_K, W_V = ([torch.randn(6, 2) for _ in range(3)] for _ in range(3))
    W_O = torch.randn(6, 6)
    rows = multi_head(X, W_Q, W_K, W_V, W_O)
    C, Q, K, V, O = other_convention((X, W_Q, W_K, W_V, W_O))
    assert_close(multi_head_columns(C, C, C, Q, K, V, O), rows.T)


def test_twice_is_nothing():
    given = {"X": torch.randn(2, 3), "b": torch.randn(3), "beta": 2, "heads": [torch.randn(1, 4)], "name": "A"}
    twice = other_convention(other_convention(given))
    assert twice["X"].equal(given["X"]) and twice["heads"][0].equal(given["heads"][0])
    assert (twice["b"] is given["b"], twice["beta"], twice["name"]) == (True, 2, "A")
    assert exact.equal(other_convention(exact("1 2; 3 4")), exact("1 3; 2 4"))


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        ("softmax(Q @ K.T / sqrt(d)) @ V", "V @ softmax(K.T @ Q / sqrt(d))"),
        ("X @ W_Q", "W_Q @ X"),
        ("concat(Z_1, Z_2) @ W_O", "W_O @ stack(Z_1, Z_2)"),
        ("X + relu(X @ W_1) @ W_2", "X + W_2 @ relu(W_1 @ X)"),
        ("-(A @ B) @ C", "C @ -(B @ A)"),
    ],
)
def test_formulas_turn_round(rows, columns):
    assert other_formula(rows) == columns
    assert other_formula(columns) == rows


def test_superscript_transposes_are_read():
    assert other_formula("softmax(Q @ Kᵀ) @ V") == "V @ softmax(K.T @ Q)"


def test_sizes():
    assert shape_of("K.T @ Q", **SIZES) == (5, 4)
    assert shape_of("V @ softmax(K.T @ Q / sqrt(6))", **SIZES) == (3, 4)
    assert shape_of("2 * V", **SIZES) == (3, 5)
    assert shape_of("concat(Q, K)", **SIZES) == (6, 9)
    assert shape_of("stack(K, V) + stack(K, V)", **SIZES) == (9, 5)
    assert shape_of("-A", A=torch.zeros(7, 2, 3)) == (2, 3)


def test_the_product_of_the_wrong_order():
    # softmax(Kᵀ Q) is 5×4, V is 3×5
    text = message(lambda: shape_of("softmax(K.T @ Q) @ V", **SIZES))
    assert text == "softmax(Kᵀ Q) V is not conformable: 5×4 times 3×5. V softmax(Kᵀ Q) would fit and is 3×4."


def test_a_product_that_fits_neither_way():
    text = message(lambda: shape_of("W @ Q", W=(6, 2), Q=(6, 4)))
    assert text == "W Q is not conformable: 6×2 times 6×4."


def test_other_misfits():
    assert message(lambda: shape_of("Q + K", **SIZES)) == ("Q + K needs two matrices of one size, but they are 6×4 and 6×5.")
    assert message(lambda: shape_of("stack(Q, V)", **SIZES)) == (
        "stack(Q, V) puts matrices one above the other, so they need as many columns: 6×4, 3×5."
    )
    assert message(lambda: shape_of("concat(Q, V)", **SIZES)) == (
        "concat(Q, V) puts matrices side by side, so they need as many rows: 6×4, 3×5."
    )
    assert message(lambda: shape_of("v", v=torch.zeros(3))) == "v needs two axes to be a matrix, but it is [3]."


def test_what_cannot_be_read():
    assert message(lambda: other_formula("A @"), WorkingsError) == (
        "The formula 'A @' cannot be read: write it as Python, such as 'A @ V'."
    )
    assert message(lambda: other_formula("A[0]"), WorkingsError) == (
        "A[0] has no known transpose: formulas have letters, @, + − * /, .T and functions."
    )
    assert message(lambda: shape_of("A @ B", A=(1, 2)), WorkingsError) == (
        "The size of B is not known: give it, as in shape_of('A @ V', A=(5, 4), V=(4, 3))."
    )

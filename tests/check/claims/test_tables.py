"""Matrices: products, transposes, softmax, shapes, rows; and definitions carried from line to line."""

import pytest

from tests.check.said import report, said

GIVEN = r"""
$Q = \begin{bmatrix}1 & 2\\3 & 4\end{bmatrix}$ and $K = \begin{bmatrix}1 & 0\\1 & 1\end{bmatrix}$.
"""

RIGHT = [
    r"$\begin{bmatrix}1 & 2\\3 & 4\end{bmatrix}\begin{bmatrix}1 \\ 1\end{bmatrix} = \begin{bmatrix}3 \\ 7\end{bmatrix}$",
    r"$\begin{pmatrix}1 & 2\end{pmatrix}\begin{pmatrix}3 \\ 4\end{pmatrix} = 11$",
    r"$[1, 2] \cdot [3, 4] = 11$",
    r"$\begin{bmatrix}1 & 2\\3 & 4\end{bmatrix}^\top = \begin{bmatrix}1 & 3\\2 & 4\end{bmatrix}$",
    r"$\begin{bmatrix}1\\2\end{bmatrix} \odot \begin{bmatrix}3\\4\end{bmatrix} = \begin{bmatrix}3\\8\end{bmatrix}$",
    r"$\|(3, 4)\| = 5$",
    r"$\|(3, -4)\|_1 = 7$",
    r"$\|(3, -4)\|_\infty = 4$",
    r"$\mathrm{softmax}([1, 2, 3]) = [0.090, 0.245, 0.665]$",
    r"$\mathrm{softmax}\begin{bmatrix}0 & 0\\0 & \ln 3\end{bmatrix} = \begin{bmatrix}0.5 & 0.5\\0.25 & 0.75\end{bmatrix}$",
    r"$\mathrm{softmax}\begin{bmatrix}0 & 0\\0 & \ln 3\end{bmatrix} = \begin{bmatrix}0.5 & 0.25\\0.5 & 0.75\end{bmatrix}$",
    r"$\begin{bmatrix}2 & 0\\0 & 4\end{bmatrix}^{-1} = \begin{bmatrix}0.5 & 0\\0 & 0.25\end{bmatrix}$",
    r"$\det\begin{bmatrix}1 & 2\\3 & 4\end{bmatrix} = -2$",
    r"$\mathrm{mean}(1, 2, 6) = 3$",
    r"$\mathrm{Var}(1, 2, 6) = 4.67$",
    r"$\mathrm{Var}(1, 2, 6) = 7$",  # n − 1
    r"$\mathrm{ReLU}([-1, 2]) = [0, 2]$",
    GIVEN + r"$QK^\top = \begin{bmatrix}1 & 3\\3 & 7\end{bmatrix}$",
    GIVEN + r"$\mathbf{Q}\mathbf{K}^T = \begin{bmatrix}1 & 3\\3 & 7\end{bmatrix}$",
    GIVEN + r"$S = \frac{QK^\top}{\sqrt 2} = \begin{bmatrix}0.707 & 2.121\\2.121 & 4.950\end{bmatrix}$",
    GIVEN + r"$Q_{12} + K_{2,1} = 3$",
    r"$K^T = \begin{bmatrix}1 & 2\end{bmatrix}$. Then $K \cdot 2 = \begin{bmatrix}2\\4\end{bmatrix}$",
    r"$d_k = 4$, so $\sqrt{d_k} + 1 = 3$",
    r"$f(x) = x^2 + 1$, so $f(3) + 1 = 11$",
    r"$p = 0.25$ and $1 - p = 0.75$.",
]

WRONG = {
    r"$\begin{bmatrix}1 & 2\\3 & 4\end{bmatrix}\begin{bmatrix}1 \\ 1\end{bmatrix} = \begin{bmatrix}3 \\ 8\end{bmatrix}$": (
        "matrix: 7 in entry 2"
    ),
    r"$\begin{bmatrix}1&2\\3&4\\5&6\end{bmatrix}\begin{bmatrix}1\\1\end{bmatrix} = \begin{bmatrix}3\\7\end{bmatrix}$": (
        "shape: 3 × 1 on the left, 2 × 1 on the right"
    ),
    r"$\begin{bmatrix}1 & 2\\3\end{bmatrix} + 0 = 1$": "shape: rows of 2 entries",
    r"$\begin{bmatrix}1 & 2\end{bmatrix}\begin{bmatrix}1 & 0\\0 & 1\end{bmatrix} = \begin{bmatrix}1\\2\end{bmatrix}$": (
        "shape: 1 × 2 on the left, 2 × 1 on the right"
    ),
    r"$\begin{bmatrix}1 \\ 2\end{bmatrix}\begin{bmatrix}3 \\ 4\end{bmatrix} = 11$": "shape: no value",
    r"$\mathrm{softmax}([1, 2, 3]) = [0.090, 0.254, 0.665]$": "matrix: 0.2447 in entry 2",
    GIVEN + r"$QK = \begin{bmatrix}1 & 3\\3 & 7\end{bmatrix}$": "matrix: 3 in row 1, column 1",
    GIVEN + r"$QK^\top = \begin{bmatrix}1 & 3\\3 & 8\end{bmatrix}$": "matrix: 7 in row 2, column 2",
    GIVEN + r"$QK^\top = \begin{bmatrix}1 & 3 & 0\\3 & 7 & 0\end{bmatrix}$": "shape: 2 × 2 on the left, 2 × 3 on the right",
    r"$d_k = 4$, so $\sqrt{d_k} + 1 = 4$": "number: 3",
}


@pytest.mark.parametrize("text", RIGHT)
def test_right(text):
    found = report(text)
    assert [finding for finding in found.findings if finding.level != "possible"] == []
    assert found.counts.decided == found.counts.right > 0


@pytest.mark.parametrize("text, finding", WRONG.items())
def test_wrong(text, finding):
    line = text.count("\n") + 1
    assert said(text) == [f"{line} {finding.format(line=line)}"]


def test_the_very_entry_is_pointed_at():
    text = r"$\begin{bmatrix}1 & 2\\3 & 4\end{bmatrix} \cdot 2 = \begin{bmatrix}2 & 4\\6 & 9\end{bmatrix}$"
    [found] = report(text).findings
    assert text[found.start : found.end] == "9"
    assert found.why == "In row 2, column 2: you wrote 9; correct is 8."


def test_a_value_against_an_earlier_formula():
    text = r"""
Attention is $Z = \mathrm{softmax}(S)V$. With $S = \begin{bmatrix}0 & 0\end{bmatrix}$,
$V = \begin{bmatrix}2\\4\end{bmatrix}$ we get $Z = \begin{bmatrix}4\end{bmatrix}$."""
    assert said(text) == ["3 number: 3"]


def test_one_row_that_does_not_sum_to_one():
    text = r"$$P = \begin{bmatrix}0.5 & 0.5\\0.2 & 0.8\\0.30 & 0.80\\0.1 & 0.9\end{bmatrix}$$"
    assert said(text) == ["1 rows: a sum of 1"]
    assert said(f"The weights are {text}") == ["1 rows: a sum of 1"]


def test_letters_of_another_problem_do_not_count():
    assert said("# Problem 1\n$x = 2$\n\n# Problem 2\n$3x + 1 = 5$", "likely") == []
    assert said("# Problem 1\n$x = 2$. So $3x + 1 = 5$") == ["2 number: 7"]


def test_superscripts_are_indices_where_the_document_uses_them_so():
    text = r"$W^1 = \begin{bmatrix}2\end{bmatrix}$, $W^2 = \begin{bmatrix}3\end{bmatrix}$. $W^2 W^1 = 6$ and $W^2 + 1 = 5$."
    assert said(text) == ["1 number: 4"]
    assert said(r"$x = 3$. So $x^2 + 1 = 10$ and $x^2 = 9$.") == []


def test_bold_and_plain_are_two_names_where_the_document_defines_both():
    text = r"$\mathbf{x} = (1, 2)$ and $x = 3$. So $x + 1 = 4$ and $\mathbf{x} \cdot (1, 1) = 3$."
    assert said(text, "likely") == []
    assert said(r"$\mathbf{x} = (1, 2)$. So $x \cdot (1, 1) = 4$.") == ["1 number: 3"]

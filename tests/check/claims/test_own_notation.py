"""Notation that the author explains is used as explained, in its problem and below it, and never judged as it is usual."""

import pytest

from workings.check import check

OWN = {
    r"Define $\langle x, y\rangle := 2x_1y_1 + x_2y_2$.": (r"\langle (1,2), (3,4) \rangle", 14, 11),
    r"Consider the inner product $\langle x, y\rangle = x^\top A y$ with $A = \begin{bmatrix}2 & 0\\0 & 1\end{bmatrix}$.": (
        r"\langle (1,2)^\top, (3,4)^\top \rangle", 14, 11,
    ),
    r"Let $\langle x, y\rangle_M = 3x_1y_1 + x_2y_2$, $u = (1,2)$ and $v = (3,4)$.": (r"\langle u, v \rangle_M", 17, 11),
    r"Define $a \ast b = a + b - ab$.": (r"2 \ast 3", -1, 6),
    r"Let $a \circ b = a + b + 1$.": (r"(1 \circ 2) \circ 3", 8, 6),
    r"Let $a \star b = a^2 + b$.": (r"2 \star 3", 7, 6),
    r"Define $x \oplus y = x + y + 1$.": (r"2 \oplus 3", 6, 5),
    r"Define the norm $\|x\|_* = |x_1| + 2|x_2|$.": (r"\|(1, 2)\|_*", 5, 3),
    r"Define $\|x\| = |x_1| + 2|x_2|$.": (r"\|(3, 4)\|", 11, 5),
    r"Let $f(x, y) = x + 2y$.": ("f(1, 2)", 5, 4),
    r"Let $d(x,y) = |x_1-y_1| + |x_2 - y_2|$.": ("d((1,2),(3,5))", 5, 4),
}  # fmt: skip


@pytest.mark.parametrize("rule", OWN)
def test_it_means_what_the_author_says(rule):
    applied, value, usual = OWN[rule]
    assert check(f"{rule} Then ${applied} = {value}$.").relations[-1].outcome == "right"
    [found] = check(f"{rule} Then ${applied} = {usual}$.").findings("note")
    assert found.why.startswith(f"You wrote {usual}; correct is {value}.".replace("-", "−"))


def test_it_holds_in_its_problem_only():
    text = "## 1\nDefine $\\langle x, y\\rangle := 2x_1y_1 + x_2y_2$.\n\n## 2\nThen $\\langle (1,2), (3,4) \\rangle = {}$."
    assert check(text.format(11)).findings("note") == []
    assert [found.truth for found in check(text.format(14)).findings("note")] == ["11"]


@pytest.mark.parametrize(
    "text",
    [
        r"We compute $\|x\| = \sqrt{x_1^2 + x_2^2}$ and $\|(3, 4)\| = 5$.",
        r"Let $\|x\|_1 = |x_1| + |x_2|$. Then $\|(3, 4)\|_1 = 7$.",
        r"Let $\langle x, y \rangle = \langle y, x \rangle$. Then $\langle (1,2), (3,4) \rangle = 11$.",
    ],
)
def test_what_is_usual_stays_so(text):
    assert check(text).relations[-1].outcome == "right"

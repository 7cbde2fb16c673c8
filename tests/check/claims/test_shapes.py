"""Declared shapes with letters as sizes."""

import pytest

from tests.check.said import report, said

GIVEN = r"Let $Q, K \in \mathbb{R}^{n \times d}$, $V \in \mathbb{R}^{n \times v}$ and $x \in \mathbb{R}^d$. "


@pytest.mark.parametrize(
    "text",
    [
        GIVEN + r"Then $S = QK^\top \in \mathbb{R}^{n \times n}$.",
        GIVEN + r"Then $Z = \mathrm{softmax}\left(\frac{QK^\top}{\sqrt{d}}\right)V \in \mathbb{R}^{n \times v}$.",
        GIVEN + r"Then $y = Qx \in \mathbb{R}^n$.",
        GIVEN + r"Then $x^\top x$ is a number.",
        r"$W \in \mathbb{R}^{2h \times (d+1)}$, $X \in \mathbb{R}^{(1+d) \times n}$, so $WX \in \mathbb{R}^{2h \times n}$",
        r"$X \in \mathbb{R}^{5 \times 3}$ and $W \in \mathbb{R}^{3 \times 4}$: $H = XW \in \mathbb{R}^{5 \times 4}$.",
    ],
)
def test_right(text):
    assert said(text) == []


@pytest.mark.parametrize(
    "text, why",
    [
        (
            GIVEN + r"Then $S = QK$.",
            "Q is n × d and K is n × d: the inner sizes of a product must agree.",
        ),
        (
            GIVEN + r"Then $S = QK^\top \in \mathbb{R}^{d \times d}$.",
            "The formula is n × n, and d × d is stated.",
        ),
        (
            GIVEN + r"Then $Z = Q^\top K + QK^\top$.",
            r"Qᵀ K is d × d and QKᵀ is n × n: a sum needs one shape.",
        ),
        (
            r"$X \in \mathbb{R}^{5 \times 3}$ and $W \in \mathbb{R}^{4 \times 3}$: $H = XW$.",
            "X is 5 × 3 and W is 4 × 3: the inner sizes of a product must agree.",
        ),
        (
            r"Since $W$ is $3 \times 2$ and $V$ is $3 \times 4$, we form $WV$.",
            "W is 3 × 2 and V is 3 × 4: the inner sizes of a product must agree.",
        ),
    ],
)
def test_wrong(text, why):
    [found] = [finding for finding in report(text).findings if finding.level != "possible"]
    assert (found.kind, found.why) == ("shape", why)


def test_a_name_of_another_problem():
    text = "# Problem 1\n" + r"$X \in \mathbb{R}^{n \times d}$" + "\n\n# Problem 2\n"
    text += r"$X \in \mathbb{R}^{d \times n}$ and $W \in \mathbb{R}^{n \times k}$. $XW$"
    assert said(text) == []

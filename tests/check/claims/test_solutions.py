"""Values that are stated after an equation must solve it, each member of a list of them."""

import pytest

from workings.check import check


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("From $2x + 3 = 11$ we get $x = 5$.", "x = 5"),
        ("The eigenvalues satisfy $\\lambda^2 - 3\\lambda + 2 = 0$, so $\\lambda = 1$ or $\\lambda = 3$.", "\\lambda = 3"),
        ("We solve $x^2 - 5x + 6 = 0$. Therefore $x = 2$ and $x = 4$.", "x = 4"),
        ("$t^3 - 6t^2 + 11t - 6 = 0$ gives $t = 1$, $t = 2$ or $t = 4$.", "t = 4"),
    ],
)
def test_a_value_that_does_not_solve_its_equation(text, says):
    [found] = check(text).findings("note")
    assert (found.kind, found.says) == ("solution", says)


@pytest.mark.parametrize(
    "text",
    [
        "We solve $x^2 - 5x + 6 = 0$. Therefore $x = 2$ or $x = 3$.",
        "We solve $x^2 - 5x + 6 = 0$. Therefore $x = 2$. In the next game $x = 4$.",  # no member of the list
        "## 1\nSolve $x^2 - 5x + 6 = 0$.\n\n## 2\nLet $x = 4$.",
    ],
)
def test_what_solves_it_or_is_another_value(text):
    assert check(text).findings("note") == []

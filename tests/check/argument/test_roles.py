"""What a relation is: by its sign, its place, its form, what is known, and only then by words."""

import pytest

from tests.check.said import report
from workings.check.argument.align import align
from workings.check.document.relation import Role
from workings.check.extract import read_text
from workings.check.latex.parse import parse
from workings.check.latex.syntax import Number
from workings.check.run.checker import check_document
from workings.check.value.value import ball_precision


@pytest.mark.parametrize(
    "text, roles",
    [
        (r"$x \in \mathbb{R}$", [Role.DECLARATION]),
        (r"$X \sim N(0, 1)$", [Role.DECLARATION]),
        ("$n = 20$", [Role.GIVEN]),
        ("Let $x = y = 4$.", [Role.DEFINITION, Role.GIVEN]),
        ("$a = b + c$", [Role.DEFINITION]),
        ("$a := b$", [Role.DEFINITION]),
        ("Solve $2x + 3 = 11$.", [Role.EQUATION]),
        (r"$0.67 = \frac{150}{s}$", [Role.EQUATION]),
        ("Let $x = 2$. So $3x = 6$.", [Role.GIVEN, Role.CLAIM]),
        (r"$h_t = w h_{t-1} + x_t$", [Role.RECURRENCE]),
        (r"$w \leftarrow w - 1$", [Role.RECURRENCE]),
        ("$i = 1, \\dots, n$", [Role.CONDITION]),
        ("if $x > 0$", [Role.CONDITION]),
        ("Show that $a^2 - b^2 = (a - b)(a + b)$.", [Role.GOAL]),
        ("$2 + 2 = 4$", [Role.CLAIM]),
        ("Is $2 + 2 = 5$?", [Role.HYPOTHETICAL]),
        ("Instead of $2 + 2 = 5$ write 4.", [Role.HYPOTHETICAL]),
        ("Suppose $2 + 2 = 5$.", [Role.HYPOTHETICAL]),
        ("$a * b = a + b - ab$", [Role.RULE]),
        (r"$\mu = n p = 50 \cdot 0.2 = 10$", [Role.DEFINITION, Role.INSTANTIATION, Role.CLAIM]),
        (r"$\frac{df}{dx} = 2x$", [Role.CLAIM]),
        (r"$a = b \Rightarrow c = 3$", [Role.DEFINITION, Role.LINK, Role.CLAIM]),
        (r"$\chi^2 = 2.32$", [Role.GIVEN]),
        ("Pages 3-5 = 3 pages $x$", []),
    ],
)
def test_roles(text, roles):
    found = [relation.role for relation in check_document(read_text(text, "page.md")).relations]
    assert found == roles


def test_numbers_put_in_for_letters():
    with ball_precision():
        found = align(parse(r"\beta m_0 + (1-\beta) g_1"), parse(r"0.9 \cdot 0 + 0.1 \cdot 2"))
        assert found is not None and not found.contradicts_itself()
        assert found.letters == {parse(r"\beta"): Number("0.9"), parse("m_0"): Number("0"), parse("g_1"): Number("2")}
        wrong = align(parse(r"\beta m_0 + (1-\beta) g_1"), parse(r"0.9 \cdot 0 + 0.2 \cdot 2"))
        assert wrong is not None and wrong.contradicts_itself()
        assert align(parse("a + b"), parse("2 \\cdot 3")) is None
        assert align(parse("a + a"), parse("2 + 3")) is None


def test_a_formula_that_goes_on_with_a_plus_is_part_of_the_one_before():
    [found] = report("$$E = 1 \\cdot 2 + 3 \\cdot 4$$\n$$+ 5 \\cdot 6 = 44$$\n\nAnd $+ 5 \\cdot 6 = 31$.\n").findings
    assert found.truth == "30"

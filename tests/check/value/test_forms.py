"""Closed formulas as people write them: what is right, what is wrong, and why something cannot be decided."""

from __future__ import annotations

import pytest

from workings.check.latex.parse import parse
from workings.check.latex.syntax import Chain, Node, Number, Symbol
from workings.check.value.compare import Side, compare, in_order, why_undecided
from workings.check.value.names import is_closed
from workings.check.value.rounding import Grade
from workings.check.value.scope import Definition, Scope
from workings.check.value.value import Reason, Table, arb, ball_precision

RIGHT = r"""
\text{24,319} + 1 = 24,320
24\,319 + 1 = 24320
\$1,200 \times 2 = \$2,400
€5 + €3 = €8
1,5 + 1,5 = 3
2½ + 1 = 3.5
1.2e-3 = 0.0012
1.2 \times 10^{-3} = 0.0012
10^(-3) = 0.001
0.1\overline{6} = 1/6
5\% \text{ of } 200 = 10
\frac{20}{50} = 0.4
1/4 = 25\%
0.5 \cdot 7 + 0.5 \cdot 8 = 7.5\%
\frac{2}{3} \approx 66.7\%
17 \% 5 = 2
168\text{ min} - 126\text{ min} = 42 \text{ min}
3 \text{ km} = 3000 \text{ m}
3 \text{km} + 500 \text{ m} = 3.5 \text{km}
120 \text{ km} / 2 \text{ h} = 60 \text{ km/h}
\frac{10 \text{ m}}{2 \text{ s}} = 5 \text{ m/s}
3 \text{ cm} \cdot 4 \text{ cm} = 12 \text{ cm}^2
1.5 \text{ million} + 500000 = 2000000
2.83 \text{ h} = 170 \text{ min}
1 \text{ GB} = 1000 \text{ MB}
1 \text{ KB} = 1024 \text{ B}
1/18 ÷ 11/36 = 2/11
1 / 2 + 1 / 4 = 0.75
16*(5*5*6 + 1) = 2416
(1+j)(1-j) = 2
e^{j8\pi/3} = e^{j2\pi/3}
e^{i\pi} + 1 = 0
e^{i\pi/3} = 0.5 + 0.866i
i^2 = -1
|3+4i| = 5
\sqrt{-4} = 2i
(2+3i) + (1-i) = 3 + 2i
17 \bmod 5 = 2
17 \mod 5 = 2
17 \equiv 2 \pmod 5
-7 \equiv 3 (\mod 5)
17 = 2 \bmod 5
7 + 8 \bmod 12 = 3
\{1,2,3\} = \{3,2,1\}
\{(1,2),(2,3)\} = \{(2,3),(1,2)\}
\{1,2\} \cup \{2,3\} = \{1,2,3\}
\{1,2,3\} \setminus \{2\} = \{1,3\}
|\{1,2,2,3\}| = 3
5 \pm 2 = (3, 7)
1.96 \pm 0.5 \cdot 2 = (0.96, 2.96)
\left\lfloor \frac{7}{2} \right\rfloor = 3
\cos 45° = 0.7071
\cos(45^{\circ}) = \frac{\sqrt 2}{2}
\sin(30) = 0.5
\arctan(1) = 45°
\arctan(3/4) = 36.87^\circ
180° = \pi
\binom{5}{2} = 10
7 \text{ choose } 2 = 21
\gcd(12, 18) = 6
101_2 = 5
11.1_{2} = 3.5
"""
WRONG = r"""
\text{24,319} + 1 = 24,321
5\% \text{ of } 200 = 11
1/4 = 26\%
1/4 = 0.25\%
1 - 0.2 = 0.7
168 - 126 = 52 \text{ minutes}
168 - 126 = 52 \mathrm{min}
0.2 \cdot 0.5 = 100 \text{ units}
5 \text{ apples} + 3 \text{ apples} = 9 \text{ apples}
2 \text{ million} = 200,000
3 \text{ km} = 300 \text{ m}
\frac{1}{18} \div \frac{11}{36} = \frac{3}{11}
16*(5*5*6 + 1) = 2415
(1+i)(1-i) = 3
e^{j8\pi/3} = e^{j\pi/3}
e^{i\pi/3} = 0.5 + 0.876i
(2+3i) + (1-i) = 3 + 3i
17 \bmod 5 = 3
17 \equiv 3 \pmod{5}
\{1,2,3\} = \{3,2,4\}
\{1,2\} \cap \{2,3\} = \{1\}
5 \pm 2 = (3, 8)
\left\lfloor \frac{7}{2} \right\rfloor = 4
\sin(30) = 0.6
\gcd(12, 18) = 3
101_2 = 6
"""


def sides(text: str) -> tuple[Side, str, Side]:
    chain = parse(text)
    assert isinstance(chain, Chain) and len(chain.items) == 2
    left, right = (Side(item, text[slice(*item.span)]) for item in chain.items)
    return left, chain.relations[0], right


def grade(text: str, scope: Scope | None = None) -> Grade | None:
    left, relation, right = sides(text)
    with ball_precision():
        verdict = compare(left, right, scope or Scope(), about=relation == "≈")
    return None if verdict is None else verdict.grade


@pytest.mark.parametrize("text", RIGHT.strip().splitlines())
def test_right(text: str) -> None:
    found = grade(text)
    assert found is not None and found <= Grade.ROUNDED


@pytest.mark.parametrize("text", WRONG.strip().splitlines())
def test_wrong(text: str) -> None:
    assert grade(text) is Grade.WRONG


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        (r"2 \in \{1,2,3\}", True), (r"5 \in \{1,2,3\}", False), (r"(1,2) \notin \{(2,1)\}", True), (r"0.5 \in [0,1)", True),
        (r"1 \in [0,1)", False), (r"1 \in (0,1]", True), (r"\{1\} \subset \{1,2\}", True),
        (r"\{1,3\} \subseteq \{1,2\}", False),
        (r"\{1,2\} \supset \{2\}", True), (r"\{1\} \ne \{2\}", True), (r"x \in \{1\}", None),
        (r"1 \in \mathbb{R}", True), (r"1 \in \mathbb{N}", None),
    ],
)  # fmt: skip
def test_sets_and_intervals(text: str, holds: bool | None) -> None:
    left, relation, right = sides(text)
    with ball_precision():
        assert in_order(left, relation, right, Scope()) is holds


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x + 1 = 2", Reason.LETTERS), (r"\text{two words} + 1 = 2", Reason.WORDS), (r"1 + \dots + 9 = 2", Reason.DOTS),
        ("f(2) = 4", Reason.FUNCTION), (r"\operatorname{foo}(2) = 4", Reason.FUNCTION), (r"\sum_i 2 = 4", Reason.SIZE),
        ("10^{10^{10}} = 4", Reason.LARGE), ("9999! = 4", Reason.LARGE), (r"\frac{1}{0} = 4", Reason.NUMBER),
        ("1 + = 2", Reason.UNFINISHED), (r"1 \oplus 1 = 0", Reason.NOTATION),
    ],
)  # fmt: skip
def test_the_reason_why_nothing_is_decided(text: str, reason: Reason) -> None:
    left, _, right = sides(text) if "+ =" not in text else (Side(parse("1 +"), "1 +"), "=", Side(Number("2"), "2"))
    with ball_precision():
        assert compare(left, right, Scope()) is None
        assert next(filter(None, (why_undecided(side, Scope()) for side in (left, right))), None) == reason


@pytest.mark.parametrize("text", ["(1 + i)^2 = 1.21", "i + 1 = 3", "2i = 6", "j^2 = 9"])
def test_a_letter_i_is_not_always_imaginary(text: str) -> None:
    assert grade(text) is None


def test_a_known_letter_i_is_what_it_is_known_as() -> None:
    scope = Scope()
    two = arb(2)
    scope.define(Symbol("i"), Definition(two, two, two, 0))
    assert grade(r"(1+i)(1-i) = -3", scope) is Grade.RIGHT


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        (r"52 \text{ minutes}", True), (r"5\,\text{km}", True), (r"\text{minutes} + 5", False), (r"2\,\text{loss}", False),
        (r"3 \text{ red apples}", True), (r"e_{\times}", False), (r"\pi^{(0)}", False), ("e^2", True),
    ],
)  # fmt: skip
def test_a_unit_leaves_a_number_closed(text: str, closed: bool) -> None:
    assert is_closed(parse(text)) is closed


def test_a_transpose_does_not_hide_the_index() -> None:
    # w₁ = (1, 2), so that w₁ᵀ (3, 4)ᵀ = 11
    scope = Scope()
    first: Node = parse("w_1")
    w = Table(((arb(1), arb(2)),), free=True)
    scope.define(first, Definition(w, w, w, 0))
    assert grade(r"w_1^\top \begin{bmatrix} 3 \\ 4 \end{bmatrix} = 11", scope) is Grade.RIGHT
    assert grade(r"w₁ᵀ \begin{bmatrix} 3 \\ 4 \end{bmatrix} = 12", scope) is Grade.WRONG

"""Sets, intervals, remainders, complex numbers, orders, units: each line is decided, and told in the author's own terms."""

import pytest

from workings.check import check

RIGHT = r"""
\{1,2\} \times \{3,4\} = \{(1,3),(1,4),(2,3),(2,4)\}
\{1,2\} \times \{3,4\} = \{(2,4),(1,4),(2,3),(1,3)\}
\{1,2\}^2 = \{(1,1),(1,2),(2,1),(2,2)\}
\{1,2,2\} = \{2,1\}
[0,2] \cup [1,3] = [0,3]
[0,2) \cup [2,3] = [0,3]
(-\infty, 2) \cap [1, \infty) = [1,2)
[0,5] \setminus (1,2) = [0,1] \cup [2,5]
\{1,2,3\} \setminus \{3,4\} = \{1,2\}
\mathbb{R} \setminus \{0\} = (-\infty,0) \cup (0,\infty)
[0,1]^c = (-\infty,0) \cup (1,\infty)
[1,2] \cap [3,4] = \emptyset
[0,1] \cup \{2\} = \{2\} \cup [0,1]
17 \equiv 2 \pmod 5
17 \equiv 2\ (\mathrm{mod}\ 5)
2^{10} \equiv 1 (\text{mod } 11)
-7 \equiv 3 \pmod{10}
7^{100} \equiv 9 \pmod{13}
3^{-1} \equiv 5 \pmod 7
3^{-1} \bmod 7 = 5
\frac{1}{3} \bmod 7 = 5
5.5 \bmod 2 = 1.5
i^2 = -1
i^{23} = -i
(1+i)^2 = 2i
\lfloor 3.7 \rfloor = 3
\lceil -1.5 \rceil = -1
2\frac{1}{2} + 1\frac{1}{4} = 3\frac{3}{4}
20\% \cdot 50 = 10
1.5 \times 10^3 = 1500
2\text{ h} + 30\text{ min} = 150\text{ min}
1 < 2 \le 2 < 3
5 \notin [0, 5)
\left|[\tfrac{1}{2}, -2, 1]\right| = [\tfrac{1}{2}, 2, 1]
\left|[3, -4]\right| = 5
\begin{bmatrix}1 & 2 & 3 & 4\end{bmatrix}\text{, axis 1 split into 2$\times$2} = \begin{bmatrix}1 & 2 \\ 3 & 4\end{bmatrix}
\{1\} \subset \{1,2\}
"""
WRONG = {
    r"\{1,2\} \times \{3,4\} = \{(1,3),(1,4),(2,3),(2,5)\}": (
        "You wrote {(1, 3), (1, 4), (2, 3), (2, 5)}; correct is {(1, 3), (1, 4), (2, 3), (2, 4)}."
    ),
    r"[0,2] \cap [1,3] = [1,3]": "You wrote [1, 3]; correct is [1, 2].",
    r"[0,2] \cup (2,3] = [0,2) \cup (2,3]": "You wrote [0, 2) ∪ (2, 3]; correct is [0, 3].",
    r"(-\infty, 2) \cup (5, \infty) = (-\infty, \infty)": "You wrote (−∞, ∞); correct is (−∞, 2) ∪ (5, ∞).",
    r"[0,1] \cup \{2,3\} = [0,1] \cup \{2\}": "You wrote [0, 1] ∪ {2}; correct is [0, 1] ∪ {2, 3}.",
    r"\{1,2,3\} \cap \{3,4\} = \{4\}": "You wrote {4}; correct is {3}.",
    r"\{1\} \cap \{2\} = \{1\}": "You wrote {1}; correct is ∅.",
    r"17 \equiv 3 \pmod 5": "You wrote 3; correct is 2 modulo 5.",
    r"3^{-1} \equiv 4 \pmod 7": "You wrote 4; correct is 5 modulo 7.",
    r"i^{22} = -i": "You wrote −i; correct is −1.",
    r"(2+3i)(1-i) = 5+2i": "You wrote 5 + 2i; correct is 5 + i.",
    r"(1+i)(1-i) = 3": "You wrote 3; correct is 2.",
    r"\lfloor -1.5 \rfloor = -1": "You wrote −1; correct is −2.",
    r"0.3 > 0.5": "0.3 > 0.5 does not hold.",
    r"2^3 \le 7": "2³ ≤ 7 does not hold: 2³ is 8.",
    r"5 \in \{1,2,3\}": "5 ∈ {1, 2, 3} does not hold.",
    r"2\text{ h} = 90\text{ min}": "You wrote 90 min; correct is 120 min.",
    r"3.6\text{ km} = 3700\text{ m}": "You wrote 3700 m; correct is 3600 m.",
    r"3600\text{ s} = 2\text{ h}": "You wrote 2 h; correct is 1 h.",
    r"5\text{ apples} + 3\text{ apples} = 9\text{ apples}": "You wrote 9; correct is 8.",
}


@pytest.mark.parametrize("text", RIGHT.strip().splitlines())
def test_right(text):
    report = check(f"${text}$")
    assert {relation.outcome for relation in report.relations} == {"right"} and report.findings("possible") == []


@pytest.mark.parametrize(("text", "why"), WRONG.items())
def test_wrong(text, why):
    [found] = check(f"${text}$").findings("note")
    assert found.why.partition(" It would be right with")[0] == why


def outcomes(text: str) -> list[str]:
    return [relation.outcome for relation in check(text).relations]


def test_names_of_sets():
    text = r"Let $A = \{1,2,3\}$ and $B = \{3,4\}$. Then $A \cap B = \{4\}$, $A \cup B = \{1,2,3,4\}$ and $|A \cup B| = 5$."
    assert outcomes(text) == ["no claim", "no claim", "wrong", "right", "wrong"]
    assert [found.truth for found in check(text).findings("note")] == ["{3}", "4"]


def test_names_of_intervals():
    text = r"$A = [0,2]$ and $B = (1,3)$, so $A \cap B = (1,2]$ and $A \cup B = [0,2)$."
    assert outcomes(text) == ["no claim", "no claim", "right", "wrong"]
    assert outcomes(r"$x = [3, 4]$, so $\|x\| = 5$.")[-1] == "right"  # a list of two beside nothing that is a set


def test_residue_classes_have_the_modulus_of_their_problem():
    text = (
        r"In $\mathbb{Z}_7$, $[3] \cdot [5] = [1]$ and $[3] + [5] = [2]$ and $\overline{6} + \overline{2} = \overline{1}$."
    )
    assert outcomes(text) == ["right", "wrong", "right"]
    assert [found.why for found in check(text).findings("note")] == ["You wrote 2; correct is 1."]


def test_a_congruence_without_its_modulus_is_not_decided():
    [relation] = check(r"$17 \equiv 3$").relations
    assert (relation.outcome, relation.reason) == ("undecided", "a congruence without its modulus")
    assert outcomes(r"Modulo $5$: $17 \equiv 2$ and $17 \equiv 3 \pmod{5}$.")[-2:] == ["right", "wrong"]


def test_the_imaginary_unit_holds_in_its_problem():
    assert outcomes(r"With $i^2 = -1$ we have $i^4 = 1$ and $i^{10} = 1$.") == ["right", "right", "wrong"]
    assert outcomes(r"With $i = 0.1$, $(1+i)^2 = 1.21$.") == ["no claim", "right"]
    assert outcomes(r"$(1+i)^{5} = 1.6105$") == ["no claim"]  # to be solved for a rate


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Let $x = 3$, so $x > 5$.", "wrong"),
        ("Let $x = 3$, so $x + 3 > 5$.", "right"),
        ("$a = 2$ and $b = 5$, so $b < 3 < a$.", "wrong"),
        ("Let $x = 3$.\n\nIt diverges as soon as $2x > 8$, that is $x > 4$.", "undecided"),
        ("Let $x = 3$. The inequality $x + 1 > 5$", "undecided"),
    ],
)
def test_orders_with_letters(text, outcome):
    assert outcomes(text)[-1] == outcome


@pytest.mark.parametrize(
    "text", ["Is $3 \\le 2$?", "We get $3 \\le 2$, a contradiction.", "It is not true that $3 \\le 2$."]
)
def test_orders_that_nobody_states(text):
    assert check(text).findings("note") == []


def test_entries_in_another_order_are_not_called_wrong():
    table, turned = (rf"\begin{{bmatrix}}{rows}\end{{bmatrix}}" for rows in (r"1 & 2 \\ 3 & 4", r"1 & 3 \\ 2 & 4"))
    [relation] = check(rf"$${table}\text{{, axes 0 and 1 swapped}} = {turned}$$").relations
    assert (relation.outcome, relation.reason) == ("undecided", "entries that are put in another order")

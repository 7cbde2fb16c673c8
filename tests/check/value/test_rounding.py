"""What printed digits claim: each grade on both sides of its border, worked by hand."""

import pytest
from flint import arb

from workings.check.latex.parse import parse
from workings.check.value.compare import Side, Verdict, compare, in_order, rank
from workings.check.value.reading import USUAL
from workings.check.value.rounding import Grade, Judgement, judge, one_shape, units
from workings.check.value.scope import Scope
from workings.check.value.value import Table, ball_precision

RIGHT, ROUNDED, LAST_DIGIT, IMPRECISE, WRONG = Grade


def side(text: str) -> Side:
    return Side(parse(text), text)


def verdict(left: str, right: str, about: bool = False) -> Verdict:
    with ball_precision():
        found = compare(side(left), side(right), Scope(), about)
    assert found is not None
    return found


EQUAL = {
    ("2/3", "0.67"): RIGHT,
    ("2/3", "0.66"): LAST_DIGIT,  # cut off
    ("2/3", "0.65"): WRONG,
    ("1/8", "0.13"): RIGHT,  # 0.125 lies half a unit away
    ("1/8", "0.12"): RIGHT,
    ("100/3", r"33.3 \cdot \text{ m}"): RIGHT,
    ("100/3", r"33.1 \cdot \text{ m}"): WRONG,
    ("1/3", r"33\%"): RIGHT,
    ("1/3", r"33.3\%"): RIGHT,
    ("1/3", r"32\%"): WRONG,
    ("2050", r"2.1 \times 10^3"): RIGHT,  # the last place of 2.1 · 10³ is 100
    ("1949", r"2.1 \times 10^3"): WRONG,
    ("0.00032", r"3.2 \times 10^{-4}"): RIGHT,
    ("0.00035", r"3.2 \times 10^{-4}"): WRONG,
    (r"0.333 \cdot 3", "1"): ROUNDED,
    (r"0.33 \cdot 3", "1"): ROUNDED,
    (r"0.333 \cdot 3", r"0.5 \cdot 2"): ROUNDED,
    (r"0.1234 \cdot 10000", "1234.1"): ROUNDED,  # 0.12341 is 0.1234 rounded
    (r"0.1234 \cdot 10000", "1233.1"): IMPRECISE,  # nine units of the last place
    (r"0.1234 \cdot 10000", "1232.9"): WRONG,  # eleven
    (r"6 / 2 \cdot 10^3 \cdot 5", "0.015"): RIGHT,  # 2 · 10³ is one number below the slash
    (r"6 / 2 \cdot 3^2 \cdot 5", "1/15"): RIGHT,  # all below the slash
    (r"6 / 2 \cdot 3^2 \cdot 5", "5/3"): WRONG,  # but not a part of it
}
ABOUT = {
    ("11/2", "5"): RIGHT,  # half a one
    ("28/5", "5"): WRONG,
    ("-11/2", "-5"): RIGHT,
    ("-28/5", "-5"): WRONG,
    ("1023", "10^3"): RIGHT,
    ("1060", "10^3"): WRONG,  # more than a twentieth
    ("-1020", "-1000"): RIGHT,
    ("1020", "1001"): WRONG,  # too many digits for a round number
    (r"4.9 \cdot 10^8 + 10^6", r"5 \cdot 10^8"): RIGHT,
    ("22/7", r"\pi"): RIGHT,
    ("25/8", r"\pi"): WRONG,  # more than half a percent
}


@pytest.mark.parametrize(("left", "right"), EQUAL)
def test_grades_of_equal(left, right):
    assert verdict(left, right).grade is EQUAL[left, right]


@pytest.mark.parametrize(("left", "right"), ABOUT)
def test_grades_of_about(left, right):
    assert verdict(left, right, about=True).grade is ABOUT[left, right]


def test_the_grades_have_their_names():
    assert [str(grade) for grade in Grade] == [
        "right",
        "right with rounded inputs",
        "last digit off",
        "imprecise",
        "wrong",
    ]
    assert RIGHT < ROUNDED < LAST_DIGIT < IMPRECISE < WRONG


UNITS = {
    "3": [0],
    "0.25": [0.01],
    "-0.5": [0.1],
    r"40\%": [0.01],
    r"40.5\%": [0.001],
    r"3.14 \cdot \text{ m}": [0.01],
    r"3.2 \times 10^{-4}": [1e-5],
    r"3 \times 10^{2}": [100],
    r"3 \times 10^{1.5}": None,
    r"3.2 \times 10^{-999}": [10.0**-1000],
    r"3.2 \times 10^{-1000}": None,
    "1/3": [0],
    "0.1/3": None,
    "x": None,
    "0.5 + 0.1": None,
    r"\begin{bmatrix}0.5 & 2\\1 & 0.25\end{bmatrix}": [0.1, 0, 0, 0.01],
    r"\begin{bmatrix}0.5 & 0.25\\1 & 2\end{bmatrix}^T": [0.1, 0, 0.01, 0],
    r"(0.5, 1+1)": [0.1, 0],
    r"(0.5, 1+0.1)": None,
    r"(0.5, 1)^T": [0.1, 0],
}


@pytest.mark.parametrize("text", UNITS)
def test_units_of_the_last_place(text):
    found = units(parse(text))
    assert (found if found is None else [float(unit) for unit in found]) == (
        UNITS[text] if UNITS[text] is None else pytest.approx(UNITS[text], rel=1e-9, abs=0)
    )


def table(*rows: tuple[int, ...], free: bool = False) -> Table:
    return Table(tuple(tuple(map(arb, row)) for row in rows), free)


def test_what_may_be_compared():
    row, column, loose = table((1, 2)), table((1,), (2,)), table((1, 2), free=True)
    assert one_shape(row, column) is None
    for pair in ((row, row), (column, column), (loose, column), (column, loose), (loose, row)):
        found = one_shape(*pair)
        assert found is not None and found[0].shape == found[1].shape == pair[1].shape
    assert one_shape(table((3,)), arb(3)) == one_shape(arb(3), table((3,))) == (arb(3), arb(3))
    assert one_shape(row, arb(1)) is None and one_shape(arb(1), row) is None


@pytest.mark.parametrize(("x", "y", "grade"), [("inf", "inf", RIGHT), ("inf", "3", WRONG), ("3", "inf", WRONG)])
def test_what_is_not_finite(x, y, grade):
    sides = parse("a"), parse("b")
    values = arb(x), arb(y)
    assert judge(sides, values, lambda decimals, places: values).grade is grade


def test_the_worst_entry_is_told():
    found = verdict(r"\frac{1}{3}(1, 2, 4)", "(0.33, 0.66, 1.5)")
    assert found.judgement is not None
    assert (found.grade, found.judgement.entry, found.judgement.off) == (WRONG, 2, 2)


def test_of_two_wrong_readings_the_nearer_is_told():
    def wrong(off: int, shapes: bool = False) -> Verdict:
        return Verdict(WRONG, USUAL, Judgement(WRONG, arb(1), arb(2), off=off, shapes=shapes))

    unfit = Verdict(WRONG, USUAL, mismatch="rows of 2 entries")
    right = Verdict(RIGHT, USUAL, Judgement(RIGHT, arb(1), arb(1)))
    assert sorted([unfit, wrong(3), right, wrong(1)], key=rank) == [right, wrong(1), wrong(3), unfit]
    assert rank(wrong(1)) < rank(wrong(1, shapes=True))


ORDERS = [("2", "<", "3"), ("2", "≤", "2"), ("3", ">", "2"), ("2", "≥", "2"), ("2", "≠", "3"), ("1/3", "<", "0.34")]
NOT_ORDERS = [("2", "<", "2"), ("3", "≤", "2"), ("2", ">", "2"), ("2", "≥", "3"), ("2", "≠", "2"), ("1/3", ">", "0.34")]


@pytest.mark.parametrize(("left", "relation", "right"), ORDERS + NOT_ORDERS)
def test_orders(left, relation, right):
    with ball_precision():
        assert in_order(side(left), relation, side(right), Scope()) is ((left, relation, right) in ORDERS)

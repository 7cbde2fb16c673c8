"""Grades beside degrees, units and remainders."""

import pytest

from tests.check.value.test_rounding import LAST_DIGIT, RIGHT, WRONG, verdict

CASES = {
    (r"\pi/6", r"30.0^\circ"): RIGHT,
    (r"\pi/6", r"30.04^\circ"): WRONG,
    ("0.5237", r"30.0^\circ"): RIGHT,  # 30.006°
    ("0.525", r"30.0^\circ"): LAST_DIGIT,  # 30.08°
    ("53/100", r"30.0^\circ"): WRONG,
    (r"7 + 8 + 9 \bmod 12", "0"): RIGHT,
    (r"7 + 8 + 9 \bmod 12", "9"): WRONG,
    (r"5\text{ km}", r"5000\text{ m}"): RIGHT,
    (r"5\text{ km}", r"500\text{ m}"): WRONG,
    (r"5\text{ km} + 3\text{ km}", "8"): RIGHT,
}


@pytest.mark.parametrize(("left", "right"), CASES)
def test_grades(left, right):
    assert verdict(left, right).grade is CASES[left, right]

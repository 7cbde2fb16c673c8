"""Every worked example has a test, or waits for a study by name."""

from tests.course.examples.golden import VALUES, agrees, covered
from workings import exact

WAITING = {"datasets": "reported sizes of data sets and rankings of trained models: a study"}


def test_every_example_has_one_test():
    assert sorted(covered()) == sorted(VALUES)
    assert not {*WAITING} & {*VALUES}
    assert len(VALUES) + len(WAITING) == 95


def test_what_waits_is_little():
    assert len(WAITING) <= 3


def test_a_wrong_value_is_seen():
    assert agrees(exact("1/3"), {"exact": "1/3", "float": 0.333333})
    assert not agrees(exact("1/3"), {"exact": "1/3", "float": 0.333334})
    assert not agrees(exact("1/3 1/3"), "1/3")
    assert not agrees(exact("e^(1/2)"), "e^(1/3)")
    assert not agrees(exact("1/3").float64(), 0.33333)
    assert agrees(exact("1/3").float64(), "1/3")
    assert not agrees(True, 1) and not agrees([1], [1, 1])

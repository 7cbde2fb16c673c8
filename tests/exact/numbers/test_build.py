"""Functions at arguments where they are better known by another name."""

import pytest

from workings.exact.numbers.ball import enclosure
from workings.exact.numbers.build import _PARTS_OF_PI, build
from workings.exact.numbers.functions import FUNCTIONS


@pytest.mark.parametrize(("name", "at"), _PARTS_OF_PI)
def test_values_in_parts_of_pi_are_those_of_the_function(name, at):
    found = build(name, at)
    assert found.kind != name
    assert (enclosure(found) - FUNCTIONS[name].ball(enclosure(at))).contains(0)

"""Enclosures: at a point, and of powers around 0."""

import math

import pytest

from workings import exact
from workings.errors import WorkingsError
from workings.exact.numbers.ball import enclosure_at
from workings.exact.numbers.letter import letter
from workings.exact.reading.parse import parse


def test_values_at_a_point_leave_the_sample_values_alone():
    r = exact.symbols(rho=2)
    v = r.exp().elements()[0]
    assert r.exp().item() == math.exp(2)
    assert enclosure_at(v, {"rho": 3}, 128).overlaps(enclosure_at(parse("e^3"), {}, 128))
    exact.equal(r.sin() ** 2, r.cos())
    assert letter("rho").sample == 2
    assert r.exp().item() == math.exp(2)


@pytest.mark.parametrize("k", [2, 3, 40])
def test_a_power_of_letters_that_cancel_at_their_sample_values(k):
    # 1/3 has no exact ball, so y − x is a ball around 0, and FLINT has no powers of such a one
    x, y = exact.symbols(nu="1/3", xi="1/3")
    assert (1 + (y - x) ** k).float64().item() == 1
    assert (2 + (y - x) ** k).decimals() == "2.00000"
    assert (3 + ((y - x) ** 2 + (y - x) ** 4).sqrt()).decimals() == "3.00000"


def test_a_negative_power_of_letters_that_cancel_has_no_value():
    x, y = exact.symbols(nu="1/3", xi="1/3")
    with pytest.raises(WorkingsError, match=r"nu = 1/3, xi = 1/3\. Give other sample values"):
        (1 + 1 / (y - x)).decimals()

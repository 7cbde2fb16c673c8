"""Signs and order at the edges: zeros that are none, roots of zeros, towers of exponentials."""

import math

import pytest
import torch

from workings import exact
from workings.errors import UndecidedError
from workings.exact.numbers.rounding import decimals
from workings.exact.numbers.sign import sign
from workings.exact.reading.parse import parse

UNPROVED = ("sin(2)", "2*sin(1)*cos(1)")
"""Equal numbers that no identity here proves equal."""


def unproved_zero():
    a, b = UNPROVED
    return exact(a) - exact(b)


def tower(height, start="1"):
    """e^e^…^start"""
    x = exact(start)
    for _ in range(height):
        x = x.exp()
    return x


def test_a_sign_at_sample_values_is_refined():
    u = exact.symbols(ups=1)
    positive = torch.sqrt(1 + u * exact("1e-80")) > 1
    assert positive
    with exact.recording() as notes:
        assert (u - 1) == 0
    assert [note.text for note in notes] == ["ups − 1 = 0 (decided at ups = 1)"]


def test_outside_the_domain_there_is_no_sign_and_no_float():
    z, s = exact.symbols(zet=0), exact.symbols(sig=-2)
    pole = r"1/zet has no real value at zet = 0\. Give other sample values\."
    for ask in (torch.relu, lambda x: x.float64(), lambda x: x.decimals()):
        with pytest.raises(UndecidedError, match=pole):
            ask(1 / z)
        with pytest.raises(UndecidedError, match="√sig has no real value at sig = -2"):
            ask(torch.sqrt(s))
    with pytest.raises(UndecidedError, match=r"log\(sig\) has no real value at sig = -2"):
        (3 + torch.log(s)).float64()


def test_zeros_that_are_none():
    assert torch.log(1 - torch.sigmoid(exact("3000"))).float64() == -3000
    assert torch.log(1 - torch.sigmoid(exact("30000"))).decimals(10) == "-30000.00000"
    assert torch.sigmoid(exact("50000")) != 1
    assert torch.sqrt(1 + exact("1e-2000")) > 1
    assert exact("exp(-exp(exp(10)))") > 0


def test_a_denominator_that_is_zero_as_a_polynomial():
    q = exact.symbols("q")
    v = 1 / ((q + 1) ** 2 - q**2 - 2 * q - 1)
    assert v.text() == "1/((q + 1)² − q² − 2q − 1)"
    assert v.latex().startswith(r"\frac{1}{")
    with pytest.raises(UndecidedError, match="depends on q"):
        _ = v == 1
    assert (1 / torch.log((q + 1) ** 2 - q**2 - 2 * q)).text() == "1/log((q + 1)² − q² − 2q)"


@pytest.mark.parametrize("zero", [lambda: exact("sin(1)^2 + cos(1)^2") - 1, unproved_zero, lambda: unproved_zero() ** 2])
def test_the_root_of_a_zero(zero):
    z = zero()
    for root in (torch.sqrt(z), torch.pow(z, exact("1/3")), torch.sqrt(torch.sqrt(z))):
        assert root.float64() == 0
        assert root.decimals() == "0"
        assert not root > 0


def test_the_deviation_of_equal_numbers_is_zero():
    assert torch.stack([exact(x) for x in UNPROVED]).std().float64() == 0


def test_arcs_at_the_end_of_their_domain():
    assert torch.acos(1 + unproved_zero()).float64() == 0
    assert torch.asin(1 + unproved_zero()).decimals(5) == "1.5708"


def test_towers_are_compared_by_their_logarithms():
    assert tower(6) > 1
    assert tower(7) > tower(6)
    assert tower(7) < tower(7, "2")
    assert 2 * tower(8) > tower(8)
    assert -tower(7) < -tower(6)
    assert 1 / tower(6) < 1
    assert tower(6) > exact("10") ** 100
    assert (-tower(6)).float64() == -math.inf


def test_cancellation_is_seen_through():
    # e^(10^-30) − 1 = 10^-30 + …: hundreds of bits cancel, the digits are right all the same.
    assert decimals(parse("e^(10^(-30)) - 1"), 5) == "1.0000e-30"
    assert sign(parse("e^(10^(-300)) - 1 - 10^(-300)")) == 1

"""Operations on single values: ∞ beside numbers and letters, and where the domain ends."""

import math

import pytest
import torch

from workings import exact
from workings.errors import DomainError, UndecidedError


@pytest.mark.parametrize(
    "a, operation, b, result",
    [
        ("inf", "sub", "1e400", math.inf),
        ("inf", "mul", "1e-400", math.inf),
        ("inf", "mul", "exp(-1000)", math.inf),
        ("-inf", "mul", "1e-400", -math.inf),
        ("inf", "div", "1e400", math.inf),
        ("inf", "div", "-1e400", -math.inf),
        ("1e400", "div", "inf", 0.0),
        ("1e400", "div", "0", math.inf),
        ("inf", "fmod", "2", math.nan),
        ("-3", "remainder", "inf", math.inf),
        ("3", "copysign", "-inf", -3.0),
        ("inf", "sub", "inf", math.nan),
        ("inf", "mul", "0", math.nan),
    ],
)
def test_arithmetic_with_infinity(a, operation, b, result):
    found = getattr(torch, operation)(exact(a), exact(b)).item()
    assert found == result or (math.isnan(found) and math.isnan(result))


def test_the_domain_ends_where_it_ends_however_near_the_float():
    assert math.isnan((1 + exact("1e-50")).asin().item())
    assert math.isnan((-exact("1e-400")).log().item())
    assert math.isnan((-exact("1e-400")).sqrt().item())
    assert math.isnan((1 + exact("1e-50")).atanh().item())


def test_letters_beside_infinity():
    q = exact.symbols("q")
    assert (q - math.inf).item() == -math.inf
    assert (math.inf - q).item() == math.inf
    assert (q / math.inf).item() == 0
    assert exact.equal(torch.logaddexp(q, exact("-inf")), q)
    with pytest.raises(UndecidedError, match="Whether q is positive"):
        q * math.inf


def test_tan_has_poles():
    with pytest.raises(DomainError, match=r"tan has a pole at π/2"):
        exact("pi").div(2).tan()
    assert exact("pi/4").tan().item() == 1


@pytest.mark.parametrize("function", [torch.atanh, torch.erfinv, torch.asin, torch.acos, torch.acosh, torch.log1p])
def test_at_and_beyond_the_ends_of_a_domain(function):
    """The ends themselves are inside for asin, acos and acosh, poles for the others: as PyTorch has it."""
    ends = torch.tensor([-2.0, -1.0, 1.0, 2.0], dtype=torch.float64)
    torch.testing.assert_close(function(exact(ends)).float64(), function(ends), equal_nan=True)

"""∞ and NaN: every operation on a pair with one of them gives what PyTorch gives for floats."""

import itertools
import math

import pytest
import torch

from workings.exact.numbers.infinite import ARITHMETIC, arithmetic
from workings.exact.numbers.rounding import to_float
from workings.exact.numbers.value import INF, NAN, NEG_INF, ZERO, rational

VALUES = {math.inf: INF, -math.inf: NEG_INF, math.nan: NAN, 0.0: ZERO, 3.0: rational(3), -2.0: rational(-2)}
PAIRS = [(x, y) for x, y in itertools.product(VALUES, repeat=2) if not (math.isfinite(x) and math.isfinite(y))]


CASES = [(name, *pair) for name in ARITHMETIC for pair in PAIRS if not (name == "copysign" and math.isnan(pair[1]))]
"""A float's NaN has a sign, ours has none."""


@pytest.mark.parametrize(("name", "x", "y"), CASES)
def test_as_floats_have_it(name, x, y):
    theirs = getattr(torch, name)(torch.tensor(x, dtype=torch.float64), torch.tensor(y, dtype=torch.float64)).item()
    assert to_float(arithmetic(name, VALUES[x], VALUES[y])) == pytest.approx(theirs, nan_ok=True)

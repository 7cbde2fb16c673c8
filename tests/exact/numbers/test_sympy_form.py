"""Values as SymPy expressions."""

import pytest
import torch

from workings import exact
from workings.errors import BudgetError


def test_sympy_has_its_limits():
    x = exact.symbols("q")
    for _ in range(500):
        x = torch.sin(x)
    with pytest.raises(BudgetError, match="SymPy works by recursion, and this formula of 501 nodes is nested too deeply"):
        x.sympy()

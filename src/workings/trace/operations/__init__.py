"""The table of operations: one row for each, all that is known of it together.

Each file has a family of operations; `ROWS` at its end. To add an operation, add a row (its gradient rule, if it has one,
stands above it in the same file) and a case in `tests/trace/gradient/test_adjoint.py`; `docs/operations.md` shows the
result. Imports formula, definitions and shapes; everything above reads `OPERATIONS`.
"""

from __future__ import annotations

from workings.trace.formula.operation import OPERATIONS
from workings.trace.operations import (
    arithmetic,
    attention,
    backward,
    complex_numbers,
    constants,
    elementwise,
    entries,
    linear_maps,
    logic,
    losses,
    normalisation,
    patterns,
    products,
    recurrent,
    reductions,
    reshaping,
    windows,
)

__all__ = ["OPERATIONS"]

FAMILIES = (
    arithmetic,
    elementwise,
    logic,
    products,
    reductions,
    entries,
    reshaping,
    patterns,
    normalisation,
    attention,
    windows,
    linear_maps,
    recurrent,
    losses,
    complex_numbers,
    constants,
    backward,
)
for family in FAMILIES:
    OPERATIONS.add(*family.ROWS)

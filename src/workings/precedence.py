"""How tightly a piece of written mathematics holds together: the levels that every printer compares.

A piece gets brackets where its level is below what its place needs: in (a + b)², the base of a power needs an ATOM and
a + b is a SUM. Formulas and exact values share these levels, because one is put into the other.
"""

from __future__ import annotations

RELATION = 0
"""a < b, and sentences such as «a where b»."""
SUM = 1
"""a + b, a − b, −a."""
LOOSE = 2
"""a / b in one line, Σ a, log 2: more than a sum, but a factor beside it would be misread as part of it."""
PRODUCT = 3
"""a ⊙ b, 2·a."""
MATMUL = 4
"""A B: written without a sign, so it binds what stands beside it."""
POWER = 5
"""a², √a, aᵀ."""
ATOM = 6
"""a, 2, f(a), |a|, (a + b)."""

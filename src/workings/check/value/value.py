"""The values of closed formulas: numbers with certified digits, and tables of them.

A number is a ball (`flint.arb`): a midpoint with a proven bound of its error. A printed decimal that may be rounded is the
ball of everything it may stand for, so that what follows from it is again such a ball.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import flint
from flint import arb

_BITS = 128
"""38 digits: whole numbers up to 2¹²⁸ are exact, and a difference in the last printed digit is never lost."""
MOST_ENTRIES = 250_000
"""A table with more entries than this is refused."""


class Reason(StrEnum):
    """Why a formula has no value that can be computed: few kinds, so that a report can count them."""

    LETTERS = "letters without a value"
    WORDS = "words"
    DOTS = "dots"
    FUNCTION = "a function that is not known"
    SIZE = "a size that is not known"
    LARGE = "too large"
    NUMBER = "no real number"
    """A division by zero, the logarithm of what may be negative."""
    UNFINISHED = "not a whole formula"
    NOTATION = "notation that is not computed"


class Undecided(Exception):
    """A formula has no value that can be computed; the message says why, and `reason` of which kind that is."""

    def __init__(self, message: str, reason: Reason = Reason.NOTATION) -> None:
        super().__init__(message)
        self.reason = reason


class NoValue(Undecided):
    """A formula certainly has no real value: the root of −1, a division by zero."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Reason.NUMBER)


class Mismatch(Exception):
    """The shapes of a formula do not fit together; the message says which."""


@contextlib.contextmanager
def ball_precision() -> Iterator[None]:
    """Ball arithmetic with `_BITS` bits inside the block."""
    before = flint.ctx.prec
    flint.ctx.prec = _BITS
    try:
        yield
    finally:
        flint.ctx.prec = before


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of numbers. A `free` table is a list such as (1, 2, 3), which may stand as a row or as a column."""

    rows: tuple[tuple[arb, ...], ...]
    free: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.rows[0])

    @property
    def entries(self) -> list[arb]:
        return [entry for row in self.rows for entry in row]

    @property
    def is_vector(self) -> bool:
        return 1 in self.shape

    @property
    def T(self) -> Table:
        return Table(tuple(zip(*self.rows, strict=True)), self.free)

    @property
    def transposed(self) -> Table:
        """As it is written with a T: a list becomes a column."""
        return Table(tuple(zip(*self.rows, strict=True)))


Value = arb | Table


def size(value: Value) -> str:
    """The size of a value in words: `3 × 2`, `a number`, `a list of 3`."""
    if not isinstance(value, Table):
        return "a number"
    if value.free:
        return f"a list of {len(value.entries)}"
    n, m = value.shape
    return f"{n} × {m}"


def entries(value: Value) -> list[arb]:
    """The numbers of a value, row by row."""
    return value.entries if isinstance(value, Table) else [value]


def free_list(numbers: list[arb]) -> Table:
    """A list that may stand as a row or as a column."""
    return Table((tuple(numbers),), free=True)


def scalar(value: Value) -> arb:
    """A number; a table of one entry is that number."""
    if isinstance(value, Table):
        if value.shape != (1, 1):
            raise Mismatch(f"expected a number, got {size(value)}")
        return value.rows[0][0]
    return value


def each(rule: Callable[[arb], arb], value: Value) -> Value:
    """`rule` at every entry."""
    if isinstance(value, Table):
        return Table(tuple(tuple(map(rule, row)) for row in value.rows), value.free)
    return rule(value)


def _aligned(a: Table, b: Table) -> tuple[Table, Table] | None:
    """Two tables of one shape: as they are, with a list turned, or with a row repeated under every row; otherwise none."""
    if a.shape == b.shape:
        return a, b
    if b.free and b.T.shape == a.shape:
        return a, b.T
    if a.free and a.T.shape == b.shape:
        return a.T, b
    return None


def _repeated(a: Table, b: Table) -> tuple[Table, Table] | None:
    """A bias: one row (or one column) that is added to every row (every column) of the other table."""
    n, m = a.shape
    for bias in (b, b.T) if b.free else (b,):
        if bias.shape == (1, m):
            return a, Table(bias.rows * n)
        if bias.shape == (n, 1):
            return a, Table(tuple(row * m for row in bias.rows))
    return None


def entrywise(rule: Callable[[arb, arb], arb], a: Value, b: Value, sign: str) -> Value:
    """`a sign b` entry by entry; a number stands for a table full of it."""
    if not isinstance(a, Table):
        return each(lambda y: rule(a, y), b)
    if not isinstance(b, Table):
        return each(lambda x: rule(x, b), a)
    pair = _aligned(a, b)
    if pair is None:
        raise Mismatch(f"{size(a)} {sign} {size(b)}: both must have one shape")
    x, y = pair
    return Table(tuple(tuple(map(rule, r, s)) for r, s in zip(x.rows, y.rows, strict=True)), a.free and b.free)


def _spread(a: Table, b: Table) -> tuple[Table, Table]:
    """Both tables as arrays are combined: a list is a row, and whatever has one row or one column is repeated."""
    n, m = (max(sizes) for sizes in zip(a.shape, b.shape, strict=True))
    if n * m > MOST_ENTRIES or any(
        size not in (1, most) for x in (a, b) for size, most in zip(x.shape, (n, m), strict=True)
    ):
        return a, b
    return _repeated_to(a, n, m), _repeated_to(b, n, m)


def _repeated_to(x: Table, n: int, m: int) -> Table:
    rows = tuple(row * m if len(row) < m else row for row in x.rows)
    return Table(rows * n if len(rows) < n else rows, x.free and n == 1)


def broadcast(a: Table, b: Table, arrays: bool = False) -> tuple[Table, Table]:
    """Both tables, one row or column repeated to the shape of the other where that is needed."""
    if arrays:
        return _spread(a, b)
    if _aligned(a, b) is None:
        if (pair := _repeated(a, b)) is not None:
            return pair
        if (swapped := _repeated(b, a)) is not None:
            return swapped[1], swapped[0]
    return a, b


def plus(a: Value, b: Value, arrays: bool = False) -> Value:
    """a + b; a bias is added to every row."""
    if isinstance(a, Table) and isinstance(b, Table):
        a, b = broadcast(a, b, arrays)
    return entrywise(lambda x, y: x + y, a, b, "+")


def inner(a: list[arb], b: list[arb]) -> arb:
    """Σ aᵢ bᵢ."""
    total = arb(0)
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total


def matrix_product(a: Table, b: Table) -> Table:
    """A B, as it is written."""
    if len(a.rows) * len(b.rows[0]) > MOST_ENTRIES or len(a.rows) * len(b.rows[0]) * len(b.rows) > 8 * MOST_ENTRIES:
        raise Undecided("the product is too large", Reason.LARGE)
    columns = [list(column) for column in zip(*b.rows, strict=True)]
    return Table(tuple(tuple(inner(list(row), column) for column in columns) for row in a.rows))


def product(a: Value, b: Value, sign: str, arrays: bool = False) -> Value:
    """a b: a number times anything, the matrix product, the dot product of two lists; ⊙ entry by entry.

    A dot between two vectors of one length is their dot product, too; two columns side by side are not.
    """
    if sign in ("⊙", "∘") and isinstance(a, Table) and isinstance(b, Table):
        a, b = broadcast(a, b, arrays)
    if not isinstance(a, Table) or not isinstance(b, Table) or sign in ("⊙", "∘"):
        return entrywise(lambda x, y: x * y, a, b, sign or "·")
    if sign == "⊗" or (sign == "×" and a.free and b.free):
        raise Undecided(f"{sign} has more than one meaning here")
    if a.shape == (1, 1):
        return each(lambda x: a.rows[0][0] * x, b)
    if b.shape == (1, 1):
        return each(lambda x: b.rows[0][0] * x, a)
    for x in (a, a.T) if a.free else (a,):
        for y in (b, b.T) if b.free else (b,):
            if x.shape[1] == y.shape[0] and not (a.free and b.free and x.shape[1] == 1):
                result = matrix_product(x, y)
                if result.shape == (1, 1):
                    return result.rows[0][0]
                return Table(result.rows, free=result.is_vector and (a.free or b.free))
    if sign == "·" and a.is_vector and b.is_vector and len(a.entries) == len(b.entries):
        return inner(a.entries, b.entries)
    raise Mismatch(f"{size(a)} times {size(b)}: the columns of the first must be as many as the rows of the second")


def correlation(a: Table, k: Table, turned: bool) -> Table:
    """A kernel that slides over a matrix, without padding; `turned` for a true convolution."""
    if turned:
        k = Table(tuple(tuple(reversed(row)) for row in reversed(k.rows)))
    (n, m), (h, w) = a.shape, k.shape
    if h > n or w > m or n * m * h * w > MOST_ENTRIES:
        raise Undecided("a kernel that does not fit into its matrix")
    weights = k.entries
    return Table(
        tuple(
            tuple(inner([x for row in a.rows[i : i + h] for x in row[j : j + w]], weights) for j in range(m - w + 1))
            for i in range(n - h + 1)
        )
    )


def quotient(a: Value, b: Value, arrays: bool = False) -> Value:
    """a / b, entry by entry."""
    if isinstance(b, Table) and b.shape == (1, 1):
        b = b.rows[0][0]
    if any(y.is_zero() for y in entries(b)):
        raise NoValue("a division by zero")
    if any(y.contains(0) for y in entries(b)):
        raise Undecided("a division by zero, or by what may be zero", Reason.NUMBER)
    if isinstance(b, Table) and not isinstance(a, Table):
        raise Undecided("a number divided by a table")
    if isinstance(a, Table) and isinstance(b, Table):
        a, b = broadcast(a, b, arrays)
    return entrywise(lambda x, y: x / y, a, b, "/")


def concatenate(parts: list[Value], below: bool) -> Table:
    """[A B] side by side, or one below the other."""
    tables = [part if isinstance(part, Table) else Table(((part,),)) for part in parts]
    if below:
        return stack_rows(tables)
    return stack_rows([table.T for table in tables]).T


def stack_rows(tables: list[Table]) -> Table:
    """The rows of all tables, one below the other."""
    widths = {table.shape[1] for table in tables}
    if len(widths) != 1:
        raise Mismatch(f"tables of {' and '.join(map(size, tables))} cannot stand side by side")
    return Table(tuple(row for table in tables for row in table.rows))


def inverse(a: Table) -> Table:
    """A⁻¹."""
    n, m = a.shape
    if n != m:
        raise Mismatch(f"the inverse needs a square matrix, got {size(a)}")
    try:
        solved = flint.arb_mat(n, n, a.entries).inv()
    except ZeroDivisionError as error:
        raise Undecided("a singular matrix has no inverse", Reason.NUMBER) from error
    return Table(tuple(tuple(solved[i, j] for j in range(n)) for i in range(n)))


def determinant(a: Table) -> arb:
    """det A."""
    n, m = a.shape
    if n != m:
        raise Mismatch(f"the determinant needs a square matrix, got {size(a)}")
    return flint.arb_mat(n, n, a.entries).det()


def power(x: arb, y: arb) -> arb:
    """xʸ, if it is a real number of moderate size."""
    if not x.is_finite() or not y.is_finite():
        raise Undecided("a power of infinity", Reason.NUMBER)
    if x.contains(0):
        if not x.is_zero() or not y > 0:
            raise Undecided("a power of zero, or of what may be zero", Reason.NUMBER)
        return arb(0)
    exponent = y * abs(x).log()
    if not abs(exponent) < 1e7 or not abs(y) < 1e20:
        raise Undecided("the power is too large", Reason.LARGE)
    if x > 0 and abs(y) > 1000:
        return exponent.exp()
    result = x**y
    if not result.is_finite():
        raise Undecided("not a real number", Reason.NUMBER)
    return result

"""What Python computes for a number as people write it: `1 / math.sqrt(2)`, `math.pi / 3`, `10000 ** (-2 / 64)`.

No float is such a number, and the one that is computed is not always the nearest: 1/math.sqrt(2) is one step beside 1/√2.
Fractions have no row: p/q is computed as the nearest float.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from flint import fmpz

from workings.exact.reading.families import CONSTANTS


def _root(p: int, q: int) -> Iterator[float]:
    yield from (math.sqrt(p / q), 1 / math.sqrt(q / p), math.sqrt(p) / math.sqrt(q), (p / q) ** 0.5, (q / p) ** -0.5)
    (a, b), (c, d) = _square_part(p), _square_part(q)
    yield from (
        a * math.sqrt(b / d) / c,
        a / c * math.sqrt(b / d),
        a * math.sqrt(b) / (c * math.sqrt(d)),
        a * b / (c * math.sqrt(b * d)),
    )


def _square_part(n: int) -> tuple[int, int]:
    """a and b with n = a²b, as far as small factors show it."""
    a, b = 1, 1
    for p, k in fmpz(n).factor():
        a, b = a * int(p) ** (int(k) // 2), b * int(p) ** (int(k) % 2)
    return a, b


def _log(p: int, q: int) -> Iterator[float]:
    yield from (math.log(p / q), -math.log(q / p), math.log(p) - math.log(q))


def _exp(p: int, q: int) -> Iterator[float]:
    yield from (math.exp(p / q), 1 / math.exp(-p / q))


def _ten(p: int, q: int) -> Iterator[float]:
    yield from (10 ** (p / q), 1 / 10 ** (-p / q), 10000 ** (p / (4 * q)), 1 / 10000 ** (-p / (4 * q)))


def _multiple(c: float) -> Callable[[int, int], Iterator[float]]:
    def spelled(p: int, q: int) -> Iterator[float]:
        yield from (p * c / q, p / q * c, c / q * p, c / (q / p))

    return spelled


def _part(c: float) -> Callable[[int, int], Iterator[float]]:
    def spelled(p: int, q: int) -> Iterator[float]:
        yield from (p / c / q, p / q / c, p / (q * c), 1 / (c * q / p), 1 / c * (p / q))

    return spelled


SPELLINGS: dict[str, Callable[[int, int], Iterator[float]]] = {
    "root": _root,
    "log": _log,
    "exp": _exp,
    "ten": _ten,
    **{name: _multiple(c) for group in CONSTANTS.values() for name, c in group.items()},
    **{f"1/{name}": _part(c) for group in CONSTANTS.values() for name, c in group.items()},
}
"""By family, what the usual spellings of its member p/q come to."""

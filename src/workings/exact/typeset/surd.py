"""The shortest way to write (p/q)·√n: 1/√2 for √2/2, √9.5 for √38/2, 3√2/4 as it is."""

from __future__ import annotations

from typing import NamedTuple

from flint import fmpq, fmpz


class Surd(NamedTuple):
    """top·√r / (bottom·√s) with `radicands` (r, s), at most one a fraction, shown as `decimals` if short."""

    top: int
    bottom: int
    radicands: tuple[fmpq, fmpq]
    decimals: str | None = None


def surd(c: fmpq, n: int, decimals: bool = True, plain: bool = True) -> Surd:
    """c·√n, c > 0, as the shortest of p√n/q, p/(q√n), p√(a/b) and p/√(a/b).

    `decimals` allows radicands such as 9.5; `plain` allows fractions as radicands at all. The last two
    forms need q to divide n, so that a and b share no factor and hold no square.
    """
    p, q = int(c.p), int(c.q)
    options = [Surd(p, q, (fmpq(n), fmpq(1)))]
    if n > 1 and q % n == 0:
        options.append(Surd(p, q // n, (fmpq(1), fmpq(n))))
    elif plain and q > 1 and n % q == 0:
        inner = fmpq(n // q, q)
        above, below = (_short_decimal(r) if decimals else None for r in (inner, 1 / inner))
        if below is not None:
            options.append(Surd(p, 1, (fmpq(1), 1 / inner), below))
        options.append(Surd(p, 1, (inner, fmpq(1)), above))
    return min(options, key=_length)


def _short_decimal(r: fmpq) -> str | None:
    """A fraction as a terminating decimal of at most four characters.

    >>> _short_decimal(fmpq(19, 2)), _short_decimal(fmpq(1, 3)), _short_decimal(fmpq(1, 8))
    ('9.5', None, None)
    """
    if r.q == 1 or 100 % int(r.q):
        return None
    hundredths = int(r.p) * (100 // int(r.q))
    digits = f"{hundredths // 100}.{hundredths % 100:02}".rstrip("0")
    return digits if len(digits) <= 4 else None


def _length(s: Surd) -> tuple[int, int]:
    """Characters that carry numbers; among equals, the largest number in sight."""
    r, t = s.radicands
    numbers = [n for n in (s.top, s.bottom) if n != 1]
    for radicand in s.radicands:
        numbers += [int(k) for k in (radicand.p, radicand.q) if k != 1]
    length = sum(len(str(fmpz(k))) for k in numbers) if s.decimals is None else 0
    if s.decimals is not None:
        length = len(s.decimals) + (len(str(fmpz(s.top))) if s.top != 1 else 0)
    below = s.bottom != 1 or t != 1
    inner = s.decimals is None and r.q != 1
    return length + below + inner + (s.bottom != 1 and t != 1), max(numbers, default=1)

"""Units behind numbers: what each is worth in the basic unit of its kind (metre, second, kilogram, byte …).

A unit is a base with a prefix (`km`, `ms`), or one with a word of its own (`hours`); words for numbers (`million`) count as
units, too. A word that stands in no table may be a unit as well (`apples`): its worth is not known, and not needed as long
as it stands on both sides or on one side alone.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

_PREFIXES = {"": 0, "n": -9, "μ": -6, "u": -6, "m": -3, "c": -2, "d": -1, "h": 2, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12}
"""Powers of ten."""
_BASES = {
    "m": Fraction(1), "g": Fraction(1, 1000), "s": Fraction(1), "l": Fraction(1, 1000), "L": Fraction(1, 1000),
    "N": Fraction(1),
    "J": Fraction(1), "W": Fraction(1), "Hz": Fraction(1), "V": Fraction(1), "A": Fraction(1), "Pa": Fraction(1),
    "B": Fraction(8), "b": Fraction(1), "eV": Fraction(1602176634, 10**28),
    "bps": Fraction(1), "FLOPs": Fraction(1), "FLOPS": Fraction(1),
}  # fmt: skip
_WORDS: dict[str, int | Fraction] = {
    "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12, "percent": Fraction(1, 100),
    "second": 1, "sec": 1, "minute": 60, "min": 60, "hour": 3600, "hr": 3600, "h": 3600, "day": 86400, "week": 604800,
    "millisecond": Fraction(1, 10**3), "microsecond": Fraction(1, 10**6), "nanosecond": Fraction(1, 10**9),
    "metre": 1, "meter": 1, "kilometre": 1000, "kilometer": 1000, "centimetre": Fraction(1, 100),
    "centimeter": Fraction(1, 100), "millimetre": Fraction(1, 1000), "millimeter": Fraction(1, 1000),
    "mile": Fraction(1609344, 1000),
    "foot": Fraction(3048, 10**4), "feet": Fraction(3048, 10**4), "ft": Fraction(3048, 10**4), "inch": Fraction(254, 10**4),
    "inches": Fraction(254, 10**4), "yard": Fraction(9144, 10**4), "gram": Fraction(1, 1000), "kilogram": 1, "tonne": 1000,
    "litre": Fraction(1, 1000), "liter": Fraction(1, 1000), "bit": 1, "byte": 8, "cent": Fraction(1, 100), "dollar": 1,
    "euro": 1,
}  # fmt: skip
_COUNTED = frozenset(
    "unit item piece point person people student time year month pixel token parameter weight sample example step".split()
)
"""What is counted; a year or a month has no fixed worth."""
_SCALES = frozenset("thousand million billion trillion dozen percent".split())
"""Words for numbers."""
_BINARY = {"KB": 2**13, "MB": 2**23, "GB": 2**33, "TB": 2**43, "KiB": 2**13, "MiB": 2**23, "GiB": 2**33, "TiB": 2**43}
"""Bytes with prefixes that count in powers of 1024."""
_PREFIXED = re.compile(rf"([{''.join(_PREFIXES)}]?)({'|'.join(sorted(_BASES, key=len, reverse=True))})")
_PART = re.compile(r"([A-Za-zμ]+)(?:\^?\{?([-−]?\d)\}?)?")
_SUPERSCRIPTS = str.maketrans("²³", "23")


@lru_cache(maxsize=4096)
def worth(text: str, binary: bool = False) -> Fraction | None:
    """What one of these is worth in the basic unit; none if that is not known.

    >>> worth("km"), worth(" minutes"), worth("km/h"), worth("m²"), worth("apples")
    (Fraction(1000, 1), Fraction(60, 1), Fraction(5, 18), Fraction(1, 1), None)
    """
    total = Fraction(1)
    above, *below = re.split(r"/|\bper\b", text.strip(" .,~\\").translate(_SUPERSCRIPTS))
    for part, down in ((above, False), *((part, True) for part in below)):
        for word in part.split():
            found = _PART.fullmatch(word)
            one = _one(found[1], binary) if found else None
            if found is None or one is None:
                return None
            power = int((found[2] or "1").replace("−", "-"))
            total *= one ** (-power if down else power)
    return total if above.strip() else None


def is_measure(text: str) -> bool:
    """Whether a word is a unit of measure: km, hours; not what is counted, and not million.

    >>> is_measure("km"), is_measure("hours"), is_measure("students"), is_measure("million")
    (True, True, False, False)
    """
    lower = text.lower()
    counts = {lower, lower.removesuffix("s")} & (_COUNTED | _SCALES)
    return not counts and worth(text) is not None


def _one(word: str, binary: bool) -> Fraction | None:
    if word in _BINARY and (binary or "i" in word):
        return Fraction(_BINARY[word])
    lower = word.lower()
    for name in (lower, lower.removesuffix("s")):
        if name in _WORDS or name in _COUNTED:
            return Fraction(_WORDS.get(name, 1))
    found = _PREFIXED.fullmatch(word)
    return _BASES[found[2]] * Fraction(10) ** _PREFIXES[found[1]] if found else None

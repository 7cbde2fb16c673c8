"""Slips of the pen in a printed number: a digit, two digits swapped, one left out or doubled, the point, the sign."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from workings.check.latex.syntax import Number

_DIGITS = "0123456789"
_LONGEST = 9
"""Digits up to which a number is written by hand; longer ones are copied."""


def another_digit(number: Number) -> Iterator[Number]:
    """47 for 42."""
    text = number.text
    for i, old in enumerate(text[:_LONGEST]):
        if old.isdigit():
            changed = (text[:i] + new + text[i + 1 :] for new in _DIGITS if new != old)
            yield from (Number(new) for new in changed if new.strip("0."))


def swapped_digits(number: Number) -> Iterator[Number]:
    """24 for 42: two neighbours, with or without the point between them."""
    text = number.text
    places = [i for i, c in enumerate(text[:_LONGEST]) if c.isdigit()]
    for i, j in pairwise(places):
        swapped = text[:i] + text[j] + text[i + 1 : j] + text[i] + text[j + 1 :]
        if text[i] != text[j] and not (swapped[0] == "0" and swapped[1].isdigit()):
            yield Number(swapped)


def lost_digit(number: Number) -> Iterator[Number]:
    """442 for 42, and 42 for 442: a digit written twice, or one of two left out."""
    text = number.text
    for i, old in enumerate(text[:_LONGEST]):
        if old.isdigit():
            yield Number(text[:i] + old + text[i:])
            if len(text) > 1 and i + 1 < len(text) and text[i + 1] == old:
                yield Number(text[:i] + text[i + 1 :])


def moved_point(number: Number) -> Iterator[Number]:
    """4.2 for 42."""
    digits = number.text.replace(".", "")
    if not digits.isdigit() or not digits.strip("0"):
        return
    point = number.text.index(".") if "." in number.text else len(number.text)
    for shift in (-3, -2, -1, 1, 2, 3):
        place = point + shift
        moved = "0." + "0" * -place + digits if place <= 0 else (digits[:place].ljust(place, "0") + "." + digits[place:])
        yield Number(moved.rstrip("."))

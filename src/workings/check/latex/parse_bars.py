"""Tell what a bar is: the beginning of an absolute value, its end, or the bar of a condition."""

from __future__ import annotations

from workings.check.latex.reader import Reader
from workings.check.latex.tokens import Token


def opens_bar(reader: Reader) -> bool:
    """Whether a bar after something complete begins a new absolute value: not inside one, and if the bars pair up."""
    if reader.bar:
        return False
    if reader.bars is None:
        reader.bars = remaining_bars(reader.tokens)
    following = reader.tokens[reader.at + 1]
    if reader.bars[reader.at] == 2 and following[0] == "bar" and following[2] == reader.tokens[reader.at][3]:
        return False
    return reader.bars[reader.at] % 2 == 0


def condition_sign(reader: Reader) -> str:
    """The bar of a condition: `|`, `\\mid`, or `‖`, which may be two `|`."""
    _, sign, _, end = reader.tokens[reader.at]
    reader.at += 1
    kind, again, start, _ = reader.tokens[reader.at]
    if kind == "bar" and again == sign == "|" and start == end:
        reader.at += 1
        return "‖"
    return str(sign)


def remaining_bars(found: list[Token]) -> dict[int, int]:
    """For each bar, how many bars of its kind stand from there to the end of the bracket it is in."""
    counts: list[dict[str, int]] = [{}]
    remaining = {}
    for at in range(len(found) - 1, -1, -1):
        kind, value, *_ = found[at]
        if kind in ("close", "}", "end"):
            counts.append({})
        elif kind in ("open", "{", "begin") and len(counts) > 1:
            counts.pop()
        elif kind == "bar":
            counts[-1][value] = remaining[at] = counts[-1].get(value, 0) + 1
        elif kind in ("separator", "row", "&", "relation") and len(counts) == 1:
            counts[-1] = {}
    return remaining

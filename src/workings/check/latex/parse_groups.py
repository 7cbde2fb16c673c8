r"""Read brackets: ( [ \{ ⌊ ⌈ ⟨ and the bars | ‖, whose ends look like their beginnings.

A bar begins an absolute value, ends it, or is the bar of a condition.
"""

from __future__ import annotations

from dataclasses import replace

from workings.check.latex.reader import Reader, side_by_side
from workings.check.latex.syntax import Cases, Given, Group, Items, Matrix, Node, Nothing, Number, Postfix
from workings.check.latex.tokens import Token
from workings.errors import ParseError

_CLOSES = {"(": ")]", "[": "])", "{": "}", "⌊": "⌋⌉", "⌈": "⌉⌋", "⟨": "⟩", "|": "|", "‖": "‖", "": "|‖"}
"""What may close each bracket; intervals are half open, as in [0, 1)."""
_OPERATORS = frozenset(("sign", "times", "slash"))
_OPERANDS = frozenset(("number", "symbol", "close", "}"))
_KINDS = {"[": "bmatrix", "(": "pmatrix", "{": "Bmatrix", "|": "vmatrix", "‖": "Vmatrix"}


def group(reader: Reader, token: Token) -> Node:
    """A bracket and its items; `\\left. f \\right|` is `f` with the postfix `|`."""
    _, opening, start, _ = token
    saved = reader.bar, reader.thousands, reader.style
    reader.bar = opening if token[0] == "bar" else ""
    reader.thousands = False
    parts = reader.parts(rows=opening == "{" and reader.kind == "begin")
    condition = reader.kind == "mid" or (reader.kind == "bar" and not reader.bar)
    if condition and parts:
        items: tuple[Node, ...] = (_given(reader, parts),)
    else:
        items = tuple(part for _, part in parts)
    closing = _close(reader, opening, token)
    reader.bar, reader.thousands, reader.style = saved
    return _meaning(opening, items, closing, [separator for separator, _ in parts], reader.span(start))


def _given(reader: Reader, parts: list[tuple[str, Node]]) -> Node:
    sign = condition_sign(reader)
    condition = [part for _, part in reader.parts()]
    if not condition:
        raise reader.refuse("One condition after the bar")
    body = side_by_side([part for _, part in parts])
    return Given(body, side_by_side(condition), sign, span=(body.span[0], condition[-1].span[1]))


def _close(reader: Reader, opening: str, token: Token) -> str:
    kind, value, *_ = reader.tokens[reader.at]
    fits = (kind == "close" and value in _CLOSES[opening]) or (kind == "bar" and token[0] == "bar" and value == opening)
    half = kind == "close" and value == "" and opening in "{[(|‖"
    if not (fits or half) or (value == "" and not half):
        name = _CLOSES[opening][0]
        raise reader.refuse(f"A closing {name} for the bracket at character {token[2] + 1}")
    reader.at += 1
    return str(value)


def _meaning(opening: str, items: tuple[Node, ...], closing: str, separators: list[str], span: tuple[int, int]) -> Node:
    """A group, or the matrix or the cases that brackets make of what is in them."""
    only = items[0] if len(items) == 1 else None
    if opening == "":
        return Postfix(only or (Items(items, span=span) if items else Nothing(span=span)), closing, span=span)
    if opening == "[" and ";" in separators:
        return Matrix(_by_semicolons(items, separators), "[;]", span=span)
    if isinstance(only, Matrix) and only.kind in ("array", "matrix", "smallmatrix"):
        if closing == "" and opening == "{":
            return Cases(only.rows, span=span)
        if opening in _KINDS and closing:
            return replace(only, kind=_KINDS[opening], span=span)
        return Group(opening, items, closing, span=span)
    if (
        opening == closing == "|"
        and isinstance(only, Group)
        and only.open == "|"
        and only.span == (span[0] + 1, span[1] - 1)
    ):
        return Group("‖", only.items, "‖", span=span)
    if (closing == "" or opening == "(") and len(items) == 1 and isinstance(only, Items):
        items = only.parts
    return Group(opening, items, closing, span=span)


def _by_semicolons(items: tuple[Node, ...], separators: list[str]) -> tuple[tuple[Node, ...], ...]:
    """Rows of `[1, 2; 3, 4]`."""
    rows: list[list[Node]] = [[]]
    for separator, item in zip(separators, items, strict=True):
        if separator == ";":
            rows.append([])
        rows[-1].append(item)
    return tuple(map(tuple, rows))


def number(reader: Reader, token: Token) -> Node:
    """A number; outside of brackets `1,000` is one."""
    _, text, start, end = token
    tokens = reader.tokens
    at = reader.at
    if tokens[at][0] != "separator":
        return Number(text, span=(start, end))
    if reader.thousands and tokens[at][1] == "," and text.isdigit() and _is_decimal_comma(reader, text, end):
        reader.at += 2
        return Number(f"{text}.{tokens[at + 1][1]}", span=(start, tokens[at + 1][3]))
    if tokens[at][2] == end and text.isdigit() and len(text) <= 3 and text[0] != "0":
        while (
            tokens[at][0] == "separator"
            and tokens[at][1] == ","
            and tokens[at][2] == end
            and tokens[at + 1][0] == "number"
            and tokens[at + 1][2] == end + 1
            and len(tokens[at + 1][1].partition(".")[0]) == 3
        ):
            more = tokens[at + 1][1]
            if not reader.thousands and more[0] != "0":
                break
            if not reader.thousands:
                raise ParseError(
                    f"A list or one number? In brackets {text},{more} needs a space, or {text}{{,}}{more}.",
                    reader.text,
                    start,
                )
            text += more
            end = tokens[at + 1][3]
            at += 2
            if "." in more:
                break
        reader.at = at
    return Number(text, span=(start, end))


def _is_decimal_comma(reader: Reader, whole: str, end: int) -> bool:
    """Whether the comma at `end` is a decimal one: `1,5 + 2` is a sum, `1,5` may be a list.

    `0,5` alone may be either and is refused; `0,1,2` is a list, and so is what has spaces after its commas.
    """
    comma, digits, more = (reader.tokens[reader.at : reader.at + 3] + [("", "", -1, -1)] * 2)[:3]
    earlier, before = ([("", "", -1, -1)] * 2 + reader.tokens[: reader.at - 1])[-2:]
    close = comma[2] == end and digits[0] == "number" and digits[2] == comma[3] and digits[1].isdigit()
    if not close or more[0] == "separator" or before[0] == "separator" or (len(digits[1]) == 3 and whole[0] != "0"):
        return False
    if more[0] in _OPERATORS or before[0] in ("times", "slash") or (before[0] == "sign" and earlier[0] in _OPERANDS):
        return True
    if whole == "0":
        decimal = f"{{,}}{digits[1]}"
        raise ParseError(f"A list or a decimal? 0,{digits[1]} needs a space, or 0{decimal}.", reader.text, end - 1)
    return False


def opens_bar(reader: Reader) -> bool:
    """Whether a bar after something complete begins a new absolute value: not inside one, and if the bars pair up."""
    if reader.bar:
        return False
    if reader.bars is None:
        reader.bars = _remaining_bars(reader.tokens)
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


def _remaining_bars(found: list[Token]) -> dict[int, int]:
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

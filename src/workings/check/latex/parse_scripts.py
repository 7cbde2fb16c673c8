r"""Read what stands below, above and after a thing, and the arguments of commands: braces, or else one character."""

from __future__ import annotations

from collections.abc import Iterator

from workings.check.latex.parse_derivatives import fraction
from workings.check.latex.reader import Reader
from workings.check.latex.syntax import Axes, Items, Node, Number, Postfix, Script, Sum, Symbol, Words
from workings.errors import ParseError

_MARKS = 8
"""Primes, or signs such as !, that may follow one another."""
_SIGNS = frozenset(("sign", "times", "relation"))
"""What stands for itself where it is all of a script: X⁺, E_∥."""
_BREAKS = frozenset(
    ("end of text", "}", "&", "row", "separator", "quad", "end", "_", "^", "close", "bar", "root", "begin", "words")
)


def with_scripts(reader: Reader, base: Node) -> Node:
    """A base with what stands below, above and after it. Primes belong to the base."""
    start = base.span[0]
    for _ in range(_MARKS):
        below, above, primes = scripts(reader)
        for _ in range(primes):
            base = Postfix(base, "'", span=reader.span(start))
        if below is not None or above is not None:
            base = Script(base, below, above, span=reader.span(start))
        if reader.kind != "postfix":
            return base
        reader.at += 1
        base = Postfix(base, reader.tokens[reader.at - 1][1], span=reader.span(start))
    raise reader.refuse(f"Fewer than {_MARKS} signs in a row")


def scripts(reader: Reader) -> tuple[Node | None, Node | None, int]:
    """What stands below and above, each at most once, and how many primes."""
    below: Node | None = None
    above: Node | None = None
    primes = 0
    while True:
        kind, value, start, _ = reader.tokens[reader.at]
        if kind == "prime":
            reader.at += 1
            primes += value
        elif kind == "_" and below is None:
            reader.at += 1
            below = _axes(argument(reader, "_", script=True))
        elif kind == "^" and above is None:
            reader.at += 1
            count = _primes(reader)
            if count:
                primes += count
            else:
                above = argument(reader, "^", script=True)
        elif kind in ("_", "^"):
            raise ParseError(
                f"Only one {kind} is allowed here: use braces to say what the second belongs to.", reader.text, start
            )
        else:
            break
    if primes > _MARKS:
        raise reader.refuse(f"At most {_MARKS} primes in a row")
    return below, above, primes


def _axes(below: Node) -> Node:
    """`\\text{axis }-1` as axes; any other index as it is."""
    match list(_signed(below)):
        case [(_, Words(text=word)), *rest] if rest and word.strip() in ("axis", "axes"):
            found = [int(sign + part.text) for sign, part in rest if isinstance(part, Number) and part.text.isdigit()]
            return Axes(tuple(found), span=below.span) if len(found) == len(rest) else below
    return below


def _signed(node: Node) -> Iterator[tuple[str, Node]]:
    """The parts that stand side by side, each with its sign."""
    match node:
        case Items(parts=parts):
            for part in parts:
                yield from _signed(part)
        case Sum(terms=terms):
            yield from terms
        case _:
            yield "+", node


def _primes(reader: Reader) -> int:
    """How many primes are written as `^\\prime` or `^{\\prime\\prime}`."""
    at = reader.at + (reader.kind == "{")
    count = 0
    while reader.tokens[at][0] == "prime":
        count += reader.tokens[at][1]
        at += 1
    if not count or (reader.kind == "{" and reader.tokens[at][0] != "}"):
        return 0
    reader.at = at + (reader.kind == "{")
    return count


def argument(reader: Reader, name: str, script: bool = False) -> Node:
    """The argument of a command or a script: what is in braces, or else one character."""
    kind, value, start, end = reader.tokens[reader.at]
    if kind == "{":
        return braces(reader, script)
    reader.at += 1
    if kind == "number":
        return _digit(reader, name)
    if kind == "words" and script:
        return Words(value, span=(start, end))
    if kind in _SIGNS and script:
        if kind == "sign" and reader.kind == "number":
            return Sum(((value, reader.factor()),), span=reader.span(start))
        return Symbol("circ" if value == "∘" else value, span=(start, end))
    reader.at -= 1
    if kind in _BREAKS:
        raise reader.refuse(f"Something in braces after {name}")
    return reader.factor(scripts=False)


def _digit(reader: Reader, name: str) -> Number:
    r"""A number without braces: all of it in a script (`2^10`), its first digit after a command (`\frac12`)."""
    _, value, start, end = reader.tokens[reader.at - 1]
    if len(value) == 1 or name in ("^", "_"):
        return Number(value, span=(start, end))
    if not value[0].isdigit() or not value[1:].replace(".", "", 1).isdigit():
        raise ParseError(f"The number {value} needs braces after {name}.", reader.text, start)
    reader.at -= 1
    reader.tokens[reader.at] = ("number", value[1:], start + 1, end)
    return Number(value[0], span=(start, start + 1))


def braces(reader: Reader, script: bool = False) -> Node:
    """What stands in braces."""
    start = reader.tokens[reader.at][2]
    kind, value, here, end = reader.tokens[reader.at + 1]
    if script and kind in _SIGNS and reader.tokens[reader.at + 2][0] == "}":
        reader.at += 3
        return Symbol("circ" if value == "∘" else value, span=(here, end))
    reader.at += 1
    saved = reader.bar, reader.thousands
    reader.bar, reader.thousands = "", not script
    node = reader.formulas()
    if reader.kind == "over":
        node = _over(reader, node, start)
    reader.take("}", "A closing brace")
    reader.bar, reader.thousands = saved
    return node


def _over(reader: Reader, above: Node, start: int) -> Node:
    """`{a \\over b}` and `{n \\choose k}`."""
    name = reader.take("over", "\\over")[1]
    below = reader.formulas()
    return fraction(above, below, name, (start, reader.tokens[reader.at][3]))

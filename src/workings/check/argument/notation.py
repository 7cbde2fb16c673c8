"""Which notation a claim uses, and whether this very document shows that we read it rightly.

A small core (numbers, + − × / √, powers, round brackets, percent) means the same everywhere. Anything else is a *feature*: a
function, square brackets, letters side by side, an index. A feature is confirmed by claims of the document that are right
and would not be so by accident, and contradicted by claims that are wrong: one misreading repeats through its document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from workings.check.latex.syntax import (
    Big,
    Derivative,
    Function,
    Group,
    Matrix,
    Node,
    Number,
    Postfix,
    Product,
    Quotient,
    Root,
    Script,
    Sum,
    Symbol,
)
from workings.check.value.names import CONSTANTS, DIFFERENTIALS, is_capital, is_number, running_letter
from workings.check.value.units import has_units

_RENAMED, _BITS, _REFERENCE = "a number for a number", "bits", "a number alone in brackets"
NO_ARITHMETIC = frozenset({_RENAMED, _BITS, _REFERENCE})
"""What looks like arithmetic and may be none, whatever else is right: 1 = 0 (two names, the end of a contradiction),
1 + 1 = 1 (truth values), (1) + (2) (formulas by their numbers)."""
_ANY = Number("0")
"""What stands for every number in a form."""
_TIMES = ("×", "·", "*")
_USUAL = {
    "e as a number",
    "pi as a number",
    "a number beside a bracket",
    "a bracket beside a bracket",
    "a number beside something",
    "a bracket beside something",
    "something beside a bracket",
    "something beside something",
    "sign !",
    "letters",
    "a power of a letter",
    "derivatives",
    "sign '",
    "| |",
    "matrix bmatrix",
    "matrix pmatrix",
    *(f"operator {name}" for name in "∑∏∫"),
    *(f"function {name}" for name in "log ln exp sin cos tan sinh cosh tanh arcsin arccos arctan max min binom".split()),
}
"""Features that mean the same in nearly every document, between numbers."""
_DOUBTED = 2
"""Wrong claims from which on a feature can be contradicted."""
_SHARE = 0.34
"""The share of wrong claims above which a feature is not understood."""
_USUAL_SHARE = 0.5
"""The same for a usual feature."""
_MANY = 4
"""Wrong claims from which on a document as a whole can be in doubt."""


def features(*nodes: Node) -> frozenset[str]:
    """The notation of formulas beyond the core.

    >>> from workings.check.latex.parse import parse
    >>> features(parse("2 + 3 \\\\cdot (4 - 1)^2"))
    frozenset()
    >>> sorted(features(parse("[3] + \\\\log 4")))
    ['[ ]', 'function log']
    """
    found: set[str] = set()
    if len(nodes) > 1 and all(map(is_number, nodes)):
        found.add(_RENAMED)
    elif _is_of_bits(nodes):
        found.add(_BITS)  # 1 + 1 = 1
    for node in nodes:
        if has_units(node):
            found.add("units")
        running = {letter for part in node.walk() if isinstance(part, Big) and (letter := running_letter(part)) is not None}
        running |= DIFFERENTIALS if running else set()
        bounds = {id(part.below) for part in node.walk() if isinstance(part, Big)}
        for part in node.walk():
            if part not in running and id(part) not in bounds:
                found.update(_of(part))
    return frozenset(found)


def _is_of_bits(nodes: Iterable[Node]) -> bool:
    """Whether no number but 0 and 1 stands in formulas: they may be truth values."""
    parts = [part for node in nodes for part in node.walk() if isinstance(part, Number | Symbol)]
    return bool(parts) and all(isinstance(part, Number) and part.text in ("0", "1") for part in parts)


def is_usual(found: Iterable[str]) -> bool:
    """Whether nearly every document means the same by these features."""
    return _USUAL.issuperset(found)


def _of(node: Node) -> Iterator[str]:
    """The notation that one part brings in."""
    match node:
        case Number() | Root() | Postfix(sign="%"):
            return
        case Quotient(above=above, below=below):
            yield from _references(above, below)
        case Sum(terms=terms):
            yield from (sign for sign, _ in terms if sign not in "+-")
            yield from _references(*(term for _, term in terms))
        case Product(factors=factors):
            yield from (f"sign {sign}" for sign, _ in factors if sign and sign not in _TIMES)
            yield from (_side_by_side(one, other) for (_, one), (sign, other) in pairwise(factors) if not sign)
        case Group(open="(", items=items, close=")") if len(items) == 1:
            return
        case Group(open=opening, items=items, close=closing):
            yield f"{opening} {', ' if len(items) > 1 else ''}{closing}"
        case Script(base=base, below=below, above=above):
            if below is not None:
                yield "an index" if isinstance(base, Symbol) else "something below"
            if above is not None and base not in CONSTANTS and not (_is_plain(base) and _is_power(above)):
                yield "a power of a letter" if _is_power(above) else "something above"
        case Symbol(name=name, style=style):
            yield f"{name} as a number" if node in CONSTANTS else "capitals" if is_capital(node) else "letters"
            yield from (f"style {kind}" for kind in style)
        case Function(name=name):
            yield f"function {name}"
        case Big(operator=operator):
            yield f"operator {operator}"
        case Derivative():
            yield "derivatives"
        case Matrix(kind=kind):
            yield f"matrix {kind}"
        case Postfix(sign=sign):
            yield f"sign {sign}"
        case _:
            yield type(node).__name__.lower()


def _references(*nodes: Node) -> Iterator[str]:
    """(1) + (2): brackets that change nothing; the numbers may be those of formulas."""
    for node in nodes:
        if isinstance(node, Group) and node.open == "(" and len(node.items) == 1 and isinstance(node.items[0], Number):
            yield _REFERENCE


def _side_by_side(one: Node, other: Node) -> str:
    kinds = [
        "a number" if isinstance(node, Number) else "a bracket" if isinstance(node, Group) else "something"
        for node in (one, other)
    ]
    return f"{kinds[0]} beside {kinds[1]}"


def _is_plain(node: Node) -> bool:
    return not any(isinstance(part, Symbol | Matrix) and part not in CONSTANTS for part in node.walk())


def _is_power(above: Node) -> bool:
    """Whether a superscript is a power: a number or a calculation, not a mark."""
    return isinstance(above, Number | Sum | Quotient | Product)


def _is_telling(*sides: Node) -> bool:
    """Whether equality of these sides is hardly an accident: two digits that matter, a fraction, a table, letters."""
    if sides[0] == sides[-1]:
        return False
    last = sides[-1]
    digits = [len(part.text.replace(".", "").strip("0")) for part in last.walk() if isinstance(part, Number)]
    return sum(digits) > 1 or any(isinstance(part, Symbol) for part in last.walk())


def form(node: Node) -> Node | None:
    """A calculation with its numbers left out, and the indices of its letters; none if hardly anything is left.

    >>> from workings.check.latex.parse import parse
    >>> form(parse("1 - 0.9^3 / 2")) == form(parse("1 - 0.75^2 / 5"))
    True
    >>> form(parse("2 + 3")) is None
    True
    """
    return _without_numbers(node) if sum(1 for part in node.walk() if part.children()) > 1 else None


def _without_numbers(node: Node) -> Node:
    match node:
        case Number():
            return _ANY
        case Script(base=Symbol() as base, below=below, above=None) if below is not None:
            return base
        case Script(base=Symbol() as base, below=below, above=above) if below is not None and above is not None:
            return Script(base, None, _without_numbers(above))
    return node.rebuilt(_without_numbers)


@dataclass
class Notation:
    """How often each feature stood in claims that were right, and in claims that were wrong."""

    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    decided: Counter[bool] = field(default_factory=Counter)
    forms: set[Node] = field(default_factory=set)
    """The calculations that were right, without their numbers."""

    def count(self, sides: tuple[Node, ...], right: bool) -> None:
        """A claim was decided."""
        self.decided[right] += 1
        if not right or _is_telling(*sides):
            (self.right if right else self.wrong).update(features(*sides))
            if right and (found := form(sides[0])) is not None:
                self.forms.add(found)

    def knows_form(self, sides: tuple[Node, ...]) -> bool:
        """Whether the calculation of a claim was right with other numbers."""
        found = form(sides[0])
        return found is not None and found in self.forms

    def is_confirmed(self, found: Iterable[str]) -> bool:
        """Whether each of these features is understood in this document."""
        return all(self.right[name] > 0 and name != _RENAMED for name in found)

    def contradicted(self, found: Iterable[str]) -> list[str]:
        """The features that are wrong too often for us to be right about them; usual ones get the benefit of the doubt."""
        return [name for name in found if self._is_contradicted(name)]

    def _is_contradicted(self, name: str) -> bool:
        wrong, is_usual_one = self.wrong[name], name in _USUAL
        most = _USUAL_SHARE if is_usual_one else _SHARE
        return wrong >= _DOUBTED + is_usual_one and _share(wrong, self.right[name]) > most

    @property
    def is_sound(self) -> bool:
        """Whether the document as a whole is mostly right."""
        return self.decided[True] >= 3 and _share(self.decided[False], self.decided[True]) <= _SHARE / 2

    @property
    def is_doubtful(self) -> bool:
        """Whether so much of the document is wrong that rather we are."""
        return self.decided[False] >= _MANY and _share(self.decided[False], self.decided[True]) > _SHARE


def _share(wrong: int, right: int) -> float:
    return wrong / (wrong + right)

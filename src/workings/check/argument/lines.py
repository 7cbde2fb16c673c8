"""The chains of relations in a formula: rows that go on with `= …` are joined to the row before them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from workings.check.argument.contexts import Context, Form
from workings.check.document.document import Formula
from workings.check.latex.syntax import Chain, Group, Items, Node, Nothing, Product, Script, Sum, Words
from workings.check.value.names import is_closed

_UNIT = re.compile(r"[A-Za-zµμ°%]{1,7}(?:/[A-Za-z]{1,3})?|bytes?|(?:thousand|million|billion) ?\w*")
"""A word that may be a unit."""
_OF = re.compile(r"\b(?:of|per|out of|times)\s*$")
_SCALING = r"[kKMGTB]|[kKMGTP]i?B|[kMGTP]?FLOPs?|[kMG]Hz|[mµμn]s|(?:thousand|million|billion|trillion)s?|percent|\\?%"
"""Words that say by how much a number is scaled."""
_SCALED = re.compile(rf"[\s~$]*(?:{_SCALING})(?![A-Za-z])")
_SCALE = re.compile(rf"\$?[ \t~]*(?:{_SCALING}|km|hours?|h|min|minutes?)(?![A-Za-z])")
"""What stands right behind a formula as the unit of its last number."""
_OR = re.compile(r"\s*(?:or|and|oder|und|ou|y|或)\s*")
EQUAL = {"=", "≈", ":="}
ORDER = {"<", ">", "≤", "≥", "≠"}


@dataclass
class Line:
    """a = b ≈ c …: sides and the relations between them (one fewer), and where each side stands."""

    sides: list[Node]
    relations: list[str]
    formulas: list[Formula]
    """For each side the formula it is written in."""
    units: dict[int, str] = field(default_factory=dict)
    """The sides with words behind a number, as units are, and the words."""
    is_cut: bool = False
    """Whether its first side begins before it: `5% of 200 = 10`."""
    number: int = 0
    """Which line of the document it is, counted from 0."""
    context: Context = field(default_factory=lambda: Context(0, 0, Form.DOCUMENT))

    @property
    def start(self) -> int:
        """Where it begins in the document's text."""
        return self.formulas[0].position(self.sides[0].span[0])

    @property
    def words(self) -> str:
        """The prose before and after it in its paragraph."""
        return f"{self.formulas[0].before} {self.formulas[-1].after}"

    def closed_sides(self) -> Iterator[int]:
        """The sides after the first that hold nothing but numbers, as far as equalities reach."""
        for index in range(1, len(self.sides)):
            if self.relations[index - 1] not in EQUAL:
                return
            if is_closed(self.sides[index]):
                yield index

    def runs(self) -> Iterator[list[int]]:
        """The parts of the chain that only hold equalities, as indices of sides."""
        run: list[int] = [0]
        for index, relation in enumerate(self.relations, 1):
            if relation not in EQUAL:
                yield run
                run = []
            run.append(index)
        yield run


def _parts(node: Node) -> Iterator[Node]:
    """The formulas that stand side by side."""
    if isinstance(node, Items):
        for part in node.parts:
            yield from _parts(part)
    else:
        yield node


_ROW_BEGINS = re.compile(r"\\\\\s*(?:\[[^\]]*\])?\s*&[\s&]*(?:\\[a-z]*quad|\\[ ,;:!]|\\hspace\*?\{[^}]*\}|\s)*$")
"""A row break, and the place at which rows are aligned: what follows has nothing to the left of it."""


def _goes_on(side: Node, formula: Formula) -> bool:
    """Whether a row begins with + or − at its `&`: it goes on with the last side of the row before it."""
    match side:
        case Sum(terms=((sign, _), *_)) if sign in "+-±":
            written = formula.text[side.span[0] : side.span[0] + 1]
            return written in "+-−" and _ROW_BEGINS.search(formula.text, 0, side.span[0]) is not None
    return False


def _joined(one: Node, other: Node) -> Node:
    """a, then + b on the next row."""
    terms = one.terms if isinstance(one, Sum) else (("+", one),)
    more = other.terms if isinstance(other, Sum) else (("+", other),)
    return Sum((*terms, *more), span=(one.span[0], other.span[1]))


_Sides = tuple[list[Node], list[str]]
"""The sides of a chain, and the relations between them."""


def _assignments(sides: list[Node], relations: list[str]) -> list[_Sides]:
    r"""x_1 = 2 \quad x_2 = 3 is a list, not a chain: a number, then the same letter with another index, then a relation."""
    found: list[_Sides] = []
    begin = 0
    for k in range(1, len(sides) - 1):
        if relations[k - 1] not in EQUAL or relations[k] not in EQUAL:
            continue
        value, name = _number_and_name(sides[k])
        match sides[begin], name:
            case Script(base=letter), Script(base=same) if letter == same and value is not None and name is not None:
                found.append(([*sides[begin:k], value], relations[begin:k]))
                sides = [*sides[:k], name, *sides[k + 1 :]]
                begin = k
    return [*found, (sides[begin:], relations[begin:])]


def _number_and_name(side: Node) -> tuple[Node | None, Node | None]:
    """−1 x_2 as −1 and x_2; nothing where it is something else."""
    match side:
        case Sum(terms=((sign, Product() as product),)):
            value, name = _number_and_name(product)
            return None if value is None else Sum(((sign, value),), span=(side.span[0], value.span[1])), name
        case Product(factors=(*numbers, ("", Script() as name))) if all(is_closed(number) for _, number in numbers):
            whole = Product(tuple(numbers), span=(side.span[0], numbers[-1][1].span[1]))
            return numbers[0][1] if len(numbers) == 1 else whole, name
    return None, None


def _has_roots(line: Line) -> bool:
    """x = a ± b = c: the value with one of the signs is last."""
    if len(line.sides) < 2 or not is_closed(line.sides[-1]) or isinstance(line.sides[-1], Group):
        return False
    return any(isinstance(part, Sum) and any(sign == "±" for sign, _ in part.terms) for part in line.sides[-2].walk())


def _is_other_root(line: Line, part: Node) -> bool:
    """Whether a number behind x = a ± b = c is the value with the other sign."""
    return _has_roots(line) and not isinstance(part, Chain | Words | Group) and is_closed(part)


def lines(node: Node, formula: Formula, before: Line | None = None) -> list[Line]:
    """The lines of a formula. `before` is the line that a leading `= …` continues."""
    found: list[Line] = []
    last = before
    words = ""
    for part in _parts(node):
        behind, words = words, part.text if isinstance(part, Words) else ""
        if last is not None and _is_other_root(last, part):
            first = last.sides[-1]
            last.sides[-1] = Group("{", (first, part), "}", span=(first.span[0], part.span[1]))
            continue
        if isinstance(part, Words):
            if last is not None and _has_roots(last) and _OR.fullmatch(part.text):
                continue
            if last is not None and _UNIT.fullmatch(part.text.strip(" .,~")):
                last.units[len(last.sides) - 1] = part.text.strip(" .,~")
            else:
                last = None  # what goes on with `= …` behind words does not go on with what stands before them
            continue
        if isinstance(part, Chain):
            sides, relations = list(part.items), list(part.relations)
        else:
            sides, relations = [part], []
        if last is not None and last is not before and _goes_on(sides[0], formula):
            last.sides[-1] = _joined(last.sides[-1], sides[0])
            last.sides += sides[1:]
            last.relations += relations
            last.formulas += [formula] * (len(sides) - 1)
            continue
        if isinstance(sides[0], Nothing):
            if last is not None and relations:
                last.sides += sides[1:]
                last.relations += relations
                last.formulas += [formula] * (len(sides) - 1)
                if last is before and last not in found:
                    found.append(last)
                continue
            sides, relations = sides[1:], relations[1:]
            if not sides:
                continue
        *listed, (sides, relations) = _assignments(sides, relations)
        found += [Line(one, signs, [formula] * len(one)) for one, signs in listed]
        units = {
            i: part.text.strip(" .,~") for i, side in enumerate(sides) for part in side.walk() if isinstance(part, Words)
        }
        last = Line(sides, relations, [formula] * len(sides), units)
        if found and _OF.search(behind):
            last.is_cut = True
        found.append(last)
    return found


def has_scale(after: str) -> bool:
    """Whether a unit such as MB or million stands right behind a formula."""
    return _SCALE.match(after) is not None


def says_scale(words: str) -> bool:
    """Whether words begin with one that scales a number, such as MB or million: a plain unit scales nothing."""
    return _SCALED.match(words) is not None

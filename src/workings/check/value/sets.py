"""Sets of numbers and of pairs, and intervals: {1, 2} ∪ {2, 3} = {1, 2, 3}, [0, 2] ∩ (1, 3) = (1, 2], 0.5 ∈ [0, 1).

A set of numbers is a region of the line: the points at which it begins or ends, and for each of them, and for each gap
between them, whether it belongs to the set. Union, intersection and difference are then decided place by place. A set of
pairs or longer lists is the list of its elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cmp_to_key

from flint import arb

from workings.check.latex.syntax import Group, Node, Number, Product, Script, Sum, Symbol
from workings.check.value.evaluation.context import Budget, EvaluationContext, value
from workings.check.value.scope import Scope
from workings.check.value.value import Undecided, Value, entries, scalar

Element = tuple[arb, ...]
"""A pair or a longer list of numbers."""
_EMPTY = (Symbol("emptyset"), Symbol("varnothing"))
_LINE = Symbol("R", ("bb",))
_COMPLEMENT = Symbol("c")
_RULES: dict[str, Callable[[bool, bool], bool]] = {
    "∪": lambda a, b: a or b,
    "∩": lambda a, b: a and b,
    "∖": lambda a, b: a and not b,
    "△": lambda a, b: a != b,
}
"""For each sign between two sets: whether a point belongs to the result."""
_SIGNS = {*_RULES, "×", "∘"}
_MOST_ELEMENTS = 10_000


@dataclass(frozen=True)
class Region:
    """A set of numbers: its ends in order, and whether each of the gaps and ends, from left to right, belongs to it."""

    ends: tuple[arb, ...]
    inside: tuple[bool, ...]

    @property
    def size(self) -> int | None:
        """How many numbers it has; none for infinitely many."""
        return None if any(self.inside[::2]) else sum(self.inside)


Members = Region | list[Element]
"""A set: a region of numbers, or the list of its pairs."""
_NOTHING = Region((), (False,))


def is_set(node: Node, scope: Scope | None = None) -> bool:
    """Whether a formula is a set: written out, a name of one, or made of sets and intervals by ∪, ∩, ∖ and ×."""
    match node:
        case Group(open="{", close="}", items=items):
            return not items or all(not isinstance(item, Product) or item.factors for item in items)
        case Group(open="(", items=(only,)):
            return is_set(only, scope)
        case Product(factors=((_, first), *rest)) if rest and all(sign in _SIGNS for sign, _ in rest):
            parts = [first, *(factor for _, factor in rest)]
            if any(sign in "×∘" for sign, _ in rest):  # (1, 2) × (3, 4) may be a product of vectors
                return all(is_set(part, scope) for part in parts)
            return all(_may_be_set(part, scope) for part in parts)
        case Script(base=base, below=None, above=Number(text="2" | "3")):
            return _is_written_out(base, scope)
        case Script(base=base, below=None, above=above) if above == _COMPLEMENT:
            return _may_be_set(base, scope)
    return node in (*_EMPTY, _LINE) or _is_named(node, scope)


def _is_written_out(node: Node, scope: Scope | None) -> bool:
    return (isinstance(node, Group) and node.open == "{" and is_set(node)) or _is_named(node, scope)


def _is_named(node: Node, scope: Scope | None) -> bool:
    body = None if scope is None else _named(node, scope)
    return body is not None and is_set(body)


def _named(node: Node, scope: Scope) -> Node | None:
    """The set that a name stands for: A = {1, 2, 3} is kept as a rule without arguments."""
    if not isinstance(node, Symbol | Script) or not scope.functions:
        return None
    rule = scope.function(node)
    return rule.body if rule is not None and not rule.names else None


def _may_be_set(node: Node, scope: Scope | None) -> bool:
    body = None if scope is None else _named(node, scope)
    return is_interval(node) or (body is not None and is_interval(body)) or is_set(node, scope)


def are_sets(left: Node, right: Node, scope: Scope) -> bool:
    """Whether both are sets, one of them beyond doubt: beside a set, (1, 3) is an interval."""
    return (is_set(left, scope) and _may_be_set(right, scope)) or (is_set(right, scope) and _may_be_set(left, scope))


def is_interval(node: Node) -> bool:
    """(a, b), [a, b): two numbers in brackets, which may be an interval, or a pair."""
    return isinstance(node, Group) and node.open in "([" and node.close in ")]" and len(node.items) == 2


def members(node: Node, context: EvaluationContext) -> Members:
    """The set that a formula is."""
    if (body := _named(node, context.scope)) is not None:
        return members(body, context)
    match node:
        case Group(open="(", items=(only,)):
            return members(only, context)
        case Group() if is_interval(node):
            return _interval(node, context)
        case Group(items=items):
            return _written_out([tuple(entries(value(item, context))) for item in items])
        case Product(factors=((_, first), *rest)):
            result = members(first, context)
            for sign, factor in rest:
                result = _combined(result, sign, members(factor, context))
            return result
        case Script(base=base, above=Number(text=power)):
            base_set = members(base, context)
            result = base_set
            for _ in range(int(power) - 1):
                result = _pairs(result, base_set)
            return result
        case Script(base=base, above=above) if above == _COMPLEMENT:
            found = members(base, context)
            if not isinstance(found, Region) or found.size is not None:
                raise Undecided("the complement of a set, without saying in what")
            return Region(found.ends, tuple(not part for part in found.inside))
    if node == _LINE:
        return Region((), (True,))
    if node in _EMPTY:
        return _NOTHING
    raise Undecided("a set that is not known")


def _interval(node: Group, context: EvaluationContext) -> Region:
    low, high = (_end(item, context) for item in node.items)
    if low is not None and high is not None and not low < high:
        if low > high:
            return _NOTHING
        both = node.open == "[" and node.close == "]"
        return Region((_exact(low),), (False, both, False))
    ends = tuple(end for end in (low, high) if end is not None)
    opens = () if low is None else (False, node.open == "[")
    closes = () if high is None else (node.close == "]", False)
    return Region(ends, (*opens, True, *closes))


def _end(item: Node, context: EvaluationContext) -> arb | None:
    """The end of an interval; none for ∞ and −∞."""
    bare = item.terms[0][1] if isinstance(item, Sum) and len(item.terms) == 1 else item
    if bare == Symbol("infty"):
        return None
    return scalar(value(item, context))


def _exact(x: arb) -> arb:
    if not x.is_exact():
        raise Undecided("two elements of a set that cannot be told apart")
    return x


def _order(x: arb, y: arb) -> int:
    if x < y:
        return -1
    if x > y:
        return 1
    if not (x - y).is_zero():
        raise Undecided("two elements of a set that cannot be told apart")
    return 0


def _written_out(found: list[Element]) -> Members:
    """A set by its elements, each once."""
    if all(len(element) == 1 for element in found):
        ends = _sorted(element[0] for element in found)
        return Region(ends, (False, *(part for _ in ends for part in (True, False))))
    kept: list[Element] = []
    for element in found:
        if not _has(kept, element):
            kept.append(element)
    return kept


def _sorted(ends: Iterable[arb]) -> tuple[arb, ...]:
    """In order, each once."""
    found: list[arb] = []
    for end in sorted(ends, key=cmp_to_key(_order)):
        if not found or _order(found[-1], end):
            found.append(end)
    return tuple(found)


def _has(found: list[Element], element: Element) -> bool:
    return any(
        len(other) == len(element) and all(not _order(a, b) for a, b in zip(other, element, strict=True)) for other in found
    )


def _combined(one: Members, sign: str, other: Members) -> Members:
    """∪, ∩, ∖ or × of two sets."""
    if sign == "×":
        return _pairs(one, other)
    if sign == "∘":
        return _composed(_as_list(one), _as_list(other))
    rule = _RULES[sign]
    if isinstance(one, Region) and isinstance(other, Region):
        ends = _sorted((*one.ends, *other.ends))
        places = range(2 * len(ends) + 1)
        return _simple(ends, tuple(rule(_at(one, ends, place), _at(other, ends, place)) for place in places))
    first, second = _as_list(one), _as_list(other)
    more = [element for element in second if not _has(first, element)]
    return [element for element in (*first, *more) if rule(_has(first, element), _has(second, element))]


def _simple(ends: tuple[arb, ...], inside: tuple[bool, ...]) -> Region:
    """Without ends at which nothing changes."""
    kept, parts = [], [inside[0]]
    for index, end in enumerate(ends):
        at, after = inside[2 * index + 1], inside[2 * index + 2]
        if at == after == parts[-1]:
            continue
        kept.append(end)
        parts += [at, after]
    return Region(tuple(kept), tuple(parts))


def _at(region: Region, ends: tuple[arb, ...], place: int) -> bool:
    """Whether a region contains a place among finer ends: an even place is a gap, an odd one an end."""
    below = sum(_order(end, ends[place // 2]) < 0 for end in region.ends) if place // 2 < len(ends) else len(region.ends)
    if place % 2 and below < len(region.ends) and not _order(region.ends[below], ends[place // 2]):
        return region.inside[2 * below + 1]
    return region.inside[2 * below]


def _as_list(found: Members) -> list[Element]:
    """The elements one by one."""
    if not isinstance(found, Region):
        return found
    if found.size is None:
        raise Undecided("a set of infinitely many pairs")
    return [(end,) for end, at in zip(found.ends, found.inside[1::2], strict=True) if at]


def _pairs(one: Members, other: Members) -> list[Element]:
    """Every element of one with every element of the other."""
    first, second = _as_list(one), _as_list(other)
    if len(first) * len(second) > _MOST_ELEMENTS:
        raise Undecided("a product of large sets")
    return [a + b for a in first for b in second]


def _composed(one: list[Element], other: list[Element]) -> list[Element]:
    """S ∘ R, the pairs that lead from one relation into the other, if it is the same from the left and from the right."""
    first, second = ([(a[0], b[1]) for a in x for b in y if not _order(a[1], b[0])] for x, y in ((other, one), (one, other)))
    kept = [_written_out(list(pairs)) for pairs in (first, second)]
    if not _is_empty(_combined(kept[0], "△", kept[1])):
        raise Undecided("a composition, which some write from the left and some from the right")
    return _as_list(kept[0])


def set_size(node: Node, context: EvaluationContext) -> int:
    """How many elements a set has."""
    found = members(node, context)
    size = found.size if isinstance(found, Region) else len(found)
    if size is None:
        raise Undecided("a set of infinitely many numbers")
    return size


def relation_of_sets(left: Node, relation: str, right: Node, context: EvaluationContext) -> bool | None:
    """Whether = ≠ ⊂ ⊆ ⊃ ⊇ holds between sets, or ∈ ∉ between a number and a set or an interval; none for anything else."""
    context = context if context.budget else EvaluationContext(context.scope, context.reading, budget=Budget())
    if relation in ("∈", "∉"):
        if not _may_be_set(right, context.scope):
            return None
        return _contains(members(right, context), value(left, context)) == (relation == "∈")
    if relation in ("⊃", "⊇"):
        left, right = right, left
    if relation not in ("=", "≠", "⊂", "⊆", "⊃", "⊇") or not are_sets(left, right, context.scope):
        return None
    a, b = members(left, context), members(right, context)
    if relation in ("=", "≠"):
        return (_is_empty(_combined(a, "△", b))) == (relation == "=")
    return _is_empty(_combined(a, "∖", b))


def _is_empty(found: Members) -> bool:
    return not any(found.inside) if isinstance(found, Region) else not found


def _contains(found: Members, x: Value) -> bool:
    element = tuple(entries(x))
    if isinstance(found, Region) and len(element) == 1:
        return not _is_empty(_combined(found, "∩", _written_out([element])))
    return _has(_as_list(found), element)


def set_text(found: Members, number: Callable[[arb], str]) -> str:
    """A set as it is written: {1, 3}, (−∞, 0) ∪ [2, 3), {(1, 2), (1, 3)}."""
    if not isinstance(found, Region):
        return "{" + ", ".join(f"({', '.join(map(number, element))})" for element in found) + "}"
    if found.size is not None:
        texts = [number(end) for end, at in zip(found.ends, found.inside[1::2], strict=True) if at]
        return "{" + ", ".join(texts) + "}" if texts else "∅"
    return _intervals_text(found, [number(end) for end in found.ends])


def _intervals_text(found: Region, ends: list[str]) -> str:
    parts, lone = [], []
    start: str | None = "(−∞" if found.inside[0] else None
    for index, end in enumerate(ends):
        at, after = found.inside[2 * index + 1 : 2 * index + 3]
        if start is not None and not (at and after):
            parts.append(f"{start}, {end}{']' if at else ')'}")
            start = None
        if start is None and after:
            start = f"{'[' if at and not found.inside[2 * index] else '('}{end}"
        elif at and not after and not found.inside[2 * index]:
            lone.append(end)
    if start is not None:
        parts.append(f"{start}, ∞)")
    return " ∪ ".join([*parts, *(["{" + ", ".join(lone) + "}"] if lone else [])])

"""A general formula beside the same formula in numbers: which letter stands for which number?

β m_0 + (1 − β) g_1 beside 0.9·0 + 0.1·2 gives β = 0.9, m_0 = 0, g_1 = 2; 1 − β is already computed there and must be 0.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flint import arb

from workings.check.latex.syntax import Big, Function, Group, Node, Number, Product, Script, Sum
from workings.check.latex.weights import plain
from workings.check.value.compare import Side, compare, value_of
from workings.check.value.names import is_closed, is_name
from workings.check.value.rounding import Grade, units
from workings.check.value.scope import Decimals, Definition, Scope, is_transpose


@dataclass
class Alignment:
    """The numbers that stand for letters, and the parts that were already computed."""

    letters: dict[Node, Node] = field(default_factory=dict)
    computed: list[tuple[Node, Node]] = field(default_factory=list)

    def scope(self) -> Scope:
        """A scope in which the letters have their values."""
        scope = Scope()
        for name, node in self.letters.items():
            values = [value_of(Side(node, ""), Scope(), decimals) for decimals in Decimals]
            if values[0] is not None and values[1] is not None and values[2] is not None:
                scope.define(name, Definition(values[0], values[1], values[2], 0))
        return scope

    def contradicts_itself(self) -> bool:
        """Whether a part that was already computed certainly does not fit the letters, to its printed digits."""
        scope = self.scope()
        for formula, number in self.computed:
            x, y = value_of(Side(formula, ""), scope), value_of(Side(number, ""), Scope())
            if isinstance(x, arb) and isinstance(y, arb):
                unit = max(units(number) or [arb(0)], key=float)
                if not abs(x - y) <= unit * arb("0.51") + abs(y) * arb("1e-9"):
                    return True
        return False

    def fit(self, general: Node, numbers: Node) -> bool:
        """Whether the numbers can be the general formula with its letters replaced; learns the letters."""
        general, numbers = bare(general), bare(numbers)
        if is_closed(general):
            return is_closed(numbers) and _is_same(general, numbers)
        match general:
            case Script(base=base, below=below, above=above) if above is not None and is_transpose(above) and is_name(base):
                name = base if below is None else Script(base, below, None)
                return is_closed(numbers) and self._bind(name, Script(numbers, None, above))
        if is_name(general) and not isinstance(general, Function):
            return is_closed(numbers) and self._bind(general, numbers)
        match general, numbers:  # x² with −3 put in and no brackets: −3²
            case Script(base=base, above=power), Sum(terms=(("-", Script(base=number, above=same)),)) if power == same:
                if is_name(base) and is_closed(number):
                    return self._bind(base, Sum((("-", number),)))
        letters, computed = dict(self.letters), list(self.computed)
        if self._fit_parts(general, numbers):
            return True
        self.letters, self.computed = letters, computed
        if isinstance(numbers, Number) or (is_closed(numbers) and not isinstance(general, Sum | Product)):
            self.computed.append((general, numbers))
            return True
        return False

    def _fit_parts(self, general: Node, numbers: Node) -> bool:
        left, right = _factors(general), _factors(numbers)
        if len(left) > 1 or len(right) > 1:
            return len(left) == len(right) and all(self.fit(a, b) for a, b in zip(left, right, strict=True))
        if type(general) is not type(numbers) or isinstance(general, Big):
            return False
        match general, numbers:
            case Function(name=one), Function(name=other) if one != other:
                return False
            case Sum(terms=one), Sum(terms=other) if [sign for sign, _ in one] != [sign for sign, _ in other]:
                return False
            case Script() as one, Script() as other:
                if (one.above is None) != (other.above is None) or (one.below is None) != (other.below is None):
                    return False
        ours, theirs = general.children(), numbers.children()
        return bool(ours) and len(ours) == len(theirs) and all(self.fit(a, b) for a, b in zip(ours, theirs, strict=True))

    def _bind(self, name: Node, number: Node) -> bool:
        return _is_same(self.letters.setdefault(plain(name), number), number)


def align(general: Node, numbers: Node) -> Alignment | None:
    """The letters of a general formula by the same formula in numbers; none if the two do not match."""
    found = Alignment()
    return found if found.fit(general, numbers) and found.letters else None


def bare(node: Node) -> Node:
    """Without brackets around one thing, and without a lone plus."""
    match node:
        case Group(open="(" | "[" | "{", items=(item,)) | Sum(terms=(("+", item),)) | Product(factors=((_, item),)):
            return bare(item)
    return node


def _factors(node: Node) -> list[Node]:
    """The factors of a product, nested ones too."""
    node = bare(node)
    if isinstance(node, Product) and not is_name(node):
        return [part for _, factor in node.factors for part in _factors(factor)]
    return [node]


def _is_same(one: Node, other: Node) -> bool:
    if one == other:
        return True
    verdict = compare(Side(one, ""), Side(other, ""), Scope(), True)
    return verdict is not None and verdict.grade < Grade.WRONG

r"""Tell derivatives from other fractions: ∂ or d stands first above, and in front of every variable below.

\frac{\partial^2 f}{\partial x \partial y}, \frac{dL}{dw}, \frac{d}{dw}, \partial L / \partial w
"""

from __future__ import annotations

from collections.abc import Sequence

from workings.check.latex.reader import product
from workings.check.latex.syntax import Derivative, Function, Group, Node, Number, Product, Quotient, Script, Span, Symbol

Factors = Sequence[tuple[str, Node]]


def derivative(above: Node, below: Node, span: Span | None = None) -> Derivative | None:
    """The derivative that a fraction stands for, if it stands for one."""
    upper, lower = _factors(above), _factors(below)
    sign, order = _differential(upper[0][1])
    if not order or _differential(lower[0][1]) != (sign, 1) or any(times for times, _ in (*upper[:2], *lower)):
        return None
    by = _variables(lower, sign, order)
    if by is None:
        return None
    body = upper[1:]
    shown = "∂" if sign == "partial" else "d"
    return Derivative(product(body) if body else None, by, shown, span=span or (above.span[0], below.span[1]))


def fraction(above: Node, below: Node, name: str, span: Span) -> Node:
    """A fraction with a bar, a derivative if ∂ or d stands in it, or a binomial coefficient."""
    if name in ("choose", "binom", "dbinom", "tbinom"):
        return Function("binom", (above, below), span=span)
    return derivative(above, below, span) or Quotient(above, below, span=span)


def begins_differential(factors: Factors) -> int | None:
    """Where in these factors the last `∂f` or `df` begins, if they end with one."""
    for at in range(len(factors) - 1, -1, -1):
        sign, order = _differential(factors[at][1])
        if order and (sign == "partial" or len(factors) - at <= 2):
            return at
        if factors[at][0]:
            return None
    return None


def _differential(node: Node) -> tuple[str, int]:
    """`∂`, `d` or a power of it: its name and its order; order 0 for anything else."""
    order = 1
    if isinstance(node, Script) and node.below is None and isinstance(node.above, Number) and node.above.text.isdigit():
        order = int(node.above.text[:3])
        node = node.base
    if isinstance(node, Symbol) and (
        node.name == "partial" or (node.name == "d" and node.style in ((), ("rm",), ("text",)))
    ):
        return node.name, order
    return "", 0


def _variables(lower: Factors, sign: str, order: int) -> tuple[Node, ...] | None:
    """What stands after each ∂, as often as its power says; none if that is not `order` variables."""
    groups: list[list[tuple[str, Node]]] = []
    for _, factor in lower:
        if _differential(factor) == (sign, 1) and (sign == "partial" or not groups or groups[-1]):
            groups.append([])
        else:
            groups[-1].append(("", factor))
    applied = (len(group) == 2 and isinstance(group[1][1], Group) for group in groups if len(group) > 1)
    if not all(groups) or (sign == "d" and not all(applied)):
        return None
    by = [product(group) for group in groups]
    if len(by) == order:
        return tuple(by)
    repeated = [base for variable in by for base in _repeated(variable)]
    return tuple(repeated) if len(repeated) == order else None


def _repeated(variable: Node) -> list[Node]:
    """`x^2` below a bar is x twice."""
    if isinstance(variable, Script) and isinstance(variable.above, Number) and variable.above.text in "123456789":
        base = Script(variable.base, variable.below, span=variable.span) if variable.below is not None else variable.base
        return [base] * int(variable.above.text)
    return [variable]


def _factors(node: Node) -> Factors:
    return node.factors if isinstance(node, Product) else (("", node),)

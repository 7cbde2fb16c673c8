"""Where a rule of differentiation stands: one operation of a statement, and the gradient that arrives at it.

A rule takes a `Node` and returns one formula for each argument: the gradient that goes on to it, in the argument's shape, or
None where none is wanted. G is the gradient ∂L/∂(this operation), Y the operation's value, by the author's name if the
statement has nothing else on its right side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from workings.errors import WorkingsError
from workings.trace.formula.arguments import argument_value
from workings.trace.formula.evaluate import evaluate, option
from workings.trace.formula.operation import OPERATIONS
from workings.trace.formula.simplify import ONE, join, linear, over, product, split, times
from workings.trace.formula.tree import Apply, Code, Formula, Leaf, Number, substitute, walk

Shape = tuple[int, ...]
Gradients = tuple[Formula | None, ...]
Rule = Callable[["Node"], Gradients]
TWO = Number(2)
_SPREAD = frozenset({"expand", "ones"})


class RuleError(WorkingsError):
    """No rule of differentiation is written for this: say for what."""


@dataclass
class Context:
    """One statement: the values of its leaves, which of them are wanted, and the letters its rules introduce."""

    operands: dict[str, Any]
    wanted: frozenset[str]
    loss: str = "L"
    letters: dict[str, Formula] = field(default_factory=dict)
    known: dict[int, tuple[Formula, Any]] = field(default_factory=dict)
    """Values by the identity of the formula, which is kept so that its identity stays its own."""

    def let(self, letter: str, formula: Formula) -> Leaf:
        """A letter for a part that a rule needs more than once, so that the rule stays short."""
        while letter in self.operands or (letter in self.letters and self.letters[letter] != formula):
            letter += "′"
        self.letters[letter] = formula
        return Leaf(letter)

    def substitute(self, formula: Formula) -> Formula:
        """The formula with its letters replaced by what they stand for."""
        return substitute(formula, self.letters)

    def value(self, part: Formula) -> Any:
        if id(part) not in self.known:
            self.known[id(part)] = part, evaluate(self.substitute(part), self.operands)
        return self.known[id(part)][1]

    def shape(self, part: Formula) -> Shape:
        value = self.value(part)
        return tuple(value.shape) if isinstance(value, Tensor) else ()

    def varies(self, part: Formula) -> bool:
        return any(isinstance(leaf, Leaf) and leaf.text in self.wanted for leaf in walk(part))


@dataclass(frozen=True)
class Node:
    """An operation of the statement, with the gradient that arrives at it."""

    formula: Apply
    G: Formula
    Y: Formula
    context: Context

    @property
    def args(self) -> tuple[Formula, ...]:
        return self.formula.args

    @property
    def options(self) -> dict[str, Any]:
        """The options, their texts read."""
        return {key: option(value, self.context.operands) for key, value in self.formula.options}

    def let(self, letter: str, formula: Formula) -> Leaf:
        return self.context.let(letter, formula)

    def let_gradient(self, letter: str, formula: Formula) -> Leaf:
        """A letter for the gradient of a value that has no name in the code: ∂L/∂A, or ∂L/∂A′ where the code has an A."""
        while letter in self.context.operands:
            letter += "′"
        return self.context.let(f"∂{self.context.loss}/∂{letter}", formula)

    def argument(self, name: str) -> Formula | None:
        """An argument by PyTorch's name for it, wherever it stands; None where it is not given or None."""
        place, options = OPERATIONS.signature(self.formula.op).index(name), dict(self.formula.options)
        if place < len(self.args):
            return None if self._is_none(self.args[place]) else self.args[place]
        value = options.get(name)
        return value if value is None or isinstance(value, Apply) else Number(self.options[name])

    def _is_none(self, part: Formula) -> bool:
        return part == Number(None) or (isinstance(part, Leaf) and self.context.operands.get(part.text, part) is None)

    def plain(self, name: str, default: Any = None) -> Any:
        """The value of an argument that is no tensor: a number, an axis, a word."""
        given = self.argument(name)
        if isinstance(given, Code):
            return argument_value(given, self.context.operands)
        return default if given is None else self.value(given)

    def value(self, part: Formula) -> Any:
        return self.context.value(part)

    def shape(self, part: Formula | None = None) -> Shape:
        """The shape of a part, or of the result."""
        return self.context.shape(self.formula if part is None else part)

    def varies(self, part: Formula) -> bool:
        return self.context.varies(part)

    def to_first(self, gradient: Formula | None) -> Gradients:
        """This gradient to the first argument, none to the others."""
        return gradient, *(None for _ in self.args[1:])

    def bare(self, G: Formula, like: Formula) -> Formula:
        """G without its repetition to the shape of `like`: beside a value of that shape it need not be written."""
        coefficient, core = split(G)
        if isinstance(core, Apply) and core.op in _SPREAD and dict(core.options)["shape"] == self.shape(like):
            return join(coefficient, _broadcasting(core) if core.op == "expand" else None)
        return G

    def scale(self, factor: Formula, like: Formula, G: Formula | None = None) -> Formula:
        """G ⊙ factor, where the factor has the shape of `like`."""
        return times(self.bare(self.G if G is None else G, like), factor)

    def fit(self, make: Callable[[], Formula], arg: Formula, shape: Shape | None = None) -> Formula | None:
        """A gradient of the result's shape (or this one) in the shape of an argument: summed where that was repeated."""
        if not self.varies(arg):
            return None
        return unbroadcast(make(), self.shape() if shape is None else shape, self.shape(arg))

    def spread(self, G: Formula, shape: Shape, dims: tuple[int, ...] = ()) -> Formula:
        """G repeated to a shape; `dims` are the axes it lacks."""
        coefficient, core = split(G)
        if core is None or (isinstance(core, Apply) and core.op == "ones" and shape):
            return join(coefficient, Apply("ones", (), (("shape", shape),)) if shape else None)
        if not shape:
            return join(coefficient, linear("unsqueeze", core, dim=dims) if dims else core)
        lacking = (("dim", dims[0] if len(dims) == 1 else dims),) if dims else ()
        return join(coefficient, Apply("expand", (core,), (*lacking, ("shape", shape))))

    def matrix_product(self, a: Formula, b: Formula) -> Formula:
        """a b, with a scalar divisor of either at the end: (G/√d) K is G K/√d."""
        (a, below), (b, under) = self.divisor(a), self.divisor(b)
        return over(over(product(a, b), below), under)

    def divisor(self, a: Formula) -> tuple[Formula, Formula]:
        """A formula as a quotient by a scalar (1 where it is none)."""
        match split(a):
            case coefficient, Apply(op="div", args=(top, bottom)) if self._scalar(bottom):
                return times(join(coefficient, None), top), bottom
        return a, ONE

    def _scalar(self, part: Formula) -> bool:
        texts = [leaf.text for leaf in walk(part) if isinstance(leaf, Leaf)]
        return all(text in self.context.operands for text in texts) and self.shape(part) == ()


def _broadcasting(spread: Apply) -> Formula:
    """What is spread, with axes of length 1 where it lacks them."""
    dim = dict(spread.options).get("dim", ())
    dims = (dim,) if isinstance(dim, int) else dim
    return Apply("unsqueeze", spread.args, (("dim", dims),)) if dims and dims != (0,) else spread.args[0]


def unbroadcast(G: Formula, shape: Shape, wanted: Shape) -> Formula:
    """The sum over the axes along which a value of shape `wanted` was repeated to `shape`."""
    if shape == wanted:
        return G
    lead = len(shape) - len(wanted)
    stretched = tuple(axis for axis, (have, want) in enumerate(zip(shape[lead:], wanted, strict=True)) if have != want)
    if not wanted:
        return linear("sum", G)
    if lead and not stretched:
        return linear("sum", G, dim=0 if lead == 1 else tuple(range(lead)))
    if not lead and stretched == (len(shape) - 1,):
        return linear("rowsum", G)
    if not lead:
        return linear("sum", G, dim=stretched[0] if len(stretched) == 1 else stretched, keepdim=True)
    return linear("unbroadcast", G, shape=wanted)


def f(op: str, *args: Formula, **options: Any) -> Apply:
    """An operation on formulas: f("softmax", z, dim=-1)."""
    return Apply(op, args, tuple(options.items()))


def indicator(a: Formula, relation: str, b: Formula) -> Formula:
    """[a > b]: 1 where the relation holds, else 0."""
    return f("indicator", a, b, relation=relation)


def axes(dim: Any, rank: int) -> tuple[int, ...]:
    """The axes an option `dim` means, counted from the front; None means all."""
    given = range(rank) if dim is None else (dim,) if isinstance(dim, int) else dim
    return tuple(sorted(axis % rank if rank else 0 for axis in given)) if rank else ()

"""What is known of a statement before it runs: its name, its formula, what it reads."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from workings.trace.formula.completion import draws_mask, needs_values
from workings.trace.formula.from_python import formula_of, is_library, is_path
from workings.trace.formula.targets import Target, target_of
from workings.trace.formula.tree import Formula, Index, Leaf, Slice, leaves, place_of, walk
from workings.trace.step import NO_SYNTAX, Syntax, Where


class Lookup(NamedTuple):
    """A value to look up: `self.x.shape[-1]` is the name self, its attributes x and shape, the index −1."""

    text: str
    name: str
    attributes: tuple[str, ...] = ()
    entry: str = ""
    beside: bool = False
    """Whether it is no leaf of the formula: kept if it is a tensor or a number."""


def lookup_of(text: str, beside: bool = False) -> Lookup:
    """
    >>> lookup_of("self.x.shape[-1]")
    Lookup(text='self.x.shape[-1]', name='self', attributes=('x', 'shape'), entry='-1', beside=False)
    """
    path, _, index = text.partition("[")
    name, *attributes = path.split(".")
    return Lookup(text, name, tuple(attributes), index.rstrip("]"), beside)


class Decision(NamedTuple):
    """A statement with its conditional expressions decided: the formula of the branches taken, and why these."""

    formula: Formula
    texts: tuple[str, ...]
    note: str


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement of a rewritten function."""

    kind: str
    name: str
    source: str
    formula: Formula | None
    where: Where
    reads: tuple[Lookup, ...] = ()
    effect: str = ""
    """Whether it may change something outside the function, so that a plain run after it would not start from the same
    state: EFFECT if it does, CALLED if that depends on the function it calls."""
    entries: tuple[tuple[str, Index], ...] = ()
    """The entries it reads, by what they are entries of and what stands in the brackets: x[t]."""
    needs_values: bool = False
    """Whether the values say what its formula means: it names an axis, as in softmax(x, dim), or has a variance."""
    undecided: ast.expr | None = None
    """The expression, where it has an `a if test else b` in it."""
    leaves: bool = False
    """Of a loop: whether it may end before it comes to the end, by break or return."""
    draws_mask: bool = False
    """Whether it may forget some numbers by chance, which its formula should say."""
    syntax: Syntax = NO_SYNTAX
    beside: tuple[str, ...] = ()
    """What the place that is assigned to is found by, and in: i, j and out of `out[i, j] = e`."""
    _known: dict[Any, Decision] = field(default_factory=dict)

    def decide(self, choices: dict[int, bool]) -> Decision:
        """The statement as it ran, by the outcome of each of its tests."""
        key = tuple(sorted(choices.items()))
        if key not in self._known:
            assert self.undecided is not None
            decided = _BranchTaker(choices)
            value = decided.visit(copy.deepcopy(self.undecided))
            formula = formula_of(value)
            texts = [*leaves(formula), *_names_inside(value), *_paths_inside(value)]
            texts += [f"{whole}[{index}]" for whole, index in _entries_of(formula)]
            texts += self.beside
            self._known[key] = Decision(formula, tuple(dict.fromkeys(texts)), "; ".join(decided.reasons))
        return self._known[key]


def statement(
    kind: str,
    name: str,
    source: str,
    value: ast.expr | None,
    node: ast.AST,
    where: Where,
    effect: str,
    given: frozenset[str],
) -> Statement:
    """Read an expression as a formula, and the statement it stands in. `given` are the names it reads that are handed in
    while it runs."""
    syntax = syntax_of(node)
    if value is None:
        return Statement(kind, name, source, None, where, effect=effect, syntax=syntax)
    shown = _with_names(value)
    formula = formula_of(shown)
    later = {n.target.id for n in ast.walk(value) if isinstance(n, ast.NamedExpr)} | given
    choice = any(isinstance(n, ast.IfExp) for n in _running_parts(shown))
    texts = [*leaves(formula), *_names_inside(shown), *(_either_branch_reads(shown) if choice else ())]
    beside = tuple(_index_paths(node))
    texts += beside
    reads = {text: lookup_of(text) for text in texts if text not in later}
    unformulated = _paths_inside(shown)
    reads |= {text: lookup_of(text, beside=True) for text in unformulated if text not in later and text not in reads}
    return Statement(
        kind,
        name,
        source,
        formula,
        where,
        tuple(reads.values()),
        effect,
        tuple(_entries_of(formula)),
        needs_values(formula),
        undecided=copy.deepcopy(shown) if choice else None,
        draws_mask=any(map(draws_mask, walk(formula))),
        syntax=syntax,
        beside=beside,
    )


def syntax_of(node: ast.AST) -> Syntax:
    """What a statement says beside its formula."""
    match node:
        case ast.Assign(targets=targets, value=value):
            return Syntax(tuple(map(target_of, targets)), changes=_changed_target(value))
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
            return Syntax((target_of(target),), changes=_changed_target(value))
        case ast.AugAssign(target=target):
            return Syntax((target_of(target),), is_augmented=True)
        case ast.For(target=target, iter=items) | ast.comprehension(target=target, iter=items):
            return Syntax((target_of(target),), items=formula_of(items))
        case ast.Expr(value=value) | ast.Return(value=ast.expr() as value):
            return Syntax(changes=_changed_target(value))
    return NO_SYNTAX


def _changed_target(value: ast.expr) -> Target | None:
    """What an expression changes in place: h of `h.mul_(2).add_(1)`, y[0] of `y[0].zero_()`, w of `init.zeros_(w)`."""
    match value:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if _is_in_place(name):
            owner = value.func.value if isinstance(value.func, ast.Attribute) else None
        case _:
            return None
    while isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and _is_in_place(owner.func.attr):
        owner = owner.func.value
    if owner is None or is_library(owner):
        return target_of(args[0]) if args and isinstance(formula_of(args[0]), Leaf) else None
    return target_of(owner) if is_path(owner) or isinstance(owner, ast.Subscript) else None


def _is_in_place(method: str) -> bool:
    return method.endswith("_") and not method.endswith("__")


def _names_inside(value: ast.expr) -> list[str]:
    """The names read inside indices and options, which the formula keeps as text: x[i], dim=axis."""
    texts = [n.slice for n in ast.walk(value) if isinstance(n, ast.Subscript)]
    texts += [part for n in ast.walk(value) if isinstance(n, ast.Call) for part in (*n.args, *[k.value for k in n.keywords])]
    return [n.id for text in texts for n in ast.walk(text) if isinstance(n, ast.Name)]


def _paths_inside(value: ast.expr) -> list[str]:
    """What is read by a path, also where it is no leaf: the w of `weight=self.w`, the x of `(W @ x).chunk(2)`."""
    calls = {id(n.func) for n in _running_parts(value) if isinstance(n, ast.Call)}
    inner = {
        id(n.value) for n in _running_parts(value) if isinstance(n, ast.Attribute) and is_path(n) and id(n) not in calls
    }
    found = [n for n in _running_parts(value) if isinstance(n, ast.expr) and is_path(n) and id(n) not in calls | inner]
    return [ast.unparse(n) for n in found]


def _index_paths(node: ast.AST) -> list[str]:
    """What the place that a statement assigns to is found by, and in."""
    match node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]:
        case [ast.Subscript(value=whole, slice=place)]:
            return [*_paths_inside(place), *_paths_inside(whole)]
    return []


def _entries_of(formula: Formula) -> list[tuple[str, Index]]:
    """The entries at named places, x[t] and x[t - 1], as x with what stands in the brackets."""
    found = []
    for part in walk(formula):
        match place_of(part):
            case Leaf(whole), at if len(at.parts) > 1 or at.numbers is None:
                found += [] if any(isinstance(part, Slice) for part in at.parts) else [(whole, at)]
    return list(dict.fromkeys(found))


EFFECT, CALLED = "effect", "called"
_APART = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _running_parts(value: ast.AST) -> list[ast.AST]:
    """The parts of an expression that run with it: not the bodies of its lambdas and comprehensions."""
    return (
        []
        if isinstance(value, _APART)
        else [value, *[n for part in ast.iter_child_nodes(value) for n in _running_parts(part)]]
    )


def _either_branch_reads(value: ast.expr) -> list[str]:
    """What any branch of the conditional expressions reads."""
    branches = [part for n in _running_parts(value) if isinstance(n, ast.IfExp) for part in (n.body, n.orelse)]
    whole = [_BranchTaker({}, otherwise).visit(copy.deepcopy(value)) for otherwise in (True, False)]
    return [text for part in (*branches, *whole) for text in (*leaves(formula_of(part)), *_names_inside(part))]


class _BranchTaker(ast.NodeTransformer):
    """Puts the branch that was taken in the place of `a if test else b`."""

    def __init__(self, choices: dict[int, bool], otherwise: bool = True) -> None:
        self.choices = choices
        self.otherwise = otherwise
        self.reasons: list[str] = []

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        found = self.choices.get(number(node), self.otherwise)
        self.reasons.append(f"since {ast.unparse(node.test)} is {'true' if found else 'false'}")
        return self.visit(node.body if found else node.orelse)

    def visit_Lambda(self, node: Any) -> Any:
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_Lambda


def number(node: ast.IfExp) -> int:
    """By its place in the source, which survives copying."""
    return node.lineno * 10_000 + node.col_offset


class _NamesOnly(ast.NodeTransformer):
    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        return ast.copy_location(ast.Name(node.target.id, ast.Load()), node)


def _with_names(value: ast.expr) -> ast.expr:
    """`(n := f(x)) > 0` is shown as n > 0: that n = f(x) is a step of its own."""
    if not any(isinstance(n, ast.NamedExpr) for n in ast.walk(value)):
        return value
    shown = _NamesOnly().visit(copy.deepcopy(value))
    assert isinstance(shown, ast.expr)
    return shown

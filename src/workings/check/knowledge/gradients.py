"""The gradient of cross-entropy behind softmax or σ, and the sign of a step of descent.

L = −Σ y log ŷ,  ŷ = softmax(z):  ∂L/∂z = ŷ − y
w ← w − η ∇L
"""

from __future__ import annotations

import re

from workings.check.argument.argument import Argument
from workings.check.argument.lines import EQUAL, Line
from workings.check.latex.syntax import Derivative, Function, Group, Node, Product, Script, Sum, Symbol
from workings.check.latex.weights import plain
from workings.check.value.scope import Scope

_ENTROPY = re.compile(r"cross[-\s]?entropy|\bnegative log[-\s]?likelihood|\bNLL\b|logistic loss|log loss", re.I)
_RISING = re.compile(
    r"(?<!negative )(?<!negative-)\blog[-\s]?likelihood|ascen[td]|maximi[sz]|\breward|update rule adds", re.I
)
_DESCENT = re.compile(r"\b(?:gradient[-\s]descent|descent|SGD|minimi[sz]\w*)\b", re.I)
_LOSSES = {"L", "J", "ell", "E", "loss", "C", "CE", "BCE", "Loss"}
_RATES = {"eta", "alpha", "gamma", "lr", "epsilon", "lambda", "mu"}


def check_gradient(line: Line, argument: Argument, scope: Scope) -> None:
    """∂L/∂z = y − ŷ: the sign is lost."""
    left = line.sides[0]
    if not isinstance(left, Derivative) or len(left.by) != 1 or left.body is None or _base(left.body) not in _LOSSES:
        return
    for index in range(1, len(line.sides)):
        if line.relations[index - 1] not in EQUAL:
            return
        match line.sides[index]:
            case Sum(terms=(("+", target), ("-", guess))):
                break
    else:
        return
    near = argument.window(line)
    if argument.is_doubtful(line) or not _ENTROPY.search(near) or _RISING.search(near) or not _is_target(target):
        return
    if _is_rising(left.body, argument, line):
        return
    source = _squashing_function(guess, left.by[0], argument, line)
    if source is None:
        return
    y, p = (_text(line, index, part) for part in (target, guess))
    why = f"With cross-entropy behind {source} the gradient is {p} − {y}: it is negative where the guess is too small."
    argument.add(line, 0, index, "likely", "gradient", f"{p} − {y}", why)


def _text(line: Line, index: int, node: Node) -> str:
    """A part of a formula as it is written."""
    return line.formulas[index].text[node.span[0] : node.span[1]].strip()


def _base(node: Node) -> str:
    """The letter of a name: L of 𝓛(θ), z of z_k."""
    if isinstance(node, Product) and len(node.factors) == 2 and isinstance(node.factors[1][1], Group):
        node = node.factors[0][1]
    while isinstance(node, Script):
        node = node.base
    return node.name if isinstance(node, Symbol) else ""


def _is_target(node: Node) -> bool:
    """y, t or their entries, without a hat."""
    name = plain(node.base if isinstance(node, Script) else node)
    return name in (Symbol("y"), Symbol("t"))


def _squashing_function(guess: Node, by: Node, argument: Argument, line: Line) -> str | None:
    """The name of the function by which the guess comes from what the loss is differentiated by."""
    direct = _squash_of(guess, _base(by))
    if direct is not None:
        return direct
    name = _without_index(guess)
    if name is None:
        return None
    part = argument.part(line)
    for other in argument.lines:
        if argument.part(other) == part and any(_without_index(side) == name for side in other.sides):
            found = [squash for side in other.sides if (squash := _squash_of(side, _base(by))) is not None]
            if found and len(other.sides) > 1:
                return found[0]
    return None


def _without_index(node: Node) -> Node | None:
    """A name without its index and the weight of its letters."""
    node = node.base if isinstance(node, Script) else node
    return plain(node) if isinstance(node, Symbol) else None


def _squash_of(node: Node, letter: str) -> str | None:
    """softmax or σ of something with this letter."""
    while isinstance(node, Script):
        node = node.base
    match node:
        case Function(name="softmax" | "sigmoid" as name, arguments=arguments):
            inside, said = arguments, str(name)
        case Product(factors=((_, Symbol(name="sigma")), ("", Group(items=inside)))):
            said = "σ"
        case _:
            return None
    return said if any(isinstance(p, Symbol) and p.name == letter for part in inside for p in part.walk()) else None


def _is_rising(loss: Node, argument: Argument, line: Line) -> bool:
    """Whether the document defines L without a minus before its logarithms."""
    name, part = _without_index(loss), argument.part(line)
    for other in argument.lines:
        if argument.part(other) == part and name is not None and _without_index(other.sides[0]) == name:
            for side in other.sides[1:]:
                if any(isinstance(p, Function) and p.name in ("log", "ln") for p in side.walk()):
                    return not any(isinstance(p, Sum) and p.terms[0][0] == "-" for p in side.walk())
    return False


def check_descent(line: Line, argument: Argument, scope: Scope) -> None:
    """w ← w + η ∇L where the words say descent."""
    if len(line.sides) < 2 or line.relations[0] not in (*EQUAL, "←"):
        return
    match line.sides[1]:
        case Sum(terms=(("+", before), ("+", Product(factors=((_, rate), *_, (_, Derivative() as slope)))))):
            pass
        case _:
            return
    if _base(before) != _base(line.sides[0]) or not _base(before) or _base(rate) not in _RATES:
        return
    if slope.body is None or any(isinstance(part, Function) for part in slope.body.walk()):
        return
    said = line.words
    if _DESCENT.search(said) and not _RISING.search(argument.window(line, 600)) and not argument.is_doubtful(line):
        why = "Descent goes against the gradient: a step along it makes the loss larger."
        argument.add(line, 0, 1, "note", "step", "a minus before the step", why)

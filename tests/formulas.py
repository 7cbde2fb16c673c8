"""Parts of formulas as a test writes them: in Python."""

import ast

from workings.trace.formula.from_python import argument, index_of, keywords
from workings.trace.formula.targets import target_of
from workings.trace.formula.tree import Call, Code
from workings.trace.step import Syntax


def expression(text):
    return ast.parse(text, mode="eval").body


def at(text):
    """The index of x[text]."""
    return index_of(expression(f"_[{text}]").slice)


def by(text):
    """The change of shape `view(2, -1)`."""
    call = expression(text)
    return Call(call.func.id, tuple(map(argument, call.args)), keywords(call.keywords))


def code(text):
    return Code(text, expression(text))


def naming(text):
    """The syntax of `text = …`."""
    return Syntax((target_of(expression(f"({text})")),))

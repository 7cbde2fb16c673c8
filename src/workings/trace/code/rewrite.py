"""A function rewritten so that it tells a recorder what it does, statement by statement.

Nothing is executed here: the new code object replaces the old one inside a new function with the same globals, defaults and
closure, so the author's function itself is untouched.
"""

from __future__ import annotations

import ast
import inspect
import types
from dataclasses import dataclass

from workings.trace.code.effects import is_uncounted
from workings.trace.code.instrument import RECORDER, Instrumenter
from workings.trace.code.source import Unavailable, definition, owner
from workings.trace.code.statement import Statement

_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Rewritten:
    """The code of a function that reports to a recorder, and its statements by number."""

    code: types.CodeType
    statements: tuple[Statement, ...]
    outer: str = ""
    """The declaration by which it changes names outside itself (`global n`), if it has one."""
    called: frozenset[str] = frozenset()
    """What it calls, as it is written; empty where that has no name."""
    writes: bool = False
    """Whether it changes attributes or entries of objects."""
    uncounted: bool = False
    """Whether it may change tensors in ways that PyTorch does not count."""


_Key = tuple[int, frozenset[str], frozenset[str]]
_KNOWN: dict[_Key, tuple[types.CodeType, Rewritten | str]] = {}
"""By identity: hashing a code object goes through all its constants."""


def rewrite(
    code: types.CodeType, names: frozenset[str] = _NOTHING, properties: frozenset[str] = _NOTHING
) -> Rewritten | str:
    """The rewritten code of a function's code object, or the reason why there is none.

    With `names`, only the statements that assign one of them report; the others run as they are. `properties` are the
    attributes of `self` that are computed when they are read.
    """
    key = id(code), names, properties
    found = _KNOWN.get(key)
    if found is None:
        found = _KNOWN[key] = code, _try_to_rewrite(code, names, properties)
    return found[1]


def _try_to_rewrite(code: types.CodeType, names: frozenset[str], properties: frozenset[str]) -> Rewritten | str:
    try:
        return _rewrite(code, names, properties)
    except Unavailable as reason:
        return str(reason)
    except (OSError, TypeError):
        return _NO_SOURCE
    except (SyntaxError, IndentationError, ValueError) as reason:
        return f"its source could not be read ({reason})"


_NO_SOURCE = "its source is not available"


def _rewrite(code: types.CodeType, names: frozenset[str], properties: frozenset[str]) -> Rewritten:
    if code.co_flags & inspect.CO_ASYNC_GENERATOR:
        raise Unavailable("it is an asynchronous generator")
    if "locals" in code.co_varnames:
        raise Unavailable("it has a variable called locals")
    node = definition(code)
    reporting = Instrumenter(code.co_filename, owner(code), names, properties)
    new = reporting.function(node)
    called, statements = frozenset(reporting.called), tuple(reporting.statements)
    return Rewritten(_compile(new, code), statements, reporting.outer, called, reporting.writes, is_uncounted(code))


def _compile(function: ast.FunctionDef, code: types.CodeType) -> types.CodeType:
    """The code object of the rewritten definition, with the recorder and the original's free variables free in it."""
    free = [RECORDER, *code.co_freevars]
    body: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in free]
    uses = ast.Expr(ast.Tuple([ast.Name(name, ast.Load()) for name in free], ast.Load()))
    function.body.append(uses)  # keeps every free variable free, used or not
    function.decorator_list = []
    function.name = "__rewritten"  # in the outer function its own name would hide a global of that name
    outer = ast.FunctionDef("outer", _no_arguments(), [*body, function], [], None, type_params=[])  # type: ignore[call-arg]
    module = ast.fix_missing_locations(ast.Module([outer], []))
    compiled = compile(module, code.co_filename, "exec", dont_inherit=True)
    (outer_code,) = [c for c in compiled.co_consts if isinstance(c, types.CodeType)]
    found = next(c for c in outer_code.co_consts if isinstance(c, types.CodeType) and c.co_name == function.name)
    return found.replace(co_name=code.co_name, co_qualname=code.co_qualname)


def _no_arguments() -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])

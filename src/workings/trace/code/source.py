"""The definition of a code object, found again in its source file."""

from __future__ import annotations

import ast
import copy
import dis
import inspect
import linecache
import re
import textwrap
import types
from typing import Any

from workings.trace.code.imports import mark_modules


class Unavailable(Exception):
    """Why a function cannot be shown statement by statement."""


def definition(code: types.CodeType) -> Any:
    """The syntax tree of a function or lambda, with the line numbers of its file, and the names of modules marked."""
    found = _definition(code)
    mark_modules(found, code.co_filename)
    return found


def _definition(code: types.CodeType) -> Any:
    lines, first = _lines(code)
    text = "".join(lines)
    if code.co_name == "<lambda>":
        return _lambda(code, textwrap.dedent(text), first)
    tree = _parsed(text)
    ast.increment_lineno(tree, first - 1)
    named = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.name == code.co_name]
    found = [n for n in named if min([n.lineno, *[d.lineno for d in n.decorator_list]]) == code.co_firstlineno]
    if len(found) != 1:
        raise Unavailable("its definition was not found in its source")
    return found[0]


def _parsed(text: str) -> ast.Module:
    """The syntax tree of a definition, which may be indented: it is put into a block, not moved to the margin, because a
    comment or a text inside it may stand at the margin already."""
    if not text[:1].isspace():
        return ast.parse(text)
    tree = ast.parse(f"if True:\n{text}")
    ast.increment_lineno(tree, -1)
    return tree


def _lines(code: types.CodeType) -> tuple[list[str], int]:
    """As `inspect.getsourcelines`, which first goes through all modules to find the one of this file (8 ms)."""
    linecache.checkcache(code.co_filename)
    lines, first = linecache.getlines(code.co_filename), code.co_firstlineno
    if code.co_name == "<lambda>" or len(lines) < first:
        return inspect.getsourcelines(code)
    return inspect.getblock(lines[first - 1 :]), first


def has_source(code: types.CodeType) -> bool:
    """Whether the lines of its file are those of this function. Python makes the `__init__` of a dataclass from a text that
    it does not keep; from 3.13 on the program of `python -c` goes by the same name, `<string>`."""
    lines = linecache.getlines(code.co_filename)
    if not code.co_filename.startswith("<"):
        return bool(lines)
    word = "lambda" if code.co_name == "<lambda>" else rf"def\s+{re.escape(code.co_name)}"
    return re.search(rf"\b{word}\b", "".join(inspect.getblock(lines[code.co_firstlineno - 1 :]))) is not None


def owner(code: types.CodeType) -> str:
    """The class a method is written in, for the names that begin with two underscores."""
    parts = code.co_qualname.split(".")
    return parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else ""


def _lambda(code: types.CodeType, text: str, first: int) -> ast.Lambda:
    """The lambda in this text that compiles to this very code."""
    found = []
    for start in [m.start() for m in re.finditer(r"\blambda\b", text)]:
        node = _longest_lambda(text[start:])
        if node is not None and _same_code(node, code):
            ast.increment_lineno(node, first - 1 + text.count("\n", 0, start))
            found.append(node)
    if not found:
        raise Unavailable("its lambda was not found in its source")
    return found[0]


def _longest_lambda(text: str) -> ast.Lambda | None:
    for end in range(len(text), 0, -1):
        try:
            node = ast.parse(f"({text[:end].strip()}\n)", mode="eval").body  # its body may begin on the next line
        except SyntaxError:
            continue
        return node if isinstance(node, ast.Lambda) else next((n for n in ast.walk(node) if isinstance(n, ast.Lambda)), None)
    return None


def _same_code(node: ast.Lambda, code: types.CodeType) -> bool:
    """Whether a lambda does the same as this code. Its free variables compile as globals here: names are compared."""
    compiled = compile(ast.fix_missing_locations(ast.Expression(copy.deepcopy(node))), "", "eval")
    made = next(c for c in compiled.co_consts if isinstance(c, types.CodeType))
    return _essence(made) == _essence(code)


def _essence(code: types.CodeType) -> Any:
    """What tells two lambdas apart: arguments, constants, names, and the operations in their order."""
    constants = [c for c in code.co_consts if not isinstance(c, types.CodeType)]
    operations = [i for i in dis.get_instructions(code) if i.opname.startswith(("BINARY", "CALL", "COMPARE", "UNARY"))]
    return code.co_varnames, constants, sorted(_names(code)), [(i.opcode, i.arg) for i in operations]


def _names(code: types.CodeType) -> set[str]:
    """The names that come from outside, also those that only a comprehension or lambda inside reads."""
    inner = [_names(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return {*code.co_names, *code.co_freevars}.union(*inner)

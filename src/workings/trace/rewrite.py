"""A function rewritten so that it tells a recorder what it does, statement by statement.

Each statement keeps its meaning; around it stand calls of the recorder, which the rewritten code knows as `__w`:

    A = f(B) + C        →   A = __w.leave(__w.enter(7, locals()), __w.call(f)(B) + C)
    x += e              →   x += __w.leave(__w.enter(8, locals()), e);  __w.after(x)
    for t in steps:     →   for t in __w.loop(9, steps):
    if test:            →   if __w.leave(__w.enter(10, locals()), test):

Nothing is executed here: the new code object replaces the old one inside a new function with the same globals, defaults and
closure, so the author's function itself is untouched.
"""

from __future__ import annotations

import ast
import copy
import dis
import inspect
import re
import textwrap
import types
from dataclasses import dataclass
from typing import Any

from workings.trace.build import formula_of
from workings.trace.formula import Formula, leaves
from workings.trace.step import Where

RECORDER = "__w"
_PLAIN_CALLS = frozenset("super locals globals isinstance len range print type getattr hasattr zip enumerate".split())


@dataclass(frozen=True)
class Statement:
    """What is known of a statement before it runs."""

    kind: str
    name: str
    source: str
    formula: Formula | None
    where: Where
    leaves: tuple[str, ...] = ()
    effect: bool = False
    """Whether it may change something outside the function: a plain run after it would not start from the same state."""


@dataclass(frozen=True)
class Rewritten:
    """The code of a function that reports to a recorder, and its statements by number."""

    code: types.CodeType
    statements: tuple[Statement, ...]
    outer: str = ""
    """The declaration by which it changes names outside itself (`global n`), if it has one."""


class Unavailable(Exception):
    """Why a function cannot be shown statement by statement."""


_KNOWN: dict[int, tuple[types.CodeType, Rewritten | str]] = {}
"""By identity: hashing a code object goes through all its constants."""


def rewritten(code: types.CodeType) -> Rewritten | str:
    """The rewritten code of a function's code object, or the reason why there is none."""
    found = _KNOWN.get(id(code))
    if found is None:
        found = _KNOWN[id(code)] = code, _attempted(code)
    return found[1]


def _attempted(code: types.CodeType) -> Rewritten | str:
    try:
        return _rewrite(code)
    except Unavailable as reason:
        return str(reason)
    except (OSError, TypeError):
        return "its source is not available"
    except (SyntaxError, IndentationError, ValueError) as reason:
        return f"its source could not be read ({reason})"


def _rewrite(code: types.CodeType) -> Rewritten:
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise Unavailable("it is a generator or a coroutine, whose statements run later, in pieces")
    if "locals" in code.co_varnames:
        raise Unavailable("it has a variable called locals")
    lines, first = inspect.getsourcelines(code)
    node = _definition(code, lines, first)
    rewriter = _Rewriter(code.co_filename, _owner(code))
    new = rewriter.function(node)
    return Rewritten(_compiled(new, code), tuple(rewriter.statements), rewriter.outer)


def _owner(code: types.CodeType) -> str:
    """The class a method is written in, for the names that begin with two underscores."""
    parts = code.co_qualname.split(".")
    return parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else ""


def _definition(code: types.CodeType, lines: list[str], first: int) -> Any:
    """The definition of this code object in its source, with line numbers of the file."""
    text = textwrap.dedent("".join(lines))
    if code.co_name == "<lambda>":
        return _lambda(code, text, first)
    tree = ast.parse(text)
    ast.increment_lineno(tree, first - 1)
    named = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == code.co_name]
    found = [n for n in named if min([n.lineno, *[d.lineno for d in n.decorator_list]]) == code.co_firstlineno]
    if len(found) != 1:
        raise Unavailable("its definition was not found in its source")
    return found[0]


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
            node = ast.parse(text[:end].strip(), mode="eval").body
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
    names = sorted({*code.co_names, *code.co_freevars})
    return code.co_varnames, constants, names, [(i.opcode, i.arg) for i in operations]


def _compiled(function: ast.FunctionDef, code: types.CodeType) -> types.CodeType:
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


class _Rewriter(ast.NodeTransformer):
    """Puts the recorder's calls around the statements of one function."""

    def __init__(self, file: str, owner: str = "") -> None:
        self.file = file
        self.owner = owner.lstrip("_")
        self.statements: list[Statement] = []
        self.outer = ""
        self.tries = 0

    def function(self, node: Any) -> ast.FunctionDef:
        if isinstance(node, ast.Lambda):
            value = ast.Return(node.body)
            ast.copy_location(value, node.body)
            node = ast.FunctionDef("lambda_", node.args, [value], [], None, type_params=[])  # type: ignore[call-arg]
        node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]  # the function object has the real ones
        node.args.kw_defaults = [d and ast.Constant(None) for d in node.args.kw_defaults]
        node.returns = None
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        node.body = self.block(node.body)
        return node

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in body:
            new = self.visit(statement)
            out += new if isinstance(new, list) else [new]
        return out

    # ---- the recorder's calls
    def number(self, kind: str, node: ast.stmt, name: str, value: ast.expr | None, source: str = "") -> int:
        formula = None if value is None else formula_of(value)
        text = source or ast.unparse(node)
        read = () if value is None or formula is None else tuple(dict.fromkeys([*leaves(formula), *_names(value)]))
        self.statements.append(Statement(kind, name, text, formula, Where(self.file, node.lineno), read, _has_effect(node)))
        return len(self.statements) - 1

    def recorded(self, kind: str, node: ast.stmt, name: str, value: ast.expr, source: str = "") -> ast.expr:
        """leave(enter(n, locals()), value)"""
        n = self.number(kind, node, name, value, source)
        here = ast.Call(ast.Name("locals", ast.Load()), [], [])
        entered = _recorder("enter", ast.Constant(n), here)
        return ast.copy_location(_recorder("leave", entered, self.visit(value)), value)

    # ---- statements
    def visit_Assign(self, node: ast.Assign) -> Any:
        name = " = ".join(ast.unparse(t) for t in node.targets)
        node.value = self.recorded("assign", node, name[1:-1] if _bracketed(node.targets) else name, node.value)
        return [node, *self.settled(node.targets[0])]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return node
        value = self.recorded("assign", node, ast.unparse(node.target), node.value)
        return [ast.copy_location(ast.Assign([node.target], value), node), *self.settled(node.target)]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        shown = ast.BinOp(read, node.op, node.value)
        n = self.number("assign", node, ast.unparse(node.target), shown)
        here = ast.Call(ast.Name("locals", ast.Load()), [], [])
        node.value = _recorder("leave", _recorder("enter", ast.Constant(n), here), self.visit(node.value))
        return [node, _expression(_recorder("after", read), node)]

    def settled(self, target: ast.expr) -> list[ast.stmt]:
        """After `y[0] = e` the interesting result is y."""
        if not isinstance(target, ast.Subscript):
            return []
        base = ast.parse(ast.unparse(target.value), mode="eval").body
        return [_expression(_recorder("after", base), target)]

    def visit_Return(self, node: ast.Return) -> Any:
        if node.value is not None:
            node.value = self.recorded("return", node, "", node.value)
        return node

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, (ast.Constant, ast.Yield, ast.YieldFrom)):
            return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)
        node.value = self.recorded("expression", node, "", node.value)
        return node

    def visit_If(self, node: ast.If) -> Any:
        node.test = self.recorded("branch", node, "if", node.test, f"if {ast.unparse(node.test)}:")
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_For(self, node: ast.For) -> Any:
        header = f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}:"
        n = self.number("loop", node, ast.unparse(node.target), None, header)
        node.iter = _recorder("loop", ast.Constant(n), self.visit(node.iter))
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> Any:
        n = self.number("loop", node, "while", None, f"while {ast.unparse(node.test)}:")
        node.test = self.visit(node.test)
        turn = _expression(_recorder("turn", ast.Constant(n)), node)
        node.body, node.orelse = [turn, *self.block(node.body)], self.block(node.orelse)
        opened, closed = (_expression(_recorder(name, ast.Constant(n)), node) for name in ("open_loop", "close_loop"))
        if node.orelse:
            node.orelse.insert(0, closed)
        return [opened, node, closed]

    def visit_With(self, node: ast.With) -> Any:
        node.items = [self.visit(item) for item in node.items]
        node.body = self.block(node.body)
        return node

    def visit_Try(self, node: ast.Try) -> Any:
        node.body, node.orelse, node.finalbody = self.block(node.body), self.block(node.orelse), self.block(node.finalbody)
        level = f"__w_level_{self.tries}"
        self.tries += 1
        for handler in node.handlers:
            caught = _expression(_recorder("caught", ast.Name(level, ast.Load())), handler.body[0])
            handler.body = [caught, *self.block(handler.body)]
        mark = ast.copy_location(ast.Assign([ast.Name(level, ast.Store())], _recorder("mark")), node)
        return [mark, node]

    def visit_Match(self, node: ast.Match) -> Any:
        node.subject = self.visit(node.subject)
        for case in node.cases:
            case.body = self.block(case.body)
        return node

    def visit_Global(self, node: ast.Global) -> Any:
        self.outer = ast.unparse(node)
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        self.outer = ast.unparse(node)
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        node.id = self.mangled(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        node.attr = self.mangled(node.attr)
        return node

    def mangled(self, name: str) -> str:
        """`__k` in a class C is `_C__k`: Python does that where the class is written, so it is done here."""
        private = self.owner and name.startswith("__") and not name.endswith("__") and not name.startswith(RECORDER)
        return f"_{self.owner}{name}" if private else name

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return node  # rewritten on its own when it is called

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node

    # ---- calls
    def visit_Call(self, node: ast.Call) -> Any:
        plain = isinstance(node.func, ast.Name) and node.func.id in _PLAIN_CALLS
        self.generic_visit(node)
        if not plain:
            node.func = ast.copy_location(_recorder("call", node.func), node.func)
        return node


def _has_effect(node: ast.stmt) -> bool:
    """Statements that are run for what they change: calls alone, writes to attributes. In-place tensor methods do
    not count."""
    if isinstance(node, ast.Expr):
        call = node.value
        method = (
            isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
        )
        return not (method and call.func.attr.endswith("_"))  # type: ignore[attr-defined]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(n, ast.Attribute) for t in targets if t is not None for n in ast.walk(t))


def _bracketed(targets: list[ast.expr]) -> bool:
    return len(targets) == 1 and ast.unparse(targets[0]).startswith("(") and isinstance(targets[0], ast.Tuple)


def _names(value: ast.expr) -> list[str]:
    """The names read inside indices and options, which the formula keeps as text: x[i], dim=axis."""
    texts = [n.slice for n in ast.walk(value) if isinstance(n, ast.Subscript)]
    texts += [part for n in ast.walk(value) if isinstance(n, ast.Call) for part in (*n.args, *[k.value for k in n.keywords])]
    return [n.id for text in texts for n in ast.walk(text) if isinstance(n, ast.Name)]


def _recorder(method: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name(RECORDER, ast.Load()), method, ast.Load()), list(args), [])


def _expression(value: ast.expr, like: Any) -> ast.stmt:
    return ast.copy_location(ast.Expr(value), like)

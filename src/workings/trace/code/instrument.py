"""The recorder's calls, put around the statements of one function. Each statement keeps its meaning.

The rewritten code knows the recorder as `__w`:

    a.h = e             →   __w.before_write(a, "a.h = e (line 3)", True).h = __w.leave(__w.enter(6, locals()), e)
    A = f(B) + C        →   A = __w.leave(__w.enter(7, locals()), __w.call(f, "f")(B) + C)
    x += e              →   x += __w.hold(__w.enter(8, locals()), e);  __w.leave_changed(x)
    y[0] = e            →   y[0] = __w.hold(__w.enter(8, locals()), e);  __w.leave_changed(y)
    a, b = e            →   a, b = __w.hold(__w.enter(8, locals()), e);  __w.leave_unpacked((a, b))
    raise e             →   __w.enter(16, locals());  raise e
    for t in steps:     →   for t in __w.loop(9, steps):
    if test:            →   if __w.leave(__w.enter(10, locals()), test):
    [f(t) for t in s]   →   [__w.leave(__w.enter(12, locals()), f(t)) for t in __w.loop(11, s)]
    a if test else b    →   a if __w.choose(13, test) else b
    (n := e)            →   (n := __w.leave_named(__w.enter_named(14, locals()), e))
    yield e             →   yield __w.leave(__w.enter(15, locals()), e)
    assert test         →   assert __w.hold(__w.enter(17, locals()), test);  __w.leave_held()
    with e as x:        →   with __w.leave_header(__w.enter(18, locals()), e) as x:  __w.leave(__w.enter(19, locals()), x)
    del x               →   __w.leave(__w.enter(20, locals()), None);  del x
"""

from __future__ import annotations

import ast
import copy
from dataclasses import replace
from typing import Any

from workings.own_code import is_own
from workings.trace.code.effects import PLAIN_CALLS, effect_of, is_new, is_write, own_containers
from workings.trace.code.statement import Statement, number, statement
from workings.trace.step import Where

RECORDER = "__w"
_EAGER = frozenset("sum list tuple set frozenset dict max min any all sorted".split())
"""Functions that use up a generator expression before they return."""
_ELIF = "workings_elif"
"""The attribute of an `if` in a syntax tree that the author wrote as `elif`."""
_SIMPLE = (
    ast.Name,
    ast.Attribute,
    ast.Constant,
    ast.Subscript,
    ast.Tuple,
    ast.Slice,
    ast.expr_context,
    ast.UnaryOp,
    ast.USub,
)


class Instrumenter(ast.NodeTransformer):
    """Rewrites one function; `names`, if there are any, are the only ones whose statements report."""

    def __init__(
        self, file: str, owner: str = "", names: frozenset[str] = frozenset(), properties: frozenset[str] = frozenset()
    ) -> None:
        self.file = file
        self.owner = owner.lstrip("_")
        self.names = names
        self.properties = properties
        self.first = ""
        self.statements: list[Statement] = []
        self.called: set[str] = set()
        self.outer = ""
        self.writes = False
        self.tries = 0
        self.fresh: frozenset[str] = frozenset()

    def function(self, node: Any) -> Any:
        if isinstance(node, ast.Lambda):
            value = ast.Return(node.body)
            ast.copy_location(value, node.body)
            node = ast.FunctionDef("lambda_", node.args, [value], [], None, type_params=[])  # type: ignore[call-arg]
        # The function object has the real defaults and annotations; evaluated here, they would run the author's code again.
        node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
        node.args.kw_defaults = [d and ast.Constant(None) for d in node.args.kw_defaults]
        node.returns = None
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        self.first = next((a.arg for a in (*node.args.posonlyargs, *node.args.args)), "")
        self.fresh = own_containers(node)
        node.body = self.block(node.body)
        return node

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for part in body:
            new = self.visit(part)
            out += new if isinstance(new, list) else [new]
        return out

    # ---- the recorder's calls
    def number(
        self, kind: str, node: Any, name: str, value: ast.expr | None, source: str = "", written: ast.AST | None = None
    ) -> int:
        """A number for a statement. `written` is the whole of it where `node` is its place only."""
        text, where = source or ast.unparse(node), Where(self.file, node.lineno)
        given = frozenset(f"{self.first}.{name}" for name in self.properties)
        known = statement(kind, name, text, value, written or node, where, effect_of(node, self.fresh), given)
        self.statements.append(replace(known, leaves=True) if kind == "loop" and _may_leave(node) else known)
        return len(self.statements) - 1

    def record(self, kind: str, node: Any, name: str, value: ast.expr, source: str = "", shown: Any = None) -> ast.expr:
        """leave(enter(n, locals()), value), or the value as it is where the name was not asked for.

        `x += e`, `y[0] = e` and `a, b = e` are not over when e is known: hold(enter(n, locals()), value)."""
        if self.names and name not in self.names:
            return self.run_unrecorded(kind, node, name, value)
        n = self.number(kind, node, name, shown or value, source)
        value = self.mark_new(value)
        suffix = "_named" if isinstance(node, ast.NamedExpr) else ""
        ends = "hold" if _can_fail_after(node) else f"leave{suffix}"
        return ast.copy_location(_recorder(ends, _enter_call(n, suffix), self.visit(value)), value)

    def run_unrecorded(self, kind: str, node: Any, name: str, value: ast.expr) -> ast.expr:
        """A statement that does not report; that it has an effect is noted before it runs."""
        value = self.mark_new(value)
        if not effect_of(node, self.fresh):
            return self.visit_expression(value)
        n = self.number(kind, node, name, None)
        return ast.copy_location(_recorder("leave", _recorder("note_effect", ast.Constant(n)), self.visit(value)), value)

    def mark_new(self, value: ast.expr) -> ast.expr:
        if isinstance(value, ast.IfExp):
            value.body, value.orelse = self.mark_new(value.body), self.mark_new(value.orelse)
        return ast.copy_location(_recorder("note_new", value), value) if is_new(value) else value

    def visit_expression(self, value: ast.expr) -> ast.expr:
        new = self.visit(value)
        assert isinstance(new, ast.expr)
        return new

    # ---- statements
    def visit_Assign(self, node: ast.Assign) -> Any:
        name = _target(node.targets[0]) if len(node.targets) == 1 else " = ".join(map(ast.unparse, node.targets))
        text, after = ast.unparse(node), self.after_assignment(name, *node.targets)
        node.value = self.record("assign", node, name, node.value)
        node.targets = [self.target(target, text) for target in node.targets]
        return [node, *after]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return node
        name = ast.unparse(node.target)
        text, after = ast.unparse(node), self.after_assignment(name, node.target)
        value = self.record("assign", node, name, node.value)
        return [ast.copy_location(ast.Assign([self.target(node.target, text)], value), node), *after]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        name = ast.unparse(node.target)
        read, text = _load(node.target), ast.unparse(node)
        node.value = self.record("assign", node, name, node.value, shown=ast.BinOp(read, node.op, node.value))
        after = self.visit(_load(node.target))
        node.target = self.target(node.target, text)
        return [node, *self.report_after(name, node, after)]

    def visit_Raise(self, node: ast.Raise) -> Any:
        """Its step is never over; a check of ours fails where it is called."""
        if self.names or is_own(self.file):
            return self.generic_visit(node)
        n = self.number("expression", node, "", None)
        return [_expression(_enter_call(n), node), self.generic_visit(node)]

    def visit_Delete(self, node: ast.Delete) -> Any:
        text = ast.unparse(node)
        said = self.say("del", node, text)
        node.targets = [self.target(target, text) for target in node.targets]
        return [*said, node]

    def visit_Assert(self, node: ast.Assert) -> Any:
        """Its step is over when the test is known to hold."""
        text = f"assert {ast.unparse(node.test)}:"
        node.msg = node.msg and self.visit(node.msg)
        node.test = self.record("branch", node, "assert", node.test, text)
        return [node, *self.report_after("assert", node)]

    def say(self, name: str, like: Any, text: str) -> list[ast.stmt]:
        """A line of its own, for a statement that has no value: `del x`, the `case` that is taken."""
        if self.names:
            return []
        return [_expression(_recorder("leave", _enter_call(self.number("branch", like, name, None, text)), _NONE), like)]

    def target(self, node: Any, text: str) -> Any:
        """What is assigned to; an object whose attribute or entry that is is handed to the recorder."""
        node = self.visit(node)
        parts: list[Any] = [n for n in ast.walk(node) if is_write(n, self.fresh)]
        for part in parts:
            where, attribute = f"{text} (line {node.lineno})", isinstance(part, ast.Attribute)
            report = _recorder("before_write", part.value, ast.Constant(where), ast.Constant(attribute))
            part.value, self.writes = ast.copy_location(report, part.value), True
        return node

    def after_assignment(self, name: str, target: ast.expr, *others: ast.expr) -> list[ast.stmt]:
        """After `y[0] = e` the interesting result is y; after `y[0] = a = e` it is what they share."""
        if others:
            return self.report_after(name, target) if isinstance(target, (ast.Subscript, *_UNPACKED)) else []
        if isinstance(target, ast.Subscript):
            return self.report_after(name, target, self.visit(_load(target.value)))
        if isinstance(target, _UNPACKED) and all(isinstance(n, _UNPACKING) for n in ast.walk(target)):
            return self.report_after(name, target, self.visit(_load(target)), method="leave_unpacked")
        return self.report_after(name, target) if isinstance(target, _UNPACKED) else []

    def report_after(self, name: str, like: Any, *read: ast.expr, method: str = "leave_changed") -> list[ast.stmt]:
        report = _recorder(method if read else "leave_held", *read)
        return [] if self.names and name not in self.names else [_expression(report, like)]

    def visit_Return(self, node: ast.Return) -> Any:
        if node.value is not None:
            node.value = self.record("return", node, "", node.value)
        return node

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.YieldFrom):
            return [*self.say("yield from", node.value, ast.unparse(node)), self.generic_visit(node)]
        if isinstance(node.value, ast.Yield):
            return self.generic_visit(node)
        if not isinstance(node.value, ast.Constant):
            node.value = self.record("expression", node, "", node.value)
        return node

    def visit_If(self, node: ast.If) -> Any:
        word = "elif" if hasattr(node, _ELIF) else "if"
        node.test = self.record("branch", node, "if", node.test, f"{word} {ast.unparse(node.test)}:")
        match node.orelse:
            case [ast.If(col_offset=node.col_offset) as other]:  # an if inside an else is indented
                setattr(other, _ELIF, True)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_For(self, node: ast.For) -> Any:
        header = f"for {_target(node.target)} in {ast.unparse(node.iter)}:"
        unchanged = ast.For(node.target, copy.deepcopy(node.iter), [], [])
        node.iter = self.visit(node.iter)
        if pauses := _pauses(node):  # what runs after a yield belongs to whoever asks next, not to this turn
            said = self.say("for", unchanged.iter, header)
        else:
            n = self.number("loop", node, _target(node.target), None, header, unchanged)
            node.iter = _recorder("loop", ast.Constant(n), node.iter)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return [*said, node] if pauses else node

    def visit_While(self, node: ast.While) -> Any:
        header = f"while {ast.unparse(node.test)}:"
        unchanged = copy.deepcopy(node.test)
        test, pauses = self.visit(node.test), _pauses(node)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        if pauses:
            said = self.say("while", unchanged, header)
            node.test = test
            return [*said, node]
        n = self.number("loop", node, "while", None, header)
        loop = f"{RECORDER}_loop_{n}"
        asks, turn, closed = (_recorder(name, ast.Name(loop, ast.Load())) for name in ("ask", "turn", "close_loop"))
        # `ask(loop) and test`: ask is true, and the test runs in the turn that it may begin, as often as Python asks.
        node.test = ast.copy_location(ast.BoolOp(ast.And(), [asks, test]), test)
        node.body = [_expression(turn, node), *node.body]
        if node.orelse:
            node.orelse.insert(0, _expression(closed, node))
        opened = ast.Assign([ast.Name(loop, ast.Store())], _recorder("open_loop", ast.Constant(n)))
        return [ast.copy_location(opened, node), node, _expression(closed, node)]

    def visit_AsyncFor(self, node: ast.AsyncFor) -> Any:
        said = self.say("for", node.iter, f"async for {_target(node.target)} in {ast.unparse(node.iter)}:")
        node.iter = self.visit(node.iter)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return [*said, node]

    def visit_With(self, node: Any) -> Any:
        given: list[ast.stmt] = []
        for item in node.items:
            place = node if item is node.items[0] else item.context_expr
            text = f"with {ast.unparse(item)}:"
            target = item.optional_vars
            if not self.names:
                n = self.number("branch", place, "with", item.context_expr, text)
                item.context_expr = _recorder("leave_header", _enter_call(n), self.visit(item.context_expr))
            else:
                item.context_expr = self.visit(item.context_expr)
            if target is not None:
                name = _target(target)
                if not self.names or name in self.names:
                    n = self.number("assign", target, name, None, text, ast.Assign([copy.deepcopy(target)], _NONE))
                    given.append(_expression(_recorder("leave", _enter_call(n), self.visit(_load(target))), target))
                item.optional_vars = self.target(target, text)
        node.body = [*given, *self.block(node.body)]
        return node

    visit_AsyncWith = visit_With

    def visit_Try(self, node: ast.Try) -> Any:
        node.body, node.orelse, node.finalbody = self.block(node.body), self.block(node.orelse), self.block(node.finalbody)
        level = f"{RECORDER}_level_{self.tries}"
        self.tries += 1
        for handler in node.handlers:
            caught = _expression(_recorder("on_caught", ast.Name(level, ast.Load())), handler.body[0])
            handler.body = [caught, *self.block(handler.body)]
        mark = ast.copy_location(ast.Assign([ast.Name(level, ast.Store())], _recorder("mark")), node)
        return [mark, node]

    def visit_Match(self, node: ast.Match) -> Any:
        node.subject = self.record("expression", node, "", node.subject, f"match {ast.unparse(node.subject)}:")
        for case in node.cases:
            guard = f" if {ast.unparse(case.guard)}" if case.guard is not None else ""
            said = self.say("case", case.pattern, f"case {ast.unparse(case.pattern)}{guard}:")
            case.guard = case.guard and self.visit(case.guard)
            case.body = [*said, *self.block(case.body)]
        return node

    def visit_Global(self, node: Any) -> Any:
        self.outer = ast.unparse(node)
        return node

    def visit_FunctionDef(self, node: Any) -> Any:
        return node  # rewritten on its own when it is called

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef

    # ---- names
    def visit_Name(self, node: ast.Name) -> Any:
        node.id = self.mangle(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        own = isinstance(node.value, ast.Name) and node.value.id == self.first and isinstance(node.ctx, ast.Load)
        text = ast.unparse(node)
        self.generic_visit(node)
        node.attr = self.mangle(node.attr)
        if own and node.attr in self.properties:
            return ast.copy_location(_recorder("get", node.value, ast.Constant(node.attr), ast.Constant(text)), node)
        return node

    def mangle(self, name: str) -> str:
        """`__k` in a class C is `_C__k`: Python does that where the class is written, so it is done here."""
        private = self.owner and name.startswith("__") and not name.endswith("__") and not name.startswith(RECORDER)
        return f"_{self.owner}{name}" if private else name

    # ---- expressions
    def visit_Call(self, node: ast.Call) -> Any:
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        if called in _EAGER and node.args and isinstance(node.args[0], ast.GeneratorExp):
            self.turns(node.args[0])
        text = path(node.func)
        container = isinstance(node.func, ast.Attribute) and path(node.func.value) in self.fresh
        self.generic_visit(node)
        if called not in PLAIN_CALLS and not container:
            self.called.add(text)
            node.func = ast.copy_location(_recorder("call", node.func, ast.Constant(text)), node.func)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        n = number(node)
        self.generic_visit(node)
        if not self.names:
            node.test = ast.copy_location(_recorder("choose", ast.Constant(n), node.test), node.test)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        name = node.target.id
        node.value = self.record("assign", node, name, node.value, f"{name} = {ast.unparse(node.value)}")
        node.target = self.visit(node.target)
        return node

    def visit_Yield(self, node: ast.Yield) -> Any:
        if node.value is not None:
            node.value = self.record("assign", node, "yield", node.value, f"yield {ast.unparse(node.value)}")
        return node

    def visit_ListComp(self, node: Any) -> Any:
        return self.generic_visit(self.turns(node))

    visit_SetComp = visit_DictComp = visit_ListComp

    def turns(self, node: Any) -> Any:
        """A comprehension is a loop: each element is a statement of its turn."""
        part = "value" if isinstance(node, ast.DictComp) else "elt"
        element = getattr(node, part)
        simple = all(isinstance(n, _SIMPLE) for n in ast.walk(element))
        if self.names or simple or any(g.is_async for g in node.generators) or _pauses(node):
            return node
        for generator in node.generators:
            header = f"for {_target(generator.target)} in {ast.unparse(generator.iter)}"
            n = self.number("loop", element, _target(generator.target), None, header, generator)
            generator.iter = _recorder("loop", ast.Constant(n), generator.iter)
        n = self.number("expression", element, "", element, ast.unparse(element))
        setattr(node, part, ast.copy_location(_recorder("leave", _enter_call(n), element), element))
        return node

    def visit(self, node: ast.AST) -> Any:
        ours = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_recorder(node.func.value)
        if not ours:
            return super().visit(node)
        node.args = [self.visit(a) for a in node.args]  # type: ignore[attr-defined]
        return node


def _recorder(method: str, *args: ast.expr) -> ast.Call:
    """A call of the recorder."""
    return ast.Call(ast.Attribute(ast.Name(RECORDER, ast.Load()), method, ast.Load()), list(args), [])


_UNPACKED = (ast.Tuple, ast.List)
_UNPACKING = (*_UNPACKED, ast.Starred, ast.Name, ast.expr_context)
"""What a target is made of that gives names to the parts of a value and does nothing else."""
_NONE = ast.Constant(None)


def _can_fail_after(node: Any) -> bool:
    """Whether the statement can fail when its value is there already."""
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return isinstance(node, (ast.AugAssign, ast.Assert)) or isinstance(target, (ast.Subscript, *_UNPACKED))


def _enter_call(n: int, suffix: str = "") -> ast.Call:
    """enter(n, locals()): all names, since one may have no value yet, which only running code can tell. Python keeps one
    dictionary for a frame and brings it up to date at each call, so this is cheap, and later looks must not rely on it."""
    return _recorder(f"enter{suffix}", ast.Constant(n), ast.Call(ast.Name("locals", ast.Load()), [], []))


def _is_recorder(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == RECORDER


def _pauses(node: ast.AST) -> bool:
    """Whether a generator yields in here: what comes after then belongs to whoever asks for the next value."""
    return any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(node))


def _may_leave(node: ast.AST) -> bool:
    """Whether a loop has a way out of its body, by break or return."""
    return any(isinstance(n, (ast.Break, ast.Return)) for n in ast.walk(node))


def _target(node: ast.expr) -> str:
    """`a, b` of `(a, b)`, as one writes it."""
    text = ast.unparse(node)
    return text[1:-1] if isinstance(node, ast.Tuple) and text.startswith("(") else text


def path(node: ast.expr) -> str:
    """The name by which something is called, if it is one: `mlp`, `self.net`, `layers.0` for layers[0]."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{before}.{node.attr}" if (before := path(node.value)) else ""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, (int, str)):
        return f"{before}.{node.slice.value}" if (before := path(node.value)) else ""
    return ""


def _load(target: ast.expr) -> Any:
    """The place that is assigned to, as an expression that reads it."""
    place: Any = copy.deepcopy(target)
    parts: list[Any] = [part for part in ast.walk(place) if isinstance(getattr(part, "ctx", None), ast.Store)]
    for part in parts:
        part.ctx = ast.Load()
    return place


def _expression(value: ast.expr, like: Any) -> ast.stmt:
    return ast.copy_location(ast.Expr(value), like)

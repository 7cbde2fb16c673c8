"""Which statements change something outside their function, so that a second run would change it twice.

A call alone is run for what it changes. What a statement writes to is known when it runs: `self.h = e` and `memo[k] = e`
hand over `self` and `memo` (`is_write`), and the recorder asks whether that is put back for the plain run.
"""

from __future__ import annotations

import ast
import types
from typing import Any

from workings.trace.code.statement import CALLED, EFFECT

PLAIN_CALLS = frozenset("super locals globals isinstance len range print type getattr hasattr zip enumerate".split())
"""Functions that are called as they are."""
_UNCOUNTED = frozenset(
    """
    data numpy array asarray __array__ from_numpy storage untyped_storage data_ptr from_dlpack to_dlpack
    batch_norm running_mean running_var step
    """.split()
)
"""Names by which code may change a tensor, or see one changed, without PyTorch's counting it: `w.data`, a fused `step`."""
_CONTAINERS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_MAKERS = frozenset("list dict set".split())


def effect_of(node: Any, fresh: frozenset[str] = frozenset()) -> str:
    """EFFECT for statements that are run for what they change: calls alone.

    Not in-place methods of tensors, nor methods of the containers that are `fresh`, made in the same function. CALLED where
    it depends on the function that is called: if its statements are recorded, they tell.
    """
    return _of_call(node.value, fresh) if isinstance(node, ast.Expr) else ""


def is_write(node: ast.AST, fresh: frozenset[str] = frozenset()) -> bool:
    """Whether this part of a target changes an object: `a.h`, `a[k]`, not an entry of a container made in the function."""
    if not isinstance(node, (ast.Attribute, ast.Subscript)) or isinstance(node.ctx, ast.Load):
        return False
    return not (isinstance(node.value, ast.Name) and node.value.id in fresh)


def is_uncounted(code: types.CodeType) -> bool:
    """Whether the code may change tensors, or see them changed, in ways that PyTorch does not count."""
    return not _UNCOUNTED.isdisjoint(names_in(code))


def names_in(code: types.CodeType) -> set[str]:
    """The globals and attributes that code names, also in the functions inside it."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return {*code.co_names}.union(*map(names_in, inner))


def _of_call(call: ast.expr, fresh: frozenset[str]) -> str:
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=method)) if method.endswith("_") or owner in fresh:
            return ""
        case ast.Call(func=ast.Name(id=name)) if name in PLAIN_CALLS:
            return EFFECT
        case ast.Call(func=ast.Name() | ast.Attribute()):
            return CALLED
    return EFFECT


def own_containers(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """The names that hold lists, dictionaries and sets of the function's own, and never anything else, as `**kwargs` do.

    >>> own_containers(ast.parse("def f(x, a):\\n    H = []\\n    a = []\\n    K = x").body[0])
    frozenset({'H'})
    """
    made: set[int] = set()
    other = {n.arg for n in ast.walk(function.args) if isinstance(n, ast.arg) and n is not function.args.kwarg}
    for node in ast.walk(function):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            made.update(id(name) for target in targets for name, value in _pairs(target, node.value) if _is_container(value))
    stores = [n for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    other |= {n.id for n in stores if id(n) not in made}
    other |= {name for n in ast.walk(function) if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
    given = {function.args.kwarg.arg} if function.args.kwarg is not None else set()
    return frozenset(({n.id for n in stores} | given) - other)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """H, [] and K, {} of `H, K = [], {}`."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return [*zip(target.elts, value.elts, strict=True)]
    return [(target, value)]


def is_new(value: ast.expr) -> bool:
    """[], {}, [x for x in xs], list(xs), [0] * n, xs.copy()"""
    copies = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "copy"
    return copies or _is_container(value)


def _is_container(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Name(id=name)):
            return name in _MAKERS
        case ast.BinOp(left=left, right=right):
            return isinstance(left, ast.List) or isinstance(right, ast.List)
    return isinstance(value, _CONTAINERS)

"""Why a block failed: the failing operation, found without running the author's code again.

`show` runs the code a second time and watches; a block runs once. A failing module is found in the traceback. Otherwise
the failing statement is computed again piece by piece, the smallest first (`block_again.py`).
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator

import torch
from torch import nn

from workings.trace.capture.capture import mark_failure
from workings.trace.capture.recorder import Recorder
from workings.trace.follow.names import Names
from workings.trace.follow.recompute import recompute
from workings.trace.formula.tree import Apply
from workings.trace.record import Trace
from workings.trace.shapes.counters import Calls, flattened_from
from workings.trace.shapes.explain import Explanation, explain
from workings.trace.step import Step


def explain_failure(trace: Trace, recorder: Recorder, error: BaseException) -> None:
    """The failing statement becomes an error step, with what the operation needed, what came and the fix to try."""
    trace.error = error
    mark_failure(recorder, error)
    found = next(_in_modules(trace, error), None) or (None if recorder.at is None else _in_pieces(error, *recorder.at))
    if found is not None:
        step = next((s for s in trace.steps() if s.kind == "error"), trace.root)
        step.note = f"{found}\n{step.note}"


# ---- modules
def _in_modules(trace: Trace, error: BaseException) -> Iterator[Explanation]:
    """Explanations by the modules whose forward failed, from the inside."""
    for frame in reversed(list(_frames(error))):
        code, names = frame.f_code, frame.f_locals
        module = names.get("self")
        if isinstance(module, nn.Module) and code is getattr(getattr(type(module), "forward", None), "__code__", None):
            args = tuple(names.get(name) for name in code.co_varnames[1 : code.co_argcount])
            first = args[0] if args and isinstance(args[0], torch.Tensor) and args[0].dim() else None
            before = None if first is None else _before_flattening(trace, first.shape[-1])
            if (found := explain(error, module, args, {}, before)) is not None:
                yield found


def _frames(error: BaseException) -> Iterator[types.FrameType]:
    traceback = error.__traceback__
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def _before_flattening(trace: Trace, features: int) -> tuple[int, ...] | None:
    found = []
    for step in trace.steps():
        given = next((v for v in step.operands.values() if isinstance(v, torch.Tensor)), None)
        if given is not None and isinstance(step.result, torch.Tensor) and _reshapes(step):
            found.append((tuple(given.shape), tuple(step.result.shape)))
    return flattened_from(found, features)


def _reshapes(step: Step) -> bool:
    is_reshape = isinstance(step.formula, Apply) and step.formula.op == "reshape"
    return is_reshape or (step.kind == "module" and step.source == "Flatten")


# ---- the pieces of a statement
_PIECES = (ast.BinOp, ast.Call, ast.Compare, ast.Subscript)


def _in_pieces(error: BaseException, statement: ast.stmt, names: Names) -> Explanation | None:
    """By the smallest piece that fails again."""
    pieces = [n for n in ast.walk(statement) if isinstance(n, _PIECES)]
    if isinstance(statement, ast.AugAssign):
        target = ast.parse(ast.unparse(statement.target), mode="eval").body
        pieces.append(ast.BinOp(target, statement.op, statement.value))
    for piece in sorted(pieces, key=lambda piece: sum(1 for _ in ast.walk(piece))):
        calls = Calls()
        try:
            with calls:
                recompute(piece, names)
        except Exception:  # that it fails is the point
            if calls.failed is not None:
                return explain(error, *calls.failed)
    return None

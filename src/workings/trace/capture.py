"""Capture a computation: run it, collect its steps, compare it with a plain run."""

from __future__ import annotations

import contextlib
import functools
import random
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_flatten, tree_map

from workings.trace.mismatch import explain
from workings.trace.record import Trace
from workings.trace.recorder import STATEMENTS, Recorder, is_library
from workings.trace.snapshot import COPIED
from workings.trace.step import Step
from workings.trace.watch import Calls


def capture(function: Any, *args: Any, depth: int = 2, names: Any = (), replay: bool = True, **kwargs: Any) -> Trace:
    """Run `function(*args, **kwargs)` and return its steps. An exception of the code is kept in the trace, not raised."""
    function, args, kwargs = _unwrapped(function, args, kwargs)
    recorder = Recorder(depth, frozenset(names))
    if depth >= 4:
        from workings.trace.fused import expanding

        recorder.expand = expanding
    before = _State(function, args, kwargs) if replay else None
    trace = Trace(recorder.root)
    with _ONE_AT_A_TIME, reporting_modules(recorder, function):
        try:
            trace.result = _start(recorder, function, args, kwargs)
        except Exception as error:
            trace.error = error
            _mark_failure(recorder, error)
    address(trace.root)
    trace.first_bad = first_bad(trace)
    if recorder.snapshots.changed():
        trace.notes.append(CHANGED)
    if before is not None:
        trace.agreement, trace.difference = before.compare(trace, recorder)
    return trace


_ONE_AT_A_TIME = threading.RLock()
"""Captures of several threads take turns: modules are shared, and each capture hooks into their calls."""
CHANGED = (
    f"a tensor of more than {COPIED:,} elements was changed in place after it was recorded: such tensors are not copied, "
    "so its earlier values are shown as they are now"
)


def _unwrapped(function: Any, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
    """What is really called: the function of a partial, the `__call__` of an object."""
    while isinstance(function, functools.partial):
        function, args, kwargs = function.func, (*function.args, *args), {**function.keywords, **kwargs}
    if isinstance(function, (types.FunctionType, types.MethodType, torch.nn.Module, type)):
        return function, args, kwargs
    own = vars(type(function)).get("__call__")
    return (types.MethodType(own, function) if isinstance(own, types.FunctionType) else function), args, kwargs


def _start(recorder: Recorder, function: Any, args: Any, kwargs: Any) -> Any:
    if isinstance(function, torch.nn.Module):
        return function(*args, **kwargs)
    return recorder.run(function, args, kwargs, "call", getattr(function, "__name__", type(function).__name__))


@contextlib.contextmanager
def reporting_modules(recorder: Recorder, root: Any) -> Iterator[None]:
    """While this is open, calls of modules in this thread become steps named by their path. Nothing stays patched."""
    original = torch.nn.Module.__call__
    thread = threading.get_ident()
    paths = {id(m): name for name, m in root.named_modules()} if isinstance(root, torch.nn.Module) else {}

    def reporting(module: Any, *args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() != thread or recorder.muted:
            return original(module, *args, **kwargs)
        return _module_call(recorder, original, module, paths, args, kwargs)

    torch.nn.Module.__call__ = reporting  # type: ignore[method-assign]
    try:
        with reporting_optimizers(recorder, thread):
            yield
    finally:
        torch.nn.Module.__call__ = original  # type: ignore[method-assign]


@contextlib.contextmanager
def reporting_optimizers(recorder: Recorder, thread: int) -> Iterator[None]:
    """While this is open, `optimizer.step()` in this thread adds the optimizer's own equations."""
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    from workings.trace.updates import snapshots, update_steps

    before: dict[int, Any] = {}

    def pre(optimizer: Any, args: Any, kwargs: Any) -> None:
        if threading.get_ident() == thread and not recorder.muted:
            before[id(optimizer)] = snapshots(optimizer, recorder.named(optimizer))

    def post(optimizer: Any, args: Any, kwargs: Any) -> None:
        found = before.pop(id(optimizer), None)
        if found is not None:
            recorder.stack[-1].children += update_steps(optimizer, found, snapshots(optimizer, recorder.named(optimizer)))

    hooks = register_optimizer_step_pre_hook(pre), register_optimizer_step_post_hook(post)
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _module_call(
    recorder: Recorder, original: Callable[..., Any], module: Any, paths: dict[int, str], args: Any, kwargs: Any
) -> Any:
    if id(module) not in recorder.known:
        _get_to_know(recorder, module, paths)
    name = paths.get(id(module), type(module).__name__)
    title = type(module).__name__
    code = getattr(type(module).forward, "__code__", None)
    needed = 1 if len(recorder.stack) == 1 else 3 if code is None or is_library(code) else 2
    if recorder.names and (code is None or is_library(code)) and len(recorder.stack) > 1:
        return original(module, *args, **kwargs)
    if code is None or recorder.depth < needed:
        if recorder.depth >= 2 or len(recorder.stack) == 1:
            return _leaf_module(recorder, original, module, name, title, args, kwargs)
        return original(module, *args, **kwargs)
    if recorder.depth >= 4 and _is_written_out(module):
        return _leaf_module(recorder, original, module, name, title, args, kwargs)
    return _opened_module(recorder, original, module, name, title, args, kwargs)


def _opened_module(recorder: Recorder, original: Any, module: Any, name: str, title: str, args: Any, kwargs: Any) -> Any:
    """A module whose forward reports, for this call and this thread; then it has its own forward again."""
    forward, thread = module.forward, threading.get_ident()
    own = {"forward": module.__dict__["forward"]} if "forward" in module.__dict__ else {}

    def reporting(*a: Any, **k: Any) -> Any:
        mine = threading.get_ident() == thread
        return recorder.run(forward, a, k, "module", name, title) if mine else forward(*a, **k)

    module.__dict__["forward"] = reporting
    try:
        return original(module, *args, **kwargs)
    except Exception:
        recorder.failed = recorder.failed or (module, args, kwargs)
        raise
    finally:
        module.__dict__.pop("forward", None)
        module.__dict__.update(own)


def _get_to_know(recorder: Recorder, module: Any, paths: dict[int, str]) -> None:
    """The names of a module's parts, once for each module that is not a part of one already known."""
    if not paths:
        paths.update({id(m): name for name, m in module.named_modules()})
    recorder.known.update(map(id, module.modules()))
    for name, parameter in module.named_parameters():
        recorder.parameters.setdefault(name, parameter)
    recorder.buffers.update({id(b): (b, b._version) for b in module.buffers()})


def _is_written_out(module: Any) -> bool:
    from workings.trace.expand import entry_of

    return entry_of(module)[0] is not None


def _leaf_module(recorder: Recorder, original: Any, module: Any, name: str, title: str, args: Any, kwargs: Any) -> Any:
    """A module that is not opened: one step with its inputs and its result."""
    step = Step("module", name, title)
    step.operands = {
        f"input {i + 1}" if i else "x": recorder.snapshot(a) for i, a in enumerate(args) if isinstance(a, torch.Tensor)
    }
    recorder.stack[-1].children.append(step)
    recorder.muted += 1
    try:
        step.live = original(module, *args, **kwargs)
    except Exception:
        recorder.failed = recorder.failed or (module, args, kwargs)
        raise
    finally:
        recorder.muted -= 1
    step.result = recorder.snapshot(step.live)
    if recorder.depth >= 4:
        _expand_module(recorder, step, module, args, kwargs)
    return step.live


def _expand_module(recorder: Recorder, step: Step, module: Any, args: Any, kwargs: Any) -> None:
    from workings.trace.expand import entry_of
    from workings.trace.fused import record_expansion

    if entry_of(module)[0] is not None:
        recorder.stack.append(step)
        try:
            record_expansion(recorder, module, args, kwargs, step.live)
        finally:
            recorder.stack.pop()


def _mark_failure(recorder: Recorder, error: BaseException) -> None:
    """The statement the code failed in becomes an error step."""
    step = recorder.failing or recorder.root
    step.note = f"{type(error).__name__}: {error}"
    if step.kind in STATEMENTS:
        step.kind = "error"


_NAMED = frozenset(("assign", "input", "gradient", "update", "error"))


def address(parent: Step, prefix: str = "") -> None:
    """Addresses such as `S`, `blocks.1.attn.S` or `turn 2.h`: the modules, calls and turns a step stands in, then its name.

    The statements of the function that was shown have no prefix; a name that is assigned again gets a number, `h#2`.
    """
    seen: dict[str, int] = {}
    for child in parent.children:
        _address_one(parent, child, prefix, seen)


def _address_one(parent: Step, child: Step, prefix: str, seen: dict[str, int]) -> None:
    inner = prefix
    if child.kind in _NAMED and child.name:
        count = seen[child.name] = seen.get(child.name, 0) + 1
        child.address = _joined(prefix, child.name) + (f"#{count}" if count > 1 else "")
    elif child.kind == "module":
        child.address = inner = child.name
    elif child.kind == "call":
        child.address = _joined(prefix, child.name)
        inner = "" if parent.kind == "root" else child.address
    elif child.kind == "turn":
        child.address = inner = _joined(prefix, f"turn {child.name}")
    if child.kind in ("loop", "branch"):
        for turn in child.children:
            _address_one(child, turn, prefix, seen)
        return
    address(child, inner)


def _joined(*parts: str) -> str:
    return ".".join(part for part in parts if part)


def first_bad(trace: Trace) -> Step | None:
    """The first step whose result has a NaN or an infinity that its operands had not."""
    for step in trace.steps():
        if step.kind in ("assign", "return", "module") and _bad(step.result) and not any(map(_bad, step.operands.values())):
            return step
    return None


def _bad(value: Any) -> bool:
    tensors = [t for t in tree_flatten(value)[0] if isinstance(t, torch.Tensor) and t.is_floating_point()]
    return any(not bool(t.sum().isfinite()) and not bool(t.isfinite().all()) for t in tensors)


class _State:
    """What a plain run needs to start from where the captured run started."""

    def __init__(self, function: Any, args: Any, kwargs: Any) -> None:
        self.function = function
        self.args, self.kwargs = tree_map(_own_copy, (args, kwargs))
        self.random = torch.get_rng_state()
        self.others = random.getstate(), np.random.get_state()
        owner = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
        self.module = owner if isinstance(owner, torch.nn.Module) else None
        self.buffers = {n: b.clone() for n, b in self.module.named_buffers()} if self.module is not None else {}
        self.versions = {n: p._version for n, p in self.module.named_parameters()} if self.module is not None else {}

    def compare(self, trace: Trace, recorder: Recorder) -> tuple[str, float | None]:
        effect = self._effect(recorder)
        if effect:
            return f"not compared with a plain run, which would repeat an effect: {effect}", None
        if self.module is not None and any(p._version != self.versions[n] for n, p in self.module.named_parameters()):
            return "not compared with a plain run: the code changes its parameters", None
        after = (
            torch.get_rng_state(),
            {n: b.clone() for n, b in self.module.named_buffers()} if self.module is not None else {},
        )
        self._restore(self.random, self.buffers)
        now = random.getstate(), np.random.get_state()
        random.setstate(self.others[0])
        np.random.set_state(self.others[1])
        calls = Calls()
        try:
            with calls if trace.error is not None else contextlib.nullcontext():
                plain = self.function(*self.args, **self.kwargs)
        except Exception as error:
            _explain_failure(trace, recorder, calls)
            same = type(error) is type(trace.error) and str(error) == str(trace.error)
            return ("fails as the plain run does" if same else f"the plain run fails differently: {error}"), None
        finally:
            self._restore(*after)
            random.setstate(now[0])
            np.random.set_state(now[1])
        if trace.error is not None:
            return "the plain run does not fail", None
        return _agreement(trace.result, plain)

    def _effect(self, recorder: Recorder) -> str:
        """What a second run would do again, outside what is put back here."""
        if recorder.effects:
            return recorder.effects[0]
        if any(hasattr(a, "__next__") for a in tree_flatten((self.args, self.kwargs))[0]):
            return "an argument is an iterator, which is used up"
        mine = {id(b) for b in self.module.buffers()} if self.module is not None else set()
        for buffer, version in recorder.buffers.values():
            if buffer._version != version and id(buffer) not in mine:
                return "a module it calls changes its buffers"
        return ""

    def _restore(self, state: torch.Tensor, buffers: dict[str, torch.Tensor]) -> None:
        torch.set_rng_state(state)
        with torch.no_grad():
            for name, buffer in self.module.named_buffers() if self.module is not None else ():
                buffer.copy_(buffers[name])


def _explain_failure(trace: Trace, recorder: Recorder, calls: Calls) -> None:
    """What the failing operation needed, what came and the fix to try, where shapes are at fault."""
    if trace.error is None:
        return
    found = None
    if recorder.failed is not None:
        module, args, kwargs = recorder.failed
        before = (
            calls.before_flattening(args[0].shape[-1])
            if args and isinstance(args[0], torch.Tensor) and args[0].dim()
            else None
        )
        found = explain(trace.error, module, args, kwargs, before)
    if found is None and calls.failed is not None:
        found = explain(trace.error, *calls.failed)
    if found is not None:
        step = next((s for s in trace.steps() if s.kind == "error"), trace.root)
        step.note = f"{found}\n{step.note}" if step.note else str(found)


def _own_copy(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or isinstance(value, torch.nn.Parameter):
        return value
    copy = value.detach().clone()
    return copy.requires_grad_(value.requires_grad)


def _agreement(found: Any, plain: Any) -> tuple[str, float | None]:
    ours = [t for t in tree_flatten(found)[0] if isinstance(t, torch.Tensor)]
    theirs = [t for t in tree_flatten(plain)[0] if isinstance(t, torch.Tensor)]
    if [t.shape for t in ours] != [t.shape for t in theirs]:
        return "differs from the plain run: other shapes", None
    largest = max([_distance(a, b) for a, b in zip(ours, theirs, strict=True)], default=0.0)
    if largest == 0:
        return "agrees with the plain run (largest difference 0)", 0.0
    return f"differs from the plain run by {largest:.3g}", largest


def _distance(a: torch.Tensor, b: torch.Tensor) -> float:
    if not a.numel():
        return 0.0
    if hasattr(a, "elements") and hasattr(b, "elements"):
        if all(x is y for x, y in zip(a.elements(), b.elements(), strict=True)):
            return 0.0
        a, b = a.detach().float64(), b.detach().float64()  # type: ignore[attr-defined]
    gap = (a.detach().double() - b.detach().double()).abs()
    same = (a == b) | (a.isnan() & b.isnan())
    return float(torch.where(same, torch.zeros_like(gap), gap).max())

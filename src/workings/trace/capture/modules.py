"""Calls of modules and steps of optimizers report to a recorder, while a capture is open and in its thread only."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from threading import get_ident
from typing import Any

import torch
from torch.nn.modules import module as modules

from workings.trace.capture.recorder import Recorder
from workings.trace.capture.substitute import copy_function, substitute_method
from workings.trace.capture.training import record_training
from workings.trace.code.decorated import inmost, with_inmost
from workings.trace.code.functions import call_name, is_library
from workings.trace.code.rewrite import Rewritten, rewrite
from workings.trace.step import Step


@contextlib.contextmanager
def record_modules(recorder: Recorder, root: Any, watch: bool = True) -> Iterator[None]:
    """While this is open, calls of modules in this thread become steps named by their path. Nothing stays patched.

    `watch` also remembers what the modules hold, to be put back for a plain run. `_call_impl` is what `Module.__call__`
    calls.
    """
    # A global hook of PyTorch's would see the calls too, but it takes the short way through `_call_impl` from every module,
    # in every thread.
    original = copy_function(torch.nn.Module._call_impl)
    thread, names, stack = get_ident(), recorder.names, recorder.stack
    parts: dict[type, frozenset[str] | None] = {}
    kinds: dict[type, _Kind] = {}
    passed = set[type]()  # whose modules run as they are
    root = root if isinstance(root, torch.nn.Module) else getattr(root, "__self__", None)
    if isinstance(root, torch.nn.Module):
        _register(recorder, root, "", watch)

    def reporting(module: Any, *args: Any, **kwargs: Any) -> Any:
        kind = type(module)
        if recorder.muted or get_ident() != thread:
            return original(module, *args, **kwargs)
        known = kinds.get(kind) or kinds.setdefault(kind, _get_kind(recorder, kind))
        if recorder.closed and known.closed:
            return original(module, *args, **kwargs)
        if names and len(stack) > 1:
            if kind not in parts:
                parts[kind] = _parts(getattr(kind, "forward", None), names)
                passed.update((kind,) if known.closed else ())
            only = parts[kind]  # the modules that its forward calls, if it does nothing else: they report by themselves
            if only is not None and "forward" not in module.__dict__ and (not only or only <= module._modules.keys()):
                return original(module, *args, **kwargs)
        # The text of the last call that rewritten code announced: another module's where a library calls this one.
        text = recorder.called[1] if recorder.called[0] is module else ""
        recorder.called = None, ""
        if id(module) not in recorder.paths:
            _register(recorder, module, text, watch)
        return _module_call(recorder, original, module, known, _name(recorder, module, text), args, kwargs)

    updates = contextlib.nullcontext() if names else _record_optimizers(recorder, thread)
    others = contextlib.nullcontext() if names else record_training(recorder, thread)
    with substitute_method(torch.nn.Module._call_impl, original, reporting, passed), updates, others, recorder.callbacks:
        yield


@contextlib.contextmanager
def _record_optimizers(recorder: Recorder, thread: int) -> Iterator[None]:
    """While this is open, `optimizer.step()` in this thread adds the optimizer's own equations."""
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    from workings.trace.optimizer.updates import snapshots, update_steps

    before: dict[int, Any] = {}

    def pre(optimizer: Any, args: Any, kwargs: Any) -> None:
        if get_ident() == thread and not recorder.muted:
            before[id(optimizer)] = snapshots(optimizer, recorder.parameter_names(optimizer))

    def post(optimizer: Any, args: Any, kwargs: Any) -> None:
        found = before.pop(id(optimizer), None)
        if found is not None:
            recorder.stack[-1].children += update_steps(
                optimizer, found, snapshots(optimizer, recorder.parameter_names(optimizer))
            )

    hooks = register_optimizer_step_pre_hook(pre), register_optimizer_step_post_hook(post)
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _name(recorder: Recorder, module: Any, text: str) -> str:
    """The path of a module: by the attribute through which it was called, else the first path it was found at."""
    path = recorder.frames[-1].path if recorder.frames else None
    if path is not None and text.startswith("self."):
        return ".".join(filter(None, (path, text.removeprefix("self."))))
    return recorder.paths[id(module)]


def _register(recorder: Recorder, module: Any, text: str, watch: bool) -> None:
    """The paths of a module's parts, once for each module that is not a part of one already known."""
    start = text.removeprefix("self.") or (type(module).__name__ if recorder.known else "")
    _find_paths(module, start, recorder.paths)
    recorder.known.append(module)
    if watch and recorder.saved_state is not None:
        recorder.saved_state.add(module)


def _find_paths(module: Any, path: str, paths: dict[int, str]) -> None:
    """As `named_modules`, without its generators inside generators: this runs at the start of every capture."""
    if id(module) not in paths:
        paths[id(module)] = path
        before = f"{path}." if path else ""
        for name, part in module._modules.items():
            if part is None:
                continue
            if part._modules:
                _find_paths(part, before + name, paths)
            else:
                paths.setdefault(id(part), before + name)


@dataclass(slots=True)
class _Kind:
    """A class of modules: its name, the code of its forward without a library's decorators, and whether that is a library's,
    or not written in Python."""

    title: str
    code: Any
    closed: bool


def _get_kind(recorder: Recorder, kind: Any) -> _Kind:
    if recorder.depth >= 2:
        recorder.callbacks.meet(kind)  # a library's forward may call methods that the author wrote
    code = _code_of(getattr(kind, "forward", None))  # TorchScript has none
    return _Kind(kind.__name__, code, code is None or is_library(code))


def _module_call(recorder: Recorder, original: Any, module: Any, known: _Kind, name: str, args: Any, kwargs: Any) -> Any:
    title = known.title
    if known.code is None and len(recorder.stack) == 1 and not recorder.names:
        return _whole_module(recorder, original, module, name, args, kwargs)
    needed = 1 if len(recorder.stack) == 1 else 3 if known.closed else 2  # what is shown itself is always open
    if recorder.depth < needed or known.code is None:
        if recorder.depth >= 2 or len(recorder.stack) == 1:
            return _leaf_module(recorder, original, module, name, title, args, kwargs)
        return original(module, *args, **kwargs)
    if recorder.depth >= 4 and _is_written_out(module):
        return _leaf_module(recorder, original, module, name, title, args, kwargs)
    return _open_module(recorder, original, module, known, name, args, kwargs)


@functools.lru_cache(1024)
def _code_of(forward: Any) -> Any:
    return getattr(inmost(forward), "__code__", None)


@functools.lru_cache(1024)
def _parts(forward: Any, names: frozenset[str]) -> frozenset[str] | None:
    """The attributes that a forward calls, where it does no more than that: it assigns none of these names and changes
    nothing, and what it calls reports by itself if it is a module. A library's forward does nothing of interest."""
    code = _code_of(forward)
    if code is None or is_library(code):
        return frozenset()
    found = rewrite(code, names)
    if not isinstance(found, Rewritten) or found.statements or found.writes:
        return None
    own = all(text.startswith("self.") for text in found.called)
    return frozenset(text.removeprefix("self.") for text in found.called) if own else None


def _open_module(recorder: Recorder, original: Any, module: Any, known: _Kind, name: str, args: Any, kwargs: Any) -> Any:
    """A module whose forward reports, for this call and this thread; then it has its own forward again."""
    forward, title, thread = module.forward, known.title, get_ident()
    if not _has_hooks(module):
        return _run(recorder, module, known, forward, name, args, kwargs)
    own = {"forward": module.__dict__["forward"]} if "forward" in module.__dict__ else {}

    def reporting(*a: Any, **k: Any) -> Any:
        mine = get_ident() == thread
        return _reporting_forward(recorder, forward, name, title)(*a, **k) if mine else forward(*a, **k)

    # PyTorch calls `self.forward` between its hooks: an attribute of the object hides the method of the class for this one
    # module, and the hooks run around it as ever.
    module.__dict__["forward"] = reporting
    try:
        with _named_hooks(recorder, module, name):
            return original(module, *args, **kwargs)
    except Exception:
        recorder.failed = recorder.failed or (module, args, kwargs)
        raise
    finally:
        module.__dict__.pop("forward", None)
        module.__dict__.update(own)


def _run(recorder: Recorder, module: Any, known: _Kind, forward: Any, name: str, args: Any, kwargs: Any) -> Any:
    try:
        if known.code is getattr(forward, "__code__", None):  # no decorators
            return recorder.run(forward, args, kwargs, "module", name, known.title)
        return _reporting_forward(recorder, forward, name, known.title)(*args, **kwargs)
    except Exception:
        recorder.failed = recorder.failed or (module, args, kwargs)
        raise


def _reporting_forward(recorder: Recorder, forward: Any, name: str, title: str) -> Any:
    """The forward, reporting: what a library's decorators do around it is done, and not shown."""

    def reporting(plain: Any) -> Any:
        return lambda *args, **kwargs: recorder.run(plain, args, kwargs, "module", name, title)

    return with_inmost(forward, reporting)


@contextlib.contextmanager
def _named_hooks(recorder: Recorder, module: Any, path: str) -> Iterator[None]:
    """The author's forward hooks of a module report, and their steps say what they are."""
    kinds = {"forward pre-hook": module._forward_pre_hooks, "forward hook": module._forward_hooks}
    titles = {call_name(hook): f"{kind} of {path}" for kind, hooks in kinds.items() for hook in hooks.values()}
    for hooks in kinds.values():
        recorder.callbacks.open_all(hooks.values())
    around = recorder.stack[-1].children
    before = len(around)
    yield
    for step in around[before:]:
        if step.kind == "call" and step.name in titles:
            step.source = titles[step.name]


def _has_hooks(module: Any) -> bool:
    """Whether calling the module does more than its forward, as PyTorch itself asks before it takes the short way."""
    own = module._backward_hooks or module._backward_pre_hooks or module._forward_hooks or module._forward_pre_hooks
    everyone = modules._global_backward_hooks or modules._global_backward_pre_hooks
    return bool(own or everyone or modules._global_forward_hooks or modules._global_forward_pre_hooks)


def _is_written_out(module: Any) -> bool:
    from workings.trace.definitions.expand import entry_of

    return entry_of(module)[0] is not None


def _leaf_module(recorder: Recorder, original: Any, module: Any, name: str, title: str, args: Any, kwargs: Any) -> Any:
    """A module that is not opened: one step with its inputs and its result."""
    step = Step("module", name, title)
    step.operands = {
        f"input {i + 1}" if i else "x": recorder.snapshot(a) for i, a in enumerate(args) if isinstance(a, torch.Tensor)
    }
    recorder.stack[-1].children.append(step)
    depth, closed = len(recorder.stack), recorder.closed
    recorder.stack.append(step)
    recorder.closed = True
    try:
        with _named_hooks(recorder, module, name) if _has_hooks(module) else contextlib.nullcontext():
            value = original(module, *args, **kwargs)
    except Exception:
        recorder.failed = recorder.failed or (module, args, kwargs)
        raise
    finally:
        recorder.closed = closed
        del recorder.stack[depth:]
    recorder.keep(step, value)
    if recorder.depth >= 4:
        _expand_module(recorder, step, module, args, kwargs)
    return value


def _whole_module(recorder: Recorder, original: Any, module: Any, name: str, args: Any, kwargs: Any) -> Any:
    """A module whose forward is not Python, as TorchScript's is not: its operations, or its call as a whole."""
    call: Any = functools.partial(original, module)
    call.__name__ = title = str(getattr(module, "original_name", type(module).__name__))
    return recorder.run(call, args, kwargs, "module", name, title)


def _expand_module(recorder: Recorder, step: Step, module: Any, args: Any, kwargs: Any) -> None:
    from workings.trace.capture.fused import record_expansion
    from workings.trace.definitions.expand import entry_of

    if entry_of(module)[0] is not None:
        recorder.stack.append(step)
        try:
            record_expansion(recorder, module, args, kwargs, step.live)
        finally:
            recorder.stack.pop()

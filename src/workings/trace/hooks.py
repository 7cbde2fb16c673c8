"""Calls of modules and steps of optimizers report to a recorder, while a capture is open and in its thread only."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from workings.trace.recorder import Recorder, is_library
from workings.trace.step import Step


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

"""Where a NaN or an infinity came from: the batch, a weight, or the first statement of the forward pass that made one."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from workings.errors import WorkingsError
from workings.train.loop.batches import tensors
from workings.train.task import Loss


class NotFinite(WorkingsError):
    """The loss or its gradient has a NaN or an infinity: the step, the batch and the place that made it."""


def is_finite(t: Tensor) -> bool:
    """Whether every element is a number: a sum is finite only if all its terms are.

    >>> is_finite(torch.tensor([1e38, 1e38, 3e38]))
    True
    """
    whole = not (t.is_floating_point() or t.is_complex())
    return whole or bool(t.sum().isfinite()) or bool(t.isfinite().all())


def failure(what: str, batch: Any, bad: Path | None, why: str, left: str, advice: str) -> NotFinite:
    """The error that says where a NaN or an infinity came from, and what is kept; the batch goes into the file `bad`."""
    kept = _save_batch(batch, bad) if bad is not None else ""
    return NotFinite(" ".join(filter(None, [what, f"Its batch: {description(batch)}{kept}.", why, left, advice])))


def advice(before: Collection[str]) -> str:
    """What may help; `before` names the weights that had a NaN or an infinity before the first update."""
    if before:
        return "Fix the model's initial weights."
    return "Try a lower rate, a longer warmup or clip, or fix the data."


def cause(loss: Loss, model: nn.Module, batch: Any, before: Collection[str] = ()) -> str:
    """One sentence: where the first NaN or infinity is. `before` names the weights that had one before the first update."""
    for i, t in enumerate(tensors(batch)):
        if not is_finite(t):
            return f"The batch itself has one, in its tensor number {i + 1}."
    for name, p in model.named_parameters():
        if not is_finite(p.detach()):
            early, late = "had one before the first update", "has one already: the update before was too large"
            return f"The weight {name} {early if name in before else late}."
    found = _by_tracing(loss, model, batch) or by_modules(loss, model, batch)
    return found or "Its source was not found: it did not occur again."


def _by_tracing(loss: Loss, model: nn.Module, batch: Any) -> str:
    """The innermost statement that made it, and the module it stands in, by the tracer."""
    from workings.trace.capture.capture import capture

    with torch.no_grad():
        trace = capture(loss, model, batch, replay=False)
    if (step := trace.first_bad) is None:
        return ""
    modules = [s for s in trace.root.walk() if s.kind == "module" and any(inner is step for inner in s.walk())]
    path = modules[-1].name.partition(".")[2] if modules else ""  # the tracer's begins with the loss's word for the model
    module = _module_name(model, dict(model.named_modules()).get(path)) if modules else ""
    place = f"The first is made in {module}" if module else "The first is made by the loss"
    return f"{place}, `{step.source}`, {step.where}." if step.where else f"{place}."


def _module_name(model: nn.Module, found: Any) -> str:
    """The path and the class of a part of the model."""
    name = next((name for name, module in model.named_modules() if module is found), "")
    return f"{name or 'the model'} ({type(found).__name__})" if found is not None else ""


def by_modules(loss: Loss, model: nn.Module, batch: Any) -> str:
    """The first module whose output has one though its inputs have none: for code that the tracer cannot read."""
    found: list[str] = []

    def look(module: nn.Module, given: Any, out: Any) -> None:
        if not found and not all(map(is_finite, tensors(out))) and all(map(is_finite, tensors(given))):
            found.append(f"The first is made in {_module_name(model, module)}.")

    hooks = [module.register_forward_hook(look) for module in model.modules()]
    try:
        with torch.no_grad():
            loss(model, batch)
    finally:
        for hook in hooks:
            hook.remove()
    return found[0] if found else ""


def description(batch: Any) -> str:
    """The tensors of a batch in a few words.

    >>> description((torch.zeros(2, 3), torch.tensor([4, 9])))
    'float32 [2, 3] from 0 to 0, int64 [2] from 4 to 9'
    """
    said = []
    for t in tensors(batch):
        span = f" from {t.min().item():g} to {t.max().item():g}" if t.numel() and not t.is_complex() else ""
        said.append(f"{str(t.dtype).removeprefix('torch.')} {[*t.shape]}{span}")
    return ", ".join(said) or type(batch).__name__


def _save_batch(batch: Any, path: Path) -> str:
    """Write the tensors of a batch for a closer look; where that cannot be done, the message does without."""
    try:
        save_file({str(i): t.detach().contiguous() for i, t in enumerate(tensors(batch))}, path)
    except (OSError, SafetensorError):
        return ""
    return f", kept in {path}"

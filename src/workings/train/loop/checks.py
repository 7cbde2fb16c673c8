"""What would go wrong later, said at once: in what is handed to training, and in what comes back from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from workings.errors import ShapeError, WorkingsError, kind_of
from workings.train.process.progress import Progress
from workings.train.settings import Training
from workings.train.task import Task


def check_arguments(model: Any, data: Any, settings: Any, reduction: Any) -> None:
    """The arguments of `fit` are what they are called."""
    if not isinstance(model, nn.Module):
        raise WorkingsError(f"The model is a torch.nn.Module; got {kind_of(model)}.")
    if not (callable(data) or isinstance(data, Iterable)):
        raise WorkingsError(
            f"The data is an iterable of batches, or a function from the step's number to its batch; got {kind_of(data)}."
        )
    if settings is not None and not isinstance(settings, Training):
        raise WorkingsError(f"settings is a Training, such as Training(steps=1000, rate=0.001); got {kind_of(settings)}.")
    if reduction not in ("mean", "sum"):
        raise WorkingsError(f"reduction is one of mean, sum; got {reduction!r}.")


def check_trainable(model: nn.Module, task: Task, splits: bool, shard: bool, progress: Progress) -> None:
    """The model and the task can be trained, and split if they are to be."""
    if not any(p.requires_grad for p in model.parameters()):
        raise WorkingsError("The model has no parameters to train: none of them requires a gradient.")
    for name, p in model.named_parameters():
        if is_lazy(p):
            raise WorkingsError(f"{name} has no shape before the model is first used: call it on a batch before training.")
        if shard and not p.is_contiguous():
            raise WorkingsError(f"shard cuts parameters row by row, but {name} is laid out otherwise: make it contiguous.")
    if splits and task.whole:
        raise WorkingsError(
            "This loss compares the examples of a batch with each other, so a batch cannot be split: "
            "train in one process, with accumulate 1."
        )
    if splits and any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in model.modules()):
        progress.warn(
            "batch normalisation sees each part of a split batch alone: the gradient is not that of the whole batch."
        )


def check_loss(L: Any) -> None:
    """A loss is one number that depends on the parameters."""
    if not isinstance(L, Tensor):
        raise WorkingsError(f"A loss is a tensor of one number; got {kind_of(L)}.")
    if L.numel() != 1:
        raise ShapeError(f"A loss is one number; got a tensor of shape {[*L.shape]}. Take its mean.")
    if not L.requires_grad:
        raise WorkingsError("The loss does not depend on the model's parameters: it has no gradient.")
    if L.is_complex():
        raise WorkingsError("A loss is a real number; got a complex one. Take the square of its size.")


def check_gradients(model: nn.Module) -> None:
    """Gradients have every element."""
    for name, p in model.named_parameters():
        if p.grad is not None and p.grad.layout != p.layout:
            raise WorkingsError(
                f"The gradient of {name} is sparse, which the rules of update do not take: use sparse=False."
            )


def as_figures(found: Any) -> dict[str, float]:
    """What an evaluation gives: numbers by their names."""
    if not isinstance(found, Mapping):
        raise WorkingsError(f'evaluate gives figures by name, such as {{"loss": 0.5}}; got {kind_of(found)}.')
    try:
        return {str(name): float(value) for name, value in found.items()}
    except (TypeError, ValueError, RuntimeError):
        shown = ", ".join(f"{name}: {type(value).__name__}" for name, value in found.items())
        raise WorkingsError(f"evaluate gives a number for each name; got {shown}.") from None


def as_text(found: Any) -> str:
    """What a sample is."""
    if not isinstance(found, str):
        raise WorkingsError(f"sample gives text to read; got {kind_of(found)}.")
    return found

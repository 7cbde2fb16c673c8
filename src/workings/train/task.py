"""What is trained. `fit` makes a task of its arguments, a recipe of its settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from torch import Tensor, nn

Batches: TypeAlias = Callable[[int], Any]
"""The batch of a step: the same step gives the same batch, so that a resumed run sees what an uninterrupted one would."""
Loss: TypeAlias = "Callable[[nn.Module, Any], Tensor]"


@dataclass
class Task:
    """A model, its batches, its loss and how it is judged."""

    model: nn.Module
    batches: Batches
    loss: Loss
    evaluate: Callable[[nn.Module], dict[str, float]] | None = None
    """The model's figures on data it does not learn from."""
    best: str = "loss"
    """The figure by which the best checkpoint is chosen."""
    highest: bool = False
    """Whether a higher figure is better."""
    sample: Callable[[nn.Module], str] | None = None
    """Something to read while it trains."""
    files: dict[str, str] = field(default_factory=dict)
    """What is needed beside the weights to use the model: its vocabulary, its classes. Written into the run."""
    hashes: dict[str, str] = field(default_factory=dict)
    """The data by name → sha256."""
    unit: str = "examples"
    """What `count` counts, and speed is given in."""
    count: Callable[[Any], float] | None = None
    """How many terms the loss of a batch is the mean of (its tokens, say); without it, the examples. Parts of a batch weigh
    as much as they count."""
    reduction: str = "mean"
    """Whether the loss is the `mean` over these terms or their `sum`, whose parts are added."""
    part: Callable[[Any, int, int], Any] | None = None
    """Examples `start` to `stop` of a batch, where cutting the first axis of its tensors is not it."""
    whole: bool = False
    """Whether the loss compares the examples of a batch with each other, so that a batch cannot be split."""

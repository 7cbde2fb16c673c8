"""The optimizer and the learning rate of each step."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi
from typing import Any

import torch
from torch import nn

from workings.train.settings import Training


def build_optimizers(model: nn.Module, settings: Training) -> list[torch.optim.Optimizer]:
    """The rules that update a model: one, or Muon for matrices and AdamW for the rest. Weight decay is for matrices only."""
    matrices = [p for p in model.parameters() if p.requires_grad and p.dim() >= 2]
    others = [p for p in model.parameters() if p.requires_grad and p.dim() < 2]
    decays = ((matrices, settings.decay), (others, 0.0))
    groups: list[dict[str, Any]] = [{"params": some, "weight_decay": decay} for some, decay in decays if some]
    betas = (settings.beta1, settings.beta2)
    if settings.optimizer == "sgd":
        return [torch.optim.SGD(groups, lr=settings.rate, momentum=settings.beta1)]
    if settings.optimizer == "adamw":
        return [torch.optim.AdamW(groups, lr=settings.rate, betas=betas, fused=_is_fusible(matrices + others))]
    hidden = [
        p for name, p in model.named_parameters() if p.requires_grad and p.dim() == 2 and not _is_embedding_or_head(name)
    ]
    rest = [p for p in (*matrices, *others) if all(p is not h for h in hidden)]
    rules: list[torch.optim.Optimizer] = []
    if hidden:
        muon = torch.optim.Muon(hidden, lr=settings.rate, momentum=settings.beta1, weight_decay=settings.decay)
        rules.append(muon)
    if rest:
        rules.append(torch.optim.AdamW(rest, lr=settings.rate, betas=betas, weight_decay=0.0, fused=_is_fusible(rest)))
    return rules


def _is_fusible(parameters: list[nn.Parameter]) -> bool:
    """Whether the fused kernel may update them: it goes through memory from one end to the other, without gaps, and knows
    real numbers only. A parameter that is every second column of a matrix, say, it would write past.

    >>> _is_fusible([nn.Parameter(torch.zeros(4, 6).T)]), _is_fusible([nn.Parameter(torch.zeros(4, 6)[:, ::2])])
    (True, False)
    """
    return all(p.is_floating_point() and torch.empty_like(p, device="meta").stride() == p.stride() for p in parameters)


def _is_embedding_or_head(name: str) -> bool:
    """Whether a parameter is an embedding or a head, which Muon leaves to AdamW."""
    return any(word in name for word in ("embed", "token", "position", "head"))


def rate_share(settings: Training, step: int) -> float:
    """The share of the highest learning rate at a step (the first is 0).

    >>> half = Training(steps=10, schedule="linear")
    >>> [round(rate_share(half, step), 2) for step in (0, 5, 9)]
    [1.0, 0.5, 0.1]
    """
    if step < settings.warmup:
        return (step + 1) / settings.warmup
    done = (step - settings.warmup) / max(1, settings.steps - settings.warmup)
    return settings.floor + (1 - settings.floor) * _LEFT[settings.schedule](done)


_LEFT: dict[str, Callable[[float], float]] = {
    "constant": lambda done: 1.0,
    "linear": lambda done: 1 - done,
    "cosine": lambda done: (1 + cos(pi * done)) / 2,
}
"""The share of the learning rate left when this share of the steps is done."""

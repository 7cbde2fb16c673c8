"""Connectionist temporal classification (Graves et al. 2006): how likely a labelling is, over all its alignments.

    l' = ␣ l₁ ␣ l₂ … ␣                                                the labels, blanks between them
    α₁(1) = y₁(␣),  α₁(2) = y₁(l₁)
    αₜ(s) = (αₜ₋₁(s) + αₜ₋₁(s−1) + [l'ₛ ∉ {␣, l'ₛ₋₂}] αₜ₋₁(s−2)) yₜ(l'ₛ)
    L = −log(α_T(S) + α_T(S−1))

Axes: t time, n sequence, c class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import pad

from workings.exact.dispatch.operation import rule
from workings.exact.dispatch.vjp import vjp
from workings.exact.ops.linalg import exact_tensor


def _negative_log_likelihood(y: Any, labels: Sequence[int], blank: int) -> Any:
    """L of one sequence, from its probabilities y[t, c]."""
    extended = [blank, *[x for label in labels for x in (label, blank)]]
    S = len(extended)
    skips = torch.tensor([s > 1 and extended[s] not in (blank, extended[s - 2]) for s in range(S)])
    if not len(y):
        return y.new_full((), 0.0 if S == 1 else math.inf)
    alpha = pad(y[0, extended[:2]], (0, max(S - 2, 0)))
    for row in y[1:]:
        one, two = (pad(alpha, (k, 0))[:S] for k in (1, 2))
        alpha = (alpha + one + torch.where(skips, two, torch.zeros_like(two))) * row[extended]
    return -alpha[-2:].sum().log()


def _labellings(targets: torch.Tensor, lengths: Sequence[int]) -> list[list[int]]:
    """The labels of each sequence: a row of `targets`, or a piece of them where they are joined into one."""
    if targets.dim() == 1:
        return [piece.tolist() for piece in targets.split([int(n) for n in lengths])]
    return [row[:n] for row, n in zip(targets.tolist(), lengths, strict=True)]


@rule("_ctc_loss")
def ctc_loss(
    log_y: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, zero_infinity: bool = False
) -> Any:
    """L of each sequence; the second result (log α) is only for PyTorch's own backward."""
    y = exact_tensor(log_y).exp()
    labellings = _labellings(targets, [int(n) for n in target_lengths])
    pieces = zip(y.unbind(1), labellings, input_lengths, strict=True)
    losses = [_negative_log_likelihood(piece[: int(n)], labels, blank) for piece, labels, n in pieces]
    return torch.stack(losses), torch.zeros(0, dtype=torch.float64)


@rule("_ctc_loss_backward")
def ctc_loss_backward(
    g: Any,
    log_y: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    loss: Any,
    log_alpha: Any,
    blank: int,
    zero_infinity: bool = False,
) -> Any:
    """∂L/∂log y + y, as PyTorch has it: the gradient by the logits behind log y, whose rows sum to 0."""
    log_y = exact_tensor(log_y)
    slope = vjp(lambda x: ctc_loss(x, targets, input_lengths, target_lengths, blank)[0], [log_y], g)[0]
    impossible = (loss == math.inf)[:, None]  # too few steps for the labels: log 0 has no slope
    slope = (slope + g[:, None] * log_y.exp()).masked_fill(impossible, 0.0 if zero_infinity else math.nan)
    lengths = torch.tensor([int(n) for n in input_lengths])
    running = torch.arange(len(log_y))[:, None] < lengths  # t n
    return slope.masked_fill(~running[:, :, None], 0.0)

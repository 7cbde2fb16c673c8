"""Recurrence: the checks and kernels of the cells and loops, whose equations stand in `workings.equations.recurrent`.

Axes: b batch, t time, i width of the input, h width of the state. Sequences are `b t i`: the tokens are the rows.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch import Tensor

from workings.equations import recurrent as equations
from workings.equations.recurrent import Function, Input, State, States, Weights
from workings.errors import ShapeError
from workings.fused import fused, with_check
from workings.nn.fits import check_shapes

KERNELS: dict[Any, Any] = {torch.tanh: torch.rnn_tanh, torch.relu: torch.rnn_relu}


def _check_weights(weights: Weights, gates: int = 1) -> None:
    """Refuse weights that do not lead from an input and a state to the gates."""
    W_x, W_h, b_x, b_h = weights
    if len(W_h) != gates * W_h.shape[-1]:
        raise ShapeError(
            f"W_x x + W_h h needs {gates}·h rows in W_x and in W_h, for a state of width h: "
            f"W_x is {[*W_x.shape]}, W_h is {[*W_h.shape]}."
        )
    if (b_x is None) != (b_h is None):
        raise ShapeError("W_x x + b_x + W_h h + b_h has both biases or none, but only one was given.")


def check_rnn_cell(x: Tensor, h: Tensor, weights: Weights, g: Function = torch.tanh) -> None:
    check_shapes(equations.rnn_cell, x, h, weights)
    _check_weights(weights)


def check_rnn(X: Tensor, h: Tensor, weights: Weights, g: Function = torch.tanh) -> None:
    check_shapes(equations.rnn, X, h, weights)
    _check_weights(weights)


def check_lstm(X: Tensor, h: Tensor, c: Tensor, weights: Weights) -> None:
    check_shapes(equations.lstm, X, h, c, weights)
    _check_weights(weights, 4)


def check_gru(X: Tensor, h: Tensor, weights: Weights) -> None:
    check_shapes(equations.gru, X, h, weights)
    _check_weights(weights, 3)


def rnn_kernel(X: Input, h: State, weights: Weights, g: Function = torch.tanh) -> tuple[States, State]:
    """One fused call where PyTorch has the activation."""
    if g not in KERNELS:
        return equations.rnn(X, h, weights, g)
    H, h = run(KERNELS[g], X, one_batch(h), weights)
    return H, h.reshape(*X.shape[:-2], h.shape[-1])


def lstm_kernel(X: Input, h: State, c: State, weights: Weights) -> tuple[States, tuple[State, State]]:
    H, h, c = run(torch.lstm, X, (one_batch(h), one_batch(c)), weights)
    return H, (h.reshape(*X.shape[:-2], h.shape[-1]), c.reshape(*X.shape[:-2], c.shape[-1]))


def gru_kernel(X: Input, h: State, weights: Weights) -> tuple[States, State]:
    H, h = run(torch.gru, X, one_batch(h), weights)
    return H, h.reshape(*X.shape[:-2], h.shape[-1])


rnn_cell = with_check(check_rnn_cell, equations.rnn_cell)
rnn = fused(rnn_kernel, check_rnn)(equations.rnn)
lstm = fused(lstm_kernel, check_lstm)(equations.lstm)
gru = fused(gru_kernel, check_gru)(equations.gru)


def run(kernel: Any, X: Tensor, state: Any, weights: Weights) -> Any:
    """PyTorch's kernel for one layer, one direction; the states come back on the axes of `X`."""
    given = [w for w in weights if w is not None]
    batch = X.reshape(prod(X.shape[:-2]), *X.shape[-2:])
    H, *last = kernel(batch, state, given, len(given) == 4, 1, 0.0, torch.is_grad_enabled(), False, True)
    return H.reshape(*X.shape[:-1], H.shape[-1]), *last


def one_batch(h: Tensor) -> Tensor:
    """The state with the axis of layers and one axis of batch, as PyTorch's kernels want it."""
    return h.reshape(1, prod(h.shape[:-1]), h.shape[-1])

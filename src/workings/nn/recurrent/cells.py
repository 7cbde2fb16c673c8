r"""Recurrence: a state h carried along the sequence.

    h = g(W_x x + b_x + W_h h + b_h)                                    RNN (Elman 1990), g = tanh unless said

    i = σ(…)   f = σ(…)   g = tanh(…)   o = σ(…)                        LSTM (Hochreiter & Schmidhuber 1997)
    c = f ⊙ c + i ⊙ g            h = o ⊙ tanh(c)

    r = σ(x_r + h_r)             z = σ(x_z + h_z)                       GRU (Cho et al. 2014)
    n = tanh(x_n + r ⊙ h_n)      h = (1 − z) ⊙ n + z ⊙ h

Each … is its own W_x x + b_x + W_h h + b_h; x_r is W_x x + b_x of that gate, h_r is W_h h + b_h. The gates' rows stand one
below the other in W_x and W_h, in PyTorch's order: i f g o, and r z n.

Axes: b batch, t time, i width of the input, h width of the state. Sequences are `b t i`: the tokens are the rows.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from workings.equations.recurrent import Weights, gru_cell, lstm_cell
from workings.errors import ShapeError
from workings.fused import fused
from workings.nn.activations import Function

State = Float[Tensor, "*b h"]
States = Float[Tensor, "*b t h"]
Input = Float[Tensor, "*b t i"]


KERNELS: dict[Any, Any] = {torch.tanh: torch.rnn_tanh, torch.relu: torch.rnn_relu}


def rnn_cell(x: Float[Tensor, "*b i"], h: State, weights: Weights, g: Function = torch.tanh) -> State:
    r"""The next state, with any activation g.

    $$h' = g(W_x x + b_x + W_h h + b_h)$$

    >>> W = torch.ones(1, 1)
    >>> rnn_cell(torch.tensor([2.0]), torch.tensor([3.0]), (W, W, None, None), torch.relu)
    tensor([5.])
    """
    check_cell(x, h, weights)
    W_x, W_h, b_x, b_h = weights
    a = F.linear(x, W_x, b_x) + F.linear(h, W_h, b_h)
    h = g(a)
    return h


def rnn_kernel(X: Input, h: State, weights: Weights, g: Function = torch.tanh) -> tuple[States, State]:
    """One fused call where PyTorch has the activation."""
    check_sequence(X, h, weights)
    kernel = KERNELS.get(g)
    if kernel is None:
        return rnn.__definition__(X, h, weights, g)  # type: ignore[attr-defined]
    H, h = run(kernel, X, one_batch(h), weights)
    return H, h.reshape(*X.shape[:-2], h.shape[-1])


@fused(rnn_kernel)
def rnn(X: Input, h: State, weights: Weights, g: Function = torch.tanh) -> tuple[States, State]:
    """All states along the sequence, and the last."""
    check_sequence(X, h, weights)
    H: list[Tensor] = []
    for x in X.unbind(-2):
        h = rnn_cell(x, h, weights, g)
        H = [*H, h]
    return torch.stack(H, dim=-2), h


def lstm_kernel(X: Input, h: State, c: State, weights: Weights) -> tuple[States, tuple[State, State]]:
    check_sequence(X, h, weights, 4)
    check_sequence(X, c, weights, 4)
    H, h, c = run(torch.lstm, X, (one_batch(h), one_batch(c)), weights)
    return H, (h.reshape(*X.shape[:-2], h.shape[-1]), c.reshape(*X.shape[:-2], c.shape[-1]))


@fused(lstm_kernel)
def lstm(X: Input, h: State, c: State, weights: Weights) -> tuple[States, tuple[State, State]]:
    """All states h along the sequence, and the last h and c."""
    check_sequence(X, h, weights, 4)
    check_sequence(X, c, weights, 4)
    H: list[Tensor] = []
    for x in X.unbind(-2):
        h, c = lstm_cell(x, h, c, weights)
        H = [*H, h]
    return torch.stack(H, dim=-2), (h, c)


def gru_kernel(X: Input, h: State, weights: Weights) -> tuple[States, State]:
    check_sequence(X, h, weights, 3)
    H, h = run(torch.gru, X, one_batch(h), weights)
    return H, h.reshape(*X.shape[:-2], h.shape[-1])


@fused(gru_kernel)
def gru(X: Input, h: State, weights: Weights) -> tuple[States, State]:
    """All states along the sequence, and the last."""
    check_sequence(X, h, weights, 3)
    H: list[Tensor] = []
    for x in X.unbind(-2):
        h = gru_cell(x, h, weights)
        H = [*H, h]
    return torch.stack(H, dim=-2), h


def check_weights(weights: Weights, gates: int = 1) -> None:
    """Refuse weights that do not lead from an input and a state to the gates."""
    W_x, W_h, b_x, b_h = weights
    rows = W_h.shape[-1] * gates if W_h.dim() else 0
    if W_x.dim() != 2 or W_h.shape != (rows, rows // gates) or len(W_x) != rows:
        raise ShapeError(
            f"W_x x + W_h h needs {gates}·h rows in W_x and in W_h, for a state of width h: "
            f"W_x is {[*W_x.shape]}, W_h is {[*W_h.shape]}."
        )
    if (b_x is None) != (b_h is None):
        raise ShapeError("W_x x + b_x + W_h h + b_h has both biases or none, but only one was given.")
    for name, b in (("b_x", b_x), ("b_h", b_h)):
        if b is not None and b.shape != (rows,):
            raise ShapeError(f"{name} needs a number for each of the {rows} rows of W_x and W_h, but it is {[*b.shape]}.")


def check_cell(x: Tensor, h: Tensor, weights: Weights) -> None:
    """Refuse an input or a state that the weights do not take."""
    check_weights(weights)
    i, w = weights[0].shape[-1], weights[1].shape[-1]
    if x.shape[-1:] != (i,) or h.shape[-1:] != (w,) or x.shape[:-1] != h.shape[:-1]:
        raise ShapeError(
            f"W_x x + W_h h needs inputs of width {i} and a state of width {w} for each: x is {[*x.shape]}, "
            f"h is {[*h.shape]}."
        )


def check_sequence(X: Tensor, h: Tensor, weights: Weights, gates: int = 1) -> None:
    """Refuse a sequence without inputs, and inputs and states that the weights do not take."""
    check_weights(weights, gates)
    i, w = weights[0].shape[-1], weights[1].shape[-1]
    if X.dim() < 2 or X.shape[-1] != i:
        raise ShapeError(
            f"W_x x needs inputs of width {i}, one row for each time: X is {[*X.shape]}, "
            f"where [batch, time, {i}] or [time, {i}] was expected."
        )
    if not X.shape[-2]:
        raise ShapeError(f"A recurrent layer needs at least one input, but X is {[*X.shape]}: a sequence of 0 times.")
    if h.shape != (*X.shape[:-2], w):
        raise ShapeError(
            f"W_h h needs a state of width {w} for each sequence, {[*X.shape[:-2], w]}, but it is {[*h.shape]}."
        )


def run(kernel: Any, X: Tensor, state: Any, weights: Weights) -> Any:
    """PyTorch's kernel for one layer, one direction; the states come back on the axes of `X`."""
    given = [w for w in weights if w is not None]
    batch = X.reshape(prod(X.shape[:-2]), *X.shape[-2:])
    H, *last = kernel(batch, state, given, len(given) == 4, 1, 0.0, torch.is_grad_enabled(), False, True)
    return H.reshape(*X.shape[:-1], H.shape[-1]), *last


def one_batch(h: Tensor) -> Tensor:
    """The state with the axis of layers and one axis of batch, as PyTorch's kernels want it."""
    return h.reshape(1, prod(h.shape[:-1]), h.shape[-1])

r"""Recurrent cells and layers.

    h = g(W_x x + b_x + W_h h + b_h)                                    RNN (Elman 1990), g = tanh unless said

    i, f, o = σ(…);  g = tanh(…)                                        LSTM (Hochreiter & Schmidhuber 1997)
    c = f c + i g                    h = o tanh(c)

    r = σ(W_xr x + b_xr + W_hr h + b_hr)                                GRU (Cho et al. 2014)
    z = σ(W_xz x + b_xz + W_hz h + b_hz)
    n = tanh(W_xn x + b_xn + r (W_hn h + b_hn))
    h = (1 − z) n + z h

The gates' rows stand one below the other in W_x and W_h, in PyTorch's order: i f g o, and r z n.

Axes: b batch, t time, i width of the input, h width of the state, r rows of all gates.
Sequences are `b t i`: the tokens are the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from workings.fused import special_case_of

State = Float[Tensor, "*b h"]
States = Float[Tensor, "*b t h"]
Input = Float[Tensor, "*b t i"]
Function = Callable[[Tensor], Tensor]
Weights = tuple[
    Annotated[Float[Tensor, "r i"], "W_x"],
    Annotated[Float[Tensor, "r h"], "W_h"],
    Annotated[Float[Tensor, " r"] | None, "b_x"],
    Annotated[Float[Tensor, " r"] | None, "b_h"],
]


def rnn_cell(x: Float[Tensor, "*b i"], h: State, weights: Weights, g: Function = torch.tanh) -> State:
    r"""The next state, with any activation g.

    $$h' = g(W_x x + b_x + W_h h + b_h)$$

    >>> W = torch.ones(1, 1)
    >>> rnn_cell(torch.tensor([2.0]), torch.tensor([3.0]), (W, W, None, None), torch.relu)
    tensor([5.])
    """
    W_x, W_h, b_x, b_h = weights
    a = F.linear(x, W_x, b_x) + F.linear(h, W_h, b_h)
    h = torch.tanh(a) if g is torch.tanh else torch.relu(a) if g is torch.relu else g(a)
    return h


def lstm_cell(x: Float[Tensor, "*b i"], h: State, c: State, weights: Weights) -> tuple[State, State]:
    r"""One step of an LSTM: the gates i, f and o say what enters the cell, what stays in it and what leaves it.

    $$c' = f \odot c + i \odot g \qquad h' = o \odot \tanh(c')$$
    """
    W_x, W_h, b_x, b_h = weights
    a = F.linear(x, W_x, b_x) + F.linear(h, W_h, b_h)
    a_i, a_f, a_g, a_o = a.chunk(4, dim=-1)
    i = torch.sigmoid(a_i)
    f = torch.sigmoid(a_f)
    g = torch.tanh(a_g)
    o = torch.sigmoid(a_o)
    c = f * c + i * g
    h = o * torch.tanh(c)
    return h, c


def gru_cell(x: Float[Tensor, "*b i"], h: State, weights: Weights) -> State:
    r"""One step of a GRU: the gate z mixes the old state with a new one, of which the gate r lets the old one be a part.

    $$h' = (1 - z) \odot n + z \odot h$$
    """
    W_x, W_h, b_x, b_h = weights
    x_r, x_z, x_n = F.linear(x, W_x, b_x).chunk(3, dim=-1)
    h_r, h_z, h_n = F.linear(h, W_h, b_h).chunk(3, dim=-1)
    r = torch.sigmoid(x_r + h_r)
    z = torch.sigmoid(x_z + h_z)
    n = torch.tanh(x_n + r * h_n)
    h = (1 - z) * n + z * h
    return h


def rnn(X: Input, h: State, weights: Weights, g: Function = torch.tanh) -> tuple[States, State]:
    """All states along the sequence, and the last."""
    H = []
    for x in X.unbind(-2):
        h = rnn_cell(x, h, weights, g)
        H.append(h)
    Y = torch.stack(H, dim=-2)
    return Y, h


def lstm(X: Input, h: State, c: State, weights: Weights) -> tuple[States, tuple[State, State]]:
    """All states h along the sequence, and the last h and c."""
    H = []
    for x in X.unbind(-2):
        h, c = lstm_cell(x, h, c, weights)
        H.append(h)
    Y = torch.stack(H, dim=-2)
    return Y, (h, c)


def gru(X: Input, h: State, weights: Weights) -> tuple[States, State]:
    """All states along the sequence, and the last."""
    H = []
    for x in X.unbind(-2):
        h = gru_cell(x, h, weights)
        H.append(h)
    Y = torch.stack(H, dim=-2)
    return Y, h


def _layer_result(value: Any, *given: Any) -> Any:
    """States and last states on PyTorch's axes: time where it was, and an axis for the layers, of which there is one."""
    (H, last), time = value, given[-1]
    return H.movedim(-2, time), tuple(h[None] for h in last) if isinstance(last, tuple) else last[None]


@special_case_of(rnn, _layer_result)
def rnn_layer(X: Tensor, h: Tensor, weights: Weights, nonlinearity: str, time: int) -> dict[str, Any]:
    """`torch.nn.RNN`; `time` is the axis of time."""
    return {"X": X.movedim(time, -2), "h": h, "weights": weights, "g": getattr(torch, nonlinearity)}


@special_case_of(lstm, _layer_result)
def lstm_layer(X: Tensor, h: Tensor, c: Tensor, weights: Weights, time: int) -> dict[str, Any]:
    """`torch.nn.LSTM`; `time` is the axis of time."""
    return {"X": X.movedim(time, -2), "h": h, "c": c, "weights": weights}


@special_case_of(gru, _layer_result)
def gru_layer(X: Tensor, h: Tensor, weights: Weights, time: int) -> dict[str, Any]:
    """`torch.nn.GRU`; `time` is the axis of time."""
    return {"X": X.movedim(time, -2), "h": h, "weights": weights}

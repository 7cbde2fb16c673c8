r"""Recurrent cells and layers.

    h = tanh(W_x x + b_x + W_h h + b_h)                                 RNN (Elman 1990)

    i, f, o = σ(…);  g = tanh(…)                                        LSTM (Hochreiter & Schmidhuber 1997)
    c = f c + i g                    h = o tanh(c)

    r = σ(W_xr x + b_xr + W_hr h + b_hr)                                GRU (Cho et al. 2014)
    z = σ(W_xz x + b_xz + W_hz h + b_hz)
    n = tanh(W_xn x + b_xn + r (W_hn h + b_hn))
    h = (1 − z) n + z h

Axes: t time, b batch, i width of the input, h width of the state.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

State = Float[Tensor, "*b h"]
Weights = tuple[Tensor, Tensor, Tensor | None, Tensor | None]
"""W_x, W_h, b_x, b_h; the gates' rows stand one below the other."""


def rnn_cell(x: Float[Tensor, "*b i"], h: State, weights: Weights, nonlinearity: str = "tanh") -> State:
    r"""$$h' = \tanh(W_x x + b_x + W_h h + b_h)$$"""
    W_x, W_h, b_x, b_h = weights
    a = F.linear(x, W_x, b_x) + F.linear(h, W_h, b_h)
    h = torch.tanh(a) if nonlinearity == "tanh" else torch.relu(a)
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


def rnn(
    X: Float[Tensor, "t *b i"], h: State, weights: Weights, nonlinearity: str = "tanh", time: int = 0
) -> tuple[Float[Tensor, "t *b h"], Float[Tensor, "1 *b h"]]:
    """The cell at each time in turn; all states, and the last one. `time` is the axis of time."""
    H = []
    for x in X.unbind(time):
        h = rnn_cell(x, h, weights, nonlinearity)
        H.append(h)
    Y = torch.stack(H, dim=time)
    return Y, h.unsqueeze(0)


def lstm(
    X: Float[Tensor, "t *b i"], h: State, c: State, weights: Weights, time: int = 0
) -> tuple[Float[Tensor, "t *b h"], tuple[Float[Tensor, "1 *b h"], Float[Tensor, "1 *b h"]]]:
    """The cell at each time in turn; all states h, and the last h and c. `time` is the axis of time."""
    H = []
    for x in X.unbind(time):
        h, c = lstm_cell(x, h, c, weights)
        H.append(h)
    Y = torch.stack(H, dim=time)
    return Y, (h.unsqueeze(0), c.unsqueeze(0))


def gru(
    X: Float[Tensor, "t *b i"], h: State, weights: Weights, time: int = 0
) -> tuple[Float[Tensor, "t *b h"], Float[Tensor, "1 *b h"]]:
    """The cell at each time in turn; all states, and the last one. `time` is the axis of time."""
    H = []
    for x in X.unbind(time):
        h = gru_cell(x, h, weights)
        H.append(h)
    Y = torch.stack(H, dim=time)
    return Y, h.unsqueeze(0)

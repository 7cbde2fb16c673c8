r"""Recurrent layers: a state h carried along the sequence.

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

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from workings.errors import ShapeError, WorkingsError
from workings.nn.activations import Function, activation
from workings.nn.fused import fused
from workings.trace.textbook.recurrent import Weights, gru_cell, lstm_cell

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
    W_x, W_h, b_x, b_h = weights
    a = F.linear(x, W_x, b_x) + F.linear(h, W_h, b_h)
    h = g(a)
    return h


def rnn_kernel(X: Input, h: State, weights: Weights, g: Function = torch.tanh) -> tuple[States, State]:
    """One fused call where PyTorch has the activation."""
    fits(X, h, weights)
    kernel = KERNELS.get(g)
    if kernel is None:
        return rnn.__definition__(X, h, weights, g)  # type: ignore[attr-defined]
    H, h = run(kernel, X, one_batch(h), weights)
    return H, h.reshape(*X.shape[:-2], h.shape[-1])


@fused(rnn_kernel)
def rnn(X: Input, h: State, weights: Weights, g: Function = torch.tanh) -> tuple[States, State]:
    """All states along the sequence, and the last."""
    _ = fits(X, h, weights)
    H: list[Tensor] = []
    for x in X.unbind(-2):
        h = rnn_cell(x, h, weights, g)
        H = [*H, h]
    return torch.stack(H, dim=-2), h


def lstm_kernel(X: Input, h: State, c: State, weights: Weights) -> tuple[States, tuple[State, State]]:
    fits(X, h, weights) and fits(X, c, weights)
    H, h, c = run(torch.lstm, X, (one_batch(h), one_batch(c)), weights)
    return H, (h.reshape(*X.shape[:-2], h.shape[-1]), c.reshape(*X.shape[:-2], c.shape[-1]))


@fused(lstm_kernel)
def lstm(X: Input, h: State, c: State, weights: Weights) -> tuple[States, tuple[State, State]]:
    """All states h along the sequence, and the last h and c."""
    _ = fits(X, h, weights) and fits(X, c, weights)
    H: list[Tensor] = []
    for x in X.unbind(-2):
        h, c = lstm_cell(x, h, c, weights)
        H = [*H, h]
    return torch.stack(H, dim=-2), (h, c)


def gru_kernel(X: Input, h: State, weights: Weights) -> tuple[States, State]:
    fits(X, h, weights)
    H, h = run(torch.gru, X, one_batch(h), weights)
    return H, h.reshape(*X.shape[:-2], h.shape[-1])


@fused(gru_kernel)
def gru(X: Input, h: State, weights: Weights) -> tuple[States, State]:
    """All states along the sequence, and the last."""
    _ = fits(X, h, weights)
    H: list[Tensor] = []
    for x in X.unbind(-2):
        h = gru_cell(x, h, weights)
        H = [*H, h]
    return torch.stack(H, dim=-2), h


def fits(X: Tensor, h: Tensor, weights: Weights) -> bool:
    """Refuse a sequence without inputs, and inputs and states that the weights do not take."""
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
    if (weights[2] is None) != (weights[3] is None):
        raise ShapeError("W_x x + b_x + W_h h + b_h has both biases or none, but only one was given.")
    return True


def run(kernel: Any, X: Tensor, state: Any, weights: Weights) -> Any:
    """PyTorch's kernel for one layer, one direction; the states come back on the axes of `X`."""
    given = [w for w in weights if w is not None]
    batch = X.reshape(prod(X.shape[:-2]), *X.shape[-2:])
    H, *last = kernel(batch, state, given, len(given) == 4, 1, 0.0, torch.is_grad_enabled(), False, True)
    return H.reshape(*X.shape[:-1], H.shape[-1]), *last


def one_batch(h: Tensor) -> Tensor:
    """The state with the axis of layers and one axis of batch, as PyTorch's kernels want it."""
    return h.reshape(1, prod(h.shape[:-1]), h.shape[-1])


class Recurrent(nn.Module):
    """The parameters of a recurrent layer, and how they are exchanged with PyTorch's layer."""

    gates = 1
    layer: Any = nn.RNN

    def __init__(self, inputs: int, width: int, bias: bool = True) -> None:
        super().__init__()
        if min(inputs, width) < 1:
            raise ShapeError(f"A recurrent layer needs widths of at least 1, not {inputs} and {width}.")
        self.inputs, self.width = inputs, width
        rows = self.gates * width
        self.W_x = nn.Parameter(torch.empty(rows, inputs))
        self.W_h = nn.Parameter(torch.empty(rows, width))
        self.b_x = nn.Parameter(torch.empty(rows)) if bias else None
        self.b_h = nn.Parameter(torch.empty(rows)) if bias else None
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -1 / sqrt(width), 1 / sqrt(width))

    @property
    def weights(self) -> Weights:
        return self.W_x, self.W_h, self.b_x, self.b_h

    def zeros(self, X: Tensor) -> Tensor:
        """The state before the first input."""
        if X.dim() < 2 or X.shape[-1] != self.inputs:
            raise ShapeError(
                f"W_x x needs inputs of width {self.inputs}, one row for each time: X is {[*X.shape]}, "
                f"where [batch, time, {self.inputs}] or [time, {self.inputs}] was expected."
            )
        return X.new_zeros(*X.shape[:-2], self.width)

    @classmethod
    def from_torch(cls, layer: nn.RNNBase) -> Any:
        """The same layer with PyTorch's weights."""
        if not isinstance(layer, cls.layer):
            raise WorkingsError(f"{cls.__name__} takes the weights of a torch.nn.{cls.layer.__name__}, not of {layer}.")
        if layer.num_layers > 1 or layer.bidirectional or layer.proj_size:
            raise WorkingsError(
                f"{cls.__name__} is one layer in one direction: {layer} has num_layers={layer.num_layers}, "
                f"bidirectional={layer.bidirectional}, proj_size={layer.proj_size}."
            )
        new = cls(layer.input_size, layer.hidden_size, layer.bias, **cls.options(layer))
        given: Sequence[Any] = layer.all_weights[0]
        copy(given, [w for w in new.weights if w is not None])
        return new.to(given[0].dtype)

    @staticmethod
    def options(layer: nn.RNNBase) -> dict[str, Any]:
        """What the constructor needs besides the sizes."""
        return {}

    def to_torch(self) -> nn.RNNBase:
        """PyTorch's layer with these weights; it takes sequences as `b t i`."""
        new = self.layer(self.inputs, self.width, bias=self.b_x is not None, batch_first=True, dtype=self.W_x.dtype)
        copy([w for w in self.weights if w is not None], new.all_weights[0])
        return new


def copy(given: Sequence[Tensor], into: Sequence[Any]) -> None:
    """Write each tensor into the parameter at its place."""
    for source, parameter in zip(given, into, strict=True):
        parameter.data = source.detach().clone()


class RNN(Recurrent):
    """A layer of `rnn_cell` with the activation of that name.

    >>> RNN(3, 4)(torch.zeros(2, 5, 3))[0].shape
    torch.Size([2, 5, 4])
    """

    def __init__(self, inputs: int, width: int, bias: bool = True, g: str = "tanh") -> None:
        super().__init__(inputs, width, bias)
        self.name, self.g = g, activation(g)[0]

    def forward(self, X: Input, h: State | None = None) -> tuple[States, State]:
        h = self.zeros(X) if h is None else h
        H, h = rnn(X, h, self.weights, self.g)
        return H, h

    @staticmethod
    def options(layer: nn.RNNBase) -> dict[str, Any]:
        return {"g": layer.nonlinearity}

    def to_torch(self) -> nn.RNNBase:
        if self.name not in ("tanh", "relu"):
            raise WorkingsError(f"torch.nn.RNN has tanh and relu only; this RNN's activation is {self.name}.")
        new = super().to_torch()
        new.mode, new.nonlinearity = f"RNN_{self.name.upper()}", self.name
        return new


class LSTM(Recurrent):
    """A layer of `lstm_cell`; its state is the pair of h and c.

    >>> LSTM(3, 4)(torch.zeros(2, 5, 3))[0].shape
    torch.Size([2, 5, 4])
    """

    gates = 4
    layer = nn.LSTM

    def forward(self, X: Input, state: tuple[State, State] | None = None) -> tuple[States, tuple[State, State]]:
        h, c = (self.zeros(X), self.zeros(X)) if state is None else state
        H, (h, c) = lstm(X, h, c, self.weights)
        return H, (h, c)


class GRU(Recurrent):
    """A layer of `gru_cell`.

    >>> GRU(3, 4)(torch.zeros(2, 5, 3))[0].shape
    torch.Size([2, 5, 4])
    """

    gates = 3
    layer = nn.GRU

    def forward(self, X: Input, h: State | None = None) -> tuple[States, State]:
        h = self.zeros(X) if h is None else h
        H, h = gru(X, h, self.weights)
        return H, h

"""Recurrent layers with their weights: `RNN`, `LSTM` and `GRU`, exchanged with PyTorch's.

The equations are those of `workings.equations.recurrent`.

Axes: b batch, t time, i width of the input, h width of the state. Sequences are `b t i`: the tokens are the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import torch
from torch import Tensor, nn

from workings.equations.recurrent import Input, State, States, Weights
from workings.errors import ShapeError, WorkingsError
from workings.nn.activations import activation
from workings.nn.recurrent.cells import gru, lstm, rnn


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
        _copy(given, [w for w in new.weights if w is not None])
        return new.to(given[0].dtype)

    @staticmethod
    def options(layer: nn.RNNBase) -> dict[str, Any]:
        """What the constructor needs besides the sizes."""
        return {}

    def to_torch(self) -> nn.RNNBase:
        """PyTorch's layer with these weights; it takes sequences as `b t i`."""
        new = self.layer(self.inputs, self.width, bias=self.b_x is not None, batch_first=True, dtype=self.W_x.dtype)
        _copy([w for w in self.weights if w is not None], new.all_weights[0])
        return new


def _copy(given: Sequence[Tensor], into: Sequence[Any]) -> None:
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

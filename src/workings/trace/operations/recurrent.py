"""Recurrent layers and their cells."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from workings import equations
from workings.trace.definitions.definition import Definition, refuse
from workings.trace.formula.operation import Layer, Operation
from workings.trace.shapes import arithmetic


def _define_rnn_cell(m: nn.RNNCell, input: Tensor, hx: Tensor | None = None) -> Definition:
    h = input.new_zeros(*input.shape[:-1], m.hidden_size) if hx is None else hx
    return Definition(equations.rnn_cell, (input, h, _cell_weights(m), getattr(torch, m.nonlinearity)))


def _define_gru_cell(m: nn.GRUCell, input: Tensor, hx: Tensor | None = None) -> Definition:
    h = input.new_zeros(*input.shape[:-1], m.hidden_size) if hx is None else hx
    return Definition(equations.gru_cell, (input, h, _cell_weights(m)))


def _define_lstm_cell(m: nn.LSTMCell, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> Definition:
    zeros = input.new_zeros(*input.shape[:-1], m.hidden_size)
    h, c = (zeros, zeros) if hx is None else hx
    return Definition(equations.lstm_cell, (input, h, c, _cell_weights(m)))


def _define_rnn(m: nn.RNN, input: Tensor, hx: Tensor | None = None) -> Definition:
    time, zeros = _one_layer(m, input)
    h = zeros if hx is None else hx[0]
    return Definition(equations.rnn_layer, (input, h, _layer_weights(m), m.nonlinearity, time))


def _define_gru(m: nn.GRU, input: Tensor, hx: Tensor | None = None) -> Definition:
    time, zeros = _one_layer(m, input)
    h = zeros if hx is None else hx[0]
    return Definition(equations.gru_layer, (input, h, _layer_weights(m), time))


def _define_lstm(m: nn.LSTM, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> Definition:
    time, zeros = _one_layer(m, input)
    h, c = (zeros, zeros) if hx is None else (hx[0][0], hx[1][0])
    return Definition(equations.lstm_layer, (input, h, c, _layer_weights(m), time))


def _one_layer(m: nn.RNNBase, input: Any) -> tuple[int, Tensor]:
    """The axis of time and a state of zeros, after refusing what is more than one layer in one direction."""
    refuse(m.num_layers > 1, f"num_layers={m.num_layers}")
    refuse(m.bidirectional, "bidirectional=True")
    refuse(m.proj_size, f"proj_size={m.proj_size}")
    refuse(isinstance(input, PackedSequence), "a packed sequence")
    time = 1 if m.batch_first and input.dim() == 3 else 0
    batch = [input.shape[1 - time]] if input.dim() == 3 else []
    return time, input.new_zeros(*batch, m.hidden_size)


def _cell_weights(m: Any) -> tuple[Any, ...]:
    return m.weight_ih, m.weight_hh, m.bias_ih, m.bias_hh


def _layer_weights(m: Any) -> tuple[Any, ...]:
    return m.weight_ih_l0, m.weight_hh_l0, *((m.bias_ih_l0, m.bias_hh_l0) if m.bias else (None, None))


def _row(declaration: str, cls: type[nn.Module], definition: Any, others: str) -> Operation:
    whole = not issubclass(cls, nn.RNNCellBase)
    layer = Layer(
        classes=(cls,),
        definition=definition,
        size=arithmetic.recurrent if whole else None,
        count=arithmetic.gates,
        arguments="input_size hidden_size",
        defaults={"num_layers": 1, "bidirectional": False} if whole else {},
    )
    return Operation(declaration, others=others, layers=layer)


ROWS = (
    _row("rnn_cell: h' = tanh(W x + U h + b)", nn.RNNCell, _define_rnn_cell, "rnn_tanh_cell rnn_relu_cell"),
    _row("gru_cell: a gated recurrent unit", nn.GRUCell, _define_gru_cell, "gru_cell"),
    _row(
        "lstm_cell: a cell with a state, and gates for what enters, stays and leaves",
        nn.LSTMCell,
        _define_lstm_cell,
        "lstm_cell",
    ),
    _row("rnn: an RNN cell over the steps of a sequence", nn.RNN, _define_rnn, "rnn_tanh rnn_relu"),
    _row("gru: a GRU cell over the steps of a sequence", nn.GRU, _define_gru, "gru"),
    _row("lstm: an LSTM cell over the steps of a sequence", nn.LSTM, _define_lstm, "lstm"),
)

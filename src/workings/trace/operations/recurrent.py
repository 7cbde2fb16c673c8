"""Recurrent layers and their cells."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from workings import equations
from workings.trace.definitions.definition import Definition, refuse
from workings.trace.formula.operation import Layer, Operation
from workings.trace.formula.script import Piece, Script
from workings.trace.formula.simplify import linear, product, transposed
from workings.trace.formula.tree import Apply, Index, Number, Sequence, entry
from workings.trace.operations.node import Gradients, Node, RuleError, f
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


# ---- the gradient of one LSTM layer, in one direction
#
#     a_t = W x_t + b + U h_{t−1} + c,   i, f, o = σ(a),  g = tanh(a),   c_t = f ⊙ c_{t−1} + i ⊙ g,   h_t = o ⊙ tanh(c_t)
#     δ_t = ∂L/∂a_t from the last step to the first;   ∂L/∂W = Σ_t δ_tᵀ x_t,   ∂L/∂U = Σ_t δ_tᵀ h_{t−1},   ∂L/∂x_t = δ_t W


def _lstm_steps(reverse: bool, x: Tensor, W: Tensor, U: Tensor, b: Any, d: Any, h: Tensor, c: Tensor) -> list[Any]:
    """For each step, in the order of the sequence: the gates i, f, g, o, the state before it and after it, h before it."""
    found: list[Any] = [None] * len(x)
    order = range(len(x))
    for t in reversed(order) if reverse else order:
        a = x[t] @ W.mT + h @ U.mT + (0 if b is None else b) + (0 if d is None else d)
        i, f_, g, o = a.chunk(4, -1)
        i, f_, g, o = i.sigmoid(), f_.sigmoid(), g.tanh(), o.sigmoid()
        after = f_ * c + i * g
        found[t] = (i, f_, g, o), c, after, h
        h, c = o * after.tanh(), after
    return found


def _lstm_layer(x: Tensor, *weights_and_states: Any, reverse: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    steps = _lstm_steps(reverse, x, *weights_and_states)
    out = torch.stack([gates[3] * after.tanh() for gates, _, after, _ in steps])
    return out, out[0 if reverse else -1], steps[0 if reverse else -1][2]


def _lstm_before(x: Tensor, *weights_and_states: Any, reverse: bool = False) -> Tensor:
    return torch.stack([h for *_, h in _lstm_steps(reverse, x, *weights_and_states)])


def _lstm_deltas(
    G: Tensor, G_h: Tensor, G_c: Tensor, x: Tensor, W: Tensor, U: Tensor, *others: Any, reverse: bool = False
) -> Tensor:
    steps = _lstm_steps(reverse, x, W, U, *others)
    found, to_h, to_c = [torch.empty(0)] * len(x), G_h, G_c
    order = range(len(x))
    for t in order if reverse else reversed(order):
        (i, f_, g, o), before, after, _ = steps[t]
        to_h = to_h + G[t]
        to_c = to_c + to_h * o * (1 - after.tanh() ** 2)
        parts = (
            to_c * g * i * (1 - i),
            to_c * before * f_ * (1 - f_),
            to_c * i * (1 - g**2),
            to_h * after.tanh() * o * (1 - o),
        )
        found[t] = torch.cat(parts, -1)
        to_h, to_c = found[t] @ U, to_c * f_
    return torch.stack(found)


def _lstm_gradient(node: Node) -> Gradients:
    if not isinstance(node.G, Sequence):
        raise RuleError("there is no rule for an LSTM layer whose results have no names")
    x, W, U, b, d, h, c = node.args
    if node.varies(c):
        raise RuleError("there is no rule for the first state of an LSTM layer")
    reverse = {"reverse": True} if node.options.get("reverse") else {}
    δ = node.let("δ", f("lstm_deltas", *node.G.items[:3], *node.args, **reverse))
    before = node.let("h₋", f("lstm_before", *node.args, **reverse))
    shift = linear("sum", δ, dim=(0, 1))
    first = entry(δ, Index((Number(-1 if reverse else 0),)))
    return (
        product(δ, W) if node.varies(x) else None,
        linear("sum", product(transposed(δ), x), dim=0) if node.varies(W) else None,
        linear("sum", product(transposed(δ), before), dim=0) if node.varies(U) else None,
        shift if node.varies(b) else None,
        shift if node.varies(d) else None,
        product(first, U) if node.varies(h) else None,
        None,
    )


def _gates_in_words(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    return Piece(
        script.row(script.words("the gradient of the sums before the gates i, f, g, o, from the last step to the first"))
    )


def _states_in_words(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    return Piece(script.row(script.words("h before each step")))


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
    Operation(
        "lstm_layer: one layer of an LSTM in one direction; args x, W, U, their shifts, the first h and c; option reverse",
        compute=_lstm_layer,
        gradient=_lstm_gradient,
        gives="parts",
    ),
    Operation(
        "lstm_deltas: the gradient of the sums before the gates i, f, g, o, step by step from the last; args the gradients "
        "of the outputs, of the last h and c, then those of lstm_layer",
        compute=_lstm_deltas,
        notation=_gates_in_words,
        linear=True,
    ),
    Operation("lstm_before: h before each step; args of lstm_layer", compute=_lstm_before, notation=_states_in_words),
)

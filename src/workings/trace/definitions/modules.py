"""Which textbook definition stands for which `nn.Module`, and for which of its options.

A module that only calls a function with its parameters takes that function's entry. The others have an entry of their own,
with the signature of the module's `forward` after the module.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from workings import equations as textbook
from workings.trace.definitions import functions
from workings.trace.definitions.definition import Definition, refuse
from workings.trace.definitions.functions import Entry

MODULES: dict[type[nn.Module], Entry] = {
    nn.Linear: lambda m, x: functions.linear(x, m.weight, m.bias),
    nn.Embedding: lambda m, x: functions.embedding(x, m.weight, m.padding_idx, m.max_norm),
    nn.Softmax: lambda m, x: functions.functional_softmax(x, m.dim),
    nn.LogSoftmax: lambda m, x: functions.functional_log_softmax(x, m.dim),
    nn.LayerNorm: lambda m, x: functions.layer_norm(x, m.normalized_shape, m.weight, m.bias, m.eps),
    nn.RMSNorm: lambda m, x: functions.rms_norm(x, m.normalized_shape, m.weight, m.eps),
    nn.GroupNorm: lambda m, x: functions.group_norm(x, m.num_groups, m.weight, m.bias, m.eps),
    nn.CrossEntropyLoss: lambda m, z, y: functions.cross_entropy(
        z, y, m.weight, ignore_index=m.ignore_index, reduction=m.reduction, label_smoothing=m.label_smoothing
    ),
    nn.BCEWithLogitsLoss: lambda m, z, y: functions.binary_cross_entropy(
        z, y, m.weight, reduction=m.reduction, pos_weight=m.pos_weight
    ),
    nn.AvgPool2d: lambda m, x: functions.avg_pool2d(
        x, m.kernel_size, m.stride, m.padding, m.ceil_mode, m.count_include_pad, m.divisor_override
    ),
    nn.MaxPool2d: lambda m, x: functions.max_pool2d(
        x, m.kernel_size, m.stride, m.padding, m.dilation, m.ceil_mode, m.return_indices
    ),
}


def defines(*classes: type[nn.Module]) -> Callable[[Entry], Entry]:
    """Enter the decorated function in the table for every class."""

    def register(entry: Entry) -> Entry:
        MODULES.update(dict.fromkeys(classes, entry))
        return entry

    return register


@defines(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
def batch_norm(m: Any, input: Tensor) -> Definition:
    training = m.training or m.running_mean is None
    return functions.batch_norm(input, m.running_mean, m.running_var, m.weight, m.bias, training, eps=m.eps)


@defines(nn.Conv1d, nn.Conv2d)
def convolution(m: Any, input: Tensor) -> Definition:
    refuse(m.padding_mode != "zeros", f"padding_mode={m.padding_mode!r}")
    fused = functions.conv1d if isinstance(m, nn.Conv1d) else functions.conv2d
    return fused(input, m.weight, m.bias, m.stride, m.padding, m.dilation, m.groups)


@defines(nn.MultiheadAttention)
def multi_head_attention(
    m: nn.MultiheadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Definition:
    refuse(m.training and m.dropout, f"dropout={m.dropout} in training (its mask is random)")
    refuse(m.bias_k is not None, "add_bias_kv=True")
    refuse(m.add_zero_attn, "add_zero_attn=True")
    refuse(query.is_nested, "nested tensors")
    output = (m.out_proj.weight, m.out_proj.bias)
    mask = merged(attn_mask, key_padding_mask, m.num_heads if query.dim() == 3 else 0)
    weights = "none" if not need_weights else "mean" if average_attn_weights else "each"
    return Definition(
        textbook.multi_head_attention,
        ((query, key, value), *projections(m), output, m.num_heads, mask, weights, m.batch_first or query.dim() == 2),
    )


def projections(m: nn.MultiheadAttention) -> list[tuple[Any, Any]]:
    """W and b for queries, keys and values, out of the one matrix they may share."""
    W = m.in_proj_weight.chunk(3) if m.in_proj_weight is not None else (m.q_proj_weight, m.k_proj_weight, m.v_proj_weight)
    b = m.in_proj_bias.chunk(3) if m.in_proj_bias is not None else (None, None, None)
    return list(zip(W, b, strict=True))


def merged(mask: Tensor | None, padding: Tensor | None, heads: int) -> Tensor | None:
    """One mask for both, on the axes b h q k: true where a query may look, or a number to add.

    PyTorch's own masks are true where it may *not* look. `heads` is 0 where there is no batch.
    """
    if mask is not None and mask.dim() == 3 and heads:
        mask = mask.unflatten(0, (-1, heads))
    if padding is not None:
        padding = padding[..., None, None, :]
    masks = [m for m in (mask, padding) if m is not None]
    if all(m.dtype == torch.bool for m in masks):
        return None if not masks else ~masks[0] if len(masks) == 1 else ~(masks[0] | masks[1])
    added = [torch.zeros(m.shape).masked_fill(m, -inf) if m.dtype == torch.bool else m for m in masks]
    return added[0] if len(added) == 1 else added[0] + added[1]


@defines(nn.TransformerEncoderLayer)
def transformer_encoder_layer(
    m: nn.TransformerEncoderLayer,
    src: Tensor,
    src_mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    is_causal: bool = False,
) -> Definition:
    rates = [m.dropout.p, m.dropout1.p, m.dropout2.p, m.self_attn.dropout]
    refuse(m.training and any(rates), f"dropout={max(rates)} in training (its mask is random)")
    return Definition(textbook.transformer_encoder_layer, (src, m, src_mask, src_key_padding_mask))


@defines(nn.RNNCell)
def rnn_cell(m: nn.RNNCell, input: Tensor, hx: Tensor | None = None) -> Definition:
    h = input.new_zeros(*input.shape[:-1], m.hidden_size) if hx is None else hx
    return Definition(textbook.rnn_cell, (input, h, cell_weights(m), m.nonlinearity))


@defines(nn.GRUCell)
def gru_cell(m: nn.GRUCell, input: Tensor, hx: Tensor | None = None) -> Definition:
    h = input.new_zeros(*input.shape[:-1], m.hidden_size) if hx is None else hx
    return Definition(textbook.gru_cell, (input, h, cell_weights(m)))


@defines(nn.LSTMCell)
def lstm_cell(m: nn.LSTMCell, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> Definition:
    zeros = input.new_zeros(*input.shape[:-1], m.hidden_size)
    h, c = (zeros, zeros) if hx is None else hx
    return Definition(textbook.lstm_cell, (input, h, c, cell_weights(m)))


@defines(nn.RNN)
def rnn(m: nn.RNN, input: Tensor, hx: Tensor | None = None) -> Definition:
    time, zeros = one_layer(m, input)
    h = zeros if hx is None else hx[0]
    return Definition(textbook.rnn, (input, h, layer_weights(m), m.nonlinearity, time))


@defines(nn.GRU)
def gru(m: nn.GRU, input: Tensor, hx: Tensor | None = None) -> Definition:
    time, zeros = one_layer(m, input)
    h = zeros if hx is None else hx[0]
    return Definition(textbook.gru, (input, h, layer_weights(m), time))


@defines(nn.LSTM)
def lstm(m: nn.LSTM, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> Definition:
    time, zeros = one_layer(m, input)
    h, c = (zeros, zeros) if hx is None else (hx[0][0], hx[1][0])
    return Definition(textbook.lstm, (input, h, c, layer_weights(m), time))


def one_layer(m: nn.RNNBase, input: Any) -> tuple[int, Tensor]:
    """The axis of time and a state of zeros, after refusing what is more than one layer in one direction."""
    refuse(m.num_layers > 1, f"num_layers={m.num_layers}")
    refuse(m.bidirectional, "bidirectional=True")
    refuse(m.proj_size, f"proj_size={m.proj_size}")
    refuse(isinstance(input, PackedSequence), "a packed sequence")
    time = 1 if m.batch_first and input.dim() == 3 else 0
    batch = [input.shape[1 - time]] if input.dim() == 3 else []
    return time, input.new_zeros(*batch, m.hidden_size)


def cell_weights(m: Any) -> tuple[Any, ...]:
    return m.weight_ih, m.weight_hh, m.bias_ih, m.bias_hh


def layer_weights(m: Any) -> tuple[Any, ...]:
    return m.weight_ih_l0, m.weight_hh_l0, *((m.bias_ih_l0, m.bias_hh_l0) if m.bias else (None, None))

"""PyTorch's fused operations written out, with its options: one equation a line, in the letters of the papers.

`trace.definitions` says which PyTorch function or module each one defines, and traces it like anybody's code, so a line is
what a reader would write. `workings.nn` runs those that it has in the same form (layer and RMS norm, recurrent cells,
losses, windows) and states the others in the letters of the course. Imports nothing of
`workings` above `errors` and `written_out`.
"""

from workings.equations.attention import multi_head_attention, scaled_dot_product_attention, transformer_encoder_layer
from workings.equations.layers import embedding, linear, log_softmax, softmax
from workings.equations.losses import binary_cross_entropy_with_logits, cross_entropy
from workings.equations.norms import batch_norm, group_norm, layer_norm, rms_norm
from workings.equations.recurrent import gru, gru_cell, lstm, lstm_cell, rnn, rnn_cell
from workings.equations.windows import avg_pool2d, conv1d, conv2d, max_pool2d
from workings.own_code import mark_readable

mark_readable(__path__)

__all__ = [
    "avg_pool2d",
    "batch_norm",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "cross_entropy",
    "embedding",
    "group_norm",
    "gru",
    "gru_cell",
    "layer_norm",
    "linear",
    "log_softmax",
    "lstm",
    "lstm_cell",
    "max_pool2d",
    "multi_head_attention",
    "rms_norm",
    "rnn",
    "rnn_cell",
    "scaled_dot_product_attention",
    "softmax",
    "transformer_encoder_layer",
]

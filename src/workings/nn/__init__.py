"""The layers of the course, one family of equations per file."""

from typing import Any

from workings.lazy import lazy
from workings.own_code import mark_readable

mark_readable(__path__)

__all__ = lazy(
    __name__,
    {
        "activations": "activation identity_slope relu_slope sigmoid_slope sigmoid_tail tanh_slope tanh_tail",
        "norms.batch": "BatchNorm batch_norm batch_norm_test batch_statistics",
        "norms.per_token": "LayerNorm RMSNorm layer_norm rms_norm",
        "objectives.contrastive": "clip_gradient clip_loss clip_loss_both_ways margin recall_at siglip_gradient siglip_loss "
        "similarities",
        "objectives.losses": "chain_rule_terms logistic_loss logistic_loss_gradient softmax_cross_entropy "
        "softmax_cross_entropy_gradient squared_loss squared_loss_gradient",
        "objectives.perplexities": "bits bits_per_character per_longer_unit per_shorter_unit perplexity perplexity_from_log",
        "objectives.variational": "elbo gaussian_kl gaussian_kl_between gaussian_kl_by_draws kl "
        "log_gaussian reparameterised",
        "recurrent.cells": "gru lstm rnn rnn_cell",
        "recurrent.layers": "GRU LSTM RNN",
        "temperature": "effective_keys entropy softmax softmax_jacobian variance",
        "transformer.block": "Block",
        "transformer.cache": "KeyValueCache",
        "transformer.dot_product": "attention attention_columns attention_query attention_weights "
        "cosine_scores hard_attention",
        "transformer.feedforward": "FeedForward feed_forward swiglu",
        "transformer.hard": "argmax_weights gumbel_noise gumbel_softmax pass_through score_gradient straight_through",
        "transformer.heads": "multi_head multi_head_columns multiply_adds weight_count",
        "transformer.local": "local_attention",
        "transformer.masks": "causal_mask padding_mask window_mask",
        "transformer.multihead": "MultiHeadAttention",
        "transformer.positions": "Learned RelativeBias Rotary alibi alibi_slopes relative_bias rope sinusoidal",
        "update": "adam adamw critical_rate momentum momentum_accumulated multiplier nesterov sgd stable trajectory",
        "vision.conv_layers": "average_pool conv2d max_pool",
        "vision.convolution": "conv_parameters conv_shape conv_size discarded linear_parameters parameter_count pool_size "
        "receptive_field same_padding",
        "vision.linear_conv": "conv_to_linear linear_to_conv spread",
        "vision.patch_tokens": "cosine_map patch_embedding patch_embedding_conv patches resampled_positions",
    },
)


def __getattr__(name: str) -> Any:  # for type checkers: the names above are there
    raise AttributeError(name)

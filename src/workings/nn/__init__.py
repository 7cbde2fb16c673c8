"""The layers of the course, one family of equations per file."""

from typing import Any

from workings.lazy import lazy

__all__ = lazy(
    __name__,
    {
        "activations": "activation identity_slope relu_slope sigmoid_slope sigmoid_tail tanh_slope tanh_tail",
        "attention": "attention attention_columns attention_query attention_weights cosine_scores hard_attention",
        "batch_norm": "BatchNorm batch_norm batch_norm_test batch_statistics",
        "block": "Block",
        "cache": "KeyValueCache",
        "constructions": "identity_diagonal identity_layer permutation_layer uniform_average width_one",
        "contrastive": "clip_gradient clip_loss clip_loss_both_ways margin recall_at siglip_gradient "
        "siglip_loss similarities",
        "convention": "other_convention other_formula",
        "conv_heads": "conv1d_by_heads conv2d_by_heads convolution_weights offset_weights",
        "conv_layers": "average_pool conv2d max_pool",
        "convolution": "conv_parameters conv_shape conv_size discarded linear_parameters parameter_count pool_size "
        "receptive_field same_padding",
        "feedforward": "FeedForward feed_forward swiglu",
        "hard": "argmax_weights gumbel_noise gumbel_softmax pass_through score_gradient straight_through",
        "heads": "multi_head multi_head_columns multiply_adds weight_count",
        "linear_conv": "conv_to_linear linear_to_conv spread",
        "local": "local_attention",
        "losses": "chain_rule_terms logistic_loss logistic_loss_gradient softmax_cross_entropy "
        "softmax_cross_entropy_gradient squared_loss squared_loss_gradient",
        "masks": "causal_mask padding_mask window_mask",
        "multihead": "MultiHeadAttention",
        "norms": "LayerNorm RMSNorm layer_norm rms_norm",
        "patches": "cosine_map patch_embedding patch_embedding_conv patches resampled_positions",
        "penalty": "infinity_gradient infinity_penalty logistic_gradient penalised_step",
        "perplexity": "bits bits_per_character per_longer_unit per_shorter_unit perplexity perplexity_from_log",
        "perturbation": "key_noise key_noise_mean key_scaling key_scaling_change query_noise",
        "positions": "Learned RelativeBias Rotary alibi alibi_slopes relative_bias rope sinusoidal",
        "recurrent": "gru lstm rnn rnn_cell",
        "recurrent_layers": "GRU LSTM RNN",
        "selection": "averaging_query averaging_strength averaging_weight copy_weight gap_for one_head_weight projection "
        "two_head_weight two_queries winner_bound",
        "softmax": "effective_keys entropy softmax softmax_jacobian variance",
        "temporal": "recursive_gradient regime state_gradient states temporal_gradient "
        "three_level_gradient two_level_gradient",
        "update": "adam adamw critical_rate momentum momentum_accumulated multiplier nesterov sgd stable trajectory",
        "variational": "elbo gaussian_kl gaussian_kl_between gaussian_kl_by_draws kl log_gaussian reparameterised",
    },
)


def __getattr__(name: str) -> Any:  # for type checkers: the names above are there
    raise AttributeError(name)

"""Exercises of the course that are no layers or models: constructions, perturbations, selection, dedupe-and-sort, counts."""

from typing import Any

from workings.lazy import lazy
from workings.own_code import mark_readable

mark_readable(__path__)

__all__ = lazy(
    __name__,
    {
        "constructions": "identity_diagonal identity_layer permutation_layer uniform_average width_one",
        "conv_heads": "conv1d_by_heads conv2d_by_heads convolution_weights offset_weights",
        "convention": "other_convention other_formula",
        "counts": "attention_cost recurrent_cost",
        "dedupe": "DedupeDecoder",
        "discrete": "bayes derivation evidence",
        "logistic": "separation",
        "penalty": "infinity_gradient infinity_penalty logistic_gradient penalised_step",
        "perturbation": "key_noise key_noise_mean key_scaling key_scaling_change query_noise",
        "scalar_rnn": "ScalarRNN bptt linear_rnn linear_rnn_loss",
        "selection": "averaging_query averaging_strength averaging_weight copy_weight gap_for one_head_weight projection "
        "two_head_weight two_queries winner_bound",
        "temporal": "recursive_gradient regime state_gradient states temporal_gradient three_level_gradient "
        "two_level_gradient",
    },
)


def __getattr__(name: str) -> Any:  # for type checkers: the names above are there
    raise AttributeError(name)

"""Common mistakes of the course: each gives another number than the truth, and the library gives the truth.

More of them stand beside the layers they belong to; COLLECTED says where, and a test that they are there.
"""

import ast
from math import sqrt
from pathlib import Path

import pytest
import torch

from workings import exact
from workings.course import DedupeDecoder, derivation, identity_layer, temporal_gradient
from workings.course.convention import shape_of
from workings.course.dedupe import answer_loss
from workings.course.dedupe_task import example
from workings.course.perturbation import parts, with_column
from workings.errors import ShapeError
from workings.nn import (
    argmax_weights,
    attention,
    attention_weights,
    batch_norm_test,
    batch_statistics,
    chain_rule_terms,
    softmax,
    softmax_cross_entropy_gradient,
)

TOKENS = example("DAA")
COLLECTED = {
    "a row scored against its own token": "course/test_dedupe.py::test_the_slip_lets_a_row_see_its_target",
    "the same slip in training": "models/test_language_model.py::test_the_loss_scores_each_row_against_the_next_token",
    "the residual's Jacobian is at least 1": "nn/transformer/test_block.py::test_the_identity_is_no_lower_bound",
    "zero-mean noise on a key changes nothing": "course/test_perturbation.py::test_zero_mean_noise_moves_the_mean",
    "a larger key attracts every query": "course/test_perturbation.py::test_scaling_a_key",
    "one head reaches every kernel": "course/test_constructions.py::test_one_head_only_averages",
    "a window of even width has that width": "nn/transformer/test_masks.py::test_an_even_window_covers_one_more",
    "softmax sees a row's level": "nn/objectives/test_contrastive.py::test_a_shift_of_each_row_changes_siglip_and_not_clip",
    "self-attention ignores the order of its tokens": (
        "nn/transformer/test_multihead.py::test_permuted_tokens_give_permuted_outputs"
    ),
    "a learned table of positions goes on": "nn/transformer/test_positions.py::test_a_learned_table_ends",
    "more heads cost more weights": "nn/transformer/test_multihead.py::test_weights_do_not_depend_on_the_number_of_heads",
    "a tied maximum has one gradient": "course/test_penalty.py::test_ties",
    "separable data have a best w": "course/test_logistic.py::test_separable_data_have_no_minimiser_without_a_penalty",
    "the bound is above the evidence": "course/test_discrete.py::test_the_bound_is_a_bound",
    "a wrong entry spoils all statistics": (
        "nn/norms/test_norms.py::test_an_entry_read_wrongly_shows_in_its_own_statistics_only"
    ),
    "perplexity depends on the base": "nn/objectives/test_perplexities.py::test_any_base_gives_four",
    "early words count more in an average": "models/test_averaging.py::test_shuffled_words_give_the_same_scores",
    "attention is always the cheaper layer": "course/test_counts.py::test_attention_is_cheaper_exactly_when_n_is_below_d",
}


def test_the_collected_ones_are_there():
    for test in COLLECTED.values():
        file, _, name = test.partition("::")
        tree = ast.parse((Path(__file__).parents[2] / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def loss(model, **options):
    return round(answer_loss(model(TOKENS), TOKENS, **options).item(), 5)


def test_a_row_predicts_the_next_token_and_not_its_own():
    assert loss(DedupeDecoder()) == 8.79726
    assert loss(DedupeDecoder(), same_position=True) == 4.21143  # the slip: lower, for the row has seen its target


def test_a_duplicated_head_with_the_identity_is_not_neutral():
    # [Z, Z] I = (z₁, z₂, z₁, z₂), while Z W_O = (z₂, z₁, z₂, z₁)
    assert loss(DedupeDecoder(heads=2)) == 6.54726
    assert loss(DedupeDecoder(heads=2)) != loss(DedupeDecoder())


def test_argmax_attention_still_teaches_the_values():
    model = DedupeDecoder()
    answer_loss(model(TOKENS), TOKENS).backward()
    assert model.W_Q.grad is None and model.W_K.grad is None
    assert model.W_V.grad.norm().item() == pytest.approx(1.45702, rel=1e-5)


def test_two_slips_of_rounding_are_caught():
    # 2×(1, 2, 3): the last entry is 0.8668, not 0.86; 3×: (0.0024, 0.0473, 0.9503), not (0.00, 0.02, 0.98)
    z = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    rounded = [[round(p, 2) for p in softmax(z, beta=k).tolist()] for k in (1, 2, 3)]
    assert rounded == [[0.09, 0.24, 0.67], [0.02, 0.12, 0.87], [0.0, 0.05, 0.95]]
    assert rounded[1][2] != 0.86 and rounded[2] != [0.0, 0.02, 0.98]


def test_a_finite_temperature_can_be_uniform():
    # of the four statements the first is false: a constant vector is uniform at every temperature
    assert exact.equal(softmax(exact("7 7 7 7"), T=exact("1/10")), exact("1/4 1/4 1/4 1/4"))
    z = exact("4 3 2 1")
    assert exact.equal(softmax(z, beta=0), exact("1/4 1/4 1/4 1/4"))  # T → ∞
    assert exact.equal(argmax_weights(z), exact("1 0 0 0"))  # T → 0
    assert (softmax(z, T=exact("1/100")) > 0).all()  # never 0 for T > 0; floats underflow
    assert (softmax(z.float64(), T=0.001) == 0).any()


def test_a_large_temperature_is_not_a_large_beta():
    s = exact("1 2 3")
    assert exact.equal(softmax(s, T=10), softmax(s, beta=exact("1/10")))
    assert softmax(s, T=10).max() < softmax(s, beta=10).max()


def test_the_stored_variance_of_torch_is_not_that_of_the_batch():
    H = exact("1 4 2 9").reshape(4, 1)
    mu, var = batch_statistics(H)
    wrong = batch_norm_test(H, mu, batch_statistics(H, "sample")[1])
    assert exact.equal(wrong, batch_norm_test(H, mu, var) * exact("sqrt(3/4)"))


def test_a_moved_key_changes_every_row_of_the_weights():
    Q, K = exact("1 2; 0 1"), exact("1 0 1; 0 1 1")
    before, after = (parts(Q, keys, K)[1] for keys in (K, with_column(K, 0, exact("3 1"))))
    assert (before != after).all()  # the columns are normalised anew, so not only row 0 moves


def test_the_softmax_does_not_come_first_where_tokens_are_columns():
    sizes = {"Q": (6, 4), "K": (6, 5), "V": (3, 5)}
    with pytest.raises(ShapeError) as refused:
        shape_of("softmax(K.T @ Q) @ V", **sizes)
    assert str(refused.value) == ("softmax(Kᵀ Q) V is not conformable: 5×4 times 3×5. V softmax(Kᵀ Q) would fit and is 3×4.")
    assert shape_of("V @ softmax(K.T @ Q)", **sizes) == (3, 4)


def test_the_last_sign_of_the_evidence_is_a_plus():
    tables = exact("1/2 1/4 1/4"), exact("1/2 1/4 3/4"), exact("1/4 1/4 1/2")
    *_, right = derivation(*tables)
    *_, wrong = derivation(*tables, slip=True)
    assert right.holds and not wrong.holds
    assert round(right.value.item(), 6) == -0.693147 and round(wrong.value.item(), 6) == -0.980829


def test_the_chain_rule_has_a_sum():
    θ, y = exact("0 1 2"), exact("0 1 0")
    T = chain_rule_terms(θ, y)
    right = softmax_cross_entropy_gradient(θ, y)
    assert exact.equal(T.sum(dim=0), right)
    assert not exact.equal(T.diagonal(), right)
    assert [x == 0 for x in T.diagonal().tolist()] == [True, False, True]  # what is lost: every other class


def test_scores_of_the_identity_do_not_make_an_identity_layer():
    X = exact("1 2; 3 4; 5 6")
    assert exact.equal(identity_layer(X), X)  # only in the limit β → ∞
    assert not exact.equal(identity_layer(X, beta=1), X)
    assert not exact.equal(identity_layer(X, beta=20), X)


def test_one_over_d_is_not_one_over_the_root_of_d():
    # q·k of independent entries with variance 1 has the variance d: 1/√d brings it to 1, 1/d to 1/d
    random = torch.Generator().manual_seed(0)
    for d in (16, 256):
        Q, K = (torch.randn(2000, d, generator=random, dtype=torch.float64) for _ in range(2))
        scores = (Q * K).sum(dim=-1)
        assert (scores / sqrt(d)).var().item() == pytest.approx(1, abs=0.15)
        assert (scores / d).var().item() < 0.1
    one = exact("1 1 1 1; 1 -1 1 -1")
    assert exact.equal(attention_weights(one, one, scale=exact("1/2")), attention_weights(one, one))
    assert not exact.equal(attention(one, one, one, scale=exact("1/4")), attention(one, one, one))


def test_the_gradient_through_time_needs_every_delay():
    w, h = exact("2"), exact("1 3 7 15")
    assert exact.equal(temporal_gradient(w, h), exact("7 + 2*3 + 4*1"))  # h_2 alone, 7, leaves the past out

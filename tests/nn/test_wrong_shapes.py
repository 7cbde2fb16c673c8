"""Every exported name, called with shapes that do not fit: the answer is a value or our own error, never PyTorch's."""

from functools import partial

import pytest
import torch
from torch import nn as torch_nn

from workings import course, exact, models, nn
from workings.errors import WorkingsError


def x(*shape):
    """Numbers between 0 and 1 that differ."""
    return torch.linspace(0.1, 0.9, max(1, torch.Size(shape).numel())).reshape(shape)


def p(*shape):
    """Probabilities along the last axis."""
    return x(*shape).softmax(dim=-1)


def t(*shape):
    """Tokens 0, 1, 0, 1, …"""
    return (torch.arange(torch.Size(shape).numel()) % 2).reshape(shape)


def with_weights(function, *given):
    """A function of tensors only, for one whose weights come in a tuple."""
    count = len(given)
    return lambda *tensors: function(*tensors[:count], tensors[count:])


CELL = (x(4, 3), x(4, 4), x(4), x(4))
ATTEND = (x(3, 4), x(5, 4), x(5, 6))
COLUMNS = (x(4, 3), x(4, 5), x(6, 5))
LABELS = torch.tensor([1.0, -1.0, 1.0])
BATCH = x(2, 3, 4)


def layer(module, *given):
    return (module, *given)


NN = {
    "BatchNorm": layer(nn.BatchNorm(3), x(4, 3)),
    "Block": layer(nn.Block(4, 2), BATCH),
    "FeedForward": layer(nn.FeedForward(4), BATCH),
    "GRU": layer(nn.GRU(4, 3), BATCH, x(2, 3)),
    "KeyValueCache": (lambda K, V: nn.KeyValueCache().append(K, V), x(2, 3, 4), x(2, 3, 5)),
    "LSTM": (lambda X, h, c: nn.LSTM(4, 3)(X, (h, c)), BATCH, x(2, 3), x(2, 3)),
    "LayerNorm": layer(nn.LayerNorm(4), BATCH),
    "MultiHeadAttention": layer(nn.MultiHeadAttention(4, 2), BATCH, x(2, 5, 4)),
    "RMSNorm": layer(nn.RMSNorm(4), BATCH),
    "RNN": layer(nn.RNN(4, 3), BATCH, x(2, 3)),
    "Rotary": layer(nn.Rotary(), BATCH),
    "adam": (partial(nn.adam, t=1), x(3), x(3), x(3), x(3)),
    "adamw": (partial(nn.adamw, t=1), x(3), x(3), x(3), x(3)),
    "argmax_weights": (nn.argmax_weights, x(2, 3)),
    "attention": (nn.attention, *ATTEND),
    "attention_columns": (nn.attention_columns, *COLUMNS),
    "attention_query": (nn.attention_query, x(4), x(5, 4), x(5, 6)),
    "attention_weights": (nn.attention_weights, *ATTEND[:2]),
    "average_pool": (lambda X: nn.average_pool(X, 2), x(1, 4, 4)),
    "averaging_query": (lambda a, b: course.averaging_query(a, b, 2), x(4), x(4)),
    "averaging_strength": (lambda ε: course.averaging_strength(0.4 * ε, 5), x(2)),
    "averaging_weight": (lambda λ: course.averaging_weight(λ, 5), x(2)),
    "batch_norm": (nn.batch_norm, x(4, 3), x(3), x(3)),
    "batch_norm_test": (nn.batch_norm_test, x(4, 3), x(3), x(3), x(3), x(3)),
    "batch_statistics": (nn.batch_statistics, x(4, 3)),
    "bits": (nn.bits, x(2)),
    "bits_per_character": (lambda log_p: nn.bits_per_character(-log_p, 3), x(4)),
    "chain_rule_terms": (nn.chain_rule_terms, x(3), p(3)),
    "clip_gradient": (nn.clip_gradient, x(3, 3)),
    "clip_loss": (nn.clip_loss, x(3, 3)),
    "clip_loss_both_ways": (nn.clip_loss_both_ways, x(3, 3)),
    "conv1d_by_heads": (course.conv1d_by_heads, x(5, 2), x(3, 2, 3), x(3)),
    "conv2d": (nn.conv2d, x(2, 2, 4, 4), x(3, 2, 2, 2), x(3)),
    "conv2d_by_heads": (course.conv2d_by_heads, x(2, 4, 4), x(3, 2, 3, 3), x(3)),
    "convolution_weights": (lambda w: course.convolution_weights(4, w), p(3)),
    "copy_weight": (lambda λ: course.copy_weight(λ, 5), x(2)),
    "cosine_map": (nn.cosine_map, x(3, 4)),
    "cosine_scores": (nn.cosine_scores, *ATTEND[:2]),
    "effective_keys": (nn.effective_keys, p(2, 3)),
    "elbo": (nn.elbo, x(3), x(3)),
    "entropy": (nn.entropy, p(2, 3)),
    "feed_forward": (nn.feed_forward, x(2, 4), x(4, 5), x(5), x(5, 4), x(4)),
    "gap_for": (lambda a: course.gap_for(a, 4), x(2)),
    "gaussian_kl": (nn.gaussian_kl, x(2, 3), x(2, 3)),
    "gaussian_kl_between": (nn.gaussian_kl_between, *[x(2, 3)] * 4),
    "gaussian_kl_by_draws": (lambda μ, s: nn.gaussian_kl_by_draws(μ, s, 5), x(3), x(3)),
    "gru": (with_weights(nn.gru, 0, 0), x(2, 5, 3), x(2, 4), x(12, 3), x(12, 4), x(12), x(12)),
    "gumbel_noise": (nn.gumbel_noise, x(2, 3)),
    "gumbel_softmax": (nn.gumbel_softmax, x(2, 3)),
    "hard_attention": (nn.hard_attention, *ATTEND),
    "identity_diagonal": (lambda β: course.identity_diagonal(β, 3), x(2)),
    "identity_layer": (course.identity_layer, x(3, 2)),
    "identity_slope": (nn.identity_slope, x(2)),
    "infinity_gradient": (lambda w: course.infinity_gradient(w, 2), x(3)),
    "infinity_penalty": (lambda w: course.infinity_penalty(w, 2), x(3)),
    "key_noise": (lambda Q, K, V, ε: course.key_noise(Q, K, V, 1, ε), *COLUMNS, x(4)),
    "key_noise_mean": (lambda Q, K, V: course.key_noise_mean(Q, K, V, 1, 0.1), *COLUMNS),
    "key_scaling": (lambda Q, K, V: course.key_scaling(Q, K, V, 1, 2), *COLUMNS),
    "key_scaling_change": (lambda Q, K, V: course.key_scaling_change(Q, K, V, 1, 2), *COLUMNS),
    "kl": (nn.kl, p(2, 3), p(2, 3)),
    "layer_norm": (nn.layer_norm, x(2, 4), x(4), x(4)),
    "local_attention": (lambda Q, K, V: nn.local_attention(Q, K, V, 3), x(3, 4), x(3, 4), x(3, 6)),
    "log_gaussian": (nn.log_gaussian, x(2, 3), x(2, 3), x(2, 3)),
    "logistic_gradient": (lambda w, x: course.logistic_gradient(w, x, 1), x(3), x(3)),
    "logistic_loss": (nn.logistic_loss, x(2), x(3, 2), LABELS),
    "logistic_loss_gradient": (nn.logistic_loss_gradient, x(2), x(3, 2), LABELS),
    "lstm": (with_weights(nn.lstm, 0, 0, 0), x(2, 5, 3), x(2, 4), x(2, 4), x(16, 3), x(16, 4), x(16), x(16)),
    "margin": (lambda τ, L: nn.margin(τ, 4, L), x(), x()),
    "max_pool": (lambda X: nn.max_pool(X, 2), x(1, 4, 4)),
    "momentum": (lambda θ, v, g: nn.momentum(θ, v, g, 0.1, 0.9), x(3), x(3), x(3)),
    "momentum_accumulated": (lambda θ, v, g: nn.momentum_accumulated(θ, v, g, 0.1, 0.9), x(3), x(3), x(3)),
    "multi_head": (lambda X, *W: nn.multi_head(X, *[[w] for w in W[:3]], W[3]), x(3, 4), *[x(4, 2)] * 3, x(2, 4)),
    "multi_head_columns": (
        lambda Q, K, V, *W: nn.multi_head_columns(Q, K, V, *[[w] for w in W[:3]], W[3]),
        *COLUMNS,
        x(2, 4),
        x(2, 4),
        x(2, 6),
        x(3, 2),
    ),
    "nesterov": (lambda θ, v, g: nn.nesterov(θ, v, g, 0.1, 0.9), x(3), x(3), x(3)),
    "offset_weights": (lambda like: course.offset_weights(4, 1, like, 1), x(3)),
    "one_head_weight": (lambda γ: course.one_head_weight(2, γ, 5), x(2)),
    "other_convention": (course.other_convention, x(2, 3)),
    "padding_mask": (lambda lengths: nn.padding_mask(lengths, 4), t(3)),
    "pass_through": (nn.pass_through, x(2, 3)),
    "patch_embedding": (lambda image, W, b: nn.patch_embedding(image, W, b, 2), x(3, 4, 4), x(5, 12), x(5)),
    "patch_embedding_conv": (lambda image, W, b: nn.patch_embedding_conv(image, W, b, 2), x(3, 4, 4), x(5, 12), x(5)),
    "patches": (lambda image: nn.patches(image, 2), x(3, 4, 4)),
    "penalised_step": (lambda w, x: course.penalised_step(w, x, 1, 0.1, 0.1), x(3), x(3)),
    "permutation_layer": (lambda X: course.permutation_layer(X, [1, 2, 0]), x(3, 2)),
    "perplexity": (nn.perplexity, x(4)),
    "perplexity_from_log": (lambda log_p: nn.perplexity_from_log(-log_p), x(4)),
    "projection": (course.projection, x(4, 2)),
    "query_noise": (lambda Q, K, V, ε: course.query_noise(Q, K, V, 1, ε), *COLUMNS, x(4)),
    "recall_at": (lambda S: nn.recall_at(S, 2), x(3, 3)),
    "recursive_gradient": (course.recursive_gradient, x(), x(4)),
    "regime": (course.regime, x()),
    "relative_bias": (lambda b: nn.relative_bias(b, 4), x(3)),
    "relu_slope": (nn.relu_slope, x(2)),
    "reparameterised": (nn.reparameterised, x(2, 3), x(2, 3), x(2, 3)),
    "resampled_positions": (lambda E: nn.resampled_positions(E, (2, 2), (3, 3)), x(5, 2)),
    "rms_norm": (nn.rms_norm, x(2, 4), x(4)),
    "rnn": (with_weights(nn.rnn, 0, 0), x(2, 5, 3), x(2, 4), *CELL),
    "rnn_cell": (with_weights(nn.rnn_cell, 0, 0), x(2, 3), x(2, 4), *CELL),
    "rope": (nn.rope, x(2, 3, 4), t(3)),
    "score_gradient": (partial(nn.score_gradient, nn.straight_through), x(3), x(3)),
    "sgd": (lambda θ, g: nn.sgd(θ, g, 0.1), x(3), x(3)),
    "siglip_gradient": (nn.siglip_gradient, x(3, 3)),
    "siglip_loss": (nn.siglip_loss, x(3, 3)),
    "sigmoid_slope": (nn.sigmoid_slope, x(2)),
    "sigmoid_tail": (nn.sigmoid_tail, x(2)),
    "similarities": (nn.similarities, x(3, 4), x(5, 4)),
    "sinusoidal": (lambda n: nn.sinusoidal(n, 4), t(3)),
    "softmax": (nn.softmax, x(2, 3), x(2, 1)),
    "softmax_cross_entropy": (nn.softmax_cross_entropy, x(2, 3), p(2, 3)),
    "softmax_cross_entropy_gradient": (nn.softmax_cross_entropy_gradient, x(2, 3), p(2, 3)),
    "softmax_jacobian": (nn.softmax_jacobian, x(2, 3), x(2, 1)),
    "squared_loss": (nn.squared_loss, x(2, 3), x(2, 3)),
    "squared_loss_gradient": (nn.squared_loss_gradient, x(2, 3), x(2, 3)),
    "state_gradient": (lambda w: course.state_gradient(w, 3), x()),
    "states": (course.states, x(), x(4), x()),
    "straight_through": (nn.straight_through, x(2, 3)),
    "swiglu": (nn.swiglu, x(2, 4), x(4, 5), x(4, 5), x(5, 4)),
    "tanh_slope": (nn.tanh_slope, x(2)),
    "tanh_tail": (nn.tanh_tail, x(2)),
    "temporal_gradient": (course.temporal_gradient, x(), x(4)),
    "three_level_gradient": (course.three_level_gradient, x(), x(5)),
    "trajectory": (lambda θ: nn.trajectory(lambda θ: 2 * θ, θ, 0.1, 3), x(2)),
    "two_head_weight": (lambda γ: course.two_head_weight(2, γ, 5), x(2)),
    "two_level_gradient": (course.two_level_gradient, x(), x(4)),
    "two_queries": (course.two_queries, x(4), x(4), x(5, 4), x(5, 6)),
    "uniform_average": (course.uniform_average, x(3, 2)),
    "variance": (nn.variance, p(2, 3)),
    "width_one": (course.width_one, x(3, 4), x(4, 5)),
    "winner_bound": (lambda Δ: course.winner_bound(Δ, 4), x(2)),
}
NO_TENSORS = set(
    """
    Learned RelativeBias activation alibi alibi_slopes causal_mask conv_parameters conv_shape conv_size conv_to_linear
    critical_rate discarded linear_parameters linear_to_conv multiplier multiply_adds other_formula parameter_count
    per_longer_unit per_shorter_unit pool_size receptive_field same_padding spread stable weight_count window_mask
    """.split()
)
ANY_SHAPE = set(
    """
    averaging_strength averaging_weight bits copy_weight gap_for gumbel_noise identity_diagonal identity_slope
    offset_weights one_head_weight other_convention relu_slope sigmoid_slope sigmoid_tail sinusoidal state_gradient
    tanh_slope tanh_tail trajectory two_head_weight winner_bound margin padding_mask
    """.split()
)
"""Functions that take each number by itself, so that no shape is wrong."""

gpt2 = models.to_gpt2(models.LanguageModel(5, 4, 2, 1, context=3, activation="gelu_tanh"))
bert = models.to_bert(models.Bert(5, 4, 2, 1, 3))
vit = models.to_vit(models.ViT(4, 2, 4, 1, 2, 3))
LANGUAGE = models.LanguageModel(5, 4, 2, 1, positions="rope")


def from_state(read, state):
    """A function of the weights of a checkpoint, one by one."""
    return (lambda *values: read(dict(zip(state, values, strict=True)), 2), *state.values())


MODELS = {
    "AutoEncoder": layer(models.AutoEncoder(4, 2), x(3, 4)),
    "AutoEncoder.loss": (models.AutoEncoder(4, 2).loss, x(3, 4)),
    "Bert": layer(models.Bert(5, 4, 2, 1, 8), t(2, 3), torch.tensor([2, 3]), t(2, 3)),
    "CLIP": layer(models.CLIP(torch_nn.Identity(), torch_nn.Identity(), 4, 3, 2), x(3, 4), x(3, 3)),
    "CLIP.loss": (models.CLIP(torch_nn.Identity(), torch_nn.Identity(), 4, 3, 2).loss, x(3, 4), x(3, 3)),
    "Decoder": layer(models.Decoder(5, 4, 2, 1), t(2, 3), x(2, 5, 4)),
    "DedupeDecoder": layer(course.DedupeDecoder(), t(3)),
    "DeepAveraging": (lambda E, tokens: models.DeepAveraging(E, [3], 2)(tokens), x(5, 4), t(2, 3)),
    "DeepAveraging.loss": (models.DeepAveraging(x(5, 4), [3], 2).loss, t(2, 3), t(2)),
    "Encoder": layer(models.Encoder(5, 4, 2, 1), t(2, 3), torch.tensor([2, 3])),
    "EncoderDecoder": layer(models.EncoderDecoder(5, 5, 4, 2, 1), t(2, 3), t(2, 4), torch.tensor([2, 3])),
    "EncoderDecoder.loss": (models.EncoderDecoder(5, 5, 4, 2, 1).loss, t(2, 3), t(2, 4), torch.tensor([2, 3])),
    "KneserNey": (lambda text, v, w: models.KneserNey(text, 2).probabilities(v, w), t(6), t(3), t(3)),
    "LanguageModel": layer(LANGUAGE, t(2, 3)),
    "LanguageModel.loss": (LANGUAGE.loss, t(2, 3)),
    "MLP": layer(models.MLP(4, 3, 2), x(5, 4)),
    "MLP.loss": (models.MLP(4, 3, 2).loss, x(5, 4), t(5)),
    "NeuralBigram": (lambda E, v, w: models.NeuralBigram(E, 3).loss(v, w), x(5, 4), t(3), t(3)),
    "ScalarRNN": layer(course.ScalarRNN(), x(4)),
    "SigLIP": layer(models.SigLIP(torch_nn.Identity(), torch_nn.Identity(), 4, 3, 2), x(3, 4), x(3, 3)),
    "SigLIP.loss": (models.SigLIP(torch_nn.Identity(), torch_nn.Identity(), 4, 3, 2).loss, x(3, 4), x(3, 3)),
    "StreetDigits": layer(models.StreetDigits(), x(2, 1, 32, 32)),
    "StreetDigits conv": layer(models.StreetDigits("conv"), x(2, 1, 32, 32)),
    "VAE": layer(models.VAE(4, 2), x(3, 4), x(3, 2)),
    "VAE.loss": (models.VAE(4, 2).loss, x(3, 4), x(3, 2)),
    "VAE.interpolate": (lambda a, b: models.VAE(4, 2).interpolate(a, b, 3), x(4), x(4)),
    "ViT": layer(models.ViT(4, 2, 4, 1, 2, 3), x(2, 3, 4, 4)),
    "WordVectors": (lambda V, v: models.WordVectors(["a", "b"], V).neighbours(v, 1), x(2, 3), x(3)),
    "bayes": (course.bayes, p(3), x(3)),
    "bptt": (lambda w, a, x: course.bptt(w, a, x, 0.5), x(), x(), x(4)),
    "check_gradient": (lambda x, g: models.check_gradient(lambda x: x.sum(), x.double(), g.double()), x(3), x(3)),
    "derivation": (course.derivation, p(3), x(3), p(3)),
    "evidence": (course.evidence, p(3), x(3), p(3)),
    "from_bert": from_state(models.from_bert, bert),
    "from_gpt2": from_state(models.from_gpt2, gpt2),
    "from_vit": from_state(models.from_vit, vit),
    "gradients": (lambda x, y, *W: models.gradients(x, y, W), x(3, 4), p(3, 2), x(4, 5), x(5), x(5, 2), x(2)),
    "kneser_ney": (lambda C: models.kneser_ney(C, 0.5), torch.ones(3, 3)),
    "linear_rnn": (lambda u: course.linear_rnn(u, x(), 1, 1, 0, 1, 0), x(4)),
    "linear_rnn_loss": (lambda u: course.linear_rnn_loss(u, x(), 1, 1, 0, 1, 0, 1), x(4)),
    "principal_angle": (models.principal_angle, x(4, 2), x(4, 2) ** 2),
    "reconstruction_error": (models.reconstruction_error, x(3, 4), x(3, 4)),
    "separation": (course.separation, x(3, 2), LABELS),
}
NO_MODELS = set(
    """
    attention_cost block_from_torch block_to_torch digits_cnn fully_convolutional recurrent_cost to_bert to_gpt2 to_vit
    """.split()
)
ELSEWHERE = set("CharacterModel beam greedy next_token_probabilities sample".split())
"""Tested beside the decoding they belong to."""


def wrong(given):
    """The tensor in other shapes: a number, no entries, an axis more or fewer, a row or a column more or fewer."""
    yield given.new_zeros(())
    yield given.new_zeros((0,))
    yield given.new_zeros((*given.shape, 2))
    yield torch.stack([given] * 3)
    yield given.flatten()
    yield from (given[0],) if given.dim() else ()
    for axis in range(given.dim()):
        yield torch.cat([given, given.narrow(axis, 0, 1)], dim=axis)
        yield given.narrow(axis, 0, given.shape[axis] - 1)


def cases(function, given):
    for place, tensor in enumerate(given):
        for other in wrong(tensor):
            yield function, (*given[:place], other, *given[place + 1 :])


def refused(function, given):
    """Whether the call is refused; an error that is not ours comes out of here."""
    try:
        function(*given)
    except WorkingsError:
        return True
    return False


def test_every_name_is_listed():
    of_models = {name.split(".")[0].split()[0] for name in MODELS}
    listed = {*NN, *NO_TENSORS, *of_models, *NO_MODELS, *ELSEWHERE}
    assert sorted(listed) == sorted([*nn.__all__, *models.__all__, *course.__all__])


@pytest.mark.parametrize("name", NN | MODELS)
def test_no_message_of_a_wrong_shape_is_pytorchs(name):
    torch.manual_seed(0)
    function, *given = (NN | MODELS)[name]
    assert not refused(function, given)
    found = [refused(call, changed) for call, changed in cases(function, given)]
    assert any(found) or name in ANY_SHAPE


@pytest.mark.parametrize("name", NN)
def test_no_message_of_a_wrong_shape_is_pytorchs_for_exact_tensors(name):
    function, *given = NN[name]
    if isinstance(function, torch_nn.Module) or name in ("LSTM", "gumbel_softmax", "gumbel_noise", "gaussian_kl_by_draws"):
        pytest.skip("its weights or its noise are floats")
    given = [exact(tensor, recover=True) if tensor.is_floating_point() else tensor for tensor in given]
    for call, changed in cases(function, given):
        refused(call, changed)

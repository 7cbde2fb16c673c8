"""Each written-out definition is the fused operation: on random doubles over its options, and on exact tensors."""

from math import inf

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from workings import equations as textbook
from workings import exact
from workings.trace.definitions.expand import Definition, Refusal, compare, definition_of, layer_entry
from workings.trace.operations import OPERATIONS


def random(*shape: int) -> torch.Tensor:
    """Repeatable random doubles."""
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))


def agrees(call, *args, **kwargs) -> None:
    """The definition of a call gives the result of the call."""
    definition = definition_of(call, args, kwargs)
    assert isinstance(definition, Definition), definition
    with torch.no_grad():
        assert_close(definition(), call(*args, **kwargs), rtol=0, atol=1e-12, equal_nan=True)


PROVED = "compared with the fused result: equal, proved"
TO_MANY_BITS = (
    "compared with the fused result: not decided: no proof was found; the difference is smaller than any number of 4,096 "
    "bits shows"
)


def agrees_exactly(call, *args, **kwargs) -> None:
    """The same, proved, on exact tensors."""
    definition = definition_of(call, args, kwargs)
    assert isinstance(definition, Definition), definition
    assert compare(call(*args, **kwargs), definition()) == PROVED


def reason(call, *args, **kwargs) -> str:
    refusal = definition_of(call, args, kwargs)
    assert isinstance(refusal, Refusal)
    return refusal.reason


Q, K, V = random(2, 4, 3, 5), random(2, 4, 6, 5), random(2, 4, 6, 7)
SEEN = torch.tensor([[1, 0, 1, 0, 0, 1], [0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]], dtype=torch.bool)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_causal": True},
        {"scale": 0.3},
        {"attn_mask": SEEN},
        {"attn_mask": random(3, 6)},
        {"attn_mask": torch.zeros(3, 6, dtype=torch.float64).masked_fill(~SEEN, -inf)},
    ],
)
def test_attention(options):
    agrees(F.scaled_dot_product_attention, Q, K, V, **options)


def test_attention_of_grouped_heads():
    agrees(F.scaled_dot_product_attention, Q, K[:, :2], V[:, :2], enable_gqa=True)


@pytest.mark.parametrize("function", [torch.softmax, torch.log_softmax, F.softmax, F.log_softmax, torch.Tensor.softmax])
@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("dim", [0, -1])
def test_softmax(function, scale, dim):
    agrees(function, random(3, 4) * scale, dim)
    agrees(function, random(3, 4) * scale - 1e4, dim, dtype=torch.float64)


def test_softmax_of_masked_scores():
    agrees(torch.softmax, torch.tensor([[-inf, 0.0], [-inf, -inf]], dtype=torch.float64), dim=-1)


def test_norms():
    x, γ, β = random(4, 6, 5), random(5), random(5)
    agrees(F.layer_norm, x, [5])
    agrees(F.layer_norm, x, (6, 5), random(6, 5), random(6, 5), 1e-3)
    agrees(F.layer_norm, x, [5], weight=γ, bias=β)
    agrees(F.rms_norm, x, [5])
    agrees(F.rms_norm, x, [5], γ, eps=1e-2)
    agrees(F.group_norm, x, 3, random(6), random(6))
    agrees(F.group_norm, x, 2, eps=0.1)


@pytest.mark.parametrize("shape", [(5, 3), (5, 3, 4), (5, 3, 2, 2)])
def test_batch_norm(shape):
    mean, var = random(3), random(3).abs()
    agrees(F.batch_norm, random(*shape), mean.clone(), var.clone(), random(3), random(3), False, 0.1, 1e-4)
    agrees(F.batch_norm, random(*shape), None, None, training=True)


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_module_is_written_out_in_both_modes(training):
    norm = nn.BatchNorm1d(3, dtype=torch.float64).train(training)
    agrees(norm, random(5, 3))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weight", [None, random(4).abs()])
def test_cross_entropy(reduction, smoothing, weight):
    options = {"reduction": reduction, "label_smoothing": smoothing, "weight": weight}
    y = torch.tensor([0, 3, 1])
    agrees(F.cross_entropy, random(3, 4), y, **options)
    agrees(F.cross_entropy, random(3, 4), y, ignore_index=3, **options)
    agrees(F.cross_entropy, random(3, 4), random(3, 4).softmax(-1), **options)
    agrees(F.cross_entropy, random(3, 4, 2), torch.tensor([[0, 1], [2, 3], [-100, 1]]), **options)
    agrees(F.cross_entropy, random(3, 4, 2), random(3, 4, 2).softmax(1), **options)
    agrees(F.cross_entropy, random(4), torch.tensor(2), **options)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_binary_cross_entropy(reduction):
    z, y = random(3, 4) * 20, random(3, 4).sigmoid()
    agrees(F.binary_cross_entropy_with_logits, z, y, reduction=reduction)
    agrees(F.binary_cross_entropy_with_logits, z, y, random(4), reduction=reduction, pos_weight=random(4).abs())


def test_linear_and_embedding():
    agrees(F.linear, random(2, 3, 4), random(5, 4), random(5))
    agrees(F.linear, random(4), random(5, 4))
    agrees(F.embedding, torch.tensor([[0, 2], [1, 1]]), random(3, 4), padding_idx=0)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stride": 2, "padding": 1},
        {"dilation": 2, "padding": 2},
        {"padding": "same"},
        {"padding": "valid"},
        {"groups": 2},
    ],
)
def test_convolution(options):
    c = 4 // options.get("groups", 1)
    agrees(F.conv2d, random(2, 4, 7, 8), random(6, c, 3, 3), random(6), **options)
    agrees(F.conv2d, random(4, 7, 8), random(6, c, 3, 3), **options)
    agrees(F.conv1d, random(2, 4, 9), random(6, c, 3), random(6), **options)
    agrees(F.conv1d, random(4, 9), random(6, c, 3), **options)


def test_convolution_with_a_pair_of_each():
    agrees(F.conv2d, random(2, 4, 9, 8), random(6, 4, 3, 2), None, (2, 1), (1, 0), (1, 2))


def test_pooling():
    x = random(2, 3, 7, 8)
    agrees(F.avg_pool2d, x, 2)
    agrees(F.avg_pool2d, x, (3, 2), 2, 1)
    agrees(F.avg_pool2d, x, 3, divisor_override=5)
    agrees(F.max_pool2d, x, 2)
    agrees(F.max_pool2d, x[0], (3, 2), 2, 1, (2, 1))


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_multi_head_attention(batch_first, need_weights, masked):
    m = nn.MultiheadAttention(6, 2, batch_first=batch_first, dtype=torch.float64)
    x, y = (random(2, 3, 6), random(2, 4, 6)) if batch_first else (random(3, 2, 6), random(4, 2, 6))
    padding = torch.tensor([[0, 0, 0, 1], [0, 0, 1, 0]], dtype=torch.bool) if masked else None
    mask = random(3, 4) if masked else None
    agrees(
        m, x, y, y + 1, key_padding_mask=padding, attn_mask=None if mask is None else mask > 0.5, need_weights=need_weights
    )
    agrees(m, x, y, y, attn_mask=mask, need_weights=need_weights, average_attn_weights=False)


def test_multi_head_attention_of_other_widths_without_batch():
    m = nn.MultiheadAttention(6, 3, kdim=4, vdim=5, bias=False, dtype=torch.float64)
    agrees(m, random(3, 6), random(2, 4), random(2, 5))
    agrees(m, random(3, 6), random(2, 4), random(2, 5), attn_mask=random(3, 3, 2))


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("training", [True, False])
def test_transformer_encoder_layer(norm_first, activation, training):
    layer = nn.TransformerEncoderLayer(
        6, 2, 8, 0.0, activation, norm_first=norm_first, batch_first=True, dtype=torch.float64
    ).train(training)
    causal = nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64)
    agrees(layer, random(2, 3, 6))
    agrees(layer, random(2, 3, 6), causal, is_causal=True)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("cls", [nn.RNN, nn.LSTM, nn.GRU])
def test_recurrent_layers(cls, batch_first, bias):
    m = cls(3, 4, bias=bias, batch_first=batch_first, dtype=torch.float64)
    x = random(2, 5, 3)
    h = random(1, 2 if batch_first else 5, 4)
    agrees(m, x)
    agrees(m, x[0])
    agrees(m, x, (h, h + 1) if cls is nn.LSTM else h)


@pytest.mark.parametrize("cls", [nn.RNNCell, nn.LSTMCell, nn.GRUCell])
def test_recurrent_cells(cls):
    m = cls(3, 4, dtype=torch.float64)
    h = random(2, 4)
    agrees(m, random(2, 3))
    agrees(m, random(2, 3), (h, h + 1) if cls is nn.LSTMCell else h)
    agrees(m, random(3))


def test_rectified_rnn():
    agrees(nn.RNN(3, 4, nonlinearity="relu", dtype=torch.float64), random(5, 2, 3))


MODULES = [
    (nn.Linear(3, 2), (random(4, 3),)),
    (nn.Softmax(-1), (random(4, 3),)),
    (nn.LogSoftmax(-1), (random(4, 3),)),
    (nn.LayerNorm(3), (random(4, 3),)),
    (nn.RMSNorm(3), (random(4, 3),)),
    (nn.GroupNorm(2, 4), (random(3, 4),)),
    (nn.Embedding(5, 3), (torch.tensor([4, 0]),)),
    (nn.CrossEntropyLoss(), (random(4, 3), torch.tensor([0, 1, 2, 0]))),
    (nn.BCEWithLogitsLoss(), (random(4), random(4).sigmoid())),
    (nn.Conv1d(2, 3, 2), (random(1, 2, 5),)),
    (nn.Conv2d(2, 3, 2), (random(1, 2, 5, 5),)),
    (nn.AvgPool2d(2), (random(1, 2, 5, 5),)),
    (nn.MaxPool2d(2), (random(1, 2, 5, 5),)),
]


@pytest.mark.parametrize(("module", "args"), MODULES, ids=lambda value: type(value).__name__)
def test_modules(module, args):
    agrees(module.double(), *args)


def test_every_module_class_is_tested():
    tested = {type(module) for module, _ in MODULES} | {nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d}
    tested |= {
        nn.RNN,
        nn.LSTM,
        nn.GRU,
        nn.RNNCell,
        nn.LSTMCell,
        nn.GRUCell,
        nn.MultiheadAttention,
        nn.TransformerEncoderLayer,
    }
    assert {cls for cls, (row, layer) in OPERATIONS.layers.items() if layer_entry(row, layer)} == tested


x = exact("1 0; 1/2 1")


@pytest.mark.parametrize(
    ("call", "args", "kwargs"),
    [
        (F.scaled_dot_product_attention, (exact("1 0; 0 1"), exact("1 1; 1 0"), exact("2 0; 0 1")), {}),
        (F.scaled_dot_product_attention, (x, x, x), {"is_causal": True}),
        (torch.softmax, (x, -1), {}),
        (torch.log_softmax, (x, 0), {}),
        (F.layer_norm, (x, [2]), {}),
        (F.rms_norm, (x, [2]), {"eps": 0.5}),
        (F.batch_norm, (x, None, None), {"training": True}),
        (F.group_norm, (x, 1), {}),
        (F.linear, (x, exact("2 1; 1 1"), exact("1/3 0")), {}),
        (F.embedding, (torch.tensor([1, 0]), x), {}),
        (F.cross_entropy, (x, torch.tensor([0, 1])), {}),
        (F.cross_entropy, (x, torch.tensor([0, 1])), {"label_smoothing": 0.1, "reduction": "sum"}),
        (F.conv2d, (x.reshape(1, 1, 2, 2), x.reshape(1, 1, 2, 2)), {"padding": 1}),
        (F.conv1d, (x.reshape(1, 1, 4), exact("1 2").reshape(1, 1, 2)), {}),
        (F.avg_pool2d, (x.reshape(1, 1, 2, 2), 2), {}),
        (F.max_pool2d, (x.reshape(1, 1, 2, 2), 2), {}),
    ],
)
def test_on_exact_tensors(call, args, kwargs):
    agrees_exactly(call, *args, **kwargs)


def filled(module: nn.Module) -> nn.Module:
    """The module, exact, with small whole numbers for weights."""
    with torch.no_grad():
        for p in module.parameters():
            p.copy_((torch.arange(p.numel()) % 3 - 1).reshape(p.shape))
    return exact.exactify(module.double().eval())


@pytest.mark.parametrize("cls", [nn.RNN, nn.LSTM])
def test_recurrent_layers_on_exact_tensors(cls):
    agrees_exactly(filled(cls(2, 1)), x)


@pytest.mark.parametrize(
    ("call", "args"),
    [(F.binary_cross_entropy_with_logits, (x, exact("1 0; 0 1"))), (filled(nn.GRU(2, 1)), (x,))],
    ids=["binary cross-entropy", "GRU"],
)
def test_on_exact_tensors_of_another_form(call, args):
    # log σ(z) against softplus, and (1 − z) n against n − z n inside a tanh: the prover may stop at a bound instead.
    assert compare(call(*args), definition_of(call, args)()) in (PROVED, TO_MANY_BITS)


def test_multi_head_attention_on_exact_tensors():
    agrees_exactly(filled(nn.MultiheadAttention(2, 2)), x, x, x)


def test_the_textbook_keeps_the_readers_form():
    # Row 2 of S is (1/√2, 0): the weight is e^(1/√2)/(1 + e^(1/√2)), with no maximum subtracted.
    A = textbook.softmax(exact("1/sqrt(2) 0"))
    assert exact.equal(A, exact("e^(1/sqrt(2))/(1 + e^(1/sqrt(2))) 1/(1 + e^(1/sqrt(2)))"))


def test_refusals_name_the_option():
    x = random(2, 4, 4)
    assert reason(F.scaled_dot_product_attention, x, x, x, dropout_p=0.5) == (
        "scaled_dot_product_attention is not written out for dropout_p=0.5 (its mask is random)."
    )
    assert reason(nn.GRU(2, 2, bidirectional=True), random(3, 2)) == "GRU is not written out for bidirectional=True."
    assert reason(F.softmax, x) == "softmax is not written out for dim=None (PyTorch guesses the axis)."
    assert "ceil_mode=True" in reason(F.max_pool2d, x, 2, ceil_mode=True)
    assert "count_include_pad=False" in reason(F.avg_pool2d, x, 2, padding=1, count_include_pad=False)
    assert "padding='same'" in reason(F.conv2d, x, random(2, 2, 2, 2), padding="same")
    assert "padding_mode='circular'" in reason(nn.Conv2d(1, 1, 1, padding_mode="circular"), x)
    assert "max_norm=1.0" in reason(F.embedding, torch.tensor([0]), random(2, 2), max_norm=1.0)
    assert "dropout=0.1 in training" in reason(nn.TransformerEncoderLayer(4, 2), x)
    assert "add_bias_kv=True" in reason(nn.MultiheadAttention(4, 2, add_bias_kv=True), x, x, x)
    assert reason(torch.sin, x) == "sin has no written-out definition."
    assert "these arguments" in reason(torch.softmax, x, nonsense=1)


def test_a_subclass_with_its_own_forward_is_another_computation():
    class Doubled(nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    assert reason(Doubled(2, 2), random(1, 2)) == "Doubled has no written-out definition."


def test_compare_says_how_far():
    one = torch.tensor([1.0, inf, float("nan")])
    assert compare(one, one) == "compared with the fused result: largest difference 0"
    assert compare((one, None), (one + 0.25, None)) == "compared with the fused result: largest difference 0.25"
    assert compare(one, one[:2]) == "compared with the fused result: different shapes, [3] against [2]"
    assert compare(exact("1/3"), exact("1/2")) == "compared with the fused result: different"
    assert compare(exact("sqrt(8)"), exact("2*sqrt(2)")) == "compared with the fused result: equal, proved"

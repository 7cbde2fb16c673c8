"""Transformer blocks: their equations, PyTorch's layers, residual Jacobians, and what may be asked of them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from workings import exact, show
from workings.errors import DomainError, ShapeError
from workings.models.weights.table import block_from_torch
from workings.nn.norms.per_token import layer_norm, rms_norm
from workings.nn.transformer.block import Block, NormedAttention
from workings.nn.transformer.cache import KeyValueCache
from workings.nn.transformer.dot_product import attention_weights
from workings.nn.transformer.masks import causal_mask, padding_mask
from workings.nn.transformer.positions import RelativeBias, Rotary

KINDS = [{}, {"norm": "post"}, {"kind": "rms", "activation": "swiglu"}, {"qk_norm": True}, {"positions": Rotary()}]


def seeded(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def block(width=8, heads=2, seed=0, **options):
    torch.manual_seed(seed)
    made = Block(width, heads, **options).double()
    with torch.no_grad():
        for name, p in made.named_parameters():
            if name.startswith("norm_"):
                p.add_(torch.randn_like(p) / 4)  # so that no norm can stand in for another
    return made


def test_pre_norm_is_its_equations():
    b, X = block(), seeded(2, 5, 8)
    X_1 = X + b.attention(b.norm_1(X), causal=True)
    assert_close(b(X, causal=True), X_1 + b.ffn(b.norm_3(X_1)))


def test_post_norm_is_its_equations():
    b, X = block(norm="post"), seeded(2, 5, 8)
    X_1 = b.norm_1(X + b.attention(X))
    assert_close(b(X), b.norm_3(X_1 + b.ffn(X_1)))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_decoders_block_looks_at_the_memory_in_between(norm):
    b, X, memory = block(norm=norm, cross=True), seeded(2, 5, 8), seeded(2, 3, 8, seed=1)
    mask = padding_mask(torch.tensor([2, 3]), 3)
    if norm == "pre":
        Y = X + b.attention(b.norm_1(X), causal=True)
        Y = Y + b.to_memory(b.norm_2(Y), memory, mask=mask)
        Y = Y + b.ffn(b.norm_3(Y))
    else:
        Y = b.norm_1(X + b.attention(X, causal=True))
        Y = b.norm_2(Y + b.to_memory(Y, memory, mask=mask))
        Y = b.norm_3(Y + b.ffn(Y))
    assert_close(b(X, memory, memory_mask=mask, causal=True), Y)
    hidden = memory.clone()
    hidden[0, 2] = 9  # behind the first row's mask
    assert_close(b(X, hidden, memory_mask=mask, causal=True), Y)
    assert not torch.allclose(b(X, hidden, causal=True)[0], Y[0])


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_it_is_torchs_encoder_layer(norm_first, activation):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(
        8, 2, 16, dropout=0.0, activation=activation, batch_first=True, norm_first=norm_first, dtype=torch.float64
    )
    ours, X = block_from_torch(layer), seeded(2, 5, 8).requires_grad_()
    assert_close(ours(X), layer(X))
    assert_close(torch.autograd.grad(ours(X).sin().sum(), X), torch.autograd.grad(layer(X).sin().sum(), X))
    keep = causal_mask(5)
    assert_close(ours(X, mask=keep), layer(X, src_mask=~keep))
    assert_close(ours(X, causal=True), layer(X, src_mask=~keep))


@pytest.mark.parametrize("options", KINDS)
def test_a_cache_gives_what_the_whole_sequence_gives(options):
    b, X = block(**options), seeded(2, 7, 8)
    whole, cache = b(X, causal=True), KeyValueCache()
    with torch.no_grad():
        parts = [b(x, causal=True, cache=cache) for x in X.split([3, 1, 1, 2], dim=1)]
    assert_close(torch.cat(parts, dim=1), whole)


@pytest.mark.parametrize("options", KINDS)
def test_no_token_sees_the_future(options):
    b, X = block(**options), seeded(1, 6, 8)
    other = X.clone()
    other[:, 4:] = 7
    assert_close(b(other, causal=True)[:, :4], b(X, causal=True)[:, :4])
    assert not torch.allclose(b(other)[:, :4], b(X)[:, :4])


@given(st.permutations(range(5)))
def test_without_positions_permuted_tokens_give_permuted_outputs(order):
    b, X = block(), seeded(5, 8)
    assert_close(b(X[order]), b(X)[order])


@pytest.mark.parametrize("positions", [Rotary(), RelativeBias(2, 4)])
def test_positions_in_the_attention_break_that(positions):
    b, X = block(positions=positions), seeded(5, 8)
    if isinstance(positions, RelativeBias):
        nn.init.normal_(b.attention.positions.b)
    assert not torch.allclose(b(X.flip(0)), b(X).flip(0))


def test_exact_and_float_agree():
    b = block(width=2, heads=1, hidden=2, norm="post", eps=0.0)
    with torch.no_grad():
        for seed, p in enumerate(b.parameters()):
            p.copy_((3 * seeded(*p.shape, seed=seed)).round() / 2)
    X = exact("1 2; 0 -1")
    with torch.no_grad():
        floats = b(X.float64())
    assert_close(exact.exactify(b)(X).float64(), floats)


def test_the_gradient():
    b, X = block(width=4, hidden=4, norm="post", activation="gelu"), seeded(3, 4).requires_grad_()
    assert torch.autograd.gradcheck(b, (X,))


def test_it_is_shown_one_equation_a_line():
    work = show(block(width=2, heads=1, hidden=2), seeded(2, 2))
    text = work.text()
    assert "X = X + drop(attention(norm_1(X), None, mask, causal, cache))" in text
    assert "X = X + drop(ffn(norm_3(X)))" in text
    assert work.difference < 1e-12  # the plain run uses the kernels


def test_weights_to_look_at():
    for norm in ("pre", "post"):
        b, X = block(norm=norm), seeded(2, 5, 8)
        A = b.weights(X, causal=True)
        assert A.shape == (2, 2, 5, 5)
        assert_close(A.sum(dim=-1), torch.ones(2, 2, 5, dtype=torch.float64))
        assert A.triu(1).eq(0).all()
        assert_close(A, b.attention.weights(b.norm_1(X) if norm == "pre" else X, causal=True))


def test_normed_attention_scores_by_cosines():
    # S = g √d cos(q, k): with d = 4, and g = 1 at first
    torch.manual_seed(0)
    layer, X = NormedAttention(8, 2).double(), seeded(5, 8)
    Q, K, _ = super(NormedAttention, layer).queries_keys_values(X, None, None)
    cosines = torch.cosine_similarity(Q.unsqueeze(-2), K.unsqueeze(-3), dim=-1)
    assert_close(layer.weights(X), (2 * cosines).softmax(dim=-1), atol=1e-4, rtol=0)  # ε of the norm
    layer.g.data.fill_(3)
    assert_close(layer.weights(X), (6 * cosines).softmax(dim=-1), atol=1e-4, rtol=0)
    assert_close(layer.weights(X), attention_weights(3 * rms_norm(Q), rms_norm(K)))
    with torch.no_grad():
        layer.W_QKV[:8] *= 100  # longer queries change nothing
    assert_close(layer.weights(X), (6 * cosines).softmax(dim=-1), atol=1e-4, rtol=0)


# dropout


def test_dropout_is_random_in_training_and_absent_in_use():
    b, X = block(dropout=0.5), seeded(2, 5, 8)
    assert not torch.equal(b(X), b(X))
    b.eval()
    assert torch.equal(b(X), b(X))
    same = block().eval()
    assert_close(b(X), same(X))
    assert b.attention.dropout == 0.5


# the Jacobian of a residual


def jacobian(f, x):
    return torch.autograd.functional.jacobian(f, x)


def test_a_residual_adds_the_identity_to_the_jacobian():
    f, x = nn.Sequential(nn.Linear(4, 4), nn.Tanh()).double(), seeded(4)
    assert_close(jacobian(lambda x: x + f(x), x), torch.eye(4, dtype=torch.float64) + jacobian(f, x))


def test_the_identity_is_no_lower_bound():
    x = seeded(4)
    assert jacobian(lambda x: x + -x, x).norm() == 0  # F(x) = −x
    assert_close(torch.linalg.svdvals(jacobian(lambda x: x - x / 2, x)), torch.full((4,), 0.5, dtype=torch.float64))


def depth_gradient(residual, layers=30):
    """The norm of ∂output/∂input through a deep stack, for narrow layers."""
    torch.manual_seed(0)
    stack = [nn.Sequential(nn.Linear(8, 8), nn.Tanh()).double() for _ in range(layers)]

    def run(x):
        for f in stack:
            x = x + f(x) if residual else f(x)
        return x

    return jacobian(run, seeded(8)).norm().item()


def test_residuals_carry_the_gradient_through_a_deep_stack():
    assert depth_gradient(residual=False) < 1e-6 < 1e-2 < depth_gradient(residual=True)


def gain_through(residual, norm, size, layers=40, width=16):
    """‖∂output/∂input‖ for each input of a deep stack of layers F(x) = max(0, W x) with weights of this size."""
    weights = [size * seeded(width, width, seed=i) / width**0.5 for i in range(layers)]

    def run(x):
        for W in weights:
            F = torch.relu(W @ (layer_norm(x) if norm else x))
            x = x + F if residual else F
        return x

    return jacobian(run, seeded(width, seed=layers)).norm().item() / width**0.5


def test_residuals_and_norms_together_keep_the_gradient_in_range():
    for size in (0.1, 1, 10):  # measured: 1.1, 11 and 149
        assert 1 / 2 < gain_through(residual=True, norm=True, size=size) < 500
    assert gain_through(residual=False, norm=False, size=0.1) < 1e-40  # neither: it vanishes or explodes with the weights
    assert gain_through(residual=False, norm=False, size=10) > 1e30
    assert gain_through(residual=True, norm=False, size=1) > 1e5  # residuals alone: (I + W) many times over explodes
    assert gain_through(residual=False, norm=True, size=1) < 100  # norms alone keep the scale


# without biases


@pytest.mark.parametrize("options", [*KINDS, {"cross": True}, {"cross": True, "norm": "post", "qk_norm": True}])
def test_without_biases_it_is_the_one_with_biases_of_0(options):
    bare, full = block(bias=False, **options), block(**options)
    names = {name.rpartition(".")[2] for name, _ in bare.named_parameters()}
    assert names <= {"W_QKV", "W_O", "W_1", "W_2", "W_3", "gamma", "g"}
    with torch.no_grad():
        for p in full.parameters():
            p.zero_()
    full.load_state_dict(bare.state_dict(), strict=False)
    X, memory = seeded(2, 5, 8), seeded(2, 3, 8, seed=1) if options.get("cross") else None
    assert_close(bare(X, memory, causal=True), full(X, memory, causal=True))
    assert bare(X, memory).shape == X.shape


def test_without_biases_it_is_shown_without_them():
    text = show(block(width=2, heads=1, bias=False), seeded(1, 2, 2)).text()
    assert "+ b" not in text and "β" not in text and "return ((x − μ) / √(σ² + ε)) ⊙ γ =" in text
    assert "O = side_by_side(Z) W_Oᵀ =" in text and "H = φ(X W_1) =" in text
    assert "matches the unmodified run" in text


# messages


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"heads": 3}, ShapeError, "The heads share the width among them: 8 is not divisible by 3 heads."),
        (
            {"norm": "middle"},
            DomainError,
            "A block normalises before its layers ('pre') or after them ('post'), not 'middle'.",
        ),
        ({"kind": "batch"}, DomainError, "A block normalises by 'layer' norm or by 'rms' norm, not 'batch'."),
        ({"dropout": 1.0}, DomainError, "Dropout leaves out a share of at least 0 and less than 1, not 1.0."),
        (
            {"activation": "tanh"},
            DomainError,
            "The activation of a feed-forward network is one of 'relu', 'gelu', 'gelu_tanh', 'silu' or 'swiglu', "
            "not 'tanh'.",
        ),
    ],
)
def test_settings_that_make_no_block(options, error, message):
    with pytest.raises(error) as found:
        block(**options)
    assert str(found.value) == message


def test_a_memory_where_it_is_needed_and_only_there():
    with pytest.raises(ShapeError) as error:
        block(cross=True)(seeded(2, 5, 8))
    assert str(error.value) == "This block has cross-attention: give it the memory, what the encoder made of the source."
    with pytest.raises(ShapeError) as error:
        block()(seeded(2, 5, 8), seeded(2, 3, 8))
    assert str(error.value) == "This block has no cross-attention, so it cannot use a memory: make it with cross=True."

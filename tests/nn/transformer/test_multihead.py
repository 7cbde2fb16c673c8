"""Several heads: the worked example, PyTorch's layer, causal steps with a cache, and what heads cost."""

from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

import workings
from workings import exact
from workings.errors import ShapeError, WorkingsError
from workings.nn.transformer.cache import KeyValueCache
from workings.nn.transformer.dot_product import hard_attention
from workings.nn.transformer.heads import from_torch, multi_head, multi_head_columns, multiply_adds, to_torch, weight_count
from workings.nn.transformer.masks import causal_mask, padding_mask, window_mask
from workings.nn.transformer.multihead import MultiHeadAttention, projections
from workings.nn.transformer.positions import RelativeBias, Rotary, alibi

I = exact.eye(2)
SWAP = exact("0 1; 1 0")


def message(call, error=ShapeError):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def layer(width=8, heads=2, seed=0, **options):
    torch.manual_seed(seed)
    made = MultiHeadAttention(width, heads, **options).double()
    for b in (made.b_QKV, made.b_O):
        if b is not None:
            nn.init.normal_(b)
    return made


def tokens(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# ---- the worked example
def test_two_heads_side_by_side():
    # head 1: Q = I, K = [[1, 0], [1, 1]], V = I; head 2: Q = V = swap, K = [[1, 1], [0, 1]]
    Z = multi_head(I, [I, SWAP], [exact("1 0; 1 1"), exact("1 1; 0 1")], [I, SWAP])
    s, t = "1/(1+exp(1/sqrt(2)))", "exp(1/sqrt(2))/(1+exp(1/sqrt(2)))"
    assert exact.equal(Z, exact([["1/2"] * 4, [s, t, s, t]]))
    assert_close(Z.float64()[1], torch.tensor([0.330238, 0.669762] * 2, dtype=torch.float64), atol=1e-6, rtol=0)


def test_the_second_head_alone():
    work = workings.show(multi_head, I, [SWAP], [exact("1 1; 0 1")], [SWAP])
    s, t = "1/(1+exp(1/sqrt(2)))", "exp(1/sqrt(2))/(1+exp(1/sqrt(2)))"
    found = {step.name: step.live for step in work.root.walk() if step.kind == "assign"}
    for name, rows in {"Q": "0 1; 1 0", "K": "1 1; 0 1", "V": "0 1; 1 0"}.items():
        assert exact.equal(found[name], exact(rows))
    assert exact.equal(found["S"], exact("1/sqrt(2) 1/sqrt(2); 1/sqrt(2) 0"))
    assert exact.equal(found["A"], exact([["1/2", "1/2"], [t, s]]))
    assert exact.equal(found["Y"], exact([["1/2", "1/2"], [s, t]]))
    assert work.difference == 0


def test_a_duplicated_head_needs_another_output_projection():
    # one-hot tokens D A A START, W = [[0,3],[1,2],[2,1],[3,0]]; the hard head gives rows (3,0), (0,3), … and both twice
    W = exact("0 3; 1 2; 2 1; 3 0")
    X = exact("0 0 0 1; 1 0 0 0; 1 0 0 0; 0 0 0 0; 1 0 0 0; 0 0 0 1; 0 0 0 0")
    once = multi_head(X, [W], [W], [W], attend=hard_attention, causal=True)
    twice = multi_head(X, [W] * 2, [W] * 2, [W] * 2, exact.eye(4), attend=hard_attention, causal=True)
    rows = "3 0 3 0; 0 3 0 3; 0 3 0 3; 3/4 3/2 3/4 3/2; 0 3 0 3; 3 0 3 0; 6/7 9/7 6/7 9/7"
    assert exact.equal(twice, exact(rows))
    assert exact.equal(once @ exact("0 1 0 1; 1 0 1 0"), exact(rows)[:, [1, 0, 3, 2]])


def test_heads_must_be_complete():
    assert message(lambda: multi_head(I, [I], [I, I], [I])) == (
        "Each head needs its W_Q, W_K and W_V, but there are 1 of W_Q, 2 of W_K and 1 of W_V."
    )


def test_columns_of_the_definition():
    # t × n with its own widths: d = 4, t = 6, three heads of width 2
    Q, K, V = tokens(4, 5), tokens(4, 7), tokens(6, 7)
    W_Q, W_K, W_V = ([tokens(2, e, seed=i) for i in range(3)] for e in (4, 4, 6))
    O = multi_head_columns(Q, K, V, W_Q, W_K, W_V, tokens(6, 6))
    assert O.shape == (6, 5)
    stacked = multi_head_columns(Q, K, V, W_Q, W_K, W_V)
    assert_close(tokens(6, 6) @ stacked, O)


# ---- the layer
@pytest.mark.parametrize("heads", [1, 2, 4])
@pytest.mark.parametrize("bias", [True, False])
def test_it_equals_pytorch(heads, bias):
    ours = layer(8, heads, bias=bias)
    theirs = to_torch(ours)
    X, Y = tokens(3, 5, 8), tokens(3, 7, 8, seed=2)
    assert_close(ours(X), theirs(X, X, X)[0])
    assert_close(ours(X, Y), theirs(X, Y, Y)[0])
    hidden = ~causal_mask(5)
    assert_close(ours(X, causal=True), theirs(X, X, X, attn_mask=hidden)[0])
    assert_close(ours(X, mask=causal_mask(5)), theirs(X, X, X, attn_mask=hidden)[0])
    padding = padding_mask(torch.tensor([2, 5, 3]), 5)
    assert_close(ours(X, mask=padding), theirs(X, X, X, key_padding_mask=~padding[:, 0])[0])
    A = theirs(X, Y, Y, average_attn_weights=False)[1]
    assert_close(ours.weights(X, Y), A)


def test_there_and_back():
    theirs = nn.MultiheadAttention(8, 2, batch_first=True, dropout=0.25).eval()
    ours = from_torch(theirs)
    assert (ours.dropout, ours.training, ours.heads) == (0.25, False, 2)
    X = torch.randn(2, 3, 8)
    assert_close(ours(X), theirs(X, X, X)[0])
    again = to_torch(ours)
    for name, p in theirs.state_dict().items():
        assert p.equal(again.state_dict()[name])


def test_what_pytorch_has_and_we_do_not():
    for options, reason in {
        "kdim": ({"kdim": 4, "vdim": 4}, "its keys or values have another width than its queries"),
        "bias_k": ({"add_bias_kv": True}, "it appends a learned key (bias_k)"),
        "zero": ({"add_zero_attn": True}, "it appends a zero key (add_zero_attn)"),
    }.values():
        text = message(lambda options=options: from_torch(nn.MultiheadAttention(8, 2, **options)), WorkingsError)
        assert text == f"This MultiheadAttention cannot be taken over: {reason}."


def test_what_we_have_and_pytorch_does_not():
    assert message(lambda: to_torch(MultiHeadAttention(8, 2, kv_heads=1, positions=Rotary())), WorkingsError) == (
        "torch.nn.MultiheadAttention has 2 heads of width 8 / 2 and no positions: "
        "this layer has 1 key heads of width 4 and Rotary."
    )


def test_concatenating_then_projecting_is_a_sum_over_heads():
    ours, X = layer(6, 3), tokens(2, 4, 6)
    assert_close(ours.contributions(X).sum(-3) + ours.b_O, ours(X))
    Z = [tokens(4, 2, seed=i) for i in range(3)]
    W_O = tokens(6, 5)
    assert_close(torch.cat(Z, -1) @ W_O, sum(z @ w for z, w in zip(Z, W_O.split(2), strict=True)))


def test_ablating_a_head():
    ours, X = layer(6, 3), tokens(2, 4, 6)
    without = ours(X) - ours.contributions(X)[..., 1, :, :]
    with torch.no_grad():
        ours.W_O[:, 2:4] = 0
    assert_close(ours(X), without)


@pytest.mark.parametrize("options", [{}, {"bias": False}])
def test_kernel_and_equations_project_alike(options):
    ours, X, Y = layer(**options), tokens(2, 3, 8), tokens(2, 5, 8, seed=2)
    for memory in (X, Y):
        fast = projections(X, memory, ours.W_QKV, ours.b_QKV, ours.sizes)
        written = projections.__definition__(X, memory, ours.W_QKV, ours.b_QKV, ours.sizes)
        for a, b in zip(fast, written, strict=True):
            assert_close(a, b)


def test_the_shown_layer_agrees_with_the_plain_one():
    work = workings.show(layer(4, 2), tokens(1, 3, 4))
    assert work.difference < 1e-14
    for equation in ("Q = X W_Qᵀ + b_Q", "S = Q Kᵀ / √d", "A = softmax(S)", "Z = A V"):
        assert equation in work.text()


def test_exact_layer_equals_floats():
    ours = layer(2, 2)
    with torch.no_grad():
        for p in ours.parameters():
            p.copy_((p * 2).round() / 2)
        X = tokens(1, 3, 2).round()
        floats = ours(X, causal=True)
        made = exact.exactify(ours)(exact(X), causal=True)
    assert_close(made.float64(), floats, rtol=0, atol=1e-13)


def test_own_widths():
    ours = MultiHeadAttention(6, 4, key_width=3, value_width=5)
    assert ours(torch.randn(2, 7, 6)).shape == (2, 7, 6)
    assert ours.W_QKV.shape == (4 * (3 + 3 + 5), 6) and ours.W_O.shape == (6, 20)


def test_each_projection_has_its_own_glorot_range():
    # √(6 / (64 + 64)) ≈ 0.2165; for the stacked matrix it would be √(6 / (64 + 192)) ≈ 0.153
    torch.manual_seed(0)
    ours = MultiHeadAttention(64, 4)
    for W in (*ours.W_QKV.split(ours.sizes), ours.W_O):
        assert 0.21 < W.abs().max().item() <= 0.2166
    assert ours.b_QKV.abs().sum() == ours.b_O.abs().sum() == 0


def test_grouped_keys_equal_repeated_ones():
    grouped = layer(8, 4, kv_heads=2)
    full = layer(8, 4)
    q, k, v = grouped.W_QKV.data.split(grouped.sizes)
    b_q, b_k, b_v = grouped.b_QKV.data.split(grouped.sizes)
    with torch.no_grad():
        repeated = [x.unflatten(0, (2, 2)).repeat_interleave(2, 0).flatten(0, 1) for x in (k, v, b_k, b_v)]
        full.W_QKV.copy_(torch.cat((q, *repeated[:2])))
        full.b_QKV.copy_(torch.cat((b_q, *repeated[2:])))
        full.W_O.copy_(grouped.W_O)
        full.b_O.copy_(grouped.b_O)
    X = tokens(2, 5, 8)
    assert_close(grouped(X), full(X))
    assert sum(p.numel() for p in grouped.parameters()) < sum(p.numel() for p in full.parameters())


def test_widths_that_do_not_divide():
    assert message(lambda: MultiHeadAttention(7, 2)) == (
        "The heads share the width among them: 7 is not divisible by 2 heads."
    )
    assert message(lambda: MultiHeadAttention(8, 4, kv_heads=3)) == (
        "Each key head serves as many query heads: 4 is not divisible by 3 key heads."
    )


# ---- laws
@given(st.permutations(range(5)))
def test_permuted_tokens_give_permuted_outputs(order):
    ours, X = layer(), tokens(2, 5, 8)
    assert_close(ours(X[:, list(order)]), ours(X)[:, list(order)])


@pytest.mark.parametrize("positions", [Rotary(), partial(alibi, 2)])
def test_positions_tell_the_order(positions):
    ours, X = layer(positions=positions), tokens(1, 5, 8)
    order = [1, 0, 2, 3, 4]
    assert not torch.allclose(ours(X[:, order]), ours(X)[:, order], atol=1e-3)


@pytest.mark.parametrize("positions", [None, Rotary(), Rotary(halves=True), partial(alibi, 2), "bias"])
@pytest.mark.parametrize("steps", [[1] * 6, [3, 1, 2]])
@pytest.mark.parametrize("kv_heads", [2, 1])
def test_step_by_step_equals_at_once(positions, steps, kv_heads):
    ours = layer(positions=RelativeBias(2, 3).double() if positions == "bias" else positions, kv_heads=kv_heads)
    if positions == "bias":
        nn.init.normal_(ours.positions.b)
    X, cache = tokens(2, 6, 8), KeyValueCache(room=2)
    with torch.no_grad():
        parts = [ours(x, causal=True, cache=cache) for x in X.split(steps, dim=1)]
        assert (torch.cat(parts, 1) - ours(X, causal=True)).abs().max() <= 1e-12
    assert len(cache) == 6


def test_step_by_step_exactly():
    ours = exact.exactify(layer(2, 1, bias=False))
    X, cache = exact("1 0; 0 1; 1 1"), KeyValueCache()
    with torch.no_grad():
        parts = [ours(X[i : i + 1], causal=True, cache=cache) for i in range(3)]
        assert exact.equal(torch.cat(parts), ours(X, causal=True))


def test_a_memory_is_projected_once():
    ours, Y, cache = layer(), tokens(2, 7, 8, seed=2), KeyValueCache()
    with torch.no_grad():
        for i in range(3):
            X = tokens(2, 1, 8, seed=i)
            assert_close(ours(X, Y, cache=cache), ours(X, Y))
    assert len(cache) == 7


def test_cross_attention_follows_the_queries():
    ours, X, Y = layer(), tokens(2, 3, 8), tokens(2, 7, 8, seed=2)
    assert ours(X, Y).shape == (2, 3, 8)
    assert_close(ours(X, Y), ours(X, Y[:, torch.randperm(7)]))
    assert not torch.allclose(ours(X, X), ours(X, Y[:, :3]))


def test_a_memory_has_no_positions_of_its_own():
    plain, turned = layer(), layer(positions=Rotary())
    assert_close(turned(tokens(1, 3, 8), tokens(1, 5, 8)), plain(tokens(1, 3, 8), tokens(1, 5, 8)))
    assert not torch.allclose(turned(tokens(1, 3, 8)), plain(tokens(1, 3, 8)))


def test_a_window():
    ours, X = layer(), tokens(1, 6, 8)
    A = ours.weights(X, mask=window_mask(6, 3))
    assert (A * ~window_mask(6, 3)).abs().sum() == 0
    assert_close(ours(X, mask=window_mask(6, 11)), ours(X))


def test_gradients():
    ours = layer(4, 2)
    X = tokens(2, 3, 4).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: ours(x, causal=True), X)
    ours(X).sum().backward()
    assert all(p.grad is not None for p in ours.parameters())


def test_dropout_only_in_training():
    ours, X = layer(dropout=0.5), tokens(1, 6, 8)
    torch.manual_seed(0)
    noisy = ours(X)
    assert_close(ours.eval()(X), layer()(X))
    assert not torch.allclose(noisy, ours(X))


# ---- cost
@pytest.mark.parametrize("heads", [1, 2, 8])
def test_weights_do_not_depend_on_the_number_of_heads(heads):
    ours = MultiHeadAttention(16, heads, bias=False)
    assert sum(p.numel() for p in ours.parameters()) == weight_count(16, heads) == 4 * 16**2
    assert multiply_adds(5, 16, heads) == 4 * 5 * 16**2 + 2 * 5 * 5 * 16
    assert weight_count(6, 4, key_width=3, value_width=5) == 4 * (3 + 3 + 5) * 6 + 6 * 20

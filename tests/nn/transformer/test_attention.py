"""Attention in rows, in columns, of one query, at zero temperature: by hand, exactly, against PyTorch."""

from math import inf, log, sqrt

import jaxtyping
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

import workings
from workings import exact
from workings.errors import DomainError, ShapeError
from workings.nn.transformer.dot_product import (
    attention,
    attention_columns,
    attention_query,
    attention_weights,
    cosine_scores,
    hard_attention,
)
from workings.nn.transformer.local import local_attention
from workings.nn.transformer.masks import causal_mask, padding_mask, window_mask

Q, K, V = exact("1 0; 0 1"), exact("1 1; 1 0"), exact("2 0; 0 1")
A_EXACT = "1/2 1/2; exp(1/sqrt(2))/(1+exp(1/sqrt(2))) 1/(1+exp(1/sqrt(2)))"


def randoms(*shapes, seed=0, grad=False):
    g = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=g, dtype=torch.float64, requires_grad=grad) for shape in shapes]


def message(call, error=ShapeError):
    """What the user reads: without the shape checks of the test suite, which would speak first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        with pytest.raises(error) as caught:
            call()
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
    return str(caught.value)


# ---- by hand
def test_weights_and_output_of_the_worked_example():
    # Q Kᵀ = [[1, 1], [1, 0]], d = 2: S = [[1/√2, 1/√2], [1/√2, 0]]
    assert exact.equal(attention_weights(Q, K), exact(A_EXACT))
    r = "(1+exp(1/sqrt(2)))"
    Z = attention(Q, K, V)
    assert exact.equal(Z, exact([["1", "1/2"], [f"2*exp(1/sqrt(2))/{r}", f"1/{r}"]]))
    assert_close(Z.float64(), torch.tensor([[1, 0.5], [1.33952, 0.330238]], dtype=torch.float64), atol=1e-5, rtol=0)
    assert {note.kind for note in Z.assumptions} == {"recovered"}


def test_worked_by_hand_in_floats():
    # d = 4, so √d = 2 and S = [[0, 0], [0, ln 2]]; with V = I the output is A
    Q = torch.tensor([[0, 0, 0, 0], [2 * log(2), 0, 0, 0]])
    K = torch.tensor([[0.0, 0, 0, 0], [1, 0, 0, 0]])
    assert_close(attention(Q, K, torch.eye(2)), torch.tensor([[1 / 2, 1 / 2], [1 / 3, 2 / 3]]))


def test_the_shown_steps_are_the_textbook():
    work = workings.show(attention, Q, K, V)
    assert exact.equal(work["A"], exact(A_EXACT))
    assert exact.equal(work["S"], exact("1/sqrt(2) 1/sqrt(2); 1/sqrt(2) 0"))
    assert "S = Q Kᵀ / √d" in work.text() and "Z = A V" in work.text()
    assert "matches the unmodified run" in work.text()


def test_copying():
    # scores 0, 0, 10: α = (1, 1, e¹⁰) / (2 + e¹⁰)
    c = attention_query(exact([10]), exact("0; 0; 1"), exact("1 0; 0 1; 2 3"))
    assert exact.equal(c, exact("(1 + 2*exp(10))/(2+exp(10)) (1 + 3*exp(10))/(2+exp(10))"))
    assert_close(c.float64(), torch.tensor([1.99986, 2.99977], dtype=torch.float64), atol=1e-5, rtol=0)


def test_weights_are_a_distribution():
    # scores log 1, log 2, log 5: 1 : 2 : 5
    α = attention_query(exact([1]), exact("0; log(2); log(5)"), exact.eye(3))
    assert exact.equal(α, exact("1/8 1/4 5/8"))
    assert exact.equal(α.sum(), exact("1"))


def test_columns_by_hand():
    # one key is log 3 better for the second query: 1 : 3
    H = attention_columns(exact([[0, "log(3)"]]), exact([[0, 1]]), exact.eye(2))
    assert exact.equal(H, exact("1/2 1/4; 1/2 3/4"))


def test_letters():
    Z = attention(exact([["q_att"]]), exact("0; 1"), exact("0; 1"))
    assert exact.equal(Z, exact([["exp(q_att)/(1 + exp(q_att))"]]))


def test_hard_attention_shares_ties():
    # S = [[1, 1], [1, 0]]: the first query shares, the second copies the first value
    assert exact.equal(hard_attention(Q, K, V), exact("1 1/2; 2 0"))
    assert exact.equal(hard_attention(Q, K, V, causal_mask(2)), exact("2 0; 2 0"))
    assert exact.equal(hard_attention(Q, K, V, causal=True), exact("2 0; 2 0"))


def test_cosine_forgets_lengths_and_dots_do_not():
    # (3, 4)/5 against (1, 0), (0, 1), (3, 4)/5
    assert exact.equal(cosine_scores(exact([[3, 4]]), exact("1 0; 0 7; 6 8")), exact([["3/5", "4/5", "1"]]))
    Q, K = randoms((2, 3), (4, 3))
    assert_close(cosine_scores(5 * Q, K), cosine_scores(Q, K))
    assert not torch.allclose(attention_weights(5 * Q, K), attention_weights(Q, K))
    assert_close(cosine_scores(Q, K), F.cosine_similarity(Q[:, None], K[None], dim=-1))


# ---- against the reference and the equations
SHAPES = [((3, 4), (5, 4), (5, 2)), ((2, 3, 4), (2, 5, 4), (2, 5, 2)), ((2, 3, 6, 4), (2, 3, 7, 4), (2, 3, 7, 5)),
          ((2, 1, 2, 3, 4), (2, 1, 2, 5, 4), (2, 1, 2, 5, 4))]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("options", [{}, {"scale": 0.3}, {"mask": True}, {"bias": True}, {"bias": True, "mask": True}])
def test_kernel_equals_the_equations_and_pytorch(shapes, options):
    Q, K, V = randoms(*shapes)
    n, m = Q.shape[-2], K.shape[-2]
    options = dict(options)
    if "mask" in options:
        options["mask"] = window_mask(m, 5)[:n]
    if "bias" in options:
        (options["bias"],) = randoms((n, m), seed=1)
    Z = attention(Q, K, V, **options)
    assert Z.shape == (*Q.shape[:-1], V.shape[-1])
    assert_close(Z, attention.__definition__(Q, K, V, **options), rtol=0, atol=1e-12)
    assert_close(attention_weights(Q, K, **options) @ V, Z, rtol=0, atol=1e-12)
    assert torch.equal(attention(Q, K, None, **options), attention_weights(Q, K, **options))
    added = options.get("bias", torch.zeros(n, m, dtype=Q.dtype)).masked_fill(
        ~options.get("mask", torch.ones(n, m, dtype=torch.bool)), -inf
    )
    reference = F.scaled_dot_product_attention(Q, K, V, attn_mask=added, scale=options.get("scale"))
    assert_close(Z, reference, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_causal_queries_are_the_last_positions(n):
    Q, K, V = randoms((2, 4, 3), (2, 4, 3), (2, 4, 3))
    whole = attention(Q, K, V, causal=True)
    assert_close(attention(Q[:, -n:], K, V, causal=True), whole[:, -n:])
    assert_close(attention.__definition__(Q[:, -n:], K, V, causal=True), whole[:, -n:])
    assert_close(whole, F.scaled_dot_product_attention(Q, K, V, is_causal=True))


def test_a_mask_on_top_of_causal():
    Q, K, V = randoms((2, 4, 3), (2, 4, 3), (2, 4, 3))
    M = causal_mask(4) & window_mask(4, 3)
    assert_close(attention(Q, K, V, window_mask(4, 3), causal=True), attention(Q, K, V, M))
    assert attention_weights(Q, K, window_mask(4, 3), causal=True)[0, 3, 0].item() == 0


def test_padding_mask_hides_the_padding():
    Q, K, V = randoms((2, 3, 4), (2, 5, 4), (2, 5, 4))
    Z = attention(Q, K, V, padding_mask(torch.tensor([2, 5]), 5))
    assert_close(Z[0], attention(Q[0], K[0, :2], V[0, :2]))
    assert_close(Z[1], attention(Q[1], K[1], V[1]))


def test_exact_and_float64_agree():
    for options in ({}, {"causal": True}, {"mask": causal_mask(2)}, {"scale": 2}, {"bias": exact("0 1; 1 0")}):
        Z = attention(Q, K, V, **options)
        floats = {name: x.float64() if isinstance(x, workings.ExactTensor) else x for name, x in options.items()}
        assert_close(Z.float64(), attention(Q.float64(), K.float64(), V.float64(), **floats), rtol=0, atol=1e-14)


@pytest.mark.parametrize("dims", [2, 3, 4])
def test_the_fast_kernel_runs_for_any_number_of_axes(dims):
    # with a bias of three axes, or without four axes, PyTorch would fall back to a kernel several times slower
    Q, B = torch.randn((2, 3, 5, 4)[-dims:]), torch.randn(3, 5, 5) if dims > 2 else torch.randn(5, 5)
    with torch.profiler.profile() as profile:
        attention(Q, Q, Q, bias=B)
    assert "aten::_scaled_dot_product_flash_attention_for_cpu" in {event.key for event in profile.key_averages()}


def test_exact_tensors_by_keyword_stay_exact():
    assert isinstance(attention(Q=Q, K=K, V=V), workings.ExactTensor)


def test_rows_and_columns_are_transposes():
    Q, K, V = randoms((4, 3, 6), (4, 5, 6), (4, 5, 2))
    for causal in (False, True):
        Z = attention(Q, K[:, :5] if not causal else K, V, causal=causal)
        H = attention_columns(Q.mT, K.mT, V.mT, beta=1 / sqrt(6), causal=causal)
        assert_close(H, Z.mT)
    M = window_mask(5, 3)[:3]
    assert_close(attention_columns(Q.mT, K.mT, V.mT, 1 / sqrt(6), M.mT), attention(Q, K, V, M).mT)


def test_one_query_is_a_row_without_the_scale():
    q, K, V = randoms((4,), (2, 5, 4), (2, 5, 3))
    assert_close(attention_query(q, K, V), attention(q.expand(2, 1, 4), K, V, scale=1.0)[:, 0])


@given(st.integers(0, 100), st.permutations(range(5)))
def test_the_order_of_the_keys_does_not_matter(seed, order):
    Q, K, V = randoms((3, 2), (5, 2), (5, 2), seed=seed)
    assert_close(attention(Q, K[list(order)], V[list(order)]), attention(Q, K, V))


@given(st.integers(0, 100))
def test_outputs_stay_within_the_values(seed):
    Q, K, V = randoms((3, 2), (5, 2), (5, 4), seed=seed)
    Z = attention(3 * Q, 3 * K, V)
    low, high = V.amin(0) - 1e-9, V.amax(0) + 1e-9
    assert ((low <= Z) & (high >= Z)).all()
    assert_close(attention_weights(Q, K).sum(-1), torch.ones(3, dtype=torch.float64))


def test_the_future_does_not_change_the_past():
    Q, K, V = randoms((6, 3), (6, 3), (6, 3))
    before = attention(Q, K, V, causal=True)
    K[4:], V[4:] = 7.0, 9.0
    after = attention(Q, K, V, causal=True)
    assert after[:4].equal(before[:4]) and not torch.allclose(after[4:], before[4:])


# ---- gradients
@pytest.mark.parametrize("options", [{}, {"causal": True}, {"mask": window_mask(3, 3)}])
def test_gradients(options):
    tensors = randoms((2, 3, 2), (2, 3, 2), (2, 3, 4), grad=True)
    assert torch.autograd.gradcheck(lambda *x: attention(*x, **options), tensors)
    kernel = torch.autograd.grad(attention(*tensors, **options).square().sum(), tensors)
    written = torch.autograd.grad(attention.__definition__(*tensors, **options).square().sum(), tensors)
    for a, b in zip(kernel, written, strict=True):
        assert_close(a, b)


def test_gradient_of_a_bias():
    Q, K, V, B = randoms((3, 2), (3, 2), (3, 4), (3, 3), grad=True)
    assert torch.autograd.gradcheck(lambda B: attention(Q, K, V, causal=True, bias=B), B)


def test_exact_gradient_equals_the_float_one():
    q = exact("1 0; 0 1", requires_grad=True)
    attention(q, K, V).sum().backward()
    floats = q.detach().float64().requires_grad_()
    attention(floats, K.float64(), V.float64()).sum().backward()
    assert_close(q.grad.float64(), floats.grad, rtol=0, atol=1e-14)


# ---- dropout
def test_dropout_enlarges_what_it_keeps():
    Q, K = torch.zeros(1, 4), torch.zeros(1000, 4)
    torch.manual_seed(0)
    Z = attention(Q, K, torch.eye(1000), dropout=0.5)
    kept = (Z > 0).sum().item()
    assert 400 < kept < 600
    assert_close(Z.max(), torch.tensor(2 / 1000))
    assert_close(attention(Q, K, torch.eye(1000), dropout=0.0), attention(Q, K, torch.eye(1000)))


def test_dropout_of_the_kernel_and_of_the_equations_draw_alike():
    Q, K, V = randoms((1, 1, 3, 4), (1, 1, 5, 4), (1, 1, 5, 4))
    torch.manual_seed(1)
    kernel = attention(Q, K, V, dropout=0.5)
    torch.manual_seed(1)
    assert_close(attention.__definition__(Q, K, V, dropout=0.5), kernel)


# ---- a window in n·w steps
@pytest.mark.parametrize("width", [1, 3, 4, 99])
@pytest.mark.parametrize("causal", [False, True])
def test_local_attention_is_a_window_mask(width, causal):
    Q, K, V = randoms((2, 7, 3), (2, 7, 3), (2, 7, 4))
    assert_close(local_attention(Q, K, V, width, causal), attention(Q, K, V, window_mask(7, width, causal)))


def test_local_attention_exactly():
    # equal scores: the mean of two values at the ends, of three inside
    assert exact.equal(local_attention(exact("0; 0; 0"), exact("1; 2; 3"), exact("2; 4; 9"), 3), exact("3; 5; 13/2"))


def test_local_attention_keeps_no_matrix_of_all_pairs():
    # 20,000 tokens: all pairs would take 3.2 GB
    Q = torch.zeros(20000, 1)
    assert local_attention(Q, Q, torch.ones(20000, 1), 3).sum().item() == 20000


# ---- messages
def test_widths():
    text = "{} needs Q as […, n, d] and K as […, m, d]: d (width of a key) is 3 in Q [2, 3], but 4 in K [2, 4]."
    q, k = torch.zeros(2, 3), torch.zeros(2, 4)
    for call in (attention, attention.__definition__, hard_attention):
        assert message(lambda call=call: call(q, k, k)) == text.format(call.__name__)
    assert message(lambda: attention(exact(q), exact(k), exact(k))) == text.format("attention")
    assert message(lambda: attention_weights(q, k)) == text.format("attention_weights")
    assert message(lambda: cosine_scores(q, k)) == text.format("cosine_scores")
    assert message(lambda: attention_columns(q.mT, k.mT, k.mT)) == (
        "attention_columns needs Q as […, d, n] and K as […, d, m]: d (width of a key) is 3 in Q [3, 2], but 4 in K [4, 2]."
    )


def test_counts():
    q, v = torch.zeros(2, 3), torch.zeros(4, 3)
    text = "{} needs K as […, m, d] and V as […, m, t]: m (keys) is 2 in K [2, 3], but 4 in V [4, 3]."
    assert message(lambda: attention(q, q, v)) == text.format("attention")
    assert message(lambda: attention_query(q[0], q, v)) == text.format("attention_query")
    assert message(lambda: attention_columns(q.mT, q.mT, v.mT)) == (
        "attention_columns needs K as […, d, m] and V as […, t, m]: m (keys) is 2 in K [3, 2], but 4 in V [3, 4]."
    )


def test_no_keys():
    q, none = torch.zeros(2, 3), torch.zeros(0, 3)
    assert message(lambda: attention(q, none, none)) == (
        "attention needs K as […, m, d] with m ≥ 1 (keys), but K is [0, 3]."
    )


def test_no_queries_is_no_output():
    assert attention(torch.zeros(0, 3), torch.zeros(2, 3), torch.zeros(2, 5)).shape == (0, 5)


@pytest.mark.parametrize("numbers", [torch.zeros(3, 2), exact.zeros(3, 2)])
def test_a_query_that_sees_nothing(numbers):
    M = torch.tensor([[True, True, True], [False, False, False], [True, False, False]])
    text = "The mask lets the query at [1] look at no key, and a softmax over nothing has no value: allow it a key."
    assert message(lambda: attention(numbers, numbers, numbers, M), DomainError) == text
    assert message(lambda: attention_weights(numbers, numbers, M), DomainError) == text
    assert message(lambda: hard_attention(numbers, numbers, numbers, M), DomainError) == text
    M = torch.tensor([[False, True, True]])  # with the causal mask the first query has nothing left
    text = text.replace("[1]", "[0]")
    assert message(lambda: attention(numbers, numbers, numbers, M, causal=True), DomainError) == text


def test_more_queries_than_causal_keys():
    q, k = torch.zeros(4, 2), torch.zeros(3, 2)
    for call in (attention, attention.__definition__):
        assert message(lambda call=call: call(q, k, k, causal=True), DomainError) == (
            "Causal attention takes the queries for the last of the keys' positions, but there are 4 queries and 3 keys: "
            "the first 1 would see no key."
        )


def test_masks_that_do_not_fit():
    q = torch.zeros(2, 3)
    assert message(lambda: attention(q, q, q, torch.ones(3, 2, dtype=torch.bool))) == (
        "The mask needs a row for each of the 2 queries and a column for each of the 2 keys, so [2, 2], but it is [3, 2]."
    )
    assert message(lambda: attention(q, q, q, torch.zeros(2, 2))) == (
        "A mask is true where a query may look, so its dtype is torch.bool, not torch.float32. "
        "Numbers to add to the scores are the argument bias."
    )


def test_message_of_a_vector_where_a_matrix_is_needed():
    for function, shape in ((attention, "[…, n, d]"), (attention_columns, "[…, d, n]")):
        with pytest.raises(ShapeError) as caught:
            function(torch.ones(2), torch.ones(2, 2), torch.ones(2, 2))
        text = str(caught.value)
        assert text.startswith(f"{function.__name__} needs Q as {shape} (") and ", but Q is [2]. " in text
        assert text.endswith("One vector is a matrix: Q.unsqueeze(0) is a row, Q.unsqueeze(1) a column.")

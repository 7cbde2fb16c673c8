"""What does not fit is refused in the equation's terms, and no row of nothing becomes NaN."""

from math import inf, nan

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from workings import course, exact, nn
from workings.errors import DomainError, ShapeError


def zeros(*shape):
    return torch.zeros(shape)


X = zeros(2, 3, 8)
Q, K, V = zeros(2, 3, 4), zeros(2, 5, 4), zeros(2, 5, 6)
BLIND = zeros(3, 5).index_fill(0, torch.tensor([1]), -inf)
HALF = torch.ones(3, 5, dtype=torch.bool).index_fill(1, torch.tensor([0, 1]), False)
REST = zeros(3, 5).index_fill(1, torch.tensor([2, 3, 4]), -inf)
LAYER = nn.MultiHeadAttention(8, 2)
W = (zeros(4, 3), zeros(4, 4), None, None)
NOTHING = "look at no key, and a softmax over nothing has no value: allow it a key."

REFUSED = [
    (
        lambda: nn.attention(Q, zeros(3, 5, 4), zeros(3, 5, 6)),
        ShapeError,
        ("attention needs Q as […, n, d] and K as […, m, d]: b (batch) is [2] in Q [2, 3, 4], but [3] in K [3, 5, 4]."),
    ),
    (
        lambda: nn.attention(Q, K, V, torch.ones(7, 3, 5, dtype=torch.bool)),
        ShapeError,
        "The mask is [3, 5] for all of a batch, or one for each of its [2] places: [2, 3, 5], but it is [7, 3, 5].",
    ),
    (
        lambda: nn.attention(Q[0], K[0], V[0], torch.ones(2, 3, 5, dtype=torch.bool)),
        ShapeError,
        "The mask is [3, 5] for all of a batch, or one for each of its [] places: [3, 5], but it is [2, 3, 5].",
    ),
    (
        lambda: nn.attention(Q, K, V, bias=zeros(4, 5)),
        ShapeError,
        "The bias needs a row for each of the 3 queries and a column for each of the 5 keys, so [3, 5], but it is [4, 5].",
    ),
    (
        lambda: nn.attention(zeros(2, 0), zeros(3, 0), zeros(3, 2)),
        ShapeError,
        "attention needs Q as […, n, d] with d ≥ 1 (width of a key), but Q is [2, 0].",
    ),
    (
        lambda: nn.cosine_scores(zeros(1, 2), torch.ones(2, 2)),
        DomainError,
        "A vector of zeros has no direction, so no cosine: the row of Q at [0] is zero.",
    ),
    (
        lambda: nn.cosine_scores(exact("1 0; 0 1"), exact("1 0; 0 0")),
        DomainError,
        "A vector of zeros has no direction, so no cosine: the row of K at [1] is zero.",
    ),
    (
        lambda: nn.local_attention(Q, K, V, 3),
        ShapeError,
        ("local_attention needs Q as […, n, d] and K as […, n, d]: n (tokens) is 3 in Q [2, 3, 4], but 5 in K [2, 5, 4]."),
    ),
    (
        lambda: nn.softmax(zeros(2), T=nan),
        DomainError,
        "Softmax needs a temperature T > 0, not nan. Its limit for T → 0 is argmax_weights(s).",
    ),
    (
        lambda: nn.softmax(zeros(2), beta=nan),
        DomainError,
        "Softmax needs a finite β. Its limit for β → ∞ is argmax_weights(s).",
    ),
    (
        lambda: nn.softmax(zeros(2, 3), T=torch.tensor([[1.0], [0.0]])),
        DomainError,
        "Softmax needs a temperature T > 0, not tensor([[1.],\n        [0.]]). Its limit for T → 0 is argmax_weights(s).",
    ),
    (
        lambda: nn.argmax_weights(zeros(2, 0)),
        ShapeError,
        "The largest of the scores needs at least one score along axis -1, but s is [2, 0].",
    ),
    (
        lambda: nn.MultiHeadAttention(8, 0),
        ShapeError,
        "Attention needs a width and heads of at least 1, not width 8, 0 heads and 0 key heads.",
    ),
    (
        lambda: nn.MultiHeadAttention(8, -2),
        ShapeError,
        "Attention needs a width and heads of at least 1, not width 8, -2 heads and -2 key heads.",
    ),
    (
        lambda: nn.MultiHeadAttention(8, 4, kv_heads=0),
        ShapeError,
        "Attention needs a width and heads of at least 1, not width 8, 4 heads and 0 key heads.",
    ),
    (
        lambda: nn.MultiHeadAttention(8, 4, dropout=1.0),
        DomainError,
        "Dropout leaves out a share of at least 0 and less than 1, not 1.0.",
    ),
    (
        lambda: LAYER(zeros(1, 3, 7)),
        ShapeError,
        "The weights take tokens of width 8, one row for each: X is [1, 3, 7], where […, tokens, 8] was expected.",
    ),
    (
        lambda: LAYER(X, zeros(2, 4, 7)),
        ShapeError,
        "The weights take tokens of width 8, one row for each: Y is [2, 4, 7], where […, tokens, 8] was expected.",
    ),
    (
        lambda: LAYER(zeros(8)),
        ShapeError,
        "The weights take tokens of width 8, one row for each: X is [8], where […, tokens, 8] was expected.",
    ),
    (
        lambda: LAYER(X, mask=torch.ones(2, 2, 3, 3, dtype=torch.bool)),
        ShapeError,
        "A mask is the same for every head: queries × keys, with the batch of X before them or nothing. X is "
        "[2, 3, 8], but the mask is [2, 2, 3, 3].",
    ),
    (
        lambda: LAYER(X, mask=torch.ones(4, 3, 3, dtype=torch.bool)),
        ShapeError,
        "The mask is [3, 3] for all of a batch, or one for each of its [2, 2] places: [2, 2, 3, 3], but it is [4, 1, 3, 3].",
    ),
    (lambda: nn.weight_count(10, 3), ShapeError, "The heads share the width among them: 10 is not divisible by 3 heads."),
    (
        lambda: nn.multiply_adds(5, 10, 0),
        ShapeError,
        "The heads share the width among them: 10 is not divisible by 0 heads.",
    ),
    (
        lambda: nn.multi_head(zeros(3, 4), [zeros(5, 2)], [zeros(5, 2)], [zeros(5, 2)]),
        ShapeError,
        "W_Q needs a row for each of the 4 entries of a token, but one is [5, 2].",
    ),
    (
        lambda: nn.multi_head(zeros(3, 4), [zeros(4, 2)], [zeros(4, 2)], [zeros(4, 2)], zeros(3, 3)),
        ShapeError,
        "W_O needs a row for each of the 2 entries of all heads, but it is [3, 3].",
    ),
    (
        lambda: nn.multi_head_columns(Q[0].T, Q[0].T, Q[0].T, [zeros(2, 4)], [], [zeros(2, 4)]),
        ShapeError,
        "Each head needs its W_Q, W_K and W_V, but there are 1 of W_Q, 0 of W_K and 1 of W_V.",
    ),
    (
        lambda: nn.multi_head_columns(Q[0].T, Q[0].T, Q[0].T, [zeros(2, 4)], [zeros(2, 3)], [zeros(2, 4)]),
        ShapeError,
        "W_K needs a column for each of the 4 entries of a token, but one is [2, 3].",
    ),
    (
        lambda: nn.relative_bias(zeros(4), 5),
        ShapeError,
        "b_{−r}, …, b_r are 2r + 1 numbers, an odd number of them, but b is [4].",
    ),
    (
        lambda: nn.alibi(2, 3, 2),
        DomainError,
        "The queries are the last of the keys' positions, but there are 3 queries and 2 keys.",
    ),
    (lambda: nn.alibi(0, 3), DomainError, "ALiBi has a slope for each head: there is at least 1, not 0."),
    (
        lambda: nn.RelativeBias(2, -1),
        DomainError,
        "A relative bias needs at least 1 head and a reach of 0 or more, not 2 and -1.",
    ),
    (lambda: nn.Learned(5, 2)(2, start=-2), DomainError, "Positions are counted from 0, but position -2 was asked for."),
    (
        lambda: nn.rope(zeros(3, 4), torch.arange(2)),
        ShapeError,
        "Each of the 3 tokens of x needs a position: x is [3, 4], positions [2].",
    ),
    (
        lambda: course.conv1d_by_heads(zeros(5, 2), zeros(3, 4, 3)),
        ShapeError,
        (
            "conv1d_by_heads needs X as […, n, c] and kernel as [o, c, k]: c (channels in) is 2 in X [5, 2], but 4 in "
            "kernel [3, 4, 3]."
        ),
    ),
    (
        lambda: course.conv2d_by_heads(zeros(1, 4, 4), zeros(2, 1, 5, 3)),
        ShapeError,
        (
            "conv2d_by_heads needs kernel as [o, c, k, k] (o channels out, c channels in, k kernel), but kernel is "
            "[2, 1, 5, 3]."
        ),
    ),
    (
        lambda: course.convolution_weights(3, torch.tensor([1.0, 0.0, 0.0])),
        DomainError,
        "The token at 0 of 3 finds no key with a weight in reach of the kernel, and a softmax over nothing "
        "has no value: conv1d_by_heads pads the ends with zeros.",
    ),
    (
        lambda: course.convolution_weights(1, exact("1/2 0 1/2")),
        DomainError,
        "The token at 0 of 1 finds no key with a weight in reach of the kernel, and a softmax over nothing "
        "has no value: conv1d_by_heads pads the ends with zeros.",
    ),
    (
        lambda: nn.conv2d(zeros(5, 5), zeros(3, 1, 2, 2)),
        ShapeError,
        "conv2d needs X as […, c, n, m] (c channels in, n m height and width), but X is [5, 5].",
    ),
    (
        lambda: nn.conv2d(zeros(1, 5, 5), zeros(3, 1, 2, 2), zeros(2)),
        ShapeError,
        "conv2d needs W as [o, c, i, j] and b as [o]: o (channels out) is 3 in W [3, 1, 2, 2], but 2 in b [2].",
    ),
    (
        lambda: nn.max_pool(zeros(4), 2),
        ShapeError,
        (
            "max_pool needs X as […, n, m] (n m height and width), but X is [4]. One vector is a matrix: "
            "X.unsqueeze(0) is a row, X.unsqueeze(1) a column."
        ),
    ),
    (
        lambda: nn.average_pool(zeros(4), 2),
        ShapeError,
        (
            "average_pool needs X as […, n, m] (n m height and width), but X is [4]. One vector is a matrix: "
            "X.unsqueeze(0) is a row, X.unsqueeze(1) a column."
        ),
    ),
    (
        lambda: nn.patch_embedding(zeros(4, 4), zeros(5, 12), None, 2),
        ShapeError,
        ("patch_embedding needs image as […, c, n, m] (c channels, n m height and width), but image is [4, 4]."),
    ),
    (
        lambda: nn.patch_embedding(zeros(3, 4, 4), zeros(5, 12), zeros(4), 2),
        ShapeError,
        "patch_embedding needs W as [d, k] and b as [d]: d (width of a token) is 5 in W [5, 12], but 4 in b [4].",
    ),
    (
        lambda: nn.resampled_positions(zeros(5, 2), (2, 2), (0, 3)),
        ShapeError,
        "A grid of patches has at least one row and one column, not 0×3.",
    ),
    (
        lambda: nn.RNN(3, 4)(zeros(2, 0, 3)),
        ShapeError,
        "rnn needs X as […, t, i] with t ≥ 1 (time), but X is [2, 0, 3].",
    ),
    (
        lambda: nn.rnn(zeros(2, 5, 3), zeros(2, 5), W),
        ShapeError,
        "rnn needs h as […, h] and W_h as [r, h]: h (width of the state) is 5 in h [2, 5], but 4 in W_h [4, 4].",
    ),
    (
        lambda: nn.rnn(zeros(2, 5, 2), zeros(2, 4), W),
        ShapeError,
        "rnn needs X as […, t, i] and W_x as [r, i]: i (width of the input) is 2 in X [2, 5, 2], but 3 in W_x [4, 3].",
    ),
    (
        lambda: nn.rnn(zeros(2, 5, 3), zeros(2, 4), (*W[:2], zeros(4), None)),
        ShapeError,
        "W_x x + b_x + W_h h + b_h has both biases or none, but only one was given.",
    ),
    (lambda: nn.GRU(3, 0), ShapeError, "A recurrent layer needs widths of at least 1, not 3 and 0."),
    (
        lambda: nn.softmax_cross_entropy(zeros(2, 3), torch.ones(4, 3) / 3),
        ShapeError,
        "−Σ y log ŷ needs a probability in y for each score in θ: θ is [2, 3], y is [4, 3]. Class indices "
        "become probabilities by torch.nn.functional.one_hot.",
    ),
    (
        lambda: nn.similarities(torch.eye(2), torch.eye(2), torch.tensor(0.0)),
        DomainError,
        "A temperature is positive; τ = 0. Small τ sharpens, large τ smooths.",
    ),
    (
        lambda: nn.similarities(exact("1 0; 0 1"), exact("1 0; 0 1"), exact("-1/2")),
        DomainError,
        "A temperature is positive; τ = -0.5. Small τ sharpens, large τ smooths.",
    ),
    (
        lambda: nn.margin(0.1, 4, torch.tensor(-0.5)),
        DomainError,
        "A margin needs N ≥ 2 pairs and a loss L > 0; N = 4, L = -0.5.",
    ),
    (
        lambda: nn.recall_at(zeros(0, 3), 1),
        ShapeError,
        "Recall at k needs a column for each row, and 1 ≤ k ≤ columns; S is [0, 3], k = 1.",
    ),
    (
        lambda: nn.feed_forward(zeros(3), zeros(3, 2), zeros(3), zeros(2, 3), zeros(3)),
        ShapeError,
        "feed_forward needs W_1 as [d, h] and b_1 as [h]: h (hidden width) is 2 in W_1 [3, 2], but 3 in b_1 [3].",
    ),
    (
        lambda: nn.swiglu(zeros(3), zeros(3, 2), zeros(3, 4), zeros(2, 3)),
        ShapeError,
        "swiglu needs W_1 as [d, h] and W_3 as [d, h]: h (hidden width) is 2 in W_1 [3, 2], but 4 in W_3 [3, 4].",
    ),
    (
        lambda: nn.batch_norm(zeros(4, 3), zeros(2)),
        ShapeError,
        "γ ⊙ n + β needs one number for each entry of a sample, [3], but γ is [2].",
    ),
    (
        lambda: nn.batch_norm(zeros(4, 3), None, zeros(2), eps=1e-5),
        ShapeError,
        "γ ⊙ n + β needs one number for each entry of a sample, [3], but β is [2].",
    ),
    (
        lambda: nn.layer_norm(torch.tensor(1.0)),
        ShapeError,
        "layer_norm needs x as […, d] (width of a token), but x is [].",
    ),
    (
        lambda: nn.perplexity(torch.tensor([0.5]), torch.tensor(1.0)),
        DomainError,
        "A logarithm needs a base t > 0 other than 1; t = 1.",
    ),
]


@pytest.mark.parametrize("call, error, text", REFUSED)
def test_the_message_of_what_does_not_fit(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


@pytest.mark.parametrize("numbers", [lambda x: x, exact])
def test_the_message_of_a_bias_that_leaves_a_query_nothing(numbers):
    Q_, K_, V_ = (numbers(x[0]) for x in (Q, K, V))
    for call, options, at in (
        (lambda *x, **o: nn.attention(*x, V_, **o), {"bias": BLIND}, [1]),
        (nn.attention_weights, {"bias": BLIND}, [1]),
        (lambda *x, **o: nn.attention(*x, V_, **o), {"bias": REST, "mask": HALF}, [0]),  # neither alone hides every key
        (nn.attention_weights, {"bias": REST, "mask": HALF}, [0]),
    ):
        with pytest.raises(DomainError) as caught:
            call(Q_, K_, **(options | {"bias": numbers(options["bias"])}))
        assert str(caught.value) == f"The bias lets the query at {at} {NOTHING}"
    assert_close(nn.attention(Q, K, V, bias=REST), V[:, :1].expand(2, 3, 6))  # two keys are enough


def test_the_kernel_of_a_learned_scale_has_its_gradient():
    torch.manual_seed(0)
    q, k, v = (torch.randn(s, dtype=torch.float64) for s in ((2, 3, 4), (2, 5, 4), (2, 5, 6)))
    scale = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: nn.attention(q, k, v, scale=s), scale)
    assert_close(nn.attention(q, k, v, scale=scale), nn.attention(q, k, v, scale=0.3))


def test_counted_positions_are_those_of_floats():
    torch.manual_seed(0)
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    assert_close(nn.sinusoidal(torch.arange(5), 6), nn.sinusoidal(5, 6))
    assert_close(nn.rope(x, torch.arange(5)), nn.rope(x))
    assert exact.equal(nn.rope(exact("1 0; 1 0"), torch.arange(2)), exact([[1, 0], ["cos(1)", "sin(1)"]]))


def test_a_temperature_for_each_row():
    s, T = torch.tensor([[1.0, 2.0], [1.0, 2.0]]), torch.tensor([[1.0], [4.0]])
    assert_close(nn.softmax(s, T=T), torch.stack([nn.softmax(s[0], T=1), nn.softmax(s[1], T=4)]))
    assert_close(nn.softmax(s, T), torch.stack([nn.softmax(s[0], 1), nn.softmax(s[1], 4)]))


@pytest.mark.parametrize("numbers", [lambda x: x, exact])
def test_images_of_any_batch(numbers):
    torch.manual_seed(0)
    images = torch.randint(-3, 4, (2, 3, 1, 4, 4)).double()
    kernels, b = torch.randint(-3, 4, (2, 1, 2, 2)).double(), torch.tensor([1.0, -1.0], dtype=torch.float64)
    flat = images.flatten(0, 1)
    maps = nn.conv2d(numbers(images), numbers(kernels), numbers(b))
    assert_close(as_floats(maps), F.conv2d(flat, kernels, b).unflatten(0, (2, 3)))
    assert_close(as_floats(nn.max_pool(numbers(images), 2)), F.max_pool2d(flat, 2).unflatten(0, (2, 3)))
    assert_close(as_floats(nn.average_pool(numbers(images), 2)), F.avg_pool2d(flat, 2).unflatten(0, (2, 3)))
    one = images[0, 0, 0]
    assert_close(as_floats(nn.max_pool(numbers(one), 2)), F.max_pool2d(one[None], 2)[0])
    rows = kernels.flatten(1)
    tokens = nn.patch_embedding_conv(numbers(images), numbers(rows), numbers(b), 2)
    assert_close(as_floats(tokens), nn.patch_embedding(images, rows, b, 2))


def as_floats(x):
    return x.float64() if hasattr(x, "float64") else x


def test_one_hot_counts_are_probabilities():
    θ, y = torch.tensor([[0.0, 1.0, 2.0]]), F.one_hot(torch.tensor([1]), 3)
    for function in (nn.softmax_cross_entropy, nn.softmax_cross_entropy_gradient):
        assert_close(function(θ, y), function(θ, y.float()))


def test_a_batch_of_no_sequences():
    assert nn.RNN(3, 4)(zeros(0, 2, 3))[0].shape == (0, 2, 4)
    assert nn.LSTM(3, 4)(zeros(0, 2, 3))[1][1].shape == (0, 4)

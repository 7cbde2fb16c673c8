"""Each equation names what it needs: shapes that do not fit, and numbers outside the domain, word for word."""

from math import inf, nan

import pytest
import torch

from workings import course, exact, models, nn, show
from workings.course.discrete import bayes
from workings.errors import DomainError, ShapeError
from workings.models.vectors import glove_loss
from workings.nn.fits import is_repeatable, where


def z(*shape):
    return torch.zeros(shape)


def one(*shape):
    return torch.ones(shape)


COLUMNS = z(4, 3), z(4, 5), z(6, 5)
W = one(4, 3), one(4, 4), None, None

SHAPES = {
    "squared_loss needs ŷ and a y whose shape can be repeated to that of ŷ: ŷ is [2, 3], y is [4].": lambda: nn.squared_loss(
        z(2, 3), z(4)
    ),
    "squared_loss needs ŷ and a y whose shape can be repeated to that of ŷ: ŷ is [3], y is [2, 3].": lambda: nn.squared_loss(
        z(3), z(2, 3)
    ),
    "squared_loss_gradient needs ŷ and a y whose shape can be repeated to that of ŷ: ŷ is [2], y is [3].": lambda: (
        nn.squared_loss_gradient(z(2), z(3))
    ),
    "chain_rule_terms needs θ as [c] (classes), but θ is [2, 3].": lambda: nn.chain_rule_terms(z(2, 3), z(2, 3)),
    "kl needs q as […, k] and p as […, k]: k (values of a discrete latent) is 2 in q [2], but 3 in p [3].": lambda: nn.kl(
        one(2) / 2, one(3) / 3
    ),
    "gaussian_kl needs μ as […, z] (width of the latent), but μ is [].": lambda: nn.gaussian_kl(z(), z()),
    "gaussian_kl needs μ as […, z] and s as […, z]: b (batch) is [2] in μ [2, 3], but [3] in s [3, 2].": lambda: (
        nn.gaussian_kl(z(2, 3), z(3, 2))
    ),
    "gaussian_kl_between needs μ as […, z] and μ_p as […, z]: z (width of the latent) is 2 in μ [2], but 3 in μ_p [3].": (
        lambda: nn.gaussian_kl_between(z(2), z(2), z(3), z(2))
    ),
    "log_gaussian needs z as […, z] and μ as […, z]: z (width of the latent) is 3 in z [2, 3], but 2 in μ [2].": (
        lambda: nn.log_gaussian(z(2, 3), z(2), z(3))
    ),
    "reparameterised needs ε and a μ whose shape can be repeated to that of ε: μ is [2], ε is [3].": (
        lambda: nn.reparameterised(z(2), z(2), z(3))
    ),
    "elbo needs log_likelihood and kl_to_prior of one shape: log_likelihood is [2], kl_to_prior is [3].": lambda: nn.elbo(
        z(2), z(3)
    ),
    "rnn_cell needs x as […, i] and W_x as [r, i]: i (width of the input) is 5 in x [2, 5], but 3 in W_x [4, 3].": (
        lambda: nn.rnn_cell(z(2, 5), z(2, 4), W)
    ),
    "rnn_cell needs W_x as [r, i] and W_h as [r, h]: r (rows of all gates) is 5 in W_x [5, 3], but 4 in W_h [4, 4].": (
        lambda: nn.rnn_cell(z(2, 3), z(2, 4), (z(5, 3), *W[1:]))
    ),
    "W_x x + W_h h needs 3·h rows in W_x and in W_h, for a state of width h: W_x is [4, 3], W_h is [4, 4].": (
        lambda: nn.gru(z(2, 5, 3), z(2, 4), W)
    ),
    "rnn_cell needs W_x as [r, i] and b_h as [r]: r (rows of all gates) is 4 in W_x [4, 3], but 5 in b_h [5].": (
        lambda: nn.rnn_cell(z(2, 3), z(2, 4), (*W[:2], z(4), z(5)))
    ),
    "width_one needs X as […, n, c] and W_V as [c, o]: c (channels in) is 4 in X [3, 4], but 5 in W_V [5, 2].": lambda: (
        course.width_one(z(3, 4), z(5, 2))
    ),
    "identity_layer needs X as […, n, c] (n tokens, c channels in), but X is [4]. "
    "One vector is a matrix: X.unsqueeze(0) is a row, X.unsqueeze(1) a column.": (lambda: course.identity_layer(z(4))),
    ("attention_query needs q as […, d] and K as […, m, d]: d (width of a key) is 3 in q [2, 3], but 4 in K [2, 5, 4]."): (
        lambda: nn.attention_query(z(2, 3), z(2, 5, 4), z(2, 5, 6))
    ),
    ("attention_query needs q as […, d] and K as […, m, d]: b (batch) is [3] in q [3, 4], but [2] in K [2, 5, 4]."): (
        lambda: nn.attention_query(z(3, 4), z(2, 5, 4), z(2, 5, 6))
    ),
    "β s needs one β, or one for each row of scores: s is [2, 3], β is [4, 1].": (
        lambda: nn.softmax_jacobian(z(2, 3), T=one(4, 1))
    ),
    "The softmax runs along axis 2, but s is [2, 3].": lambda: nn.softmax(z(2, 3), dim=2),
    "The softmax needs at least one score along axis -1, but s is [2, 0].": lambda: nn.softmax(z(2, 0)),
    "score_gradient needs s and g of one shape: s is [2], g is [3].": lambda: nn.score_gradient(nn.softmax, z(2), z(3)),
    "pass_through needs x as […, n] (scores), but x is [].": lambda: nn.pass_through(z()),
    "key_noise needs Q as […, d, n] and eps as […, d]: d (width of a key) is 4 in Q [4, 3], but 3 in eps [3].": lambda: (
        course.key_noise(*COLUMNS, 1, z(3))
    ),
    "infinity_penalty needs w as [d] with d ≥ 1 (features), but w is [0].": lambda: course.infinity_penalty(z(0), 1),
    "logistic_gradient needs w as [d] and x as [d]: d (features) is 2 in w [2], but 3 in x [3].": lambda: (
        course.logistic_gradient(z(2), z(3), 1)
    ),
    "sgd needs theta and g of one shape: theta is [2], g is [3].": lambda: nn.sgd(z(2), z(3), 0.1),
    "momentum needs theta and v of one shape: theta is [2], v is [3].": (lambda: nn.momentum(z(2), z(3), z(2), 0.1, 0.9)),
    "nesterov needs theta and g of one shape: theta is [2], g is [3].": (lambda: nn.nesterov(z(2), z(2), z(3), 0.1, 0.9)),
    "adam needs theta and v of one shape: theta is [2], v is [1].": (lambda: nn.adam(z(2), z(2), z(1), z(2), 1)),
    "recursive_gradient needs h as [n], but h is [2, 3].": lambda: course.temporal_gradient(z(), z(2, 3)),
    "states needs w as a number, but w is [2].": lambda: course.states(z(2), z(3), z()),
    "clip_loss needs S as […, n, n] (pairs), but S is [2, 3, 4].": lambda: nn.clip_loss(z(2, 3, 4)),
    (
        "similarities needs F as […, n, d] and G as […, m, d]: b (batch) is [2] in F [2, 4, 5], but [3] in G [3, 4, 5]."
    ): lambda: nn.similarities(z(2, 4, 5), z(3, 4, 5)),
    "One temperature τ divides all scores, but τ is [2].": lambda: nn.similarities(one(2, 2), one(2, 2), one(2)),
    "A margin belongs to one loss, but L is [2].": lambda: nn.margin(0.1, 3, one(2)),
    "averaging_query needs k_a as […, d] and k_b as […, d]: d (width) is 2 in k_a [2], but 3 in k_b [3].": lambda: (
        course.averaging_query(z(2), z(3), 1)
    ),
    "projection needs A as […, d, m] (d width, m basis vectors), but A is [3]. "
    "One vector is a matrix: A.unsqueeze(0) is a row, A.unsqueeze(1) a column.": lambda: course.projection(z(3)),
    "convolution_weights needs kernel as [k] (kernel), but kernel is [3, 3].": lambda: course.convolution_weights(
        4, z(3, 3)
    ),
    (
        "conv1d_by_heads needs X as […, n, c] (n tokens, c channels in), but X is [5]. One vector is a matrix: "
        "X.unsqueeze(0) is a row, X.unsqueeze(1) a column."
    ): (lambda: course.conv1d_by_heads(z(5), z(3, 2, 3))),
    ("conv2d_by_heads needs kernel as [o, c, k, k] (o channels out, c channels in, k kernel), but kernel is [3, 2, 3]."): (
        lambda: course.conv2d_by_heads(z(2, 4, 4), z(3, 2, 3))
    ),
    (
        "conv1d_by_heads needs kernel as [o, c, k] and bias as [o]: o (channels out) is 3 in kernel [3, 2, 3], "
        "but 2 in bias [2]."
    ): (lambda: course.conv1d_by_heads(z(5, 2), z(3, 2, 3), z(2))),
    "cosine_map needs E as […, p, d] (p patches, d width of a token), but E is [3]. "
    "One vector is a matrix: E.unsqueeze(0) is a row, E.unsqueeze(1) a column.": lambda: nn.cosine_map(z(3)),
    ("patches needs image as […, c, n, m] (c channels, n m height and width), but image is [4, 4]."): lambda: nn.patches(
        z(4, 4), 2
    ),
    "resampled_positions needs E as [t, d] (d width of a token), but E is [5]. "
    "One vector is a matrix: E.unsqueeze(0) is a row, E.unsqueeze(1) a column.": lambda: nn.resampled_positions(
        z(5), (2, 2), (3, 3)
    ),
    (
        "rope needs x as […, n, d] (n queries (or tokens), d width), but x is [4]. One vector is a matrix: "
        "x.unsqueeze(0) is a row, x.unsqueeze(1) a column."
    ): lambda: nn.rope(z(4)),
    "A table of positions has a row for each and a width of at least 1, not -1 × 2.": lambda: nn.Learned(-1, 2),
    "There is one S for all 2 axes, or one for each, but S = (1, 2, 3).": lambda: nn.conv_shape((4, 4), 2, (1, 2, 3)),
    "A mask has a row for each query and a column for each key, so n, m ≥ 0, not -1 and -1.": lambda: nn.causal_mask(-1),
    "Each sample has the shape [3] that μ and σ² are kept for, but H is [4, 2].": lambda: nn.BatchNorm(3)(z(4, 2)),
    "KeyValueCache.append needs K as […, k, d] and V as […, k, t]: k (tokens) is 2 in K [2, 3], but 3 in V [3, 3].": (
        lambda: nn.KeyValueCache().append(z(2, 3), z(3, 3))
    ),
    "The encoder takes x with 4 inputs in each row, but x is [3, 5].": lambda: models.AutoEncoder(4, 2)(z(3, 5)),
    "reconstruction_error needs x as [b, x] and x̂ as [b, x]: b (examples) is 2 in x [2, 3], but 3 in x̂ [3, 2].": (
        lambda: models.reconstruction_error(z(2, 3), z(3, 2))
    ),
    "StreetDigits takes grayscale images, b × 1 × n × m, but X is [2, 3, 32, 32].": (
        lambda: models.StreetDigits()(z(2, 3, 32, 32))
    ),
    "The head is made for maps of 3×3, but images of 64×32 arrive as 7×3: resize them, or turn the head into a convolution "
    "by convolutional().": lambda: models.StreetDigits()(z(2, 1, 64, 32)),
    "The head is made for maps of 3×3, but images of 32×16 arrive as 3×1: resize them.": (
        lambda: models.StreetDigits("pooled")(z(2, 1, 32, 16))
    ),
    "Predicting the next token needs rows of at least 2 tokens, but the tokens are [1, 1].": (
        lambda: models.LanguageModel(5, 4, 2, 1, positions="rope").loss(torch.tensor([[1]]))
    ),
    "Each source has its target: the source is [1, 2], the target [2, 2].": (
        lambda: models.EncoderDecoder(5, 5, 4, 2, 1)(torch.tensor([[1, 2]]), torch.tensor([[1, 2], [1, 2]]))
    ),
    "Each token has a segment: the tokens are [1, 2], the segments [1, 3].": (
        lambda: models.Bert(5, 4, 2, 1, 8)(torch.tensor([[1, 2]]), None, torch.tensor([[0, 0, 1]]))
    ),
    "The image tower gives a row of width 4 for each example, but it gave [3, 5].": (
        lambda: models.CLIP(torch.nn.Identity(), torch.nn.Identity(), 4, 3, 2)(z(3, 5), z(3, 3))
    ),
    "The decoder takes codes z of width 2, but z is [3, 4].": lambda: models.VAE(4, 2).decode(z(3, 4)),
    "reparameterised needs ε and a μ whose shape can be repeated to that of ε: μ is [3, 2], ε is [2].": lambda: models.VAE(
        4, 2
    )(z(3, 4), z(2)),
    "The decoder reads one row of at least one token, but the tokens are [1, 2].": (
        lambda: course.DedupeDecoder()(torch.tensor([[1, 2]]))
    ),
    "a·b needs a vector of the width 2 of the words', but it is [3].": (
        lambda: models.WordVectors(["a"], one(1, 2)).neighbours(one(3), 1)
    ),
    "KneserNey needs tokens as [m] (tokens of a text), but tokens is [2, 2].": lambda: models.KneserNey(
        torch.ones(2, 2).long(), 3
    ),
    "ScalarRNN needs x as [t] (time), but x is [2, 2].": lambda: course.ScalarRNN()(z(2, 2)),
    "A gradient is that of one number, but f(x) is [2].": lambda: models.check_gradient(lambda x: 2 * x, z(2).double()),
}
DOMAINS = {
    "There are 5 keys, 0 to 4, but i = 5.": lambda: course.key_noise(*COLUMNS, 5, z(4)),
    "There are 3 queries, 0 to 2, but i = -4.": lambda: course.query_noise(*COLUMNS, -4, z(4)),
    "There are n ≥ 0 positions to encode, not -3.": lambda: nn.sinusoidal(-3, 4),
    "Tokens are whole numbers, so their dtype is an integer one, not torch.float32.": (
        lambda: models.LanguageModel(5, 4, 2, 1, positions="rope")(one(1, 2))
    ),
    "Tokens are whole numbers, so their dtype is an integer one, not torch.float64.": (
        lambda: models.KneserNey(one(3).double(), 3)
    ),
    "A weight that a finite lead makes sure of lies between 0 and 1; here is 1.": lambda: course.gap_for(
        torch.tensor(1.0), 3
    ),
    "A weight that a finite lead makes sure of lies between 0 and 1; here is 1.5.": lambda: course.gap_for(exact("3/2"), 3),
    "The formula is about 2 keys or more, not 1.": lambda: course.gap_for(torch.tensor(0.5), 1),
    "The formula is about 3 keys or more, not 2.": lambda: course.averaging_strength(torch.tensor(0.1), 2),
    "The two weights are ½ − ε each, with 0 < ε < ½; here is 0.5.": lambda: course.averaging_strength(torch.tensor(0.5), 10),
    "The two weights are ½ − ε each, with 0 < ε < ½; here is 0.75.": lambda: course.averaging_strength(exact("3/4"), 10),
    "A probability lies between 0 and 1; here is -0.5.": lambda: nn.entropy(torch.tensor([-0.5, 1.5])),
    "A probability lies between 0 and 1; here is 1.5.": lambda: nn.perplexity(torch.tensor([0.5, 1.5])),
    "A probability lies between 0 and 1; here is nan.": lambda: nn.perplexity(torch.tensor([0.5, nan])),
    "A probability lies between 0 and 1; here is 2.": lambda: nn.kl(torch.tensor([2.0, -1.0]), one(2) / 2),
    "The probabilities of a vector sum to 1; here they sum to 0.5.": lambda: nn.entropy(exact("1/4 1/4")),
    "The probabilities of a vector sum to 1; here they sum to 1.5.": lambda: nn.effective_keys(one(2, 3) / 2),
    "The probabilities of a vector sum to 1; here they sum to 0.": lambda: nn.variance(z(3)),
    "The logarithm of a probability is at most 0; here is 0.5.": lambda: nn.perplexity_from_log(torch.tensor([-1.0, 0.5])),
    "A likelihood p(x|z) is never negative; here is -0.1.": lambda: bayes(one(2) / 2, torch.tensor([0.3, -0.1])),
    "A vector of zeros has no direction, so no cosine: the row of E at [1] is zero.": (
        lambda: nn.cosine_map(torch.tensor([[1.0, 0.0], [0.0, 0.0]]))
    ),
    "(x − μ) / √(σ² + ε) is 0/0 where all entries of a token are equal and ε = 0, as at [1]: give an ε above 0.": (
        lambda: nn.layer_norm(torch.tensor([[1.0, 2.0], [3.0, 3.0]]), eps=0.0)
    ),
    "(x − μ) / √(σ² + ε) is 0/0 where all entries of a token are equal and ε = 0, as at []: give an ε above 0.": (
        lambda: nn.layer_norm(exact("3 3"), eps=0)
    ),
    "x / √(mean(x²) + ε) is 0/0 where all entries of a token are 0 and ε = 0, as at [0]: give an ε above 0.": (
        lambda: nn.rms_norm(z(2, 3), eps=0.0)
    ),
    "(H − μ) / √(σ² + ε) is 0/0 where an entry is the same in all samples and ε = 0, as at [1]: give an ε above 0.": (
        lambda: nn.batch_norm(torch.tensor([[1.0, 2.0], [3.0, 2.0]]))
    ),
    "√(σ² + ε) needs σ² + ε above 0, and ε = 0; here is 0.": lambda: nn.batch_norm_test(z(2), z(2), z(2)),
    "√(σ² + ε) needs ε ≥ 0, not -1.": lambda: nn.layer_norm(one(2), eps=-1.0),
    "The largest of the scores needs numbers that can be compared; here is nan.": (
        lambda: nn.argmax_weights(torch.tensor([0.0, nan]))
    ),
    "Counts are 0, 1, 2, …; here is 1.5.": lambda: models.kneser_ney(torch.tensor([[1.5, 0.0], [1.0, 1.0]]), 0.5),
    "Counts of pairs are never negative; here is -1.": (
        lambda: glove_loss(one(1, 1), one(1, 1), one(1), one(1), -one(1, 1))
    ),
    "A length is a number of tokens, 0 or more, but -1 was given.": lambda: nn.padding_mask(torch.tensor([-1, 2]), 3),
    "A length is a number of tokens, so the dtype is an integer one, not torch.float32.": lambda: nn.padding_mask(one(2), 3),
    "|w|^T is about T ≥ 0 steps, not -1.": lambda: course.state_gradient(one(), -1),
    "Self-attention needs at least one token, not 0.": lambda: course.identity_diagonal(one(), 0),
}


@pytest.mark.parametrize("text", SHAPES)
def test_the_message_of_a_shape(text):
    with pytest.raises(ShapeError) as caught:
        SHAPES[text]()
    assert str(caught.value) == text


@pytest.mark.parametrize("text", DOMAINS)
def test_the_message_of_a_domain(text):
    with pytest.raises(DomainError) as caught:
        DOMAINS[text]()
    assert str(caught.value) == text


NOTHING = (
    "A softmax needs a finite score in every row: "
    "in the row at {} every score is −∞, and a softmax over nothing has no value."
)


@pytest.mark.parametrize("numbers", [lambda s: s, exact])
@pytest.mark.parametrize("function", [nn.softmax, nn.softmax_jacobian, nn.straight_through])
def test_the_message_of_a_row_of_nothing(numbers, function):
    s = torch.tensor([[0.0, -inf], [-inf, -inf]])
    with pytest.raises(DomainError) as caught:
        function(numbers(s))
    assert str(caught.value) == NOTHING.format([1])
    with pytest.raises(DomainError) as caught:
        nn.softmax(numbers(s.T), dim=0)
    assert str(caught.value) == NOTHING.format([1])
    assert not function(numbers(s)[:1]).isnan().any()


def test_the_message_of_an_infinite_score():
    with pytest.raises(DomainError) as caught:
        nn.softmax(torch.tensor([[0.0, 1.0], [0.0, inf]]))
    assert str(caught.value) == "A softmax needs a finite score in every row: in the row at [1] a score is ∞."


def test_a_nan_among_the_scores_stays_one():
    assert nn.softmax(torch.tensor([[0.0, nan], [0.0, 0.0]])).isnan().tolist() == [[True, True], [False, False]]


def test_no_message_before_there_are_numbers():
    s = torch.randn(3, 4)
    assert torch.equal(torch.func.vmap(nn.softmax)(s), nn.softmax(s))
    assert torch.equal(torch.compile(nn.softmax, backend="eager", fullgraph=True)(s), nn.softmax(s))
    assert torch.equal(torch.compile(nn.layer_norm, backend="eager", fullgraph=True)(s, eps=0.0), nn.layer_norm(s, eps=0.0))


def test_letters_are_taken_at_their_word():
    q = exact("q_fits 1-q_fits")
    assert exact.equal(nn.variance(q), 2 * (q[0] - exact("1/2")) ** 2 / 2)
    assert where(q, lambda q: q > 0) is None


def test_what_repeats():
    assert (
        is_repeatable((), (2, 3))
        and is_repeatable((1, 3), (2, 3))
        and not is_repeatable((2, 1, 3), (2, 3))
        and not is_repeatable((2,), (3,))
    )


SHOWN = {
    "softmax_cross_entropy": (nn.softmax_cross_entropy, z(2), torch.tensor([0.0, 1.0])),
    "attention": (nn.attention, one(2, 2), one(2, 2), one(2, 2)),
    "layer_norm": (nn.layer_norm, torch.tensor([1.0, 3.0])),
    "adam": (nn.adam, z(1), z(1), z(1), one(1), 1),
    "rnn_cell": (nn.rnn_cell, z(3), z(4), W),
    "conv1d_by_heads": (course.conv1d_by_heads, one(3, 1), one(1, 1, 3)),
    "separation": (course.separation, one(1, 1), one(1)),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_check_is_silent_in_a_shown_work(name):
    function, *given = SHOWN[name]
    text = str(show(function, *given))
    for check in ("fit", "probabilities", "alike", "counted", "examples", "varied", "fmpq", "if "):
        assert check not in text
    assert "matches the unmodified run" in text


def test_one_query_is_shown_as_the_textbook_writes_it():
    text = str(show(nn.attention_query, one(2), one(3, 2), one(3, 1)))
    assert "α = softmax(K q)" in text and "c = Vᵀ α" in text and "squeeze" not in text and "dim()" not in text


def test_the_terms_of_bayes_are_shown_by_their_names():
    text = str(show(bayes, one(2) / 2, torch.tensor([0.3, 0.1])))
    assert "    joint = [0.15  0.05]" in text and "    posterior = [0.75  0.25]" in text and "[4] =" not in text


def test_a_refused_shape_is_shown_at_the_statement_that_asks():
    """What the check did on the way is not part of the work, and the unmodified run fails alike."""
    work = show(nn.hard_attention, torch.eye(2), torch.ones(1, 3), torch.eye(2))
    text = work.text()
    assert "fails: check_shapes(hard_attention, Q, K, V, empty='n')" in text and "K is (1×3)" in text
    assert "turn 1" not in text and "given" not in text
    assert text.rstrip().endswith("fails like the unmodified run")

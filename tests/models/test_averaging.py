"""The deep averaging network: the order of the words makes no difference, padding makes none either."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from workings import exact
from workings.errors import DomainError, ShapeError
from workings.models.averaging import DeepAveraging, average, padded


def model_of(**options):
    torch.manual_seed(0)
    return DeepAveraging(torch.randn(12, 4), hidden=[8, 6], classes=3, **options)


def test_the_mean_by_hand():
    E = exact("1 2; 3 4; 5 9")
    tokens, mask = torch.tensor([[0, 2, 1], [1, 1, 2]]), torch.tensor([[True, True, True], [True, False, False]])
    z = average(E, tokens, mask)
    assert exact.equal(z, exact("3 5; 3 4"))
    assert_close(average(E.float64(), tokens, mask), z.float64())


def test_the_order_of_the_words_makes_no_difference_at_all():
    E = exact.symbols("E_dan", shape=(3, 2))
    mask = torch.ones(1, 3, dtype=torch.bool)
    one, other = average(E, torch.tensor([[0, 1, 2]]), mask), average(E, torch.tensor([[2, 0, 1]]), mask)
    assert exact.equal(one, other).how == "proved"


MODEL = model_of().eval()


@settings(max_examples=40)
@given(st.lists(st.integers(0, 11), min_size=1, max_size=9), st.randoms(use_true_random=False))
def test_shuffled_words_give_the_same_scores(words, random):
    shuffled = random.sample(words, len(words))
    assert_close(MODEL(torch.tensor([words])), MODEL(torch.tensor([shuffled])), atol=1e-5, rtol=1e-5)


def test_a_repeated_word_does_count():
    model = model_of().eval()
    assert not torch.allclose(model(torch.tensor([[1, 2]])), model(torch.tensor([[1, 1, 2]])))


def test_padding_mask_and_offsets_say_the_same():
    model = model_of(padding=0).eval()
    texts = [[3, 1, 4], [1], [5, 9, 2, 6]]
    alone = torch.cat([model(torch.tensor([text])) for text in texts])
    table = torch.tensor([[3, 1, 4, 0], [1, 0, 0, 0], [5, 9, 2, 6]])
    assert_close(model(table), alone)
    assert_close(model(table.where(table != 0, 7), mask=table != 0), alone)
    assert_close(model(torch.tensor([3, 1, 4, 1, 5, 9, 2, 6]), offsets=torch.tensor([0, 3, 4])), alone)


@settings(max_examples=30)
@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 2**16))
def test_the_kernel_agrees_with_the_equations(b, t, seed):
    torch.manual_seed(seed)
    E, tokens, mask = torch.randn(5, 3).double(), torch.randint(5, (b, t)), torch.rand(b, t) < 0.6
    assert_close(average(E, tokens, mask), average.__definition__(E, tokens, mask))


def test_the_kernels_gradient_agrees_too():
    torch.manual_seed(0)
    E, tokens, mask = torch.randn(5, 3).double().requires_grad_(), torch.randint(5, (4, 6)), torch.rand(4, 6) < 0.6
    weights = torch.randn(4, 3).double()
    one, other = (torch.autograd.grad((f(E, tokens, mask) * weights).sum(), E)[0] for f in (average, average.__definition__))
    assert_close(one, other)


def test_a_text_without_words_has_a_mean_of_zeros():
    assert_close(average(torch.ones(2, 3), torch.zeros(1, 2, dtype=torch.long), torch.zeros(1, 2).bool()), torch.zeros(1, 3))


def test_word_dropout_leaves_words_out_while_training_only():
    model = model_of(word_dropout=0.5)
    tokens = torch.randint(12, (200, 20))
    share = model.kept(tokens, None).float().mean().item()
    assert 0.45 < share < 0.55
    assert model.eval().kept(tokens, None).all()
    # what is kept is divided by the number of what is kept, so the mean stays unbiased
    z = average(torch.ones(12, 4), tokens, torch.rand(200, 20) < 0.5)
    assert_close(z, torch.ones(200, 4))


def test_it_learns_sentiment_from_words():
    torch.manual_seed(0)
    # words 0–3 are good, 4–7 bad, 8–11 say nothing; the label is whether good words outnumber bad ones
    tokens = torch.randint(12, (300, 9))
    score = (tokens < 4).sum(1) - ((tokens >= 4) & (tokens < 8)).sum(1)
    y = (score > 0).long()
    model = DeepAveraging(torch.randn(12, 4), hidden=[8], classes=2, word_dropout=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(80):
        optimizer.zero_grad()
        model.loss(tokens, y).backward()
        optimizer.step()
    assert (model.eval()(tokens).argmax(1) == y).float().mean() > 0.93


def test_fixed_vectors_are_not_trained():
    model = model_of(train_vectors=False)
    model.loss(torch.tensor([[1, 2]]), torch.tensor([0])).backward()
    assert model.E.grad is None


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: model_of(word_dropout=1.0), DomainError, "Word dropout is a probability below 1; got 1."),
        (lambda: model_of(padding=12), DomainError, "The padding token is one of the 12 words of the table; got 12."),
        (
            lambda: model_of()(torch.tensor([1, 2])),
            ShapeError,
            "Tokens are texts × places, and the mask has their shape: tokens are [2], the mask is none. "
            "One row of tokens needs offsets.",
        ),
        (
            lambda: padded(torch.tensor([1, 2]), torch.tensor([0, 3])),
            ShapeError,
            "Offsets start at 0 and rise to at most the 2 tokens; they are [0, 3].",
        ),
        (
            lambda: padded(torch.tensor([1, 2]), torch.tensor([1])),
            ShapeError,
            "Offsets start at 0 and rise to at most the 2 tokens; they are [1].",
        ),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message

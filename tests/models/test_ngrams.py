"""n-grams of any order: by hand, each context a distribution, and the messages."""

import pytest
import torch

from workings.errors import DomainError
from workings.models.ngrams import NGrams


def test_worked_by_hand():
    # a b a c, D = ½. P₁(b) = (1 − ½ + ½·3·⅓)/4 = ¼, P₁(c) = ¼. After a: c(a) = 2, followers 2,
    # P₂(c|a) = (½ + ½·2·¼)/2 = 3/8; after b only a: P₁(a) = (2 − ½ + ½)/4 = ½, P₂(a|b) = (½ + ½·1·½)/1 = ¾.
    model = NGrams(torch.tensor([0, 1, 0, 2]), 3, order=2, D=0.5)
    assert model.probabilities(torch.tensor([0, 2]))[1].item() == pytest.approx(3 / 8)
    assert model.probabilities(torch.tensor([1, 0]))[1].item() == pytest.approx(3 / 4)
    # after c nothing was seen: P₁(b)
    assert model.probabilities(torch.tensor([2, 1]))[1].item() == pytest.approx(1 / 4)


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("context", [[0, 1, 2], [3, 3, 3], []])
def test_each_context_has_a_distribution(order, context):
    text = torch.randint(4, (200,), generator=torch.Generator().manual_seed(order))
    model = NGrams(text[text != 3], tokens=5, order=order)
    p = torch.stack([model.probabilities(torch.tensor([*context, w]))[-1] for w in range(5)])
    assert p.sum().item() == pytest.approx(1)
    assert (p > 0).all()  # the fourth and fifth token were never seen


def test_a_longer_context_predicts_a_repeated_text_better():
    text = torch.tensor([0, 0, 1, 1] * 50)
    perplexities = [NGrams(text, 2, order).perplexity(text) for order in (1, 2, 3)]
    assert perplexities[0] > 1.9 and perplexities[2] < 1.1  # pairs leave it open, two before decide


def test_an_order_that_cannot_be_numbered():
    with pytest.raises(DomainError) as error:
        NGrams(torch.tensor([0, 1]), tokens=1000, order=8)
    assert str(error.value) == "n-grams of 1000 tokens have an order from 1 up to what 63 bits can number; got 8."

"""Models refuse what they cannot take, and weights that they would silently lose."""

from math import nan

import pytest
import torch

from workings import course, models
from workings.errors import DomainError, ShapeError, WorkingsError
from workings.models.character import CharacterModel
from workings.models.weights.gpt2 import layout
from workings.models.weights.table import save
from workings.nn import Block

tokens = torch.tensor([[1, 2]])
gpt2 = models.to_gpt2(models.LanguageModel(5, 4, 2, 1, context=3, activation="gelu_tanh"))
bert = models.to_bert(models.Bert(5, 4, 2, 1, 3))
vit = models.to_vit(models.ViT(4, 2, 4, 1, 2, 3))


def without(state, name):
    return {key: value for key, value in state.items() if not key.endswith(name)}


REFUSED = [
    (
        lambda: models.LanguageModel(5, 4, 2, 1, positions="rope", dropout=2.0),
        DomainError,
        "Dropout leaves out a share of at least 0 and less than 1, not 2.0.",
    ),
    (
        lambda: models.Encoder(5, 4, 2, 1, dropout=-1.0),
        DomainError,
        "Dropout leaves out a share of at least 0 and less than 1, not -1.0.",
    ),
    (
        lambda: models.EncoderDecoder(5, 5, 4, 2, 1)(tokens, tokens, torch.tensor([1, 2])),
        ShapeError,
        "Each row of tokens has a length: the tokens are [1, 2], the lengths [2].",
    ),
    (
        lambda: models.ViT(4, 2, 4, 1, 2, 3)(torch.zeros(3, 4, 4)),
        ShapeError,
        "A ViT takes images b × c × n × m, but this is [3, 4, 4]; one image is image.unsqueeze(0).",
    ),
    (
        lambda: models.from_gpt2(without(gpt2, "wpe.weight"), 2),
        WorkingsError,
        "The weights have no 'transformer.wpe.weight': is this another kind of model?",
    ),
    (
        lambda: models.from_gpt2({**gpt2, "lm_head.weight": torch.ones(5, 4)}, 2),
        WorkingsError,
        "GPT-2's output layer is its embedding, but here 'lm_head.weight' differs from 'wte.weight'.",
    ),
    (
        lambda: models.from_bert(without(bert, "position_embeddings.weight"), 2),
        WorkingsError,
        "The weights have no 'embeddings.position_embeddings.weight': is this another kind of model?",
    ),
    (
        lambda: models.from_vit(without(vit, "classifier.weight"), 2),
        WorkingsError,
        "The weights have no 'classifier.weight': is this another kind of model?",
    ),
    (
        lambda: models.block_to_torch(Block(8, 2, qk_norm=True)),
        WorkingsError,
        "PyTorch's layer does not normalise queries and keys; this block does (qk_norm).",
    ),
    (
        lambda: CharacterModel(3, 2, 4)(torch.tensor([[5]])),
        DomainError,
        "Tokens are whole numbers from 0 to 2, but 5 came.",
    ),
    (
        lambda: CharacterModel(3, 2, 4)(torch.zeros(1, 0, dtype=torch.long)),
        ShapeError,
        "A character model needs at least one character, but the tokens are [1, 0].",
    ),
    (
        lambda: models.NeuralBigram(torch.zeros(5, 3), 4)(torch.tensor([7])),
        DomainError,
        "Tokens are whole numbers from 0 to 4, but 7 came.",
    ),
    (
        lambda: models.DeepAveraging(torch.zeros(5, 3), [4], 2)(torch.tensor([[9]])),
        DomainError,
        "Tokens are whole numbers from 0 to 4, but 9 came.",
    ),
    (
        lambda: models.kneser_ney(torch.ones(2, 2), torch.tensor(2.0)),
        DomainError,
        "A discount is taken from counts of 1 and more, so 0 < D ≤ 1; D = 2.",
    ),
    (
        lambda: course.bayes(torch.tensor([0.5, 0.5]), torch.zeros(2)),
        DomainError,
        "p(z|x) divides by the evidence p(x), which needs to be above 0; here it is 0.",
    ),
    (lambda: models.MLP(3, 2, 2)(torch.zeros(2, 4)), ShapeError, "x W₁ needs x with 3 inputs in each row, but x is [2, 4]."),
    (
        lambda: course.DedupeDecoder(T=nan),
        DomainError,
        "This decoder needs a temperature T ≥ 0 and 1 or 2 heads, not T = nan and 1 heads.",
    ),
    (
        lambda: course.DedupeDecoder()(torch.zeros(0, dtype=torch.long)),
        ShapeError,
        "The decoder reads one row of at least one token, but the tokens are [0].",
    ),
]


@pytest.mark.parametrize("call, error, text", REFUSED)
def test_the_message_of_what_a_model_cannot_take(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


def test_a_gpt2_without_an_output_layer_of_its_own_is_taken():
    model = models.LanguageModel(5, 4, 2, 1, context=3, activation="gelu_tanh").eval()
    state = save(model, layout(1, ""))  # as GPT2Model has it: no lm_head
    assert torch.equal(models.from_gpt2(state, 2)(tokens), model(tokens))

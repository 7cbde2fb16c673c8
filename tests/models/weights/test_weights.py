"""Weights from PyTorch's layers and Hugging Face's GPT-2, BERT and ViT: the same outputs, and the same weights back."""

import os

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from workings import exact
from workings.errors import ShapeError, WorkingsError
from workings.models.decoding.search import greedy
from workings.models.language_model import LanguageModel
from workings.models.vit import ViT
from workings.models.weights.bert import from_bert, to_bert
from workings.models.weights.gpt2 import from_gpt2, to_gpt2
from workings.models.weights.table import ENCODER_LAYER, Pair, block_from_torch, block_to_torch, load, pairs, save
from workings.models.weights.vit import RENAMED, from_vit, to_vit
from workings.nn.transformer.block import Block
from workings.nn.transformer.positions import Rotary

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
transformers = pytest.importorskip("transformers")

EPS = 0.01  # large enough to be seen when it is left out
SMALL = {"layer_norm_eps": EPS, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12}
TOKENS = torch.tensor([[1, 5, 2, 7, 7, 0], [3, 3, 1, 8, 2, 6]])
CLOSE = {"atol": 1e-6, "rtol": 1e-5}


def loud(model, seed=0):
    """Every weight random and large enough to matter, norms and biases too."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(std=0.3)
    return model.eval()


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=9,
        n_positions=12,
        n_embd=8,
        n_layer=2,
        n_head=2,
        n_inner=20,
        layer_norm_epsilon=EPS,
        bos_token_id=0,
        eos_token_id=0,
    )
    return loud(transformers.GPT2LMHeadModel(config))


def bert():
    return loud(transformers.BertModel(transformers.BertConfig(vocab_size=9, max_position_embeddings=12, **SMALL)))


def vit():
    config = transformers.ViTConfig(image_size=6, patch_size=2, num_labels=5, **SMALL)
    return loud(transformers.ViTForImageClassification(config))


def same(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        assert torch.equal(ours[name], value), name


# PyTorch's layers


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("make", [nn.TransformerEncoderLayer, nn.TransformerDecoderLayer])
def test_a_block_and_torchs_layer_both_ways(make, activation, norm_first, bias):
    options = {"activation": activation, "norm_first": norm_first, "layer_norm_eps": 1e-3, "bias": bias}
    layer = loud(make(8, 2, 12, batch_first=True, **options))
    given = (torch.randn(2, 5, 8), torch.randn(2, 3, 8))[: 2 if make is nn.TransformerDecoderLayer else 1]
    ours = block_from_torch(layer)
    assert_close(ours(*given), layer(*given), **CLOSE)
    back = block_to_torch(ours)
    assert type(back) is make
    same(back.state_dict(), layer.state_dict())
    assert_close(back(*given), layer(*given), **CLOSE)
    assert (back.dropout.p, back.norm1.eps, back.training) == (0.1, 1e-3, False)


def test_weights_are_copied_and_not_shared():
    layer = loud(nn.TransformerEncoderLayer(8, 2, 12, batch_first=True))
    ours = block_from_torch(layer)
    kept = ours.ffn.W_1.clone()
    nn.init.zeros_(layer.linear1.weight)
    assert torch.equal(ours.ffn.W_1, kept)
    state = save(ours, ENCODER_LAYER)
    state["linear1.weight"].zero_()
    assert torch.equal(ours.ffn.W_1, kept) and not any(v.requires_grad for v in state.values())


def test_saving_and_loading_keeps_every_bit():
    first, second = loud(Block(8, 2)), loud(Block(8, 2), seed=1)
    load(second, save(first, ENCODER_LAYER), ENCODER_LAYER)
    same(second.state_dict(), first.state_dict())


def test_exact_weights_are_read_too():
    layer = nn.Linear(2, 2).double()
    load(layer, {"M": torch.tensor([[1.0, 2.0], [3.0, 4.0]])}, [Pair("weight", ("M",), transposed=True)])
    assert exact.equal(exact.exactify(layer).weight.detach(), exact("1 3; 2 4"))


# GPT-2


def test_gpt2_predicts_the_same():
    theirs = gpt2()
    ours = from_gpt2(theirs.state_dict(), heads=2, eps=EPS)
    assert_close(ours(TOKENS), theirs(TOKENS).logits, **CLOSE)
    assert (ours.context, len(ours.blocks), ours.blocks[0].ffn.W_1.shape) == (12, 2, (8, 20))


def test_gpt2_continues_the_same():
    theirs = gpt2()
    ours = from_gpt2(theirs.state_dict(), heads=2, eps=EPS)
    seen = torch.ones_like(TOKENS[:1])
    right = theirs.generate(TOKENS[:1], attention_mask=seen, max_new_tokens=6, do_sample=False, eos_token_id=None)
    assert list(greedy(ours, TOKENS[0].tolist(), 6)) == right[0, 6:].tolist()


def test_gpt2_without_its_head_and_with_old_masks():
    theirs = gpt2()
    state = {**theirs.transformer.state_dict(), "h.0.attn.bias": torch.ones(1, 1, 12, 12)}
    assert_close(from_gpt2(state, heads=2, eps=EPS)(TOKENS), theirs(TOKENS).logits, **CLOSE)


def test_gpt2_is_saved_as_it_was():
    theirs, fresh = gpt2(), gpt2()
    state = to_gpt2(from_gpt2(theirs.state_dict(), heads=2, eps=EPS))
    same(state, theirs.state_dict())
    loud(fresh, seed=1).load_state_dict(state)
    assert_close(fresh(TOKENS).logits, theirs(TOKENS).logits)


# BERT


def test_bert_reads_the_same():
    theirs = bert()
    ours = from_bert(theirs.state_dict(), heads=2, eps=EPS)
    seen, segments = torch.tensor([[1] * 6, [1] * 4 + [0] * 2]), torch.tensor([[0, 0, 1, 1, 1, 1]] * 2)
    right = theirs(TOKENS, attention_mask=seen, token_type_ids=segments)
    X, c = ours(TOKENS, seen.sum(dim=1), segments)
    assert_close(X[seen.bool()], right.last_hidden_state[seen.bool()], **CLOSE)
    assert_close(c, right.pooler_output, **CLOSE)
    assert_close(ours(TOKENS)[0], theirs(TOKENS).last_hidden_state, **CLOSE)


def test_bert_is_saved_as_it_was():
    theirs, fresh = bert(), bert()
    state = to_bert(from_bert({f"bert.{name}": value for name, value in theirs.state_dict().items()}, heads=2))
    same(state, theirs.state_dict())
    loud(fresh, seed=1).load_state_dict(state)
    assert_close(fresh(TOKENS).pooler_output, theirs(TOKENS).pooler_output)


# ViT


def test_vit_classifies_the_same():
    theirs, image = vit(), torch.randn(2, 3, 6, 6)
    assert_close(from_vit(theirs.state_dict(), heads=2, eps=EPS)(image), theirs(image).logits, **CLOSE)


def test_vit_from_an_older_file():
    theirs, image = vit(), torch.randn(2, 3, 6, 6)
    state = {}
    for name, value in theirs.state_dict().items():
        for old, new in reversed(RENAMED.items()):
            name = name.replace(new, old)
        state[name] = value
    assert any("attention.attention.query" in name for name in state)
    assert_close(from_vit(state, heads=2, eps=EPS)(image), theirs(image).logits, **CLOSE)


def test_vit_is_saved_as_it_was():
    theirs, fresh, image = vit(), vit(), torch.randn(2, 3, 6, 6)
    state = to_vit(from_vit(theirs.state_dict(), heads=2, eps=EPS))
    same(state, theirs.state_dict())
    loud(fresh, seed=1).load_state_dict(state)
    assert_close(fresh(image).logits, theirs(image).logits)


# messages


def without(state, name):
    return {key: value for key, value in state.items() if key != name}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: from_gpt2(bert().state_dict(), 2),
            WorkingsError,
            "These are no weights of GPT-2: there is no 'wte.weight' or 'transformer.wte.weight'.",
        ),
        (
            lambda: from_bert(gpt2().state_dict(), 2),
            WorkingsError,
            "These are no weights of BERT: there is no 'embeddings.word_embeddings.weight'.",
        ),
        (
            lambda: from_vit(gpt2().state_dict(), 2),
            WorkingsError,
            "These are no weights of a ViT: there is no 'vit.embeddings.patch_embeddings.projection.weight'.",
        ),
        (
            lambda: from_gpt2(without(gpt2().state_dict(), "transformer.h.1.ln_2.bias"), 2),
            WorkingsError,
            "The weights have no 'transformer.h.1.ln_2.bias': is this another kind of model?",
        ),
        (
            lambda: from_bert({**bert().state_dict(), "cls.bias": torch.ones(1), "cls.weight": torch.ones(1)}, 2),
            WorkingsError,
            "The weights have 'cls.bias' and 1 more, which this model has no place for.",
        ),
        (
            lambda: load(Block(8, 2, 12), save(Block(8, 2, 16), ENCODER_LAYER), ENCODER_LAYER),
            ShapeError,
            "linear1.weight make [8, 16], but ffn.W_1 of this model is [8, 12].",
        ),
        (
            lambda: block_to_torch(Block(8, 2, kind="rms", positions=Rotary())),
            WorkingsError,
            "PyTorch's layer has layer norm, relu or gelu, and no positions of its own; this block has rms norm, relu and "
            "some positions.",
        ),
        (
            lambda: block_from_torch(nn.TransformerEncoderLayer(8, 2, activation=torch.tanh)),
            WorkingsError,
            "The layer's activation must be torch.nn.functional's relu or gelu to be copied.",
        ),
        (
            lambda: to_gpt2(LanguageModel(9, 8, 2, 1, positions="rope")),
            WorkingsError,
            "GPT-2 has learned positions, pre-norm layer norms, gelu_tanh and a tied output layer.",
        ),
        (
            lambda: to_gpt2(LanguageModel(9, 8, 2, 1, context=4, activation="gelu_tanh", bias=False)),
            WorkingsError,
            "Theirs has norm.beta and 6 more; this model was made without.",
        ),
        (
            lambda: load(Block(8, 2, bias=False), save(Block(8, 2), ENCODER_LAYER), ENCODER_LAYER),
            WorkingsError,
            "Theirs has attention.b_QKV and 5 more; this model was made without.",
        ),
        (
            lambda: to_vit(ViT(6, 2, 8, 1, 2, 5, pool="mean")),
            WorkingsError,
            "Hugging Face's ViT has a CLS token and learned positions: this model lacks one of them.",
        ),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error) as found:
        call()
    assert str(found.value) == message


def test_tables_from_text():
    (pair,) = pairs("W a b c", transposed=["W"])
    assert pair == Pair("W", ("a", "b", "c"), True)
    parts = pair.written(torch.arange(6.0).reshape(2, 3))
    assert [part.tolist() for part in parts.values()] == [[[0, 3]], [[1, 4]], [[2, 5]]]
    assert torch.equal(pair.read(parts), torch.arange(6.0).reshape(2, 3))

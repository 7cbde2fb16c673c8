"""Models nobody here wrote: Hugging Face's, from tiny random configurations, opened down to their statements."""

import pytest
import torch

from workings.trace.capture.capture import capture

transformers = pytest.importorskip("transformers")
TOKENS = torch.tensor([[1, 2, 3]])
SMALL = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
IMAGE = {"image_size": 4, "patch_size": 2, "num_channels": 1}


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=9, n_positions=8, n_embd=8, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
    )
    return transformers.GPT2LMHeadModel(config), {"input_ids": TOKENS}


def bert():
    config = transformers.BertConfig(vocab_size=9, max_position_embeddings=8, **SMALL)
    return transformers.BertModel(config), {"input_ids": TOKENS}


def vit():
    return transformers.ViTModel(transformers.ViTConfig(**SMALL, **IMAGE)), {"pixel_values": torch.ones(1, 1, 4, 4)}


def t5():
    config = transformers.T5Config(vocab_size=9, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    return transformers.T5ForConditionalGeneration(config), {"input_ids": TOKENS, "decoder_input_ids": TOKENS}


def clip():
    text = {"vocab_size": 9, "max_position_embeddings": 8, "bos_token_id": 0, "eos_token_id": 2, **SMALL}
    config = transformers.CLIPConfig(text_config=text, vision_config={**SMALL, **IMAGE}, projection_dim=4)
    return transformers.CLIPModel(config), {"input_ids": TOKENS, "pixel_values": torch.ones(1, 1, 4, 4)}


@pytest.mark.parametrize("make", [gpt2, bert, vit, t5, clip])
@pytest.mark.parametrize("depth", [3, 4])
def test_a_model_is_captured_whole(make, depth):
    torch.manual_seed(0)
    model, inputs = make()
    trace = capture(model.eval(), depth=depth, **inputs)
    assert trace.error is None
    assert trace.agreement == "matches the unmodified run (largest difference 0)"
    assert sum(1 for _ in trace.steps()) > 100
    assert not [s.note for s in trace.steps() if s.note.startswith("not shown")]
    expansions = [s for s in trace.steps() if s.kind == "expansion"]
    assert all(float(s.note.split()[-1]) < 1e-4 for s in expansions)
    assert bool(expansions) == (depth == 4)

"""Models of Hugging Face's `transformers` on exact tensors: outputs and the gradients of all parameters.

Protocol: a tiny random configuration in float64 with every weight a multiple of 1/4; a copy is made exact. The loss
is a fixed weighted sum of the outputs, because the losses of the library compute in float32. Where a model's own code
does so too, the reference computes in float64 there (see `widened.py`), and a note says how far off the unchanged
float64 model is.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers as hf

from conformance.row import Pair, Row, distance, plain, row, size
from conformance.widened import widened
from workings import exact

TEXT = {
    "vocab_size": 7,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 8,
}
IMAGE = {"image_size": 4, "patch_size": 2, "num_channels": 1}
ENDS = {"bos_token_id": 1, "eos_token_id": 2}


@dataclass(frozen=True)
class Model:
    """A model to run: how to build it for a kind of attention, its inputs and the outputs to compare."""

    name: str
    build: Callable[[str], torch.nn.Module]
    inputs: Callable[[], dict[str, torch.Tensor]]
    outputs: tuple[str, ...] = ("logits",)
    kinds: tuple[str, ...] = ("eager", "sdpa")


def gpt2(kind: str) -> torch.nn.Module:
    size = {"vocab_size": 7, "n_positions": 4, "n_embd": 8, "n_layer": 2, "n_head": 2}
    return hf.GPT2LMHeadModel(hf.GPT2Config(**size, **ENDS, use_cache=False, attn_implementation=kind))


def bert(kind: str) -> torch.nn.Module:
    return hf.BertForMaskedLM(hf.BertConfig(**TEXT, max_position_embeddings=4, attn_implementation=kind))


def vit(kind: str) -> torch.nn.Module:
    size = {name: n for name, n in TEXT.items() if name != "vocab_size"}
    return hf.ViTForImageClassification(hf.ViTConfig(**size, **IMAGE, attn_implementation=kind))


def llama(kind: str) -> torch.nn.Module:
    config = hf.LlamaConfig(
        **TEXT,
        **ENDS,
        num_key_value_heads=1,
        max_position_embeddings=8,
        use_cache=False,
        attn_implementation=kind,
    )
    return hf.LlamaForCausalLM(config)


def t5(kind: str) -> torch.nn.Module:
    size = {"vocab_size": 7, "d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 2, "num_heads": 2}
    return hf.T5ForConditionalGeneration(hf.T5Config(**size, use_cache=False, attn_implementation=kind))


def clip(kind: str) -> torch.nn.Module:
    vision = {name: n for name, n in TEXT.items() if name != "vocab_size"}
    config = hf.CLIPConfig(
        text_config={**TEXT, **ENDS, "max_position_embeddings": 4, "projection_dim": 4},
        vision_config={**vision, **IMAGE, "projection_dim": 4},
        projection_dim=4,
        attn_implementation=kind,
    )
    return hf.CLIPModel(config)


def tokens() -> dict[str, torch.Tensor]:
    return {"input_ids": torch.tensor([[1, 5, 3]])}


def padded() -> dict[str, torch.Tensor]:
    return {
        "input_ids": torch.tensor([[1, 5, 3], [4, 2, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1], [1, 1, 0]]),
    }


def pixels() -> dict[str, torch.Tensor]:
    return {"pixel_values": torch.arange(16, dtype=torch.float64).reshape(1, 1, 4, 4) / 8}


def source_and_target() -> dict[str, torch.Tensor]:
    return {**tokens(), "decoder_input_ids": torch.tensor([[0, 4]])}


def text_and_image() -> dict[str, torch.Tensor]:
    return {"input_ids": torch.tensor([[1, 5, 2]]), **pixels()}


MODELS = [
    Model("GPT-2", gpt2, tokens),
    Model("BERT", bert, padded),
    Model("ViT", vit, pixels),
    Model("Llama", llama, tokens),
    Model("T5", t5, source_and_target),
    Model("CLIP", clip, text_and_image, outputs=("logits_per_image", "text_embeds", "image_embeds")),
]


def rows() -> Iterator[Row]:
    """Every model with every kind of attention it offers."""
    hf.logging.set_verbosity_error()
    for model in MODELS:
        for kind in model.kinds:
            yield check(model, kind)


def check(model: Model, kind: str) -> Row:
    """Run one model in float64 and exactly."""
    return row(f"{model.name}, {kind} attention", lambda: compare(model, kind))


def compare(model: Model, kind: str) -> tuple[list[Pair], list[str]]:
    """The outputs and gradients of the exact model beside those of the reference, and notes."""
    torch.manual_seed(0)
    reference = snapped(model.build(kind).double().eval())
    ours = exact.exactify(copy.deepcopy(reference))
    with widened() as block:
        expected = run(reference, model, model.inputs())
    inputs = {name: exact(t) if t.is_floating_point() else t for name, t in model.inputs().items()}
    found = run(ours, model, inputs)
    pairs = [Pair(name, found[name], expected[name]) for name in expected]
    notes = [f"rests on {note}" for note in assumptions(found)]
    if block.narrowed:
        original = run(reference, model, model.inputs())
        notes.append(own_precision(sorted(block.narrowed), expected, original))
    return pairs, notes


def snapped(model: torch.nn.Module) -> torch.nn.Module:
    """Every parameter a multiple of 1/4 between −1 and 1; scales of norms stay near 1."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            centre = 1.0 if p.dim() == 1 and name.endswith("weight") else 0.0
            p.copy_(centre + torch.randint(-3, 4, p.shape) / 4)
    return model


def run(module: torch.nn.Module, model: Model, inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor | None]:
    """The model's outputs and gradients by name."""
    module.zero_grad(set_to_none=True)
    result = module(**inputs)
    outputs = {name: result[name] for name in model.outputs}
    weighted_sum(list(outputs.values())).backward()
    return {**outputs, **{f"gradient of {name}": p.grad for name, p in module.named_parameters()}}


def weighted_sum(outputs: list[torch.Tensor]) -> torch.Tensor:
    """A loss that weights every entry differently, in float64."""
    return sum(((torch.arange(t.numel()) % 5 - 1.5).to(t.dtype).reshape(t.shape) * t).sum() for t in outputs)  # type: ignore


def assumptions(found: dict[str, Any]) -> list[str]:
    """What the exact results rest on."""
    return sorted({str(note) for t in found.values() if t is not None for note in t.assumptions})


def own_precision(narrowed: list[str], wide: dict[str, Any], original: dict[str, Any]) -> str:
    """How far the unchanged float64 model is from the reference."""
    gaps = [
        distance(plain(t), plain(original[name]), size(t)) for name, t in wide.items() if t is not None and size(t) > 1e-9
    ]
    return f"its own code computes {', '.join(narrowed)}: the unchanged float64 model is off by {max(gaps):.0e}"

"""GPT-2 (Radford et al. 2019) as Hugging Face stores it: `GPT2LMHeadModel.state_dict()`, or that of `GPT2Model`.

It is a `LanguageModel` with learned positions, pre-norm, GELU in its tanh form and a tied output layer.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from workings.errors import WorkingsError
from workings.models.language_model import LanguageModel
from workings.models.weights.table import Pair, State, layers, load, pairs, required_weights, save, under

MODEL = [*pairs("embedding.E wte.weight\nembedding.P.table wpe.weight"), *layers("norm.gamma norm.beta ln_f.")]
BLOCK = layers(
    """
    norm_1.gamma    norm_1.beta     ln_1.
    attention.W_QKV attention.b_QKV attn.c_attn.
    attention.W_O   attention.b_O   attn.c_proj.
    norm_3.gamma    norm_3.beta     ln_2.
    ffn.W_1         ffn.b_1         mlp.c_fc.
    ffn.W_2         ffn.b_2         mlp.c_proj.
    """,
    transposed=("attention.W_QKV", "attention.W_O"),
)
_IGNORED = ("attn.bias", "attn.masked_bias", "lm_head.weight")
"""Causal masks of old files, and the output layer, which is the embedding."""


def layout(depth: int, prefix: str) -> list[Pair]:
    blocks = [pair for i in range(depth) for pair in under(BLOCK, f"blocks.{i}.", f"{prefix}h.{i}.")]
    return [*under(MODEL, "", prefix), *blocks]


def from_gpt2(state: State, heads: int, eps: float = 1e-5) -> LanguageModel:
    """The language model with these weights. All sizes but the number of heads can be seen in them."""
    prefix = "transformer." if "transformer.wte.weight" in state else ""
    if f"{prefix}wte.weight" not in state:
        raise WorkingsError("These are no weights of GPT-2: there is no 'wte.weight' or 'transformer.wte.weight'.")
    E, P, W_1 = required_weights(
        state, *(f"{prefix}{name}" for name in ("wte.weight", "wpe.weight", "h.0.mlp.c_fc.weight")), axes=2
    )
    if not torch.equal(state.get("lm_head.weight", E), E):
        raise WorkingsError("GPT-2's output layer is its embedding, but here 'lm_head.weight' differs from 'wte.weight'.")
    depth = len({name for name in state if name.endswith("mlp.c_fc.weight")})
    model = LanguageModel(
        len(E), E.shape[1], heads, depth, context=len(P), hidden=W_1.shape[1], activation="gelu_tanh", eps=eps
    ).to(E)
    load(model, state, layout(depth, prefix), _IGNORED)
    return model.eval()


def to_gpt2(model: LanguageModel) -> dict[str, Tensor]:
    """The state dict for `GPT2LMHeadModel`."""
    block: Any = model.blocks[0]
    fits = model.embedding.positions == "learned" and block.norm == "pre" and block.kind == "layer" and model.W is None
    if not fits or block.ffn.activation != "gelu_tanh":
        raise WorkingsError("GPT-2 has learned positions, pre-norm layer norms, gelu_tanh and a tied output layer.")
    state = save(model, layout(len(model.blocks), "transformer."))
    return {**state, "lm_head.weight": state["transformer.wte.weight"]}

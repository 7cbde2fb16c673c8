"""The Vision Transformer as Hugging Face stores it: `ViTForImageClassification.state_dict()`, by new names or old ones."""

from __future__ import annotations

from math import isqrt

from torch import Tensor

from workings.errors import WorkingsError
from workings.models.vit import ViT
from workings.models.weights.table import (
    TRANSPOSED,
    Pair,
    State,
    layers,
    load,
    pairs,
    required_weights,
    save,
    set_eps,
    under,
)

MODEL = [
    *pairs("cls vit.embeddings.cls_token\npositions vit.embeddings.position_embeddings"),
    *layers("W b vit.embeddings.patch_embeddings.projection."),
    *layers("norm.gamma norm.beta vit.layernorm."),
    *layers("head.weight head.bias classifier."),
]
BLOCK = layers(
    """
    norm_1.gamma    norm_1.beta     layernorm_before.
    attention.W_QKV attention.b_QKV attention.q_proj. attention.k_proj. attention.v_proj.
    attention.W_O   attention.b_O   attention.o_proj.
    norm_3.gamma    norm_3.beta     layernorm_after.
    ffn.W_1         ffn.b_1         mlp.fc1.
    ffn.W_2         ffn.b_2         mlp.fc2.
    """,
    TRANSPOSED,
)
RENAMED = {
    "vit.encoder.layer.": "vit.layers.",
    "attention.attention.query.": "attention.q_proj.",
    "attention.attention.key.": "attention.k_proj.",
    "attention.attention.value.": "attention.v_proj.",
    "attention.output.dense.": "attention.o_proj.",
    "intermediate.dense.": "mlp.fc1.",
    "output.dense.": "mlp.fc2.",
}
"""Names in older files → today's, in this order."""
SIZES = (
    "vit.embeddings.patch_embeddings.projection.weight",
    "vit.embeddings.position_embeddings",
    "vit.layers.0.mlp.fc1.weight",
    "classifier.weight",
)
"""Weights that tell the sizes of a model."""


def layout(depth: int) -> list[Pair]:
    return [*MODEL, *(pair for i in range(depth) for pair in under(BLOCK, f"blocks.{i}.", f"vit.layers.{i}."))]


def today(name: str) -> str:
    """A name in today's form.

    >>> today("vit.encoder.layer.0.attention.attention.query.weight"), today("vit.encoder.layer.0.output.dense.bias")
    ('vit.layers.0.attention.q_proj.weight', 'vit.layers.0.mlp.fc2.bias')
    """
    for old, new in RENAMED.items():
        name = name.replace(old, new)
    return name


def from_vit(state: State, heads: int, eps: float = 1e-12) -> ViT:
    """The ViT with these weights, for square images. All sizes but the number of heads can be seen in them."""
    state = {today(name): value for name, value in state.items()}
    if "vit.embeddings.patch_embeddings.projection.weight" not in state:
        raise WorkingsError(
            "These are no weights of a ViT: there is no 'vit.embeddings.patch_embeddings.projection.weight'."
        )
    required_weights(state, *SIZES)  # all that are missing, in one message
    (kernel,) = required_weights(state, SIZES[0], axes=4)
    (positions,) = required_weights(state, SIZES[1], axes=3)
    W_1, head = required_weights(state, *SIZES[2:], axes=2)
    width, channels, patch, _ = kernel.shape
    depth = len({name for name in state if name.endswith("mlp.fc1.weight")})
    side = isqrt(positions.shape[1] - 1)
    model = ViT(side * patch, patch, width, depth, heads, len(head), channels, hidden=len(W_1)).to(kernel)
    load(model, {name: _flat(name, value) for name, value in state.items()}, layout(depth))
    set_eps(model, eps)
    return model.eval()


def to_vit(model: ViT) -> dict[str, Tensor]:
    """The state dict for `ViTForImageClassification`."""
    if model.cls is None or model.positions is None:
        raise WorkingsError("Hugging Face's ViT has a CLS token and learned positions: this model lacks one of them.")
    state = save(model, layout(len(model.blocks)))
    kernel = "vit.embeddings.patch_embeddings.projection.weight"
    width, numbers = state[kernel].shape
    state[kernel] = state[kernel].reshape(width, numbers // model.patch**2, model.patch, model.patch)
    for name in ("vit.embeddings.cls_token", "vit.embeddings.position_embeddings"):
        state[name] = state[name][None]
    return state


def _flat(name: str, value: Tensor) -> Tensor:
    """Without the batch axis of tokens, and with the convolution's kernels as rows."""
    if name.endswith("projection.weight"):
        return value.flatten(1)
    return value[0] if value.dim() == 3 and len(value) == 1 else value

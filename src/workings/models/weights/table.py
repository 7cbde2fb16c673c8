"""Weights from elsewhere and back: a table says which of our parameters is which of theirs.

A layout is a list of `Pair`s. One of ours may be several of theirs, one below the other (W_Q, W_K, W_V in W_QKV), and theirs
may be transposed: we write X W₁, they store W₁ᵀ. `load` refuses weights that are missing, left over or of another shape;
`save` is its inverse.

This file has PyTorch's own layers; `weights_gpt2`, `weights_bert` and `weights_vit` have those of Hugging Face.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from workings.errors import ShapeError, WorkingsError
from workings.nn.norms.per_token import LayerNorm
from workings.nn.transformer.block import Block, NormedAttention

State = Mapping[str, Tensor]


@dataclass(frozen=True)
class Pair:
    """Our name of a parameter, their names of its parts from top to bottom, and whether theirs is the transpose."""

    ours: str
    theirs: tuple[str, ...]
    transposed: bool = False

    def read(self, state: State) -> Tensor:
        whole = torch.cat([state[name] for name in self.theirs]) if len(self.theirs) > 1 else state[self.theirs[0]]
        return whole.mT if self.transposed else whole

    def written(self, value: Tensor) -> dict[str, Tensor]:
        parts = (value.mT if self.transposed else value).chunk(len(self.theirs))
        return {name: part.detach().clone() for name, part in zip(self.theirs, parts, strict=True)}

    def under(self, ours: str, theirs: str) -> Pair:
        """The same pair inside a larger model."""
        return Pair(ours + self.ours, tuple(theirs + name for name in self.theirs), self.transposed)


def pairs(text: str, transposed: Iterable[str] = ()) -> list[Pair]:
    """A table from text: on each line our name, then theirs.

    >>> pairs("gamma weight\\nbeta bias")[0]
    Pair(ours='gamma', theirs=('weight',), transposed=False)
    """
    rows = [line.split() for line in text.strip().splitlines()]
    return [Pair(ours, tuple(theirs), ours in transposed) for ours, *theirs in rows]


def layers(text: str, transposed: Iterable[str] = ()) -> list[Pair]:
    """A table of layers: on each line our weight and our bias, then what their names of both begin with.

    >>> [pair.theirs for pair in layers("gamma beta norm1.")]
    [('norm1.weight',), ('norm1.bias',)]
    """
    return [
        Pair(ours, tuple(name + kind for name in theirs), ours in transposed)
        for weight, bias, *theirs in map(str.split, text.strip().splitlines())
        for ours, kind in ((weight, "weight"), (bias, "bias"))
    ]


def under(table: Iterable[Pair], ours: str, theirs: str) -> list[Pair]:
    """A table inside a larger model: prefixes for both sides."""
    return [pair.under(ours, theirs) for pair in table]


def load(model: nn.Module, state: State, layout: list[Pair], ignored: Iterable[str] = ()) -> None:
    """Copy `state` into the model's parameters; every entry must be used, except names that end in one of `ignored`."""
    required_weights(state, *(name for pair in layout for name in pair.theirs))
    used = {name for pair in layout for name in pair.theirs}
    left = [name for name in state if name not in used and not name.endswith(tuple(ignored))]
    if left:
        raise WorkingsError(f"The weights have {left[0]!r}{_and_more(left)}, which this model has no place for.")
    parameters = parameters_by_name(model, layout)
    with torch.no_grad():
        for pair in layout:
            _check_stacked(pair, state)
            new, old = pair.read(state), parameters[pair.ours]
            if new.shape != old.shape:
                raise ShapeError(
                    f"{' and '.join(pair.theirs)} make {[*new.shape]}, but {pair.ours} of this model is {[*old.shape]}."
                )
            old.copy_(new)


def save(model: nn.Module, layout: list[Pair]) -> dict[str, Tensor]:
    """The model's parameters under their names and in their shapes, as copies."""
    parameters = parameters_by_name(model, layout)
    return {name: part for pair in layout for name, part in pair.written(parameters[pair.ours]).items()}


def parameters_by_name(model: nn.Module, layout: list[Pair]) -> dict[str, nn.Parameter]:
    """A model's parameters by name, among them all of the layout."""
    parameters = dict(model.named_parameters())
    absent = [pair.ours for pair in layout if pair.ours not in parameters]
    if absent:
        raise WorkingsError(f"Theirs has {absent[0]}{_and_more(absent)}; this model was made without.")
    return parameters


def _check_stacked(pair: Pair, state: State) -> None:
    """Refuse parts that do not stand one below the other."""
    parts = [state[name] for name in pair.theirs]
    if pair.transposed and any(part.dim() != 2 for part in parts):
        raise ShapeError(f"{' and '.join(pair.theirs)} are matrices, but they are {[[*part.shape] for part in parts]}.")
    if len({part.shape[1:] for part in parts}) > 1 or (len(parts) > 1 and not all(part.dim() for part in parts)):
        shapes = ", ".join(f"{name} is {[*part.shape]}" for name, part in zip(pair.theirs, parts, strict=True))
        raise ShapeError(f"The parts of {pair.ours} stand one below the other, so they have one width: {shapes}.")


def required_weights(state: State, *names: str, axes: int = 0) -> list[Tensor]:
    """The weights that tell the sizes of a model; with `axes`, each has as many."""
    missing = [name for name in names if name not in state]
    if missing:
        raise WorkingsError(f"The weights have no {missing[0]!r}{_and_more(missing)}: is this another kind of model?")
    for name in names:
        if axes and (state[name].dim() != axes or not state[name].numel()):
            raise ShapeError(f"{name} tells sizes of the model, so it has {axes} axes; it is {[*state[name].shape]}.")
    return [state[name] for name in names]


def _and_more(names: list[str]) -> str:
    return f" and {len(names) - 1} more" if len(names) > 1 else ""


def set_eps(model: nn.Module, eps: float) -> None:
    """The ε of every layer norm of a model."""
    for module in model.modules():
        if isinstance(module, LayerNorm):
            module.eps = eps


# PyTorch's layers

TRANSPOSED = ("ffn.W_1", "ffn.W_2")
ENCODER_LAYER = layers(
    """
    attention.W_QKV attention.b_QKV self_attn.in_proj_
    attention.W_O   attention.b_O   self_attn.out_proj.
    norm_1.gamma    norm_1.beta     norm1.
    ffn.W_1         ffn.b_1         linear1.
    ffn.W_2         ffn.b_2         linear2.
    norm_3.gamma    norm_3.beta     norm2.
    """,
    TRANSPOSED,
)
_DECODER_LAYER = [
    *ENCODER_LAYER[:-2],
    *layers(
        """
        to_memory.W_QKV to_memory.b_QKV multihead_attn.in_proj_
        to_memory.W_O   to_memory.b_O   multihead_attn.out_proj.
        norm_2.gamma    norm_2.beta     norm2.
        norm_3.gamma    norm_3.beta     norm3.
        """
    ),
]
ACTIVATIONS: dict[str, Any] = {"relu": F.relu, "gelu": F.gelu}
TorchLayer = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer


def block_from_torch(layer: TorchLayer) -> Block:
    """A block with the settings and weights of `nn.TransformerEncoderLayer` or `nn.TransformerDecoderLayer`.

    >>> layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    >>> X = torch.randn(1, 3, 8)
    >>> torch.allclose(block_from_torch(layer).eval()(X), layer(X), atol=1e-6)
    True
    """
    cross = isinstance(layer, nn.TransformerDecoderLayer)
    names = [name for name, function in ACTIVATIONS.items() if layer.activation is function]
    if not names:
        raise WorkingsError("The layer's activation must be torch.nn.functional's relu or gelu to be copied.")
    block = Block(
        layer.linear1.in_features,
        layer.self_attn.num_heads,
        layer.linear1.out_features,
        norm="pre" if layer.norm_first else "post",
        activation=names[0],
        dropout=layer.dropout1.p,
        cross=cross,
        eps=layer.norm1.eps,
        bias=layer.linear1.bias is not None,
    ).to(layer.linear1.weight)
    load(block, layer.state_dict(), _layer_layout(block))
    return block.train(layer.training)


def _layer_layout(block: Block) -> list[Pair]:
    """Which parameter is which for the layer that this block corresponds to; without biases where it has none."""
    whole = _DECODER_LAYER if block.cross else ENCODER_LAYER
    return whole if block.ffn.b_1 is not None else [pair for pair in whole if not pair.theirs[0].endswith("bias")]


def block_to_torch(block: Block) -> TorchLayer:
    """PyTorch's layer (batch first) with the settings and weights of a block that it can express."""
    if isinstance(block.attention, NormedAttention):
        raise WorkingsError("PyTorch's layer does not normalise queries and keys; this block does (qk_norm).")
    if block.kind != "layer" or block.ffn.activation not in ACTIVATIONS or block.attention.positions is not None:
        raise WorkingsError(
            "PyTorch's layer has layer norm, relu or gelu, and no positions of its own; this block has "
            f"{block.kind} norm, {block.ffn.activation} and {'some' if block.attention.positions else 'no'} positions."
        )
    width, hidden = block.ffn.W_1.shape
    eps: Any = block.norm_1.eps
    make = nn.TransformerDecoderLayer if block.cross else nn.TransformerEncoderLayer
    layer = make(
        width,
        block.attention.heads,
        hidden,
        dropout=block.attention.dropout,
        activation=ACTIVATIONS[block.ffn.activation],
        layer_norm_eps=eps,
        batch_first=True,
        norm_first=block.norm == "pre",
        bias=block.ffn.b_1 is not None,
    ).to(block.ffn.W_1)
    layer.load_state_dict(save(block, _layer_layout(block)))
    return layer.train(block.training)

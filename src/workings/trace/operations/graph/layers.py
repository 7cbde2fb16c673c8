"""Nodes of autograd's graph that are whole layers: norms, convolutions, pools, attention, losses."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from workings.trace.formula.tree import Formula, Number, Sequence
from workings.trace.operations.graph.inputs import (
    Inputs,
    Make,
    node_name,
    one_of,
    shape_of,
)
from workings.trace.operations.node import RuleError, f


def _layer_norm(i: Inputs) -> Formula:
    x, weight, bias = i(0, "input"), i(1, "weight"), i(2, "bias")
    none = [Number(None) if i.saved(name) is None else part for name, part in (("weight", weight), ("bias", bias))]
    shape = Sequence(tuple(map(Number, i.saved("normalized_shape"))))
    return f("layer_norm", x, shape, *none, eps=_epsilon(i.saved("input"), i.saved("result2"), len(shape.items)))


def _epsilon(x: Tensor, inverse: Tensor, axes: int) -> float:
    """The ε that a layer norm added to the variance, to the power of ten or its simplest multiple that fits."""
    variance = x.double().var(dim=tuple(range(-axes, 0)), correction=0, keepdim=True)
    found = float((inverse.double() ** -2 - variance).median())
    return min((m * 10.0**-e for e in range(1, 17) for m in (1, 2, 5)), key=lambda eps: abs(eps - found))


def _batch_norm(i: Inputs) -> Formula:
    mean, variance = (i.kept(name) for name in ("running_mean", "running_var"))
    weight = Number(None) if i.saved("weight") is None else i(1, "weight")
    has_bias = len(i.node.next_functions) > 2 and i.node.next_functions[2][0] is not None
    given = {"training": Number(i.saved("training")), "eps": Number(i.saved("eps"))}
    return f("batch_norm", i(0, "input"), mean, variance, weight, i(2) if has_bias else Number(None), **given)


def _group_norm(i: Inputs) -> Formula:
    weight = Number(None) if i.saved("weight") is None else i(1, "weight")
    has_bias = len(i.node.next_functions) > 2 and i.node.next_functions[2][0] is not None
    bias = i(2) if has_bias else Number(None)
    return f("group_norm", i(0, "input"), Number(i.saved("group")), weight, bias, eps=Number(i.saved("eps")))


def _convolution(i: Inputs) -> Formula:
    has_bias = len(i.node.next_functions) > 2 and i.node.next_functions[2][0] is not None
    rank = len(shape_of(i.node, 0)) - 2
    names = ["stride", "padding", "dilation", "groups"]
    name = f"conv{rank}d"
    if i.saved("transposed"):
        name, names = "conv_transpose", ["stride", "padding", "output_padding", "groups", "dilation"]
    return f(
        name, i(0, "input"), i(1, "weight"), i(2) if has_bias else Number(None), **{n: one_of(i.saved(n)) for n in names}
    )


def _pool(op: str, names: str) -> Make:
    def make(i: Inputs) -> Formula:
        found = {name: one_of(i.saved(name)) for name in names.split()}
        given = {name: value for name, value in found.items() if value not in ((), None)}
        return f(op, i(0, "self"), **{name: Number(v) if isinstance(v, bool) else v for name, v in given.items()})

    return make


def _loss(op: str, names: str = "") -> Make:
    def make(i: Inputs) -> Formula:
        reduction = ("none", "mean", "sum")[i.saved("reduction")]
        given = {name: value for name in names.split() if (value := i.saved(name)) is not None}
        target = i(1, "target") if len(i.node.next_functions) > 1 else i.kept("target")
        tensors = {k: i.constant(v, k) for k, v in given.items() if isinstance(v, Tensor)}
        return f(op, i(0, "self"), target, **(given | tensors), reduction=Number(reduction))

    return make


def _attention(i: Inputs) -> Formula:
    mask = Number(None) if i.saved("attn_mask") is None else i.kept("attn_mask")
    given = {"is_causal": Number(True)} if i.saved("is_causal") else {}
    if i.saved("scale") is not None:
        given["scale"] = Number(i.saved("scale"))
    return f("scaled_dot_product_attention", i(0, "query"), i(1, "key"), i(2, "value"), mask, **given)


def _lstm(i: Inputs) -> Formula:
    if i.saved("mode") != 2:
        raise RuleError("there is no rule for PyTorch's fused recurrent layer but an LSTM's")
    has_biases = i.saved("has_biases")
    shifts = [i(3, "weight2"), i(4, "weight3")] if has_biases else [Number(None), Number(None)]
    args = i(0, "input"), i(1, "weight0"), i(2, "weight1"), *shifts, i(5, "hx_"), i(6, "cx_")
    return f("lstm_layer", *args, **({"reverse": True} if i.saved("reverse") else {}))


def _resized(mode: str) -> Make:
    def make(i: Inputs) -> Formula:
        given: dict[str, Any] = {"size": tuple(i.saved("output_size")), "mode": Number(mode)}
        if i.saved("align_corners") is not None:
            given["align_corners"] = Number(i.saved("align_corners"))
        return f("interpolate", i(0), **given)

    return make


def _mirrored(mode: str) -> Make:
    return lambda i: f("pad", i(0, "self"), Sequence(tuple(map(Number, i.saved("padding")))), mode=Number(mode))


def _adaptive(i: Inputs) -> Formula:
    rank = 3 if node_name(i.node).endswith("3D") else 2
    return f("adaptive_avg_pool", i(0, "self"), output_size=tuple(shape_of(i.node, 0)[-rank:]))


NODES: dict[str, Make] = {
    "MkldnnRnnLayer": _lstm,
    **{f"UpsampleNearest{rank}D": _resized("nearest") for rank in (1, 2, 3)},
    "UpsampleLinear1D": _resized("linear"),
    "UpsampleBilinear2D": _resized("bilinear"),
    "UpsampleBicubic2D": _resized("bicubic"),
    "UpsampleTrilinear3D": _resized("trilinear"),
    **{f"ReflectionPad{rank}D": _mirrored("reflect") for rank in (1, 2, 3)},
    **{f"ReplicationPad{rank}D": _mirrored("replicate") for rank in (1, 2, 3)},
    "AdaptiveAvgPool2D": _adaptive,
    "AdaptiveAvgPool3D": _adaptive,
    "PixelShuffle": lambda i: f("pixel_shuffle", i(0), Number(i.saved("upscale_factor"))),
    "PixelUnshuffle": lambda i: f("pixel_unshuffle", i(0), Number(i.saved("downscale_factor"))),
    "Unfold": lambda i: f("windows", i(0), *(Number(i.saved(n)) for n in ("dimension", "size", "step"))),
    "Im2Col": lambda i: f("im2col", i(0), **{n: i.saved(n) for n in ("kernel_size", "dilation", "padding", "stride")}),
    "WeightNormInterface": lambda i: f("weight_norm", i(0, "v"), i(1, "g"), Number(i.saved("dim"))),
    "NativeLayerNorm": _layer_norm,
    "NativeBatchNorm": _batch_norm,
    "NativeGroupNorm": _group_norm,
    "Convolution": _convolution,
    "MaxPool2DWithIndices": _pool("max_pool2d", "kernel_size stride padding dilation ceil_mode"),
    "MaxPool3DWithIndices": _pool("max_pool3d", "kernel_size stride padding dilation ceil_mode"),
    "AvgPool3D": _pool("avg_pool3d", "kernel_size stride padding ceil_mode count_include_pad"),
    "AvgPool2D": _pool("avg_pool2d", "kernel_size stride padding ceil_mode count_include_pad"),
    "ScaledDotProductFlashAttentionForCpu": _attention,
    "NllLoss": _loss("nll_loss", "weight ignore_index"),
    "NllLoss2D": _loss("nll_loss", "weight ignore_index"),
    "MseLoss": _loss("mse_loss"),
    "SmoothL1Loss": _loss("smooth_l1_loss", "beta"),
    "HuberLoss": _loss("huber_loss", "delta"),
    "BinaryCrossEntropyWithLogits": _loss("binary_cross_entropy_with_logits", "weight pos_weight"),
    "BinaryCrossEntropy": _loss("binary_cross_entropy", "weight"),
}

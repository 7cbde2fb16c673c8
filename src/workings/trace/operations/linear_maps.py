"""Fixed linear maps of a tensor's places: pixels shuffled, images resized, edges mirrored, windows cut out.

Each entry of the result is a fixed sum of entries of the operand, so the gradient goes back to these with the same weights:

    y = pixel_shuffle(x, r)    ∂L/∂x = pixel_unshuffle(∂L/∂y, r)      y = interpolate(x)    ∂L/∂x = ∂L/∂y added back
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from workings.trace.formula import notation
from workings.trace.formula.operation import Layer, Operation, called
from workings.trace.formula.simplify import linear
from workings.trace.formula.tree import Apply, Number
from workings.trace.operations.node import Gradients, Node, Rule


def _adaptive(x: Tensor, output_size: Any) -> Tensor:
    """The mean of each of so many windows, over as many of the last axes as there are sizes."""
    rank = x.dim() - 2 if isinstance(output_size, int) else len(output_size)
    found: Tensor = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[rank - 1](x, output_size)
    return found


_MAPS: dict[str, Callable[..., Tensor]] = {
    "interpolate": F.interpolate,
    "adaptive_avg_pool": _adaptive,
    "pad": F.pad,
    "unfold": lambda x, dimension, size, step: x.unfold(dimension, size, step),
    "im2col": F.unfold,
}


def add_back(node: Node, call: str, **options: Any) -> Gradients:
    """The gradient of a linear map: each entry of it, back to the entries it was made of."""
    return node.to_first(linear("added_back", node.G, call=call, shape=node.shape(node.args[0]), **options))


def _added_back(g: Tensor, *, call: str, shape: tuple[int, ...], **options: Any) -> Tensor:
    """The map is linear: pull g back through it."""
    with torch.enable_grad():
        x = g.new_zeros(shape).requires_grad_()
        (found,) = torch.autograd.grad(_MAPS[call](x, **options), x, g)
    return found


def _back_through(call: str, names: str) -> Rule:
    def rule(node: Node) -> Gradients:
        given = {name: value for name in names.split() if (value := node.plain(name)) is not None}
        return add_back(node, call, **given)

    return rule


def _undone_by(op: str) -> Rule:
    """One way of shuffling pixels is undone by the other."""

    def rule(node: Node) -> Gradients:
        factor = node.plain("upscale_factor" if node.formula.op == "pixel_shuffle" else "downscale_factor")
        return node.to_first(Apply(op, (node.G, Number(factor))))

    return rule


_SIZES = "size scale_factor mode align_corners"

ROWS = (
    called(
        "pixel_shuffle(input upscale_factor): channels as places of an image that is so many times larger",
        gradient=_undone_by("pixel_unshuffle"),
        moves=True,
        layers=Layer(classes=(nn.PixelShuffle,), parameters="upscale_factor"),
    ),
    called(
        "pixel_unshuffle(input downscale_factor): places of an image as channels",
        gradient=_undone_by("pixel_shuffle"),
        moves=True,
        layers=Layer(classes=(nn.PixelUnshuffle,), parameters="downscale_factor"),
    ),
    called(
        f"interpolate(input {_SIZES}): an image in another size",
        also="upsample",
        gradient=_back_through("interpolate", _SIZES),
        linear=True,
        layers=Layer(classes=(nn.Upsample,), parameters="size scale_factor mode align_corners"),
    ),
    Operation(
        "adaptive_avg_pool(input output_size): the mean of each of so many windows",
        calls="adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d",
        compute=_adaptive,
        gradient=_back_through("adaptive_avg_pool", "output_size"),
        linear=True,
        layers=Layer(classes=(nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d), parameters="output_size"),
    ),
    Operation(
        "windows(input dimension size step): windows of a along an axis, side by side on a last axis",
        compute=lambda a, dimension, size, step: a.unfold(dimension, size, step),
        gradient=_back_through("unfold", "dimension size step"),
        linear=True,
    ),
    Operation(
        "im2col(input kernel_size dilation padding stride): the windows of an image as columns",
        compute=F.unfold,
        gradient=_back_through("im2col", "kernel_size dilation padding stride"),
        linear=True,
    ),
    Operation(
        "added_back: a added back to the entries of a value of option shape that each was made of; option call is the map",
        compute=_added_back,
        notation=notation.in_words("#1 added back to the entries it was made of"),
        linear=True,
    ),
)

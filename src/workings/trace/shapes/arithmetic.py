"""The arithmetic of layers: how the output size follows from the input size, and how many parameters there are.

⌊(n − k + 2p)/s⌋ + 1             places of a kernel of k on n entries, padding p, stride s
o·(k·k·c + 1)                    parameters of a convolution: o kernels of k·k·c numbers, each with a bias
i·o + o                          parameters of a linear layer
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from torch import nn

from workings.trace.shapes.layer_text import layer_of

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Size:
    """Why an output has its size, and what is worth a warning about it."""

    arithmetic: str = ""
    warnings: tuple[str, ...] = ()


def product(sizes: Sequence[int]) -> str:
    """
    >>> product([16, 3, 3])
    '16·3·3'
    """
    return "·".join(map(str, sizes)) or "1"


def places(n: int, kernel: int, stride: int = 1, padding: int = 0, dilation: int = 1, up: bool = False) -> str:
    """The arithmetic of a kernel's places, in the textbook's form when the kernel is not dilated.

    >>> places(32, 5)
    '⌊(32 − 5 + 2·0)/1⌋ + 1 = 28'
    >>> places(32, 3, stride=2, padding=1, dilation=2)
    '⌊(32 + 2·1 − 2·(3 − 1) − 1)/2⌋ + 1 = 15'
    """
    left, right = "⌈⌉" if up else "⌊⌋"
    span = n + 2 * padding - dilation * (kernel - 1) - 1
    whole = -(-span // stride) if up else span // stride
    inside = f"{n} − {kernel} + 2·{padding}" if dilation == 1 else f"{n} + 2·{padding} − {dilation}·({kernel} − 1) − 1"
    return f"{left}({inside})/{stride}{right} + 1 = {str(whole + 1).replace('-', '−')}"


def each(value: Any, count: int) -> Shape:
    """PyTorch's sizes: one number for every axis, or one for each."""
    return (value,) * count if isinstance(value, int) else tuple(value)


def window(m: Any, x: Shape, y: Shape) -> Size:
    """Convolution and pooling."""
    axes = len(y) - (2 if len(y) > axes_of(m) + 1 else 1)
    if m.padding == "same":
        return Size(f"{product(x[-axes:])} → the same (padding='same')")
    padding = (0,) * axes if m.padding == "valid" else each(m.padding, axes)
    dilation = each(getattr(m, "dilation", 1), axes)
    every = list(zip(x[-axes:], each(m.kernel_size, axes), each(m.stride, axes), padding, dilation, strict=True))
    up = getattr(m, "ceil_mode", False)
    texts = list(dict.fromkeys(places(*axis, up) for axis in every))
    return Size(", ".join(texts), () if up else _unreached_entries(every))


def axes_of(m: Any) -> int:
    """How many axes a layer such as Conv2d slides over."""
    return int(type(m).__name__[-2])


def _unreached_entries(axes: Sequence[tuple[int, int, int, int, int]]) -> tuple[str, ...]:
    """What the floor throws away: entries at the end that no window reaches."""
    names = {1: ("entry",), 2: ("row", "column"), 3: ("layer", "row", "column")}[len(axes)]
    plural = {"entry": "entries"}
    found = []
    for name, (n, kernel, stride, padding, dilation) in zip(names, axes, strict=True):
        span = n + 2 * padding - dilation * (kernel - 1) - 1
        lost = min(span % stride - padding, n)
        if lost > 0:
            what = f"the last {name} is" if lost == 1 else f"the last {lost} {plural.get(name, name + 's')} are"
            found.append(f"{what} never read: {span}/{stride} leaves a remainder of {span % stride}")
    return tuple(found)


def transposed_size(m: Any, x: Shape, y: Shape) -> Size:
    """(n − 1)·s − 2p + d·(k − 1) + extra + 1"""
    axes = axes_of(m)
    every = zip(x[-axes:], m.stride, m.padding, m.dilation, m.kernel_size, m.output_padding, y[-axes:], strict=True)
    texts = [f"({n} − 1)·{s} − 2·{p} + {d}·({k} − 1) + {extra} + 1 = {out}" for n, s, p, d, k, extra, out in every]
    return Size(", ".join(dict.fromkeys(texts)))


def flattened_size(m: Any, x: Shape, y: Shape) -> Size:
    start, end = (axis % len(x) for axis in (m.start_dim, m.end_dim))
    return Size(f"{product(x[start : end + 1])} = {prod(x[start : end + 1])}")


def recurrent(m: Any, x: Shape, y: Shape) -> Size:
    ways = f"2·{m.hidden_size}" if m.bidirectional else f"{m.hidden_size}"
    time = x[1 if m.batch_first and len(x) == 3 else 0]
    return Size(f"{time} steps, {m.input_size} → {ways}")


def size_of(module: nn.Module, x: Shape, y: Shape) -> Size:
    """The arithmetic of one layer's output."""
    layer = layer_of(module)
    if layer is not None and layer.size is not None:
        found: Size = layer.size(module, x, y)
        return found
    return Size("the same" if x == y else "")


def kernels(m: Any) -> str:
    """
    >>> kernels(nn.Conv2d(1, 8, 5)), kernels(nn.Conv2d(1, 8, 5, bias=False))
    ('8·(5·5·1 + 1)', '8·5·5·1')
    """
    kernel = product([*m.kernel_size, m.in_channels // m.groups])
    return f"{m.out_channels}·({kernel} + 1)" if m.bias is not None else f"{m.out_channels}·{kernel}"


def gates(m: Any) -> str:
    """
    >>> gates(nn.LSTM(3, 4))
    '4·(4·3 + 4·4 + 4 + 4)'
    """
    i, h = m.input_size, m.hidden_size
    inside = f"{h}·{i} + {h}·{h}" + (f" + {h} + {h}" if m.bias else "")
    count = {"R": 1, "L": 4, "G": 3}[type(m).__name__[0]]
    return f"{count}·({inside})" if count > 1 else inside


def heads(m: Any) -> str:
    """
    >>> heads(nn.MultiheadAttention(6, 2))
    '4·(6·6 + 6)'
    """
    e = m.embed_dim
    return f"4·({e}·{e} + {e})" if m.in_proj_bias is not None else f"4·{e}·{e}"


def parameters_of(module: nn.Module, parameters: Sequence[nn.Parameter]) -> str:
    """The arithmetic of the number of `parameters`, which are those of `module` that count here."""
    total = sum(p.numel() for p in parameters)
    if not total:
        return "0"
    layer = layer_of(module)
    text = layer.count(module) if layer is not None and layer.count is not None else ""
    if _value_of(text) != total:
        text = " + ".join(product(p.shape) for p in parameters)
    return text if text == str(total) else f"{text} = {total}"


def _value_of(text: str) -> int:
    """The value of sums and products of whole numbers, one bracket deep; 0 for no text.

    >>> _value_of("8·(5·5·1 + 1)")
    208
    """
    head, bracket, rest = text.partition("(")
    if bracket:
        return prod(int(n) for n in head.split("·") if n) * _value_of(rest.rstrip(")"))
    return sum(prod(int(n) for n in term.split("·")) for term in text.split(" + ")) if text else 0

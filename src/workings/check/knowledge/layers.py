"""Sizes through a stack of layers: what each layer needs, what it is given, what it makes.

n' = ⌊(n + 2p − d(k − 1) − 1) / s⌋ + 1     convolution, pooling
n' = (n − 1)s − 2p + d(k − 1) + p' + 1     transposed convolution
F  = C · H · W                             Flatten
"""

from __future__ import annotations

from dataclasses import dataclass, replace

Pair = tuple[int, int]


@dataclass(frozen=True)
class Layer:
    """A layer as it is written: its name, and its arguments by name."""

    name: str
    options: dict[str, int | Pair | str | bool]

    def whole(self, name: str) -> int | None:
        """An argument that is one whole number."""
        value = self.options.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def pair(self, name: str, usual: int | None) -> Pair | None:
        """An argument that is a whole number or two of them."""
        value = self.options.get(name, usual)
        if isinstance(value, bool) or value is None or isinstance(value, str):
            return None
        return value if isinstance(value, tuple) else (value, value)


@dataclass(frozen=True)
class Flow:
    """What flows between layers, as far as it is known: channels and size of images, or the width of vectors."""

    channels: int | None = None
    size: Pair | None = None
    width: int | None = None
    flat: bool = False
    """Whether it was flattened, or comes from a layer of vectors."""


@dataclass(frozen=True)
class Misfit:
    """An argument that does not fit what flows in."""

    argument: str
    needed: str
    why: str


SIGNATURES = {
    "Linear": "in_features out_features bias".split(),
    "Conv1d": "in_channels out_channels kernel_size stride padding dilation groups".split(),
    "Conv2d": "in_channels out_channels kernel_size stride padding dilation groups".split(),
    "ConvTranspose2d": "in_channels out_channels kernel_size stride padding output_padding groups bias dilation".split(),
    "MaxPool2d": "kernel_size stride padding dilation return_indices ceil_mode".split(),
    "AvgPool2d": "kernel_size stride padding ceil_mode".split(),
    "AdaptiveAvgPool2d": ["output_size"],
    "AdaptiveMaxPool2d": ["output_size"],
    "BatchNorm1d": ["num_features"],
    "BatchNorm2d": ["num_features"],
    "Flatten": ["start_dim", "end_dim"],
}
_SAME = set(
    "ReLU LeakyReLU GELU ELU SELU SiLU Sigmoid Tanh Softplus Hardtanh ReLU6 PReLU Mish Softmax LogSoftmax Softmax2d "
    "Identity Dropout Dropout1d Dropout2d AlphaDropout".split()
)
"""Layers that leave sizes as they are."""


def _window_size(layer: Layer, size: Pair) -> Pair | None:
    """n' = ⌊(n + 2p − d(k − 1) − 1) / s⌋ + 1 along both axes."""
    if layer.options.get("ceil_mode") or layer.options.get("return_indices"):
        return None
    if layer.options.get("padding") == "same":
        return size
    pooling = "Pool" in layer.name
    k = layer.pair("kernel_size", None)
    s = layer.pair("stride", None) if "stride" in layer.options else k if pooling else (1, 1)
    p = (0, 0) if layer.options.get("padding") == "valid" else layer.pair("padding", 0)
    d = layer.pair("dilation", 1)
    if k is None or s is None or p is None or d is None or 0 in s:
        return None
    made = [(n + 2 * p[i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i, n in enumerate(size)]
    return made[0], made[1]


def _transposed_size(layer: Layer, size: Pair) -> Pair | None:
    """n' = (n − 1)s − 2p + d(k − 1) + p' + 1 along both axes."""
    k, s, p = layer.pair("kernel_size", None), layer.pair("stride", 1), layer.pair("padding", 0)
    d, more = layer.pair("dilation", 1), layer.pair("output_padding", 0)
    if k is None or s is None or p is None or d is None or more is None:
        return None
    made = [(n - 1) * s[i] - 2 * p[i] + d[i] * (k[i] - 1) + more[i] + 1 for i, n in enumerate(size)]
    return made[0], made[1]


def after(layer: Layer, flow: Flow) -> tuple[Flow, Misfit | None]:
    """What a layer makes of what flows in, and what does not fit."""
    if layer.name in _SAME:
        return flow, None
    if layer.name in ("Conv1d", "Conv2d", "ConvTranspose2d"):
        return _after_convolution(layer, flow)
    if layer.name in ("MaxPool2d", "AvgPool2d"):
        return _check_size(layer, flow, replace(flow, size=_window_size(layer, flow.size) if flow.size else None))
    if layer.name in ("AdaptiveAvgPool2d", "AdaptiveMaxPool2d"):
        return replace(flow, size=layer.pair("output_size", None)), None
    if layer.name in ("BatchNorm1d", "BatchNorm2d"):
        return flow, _norm_misfit(layer, flow)
    if layer.name == "Flatten":
        return _after_flatten(layer, flow), None
    if layer.name == "Linear":
        return Flow(width=layer.whole("out_features"), flat=True), _linear_misfit(layer, flow)
    return Flow(), None


def _after_convolution(layer: Layer, flow: Flow) -> tuple[Flow, Misfit | None]:
    """Channels in must be the channels that come; channels out go on."""
    needed, given = layer.whole("in_channels"), flow.channels
    misfit = None
    if needed is not None and given is not None and needed != given:
        why = f"{given} channels come from the layers before, and this layer is made for {needed}."
        misfit = Misfit("in_channels", str(given), why)
    rule = _transposed_size if layer.name == "ConvTranspose2d" else _window_size
    size = rule(layer, flow.size) if flow.size and layer.name != "Conv1d" else None
    made, small = _check_size(layer, flow, Flow(layer.whole("out_channels"), size))
    return made, misfit or small


def _check_size(layer: Layer, flow: Flow, made: Flow) -> tuple[Flow, Misfit | None]:
    """A size of at least 1."""
    if made.size is None or min(made.size) > 0:
        return made, None
    assert flow.size is not None
    why = f"An input of {flow.size[0]} × {flow.size[1]} is smaller than the window: nothing comes out."
    return replace(made, size=None), Misfit("kernel_size", "a smaller window", why)


def _norm_misfit(layer: Layer, flow: Flow) -> Misfit | None:
    """As many features as channels (or the width) that come."""
    needed = layer.whole("num_features")
    given = flow.width if flow.flat else flow.channels
    if needed is None or given is None or needed == given or (layer.name == "BatchNorm2d") == flow.flat:
        return None
    return Misfit("num_features", str(given), f"{given} features come from the layers before, {needed} are written.")


def _after_flatten(layer: Layer, flow: Flow) -> Flow:
    """F = C · H · W."""
    if layer.options:
        return Flow(flat=True) if layer.options != {"start_dim": 1} else _after_flatten(replace(layer, options={}), flow)
    if flow.flat:
        return Flow(channels=flow.width, flat=True)  # of one vector, or of several
    width = flow.channels * flow.size[0] * flow.size[1] if flow.channels and flow.size else None
    return replace(flow, width=width, flat=True)


def _linear_misfit(layer: Layer, flow: Flow) -> Misfit | None:
    """in_features must be the width that comes: of a flattened image C · H · W, so a multiple of C."""
    needed = layer.whole("in_features")
    if needed is None or not flow.flat:
        return None
    if flow.width is not None and needed != flow.width:
        image = f" = {flow.channels} · {flow.size[0]} · {flow.size[1]}" if flow.channels and flow.size else ""
        why = f"{flow.width}{image} numbers come from the layers before, and this layer is made for {needed}."
        return Misfit("in_features", f"{flow.width}{image}", why)
    if flow.width is None and flow.channels and needed % flow.channels:
        multiple = f"multiple of {flow.channels}"
        why = f"{flow.channels} channels of H · W numbers each are flattened, and {needed} is no {multiple}."
        return Misfit("in_features", f"a {multiple}", why)
    return None

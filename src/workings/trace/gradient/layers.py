"""What a call of a library layer means: `self.lin(x)` is linear(x, lin.weight, lin.bias), where the layer is known.

`LAYERS` has a row for each class of layer: the operation, the names of its parameters, and the options that change it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from workings.trace.formula.tree import Apply, Call, Formula, Leaf, Number, Sequence, walk
from workings.trace.step import Step

CONVOLUTION = ("weight bias", "stride padding dilation groups")
LAYERS: dict[type[nn.Module], tuple[str, str, str]] = {
    # class: (operation, parameters, options)
    nn.Linear: ("linear", "weight bias", ""),
    nn.Embedding: ("embedding", "weight", "padding_idx max_norm scale_grad_by_freq sparse"),
    nn.LayerNorm: ("layer_norm", "normalized_shape weight bias", "eps"),
    nn.RMSNorm: ("rms_norm", "normalized_shape weight", "eps"),
    nn.BatchNorm1d: ("batch_norm", "running_mean running_var weight bias", "training eps"),
    nn.Conv1d: ("conv1d", *CONVOLUTION),
    nn.Conv2d: ("conv2d", *CONVOLUTION),
    **dict.fromkeys((nn.MaxPool1d,), ("max_pool1d", "", "kernel_size stride padding")),
    **dict.fromkeys((nn.MaxPool2d,), ("max_pool2d", "", "kernel_size stride padding")),
    **dict.fromkeys((nn.AvgPool1d,), ("avg_pool1d", "", "kernel_size stride padding")),
    **dict.fromkeys((nn.AvgPool2d,), ("avg_pool2d", "", "kernel_size stride padding")),
    nn.ReLU: ("relu", "", ""),
    nn.Tanh: ("tanh", "", ""),
    nn.Sigmoid: ("sigmoid", "", ""),
    nn.SiLU: ("silu", "", ""),
    nn.GELU: ("gelu", "", "approximate"),
    nn.Softplus: ("softplus", "", "beta threshold"),
    nn.LeakyReLU: ("leaky_relu", "", "negative_slope"),
    nn.ELU: ("elu", "", "alpha"),
    nn.LogSigmoid: ("logsigmoid", "", ""),
    nn.Softmax: ("softmax", "", "dim"),
    nn.LogSoftmax: ("log_softmax", "", "dim"),
    nn.MSELoss: ("mse_loss", "", "reduction"),
    nn.L1Loss: ("l1_loss", "", "reduction"),
    nn.CrossEntropyLoss: ("cross_entropy", "", "ignore_index reduction label_smoothing"),
    nn.NLLLoss: ("nll_loss", "", "ignore_index reduction"),
    nn.BCELoss: ("binary_cross_entropy", "", "reduction"),
    nn.BCEWithLogitsLoss: ("binary_cross_entropy_with_logits", "", "reduction"),
}
SAME = (nn.Identity, nn.Dropout)
"""Layers that hand on what they get (dropout, when it is not training)."""


def with_layers(formula: Formula, step: Step, modules: Mapping[str, nn.Module]) -> tuple[Formula, dict[str, Any]]:
    """The formula with the calls of known layers written as their operations, and the parameters of these by name."""
    calls = [part.name for part in walk(formula) if isinstance(part, Call)]
    paths = [child.name for child in step.children if child.kind == "module"]
    known: dict[str, tuple[str, nn.Module]] = {}
    for name in calls:
        last = name.partition(".")[2] or name
        path = next((p for p in paths if p in modules and (p == last or p.endswith(f".{last}"))), None)
        if path is not None:
            known[name] = path, modules[path]
    others = [name for name in dict.fromkeys(calls) if name not in known]
    left = [path for path in paths if path in modules and path not in {path for path, _ in known.values()}]
    opened = any(child.kind == "call" for child in step.children)
    if len(others) == len(left) == 1 and not opened:  # layer(x) in a loop over the layers, layers[i](x)
        known[others[0]] = left[0], modules[left[0]]
    given: dict[str, Any] = {}
    return (_replaced(formula, known, given) if known else formula), given


def _replaced(formula: Formula, known: Mapping[str, tuple[str, nn.Module]], given: dict[str, Any]) -> Formula:
    match formula:
        case Call(name=name, args=args, options=()) if name in known:
            parts = tuple(_replaced(arg, known, given) for arg in args)
            return _layer(formula, parts, *known[name], given)
        case Apply(op=op, args=args, options=options):
            return Apply(op, tuple(_replaced(arg, known, given) for arg in args), options)
        case Sequence(items=items):
            return Sequence(tuple(_replaced(item, known, given) for item in items))
    return formula


def _layer(call: Call, args: tuple[Formula, ...], path: str, module: nn.Module, given: dict[str, Any]) -> Formula:
    if isinstance(module, SAME) and not (module.training and isinstance(module, nn.Dropout)):
        return args[0]
    if type(module) not in LAYERS or getattr(module, "padding_mode", "zeros") != "zeros":
        return call
    if getattr(module, "pos_weight", None) is not None or (isinstance(module, nn.NLLLoss) and module.weight is not None):
        return call
    op, parameters, options = LAYERS[type(module)]
    own = tuple(_parameter(path, name, getattr(module, name), given) for name in parameters.split())
    chosen = {name: getattr(module, name) for name in options.split()}
    return Apply(op, (*args, *own), tuple((name, _option(value)) for name, value in chosen.items() if value is not None))


def _parameter(path: str, name: str, value: Any, given: dict[str, Any]) -> Formula:
    if isinstance(value, Tensor):
        text = f"{path}.{name}" if path else name
        given[text] = value
        return Leaf(text)
    return Sequence(tuple(map(Number, value))) if isinstance(value, tuple) else Number(value)


def _option(value: Any) -> Any:
    return Number(value) if isinstance(value, str) else value

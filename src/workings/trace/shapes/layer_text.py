"""How a layer is written: `Conv2d(8, 16, 4, padding=1)`, with the arguments that matter to its shapes."""

from __future__ import annotations

from typing import Any

from torch import nn

from workings.trace.formula.operation import OPERATIONS, Layer


def layer_of(module: nn.Module) -> Layer | None:
    """The columns of a module's class in the row of its operation."""
    return OPERATIONS.layers[type(module)][1] if type(module) in OPERATIONS.layers else None


def layer_call(module: nn.Module, **changed: Any) -> str:
    """The call that makes such a layer, with some arguments `changed`.

    >>> layer_call(nn.Linear(120, 10)), layer_call(nn.Linear(120, 10), in_features=144)
    ('Linear(120, 10)', 'Linear(144, 10)')
    >>> layer_call(nn.Conv2d(8, 16, 4, padding=1)), layer_call(nn.AvgPool2d(4, 4)), layer_call(nn.ReLU())
    ('Conv2d(8, 16, 4, padding=1)', 'AvgPool2d(4)', 'ReLU()')
    >>> layer_call(nn.Conv2d(1, 8, 4, stride=4))
    'Conv2d(1, 8, 4, stride=4)'
    """
    name = type(module).__name__
    layer = layer_of(module)
    if layer is None or layer.arguments is None:
        return f"{name}()" if type(module).__module__.startswith("torch.nn.modules.activation") else name
    values = [plain(changed.get(key, getattr(module, key))) for key in layer.arguments.split()]
    values += [
        f"{key}={plain(getattr(module, key))!r}" for key, usual in layer.defaults.items() if _unusual(module, key, usual)
    ]
    return f"{name}({', '.join(map(str, values))})"


def _unusual(module: nn.Module, key: str, usual: Any) -> bool:
    """Whether an argument differs from its default; a pool's default stride is its size."""
    value = plain(getattr(module, key))
    if key == "stride" and usual is None:
        usual = plain(module.kernel_size)
    return bool(value != usual)


def plain(value: Any) -> Any:
    """A tuple of equal numbers as that number."""
    return value[0] if isinstance(value, tuple) and value and len(set(value)) == 1 else value

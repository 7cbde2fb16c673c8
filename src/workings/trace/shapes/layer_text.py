"""How a layer is written: `Conv2d(8, 16, 4, padding=1)`, with the arguments that matter to its shapes."""

from __future__ import annotations

from typing import Any

from torch import nn

Arguments = tuple[str, dict[str, Any]]

CONVOLUTION: Arguments = ("in_channels out_channels kernel_size", {"stride": 1, "padding": 0, "dilation": 1, "groups": 1})
POOL: Arguments = ("kernel_size", {"stride": None, "padding": 0})
NORM: Arguments = ("num_features", {})
RECURRENT: Arguments = ("input_size hidden_size", {"num_layers": 1, "bidirectional": False})

ARGUMENTS: dict[type[nn.Module], Arguments] = {
    # class: (arguments by position, arguments by name with their defaults)
    nn.Linear: ("in_features out_features", {}),
    nn.Bilinear: ("in1_features in2_features out_features", {}),
    nn.Embedding: ("num_embeddings embedding_dim", {}),
    nn.LayerNorm: ("normalized_shape", {}),
    nn.RMSNorm: ("normalized_shape", {}),
    nn.GroupNorm: ("num_groups num_channels", {}),
    nn.Flatten: ("", {"start_dim": 1, "end_dim": -1}),
    nn.MultiheadAttention: ("embed_dim num_heads", {}),
    nn.RNNCell: ("input_size hidden_size", {}),
    nn.LSTMCell: ("input_size hidden_size", {}),
    nn.GRUCell: ("input_size hidden_size", {}),
    **dict.fromkeys([nn.Conv1d, nn.Conv2d, nn.Conv3d], CONVOLUTION),
    **dict.fromkeys([nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d], CONVOLUTION),
    **dict.fromkeys([nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d], POOL),
    **dict.fromkeys([nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d], NORM),
    **dict.fromkeys([nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d], NORM),
    **dict.fromkeys([nn.RNN, nn.LSTM, nn.GRU], RECURRENT),
}


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
    if type(module) not in ARGUMENTS:
        return f"{name}()" if type(module).__module__.startswith("torch.nn.modules.activation") else name
    positional, named = ARGUMENTS[type(module)]
    values = [plain(changed.get(key, getattr(module, key))) for key in positional.split()]
    values += [f"{key}={plain(getattr(module, key))!r}" for key, usual in named.items() if unusual(module, key, usual)]
    return f"{name}({', '.join(map(str, values))})"


def unusual(module: nn.Module, key: str, usual: Any) -> bool:
    """Whether an argument differs from its default; a pool's default stride is its size."""
    value = plain(getattr(module, key))
    if key == "stride" and usual is None:
        usual = plain(module.kernel_size)
    return bool(value != usual)


def plain(value: Any) -> Any:
    """A tuple of equal numbers as that number."""
    return value[0] if isinstance(value, tuple) and value and len(set(value)) == 1 else value

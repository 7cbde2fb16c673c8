"""A large tensor in one line: range, shape of its histogram, mean, standard deviation, what is not finite.

−3.241 … 3.87  ▁▁▂▄▆█▆▄▂▁▁  mean 0.0123  std 0.998  2 NaN
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

_BARS = "▁▂▃▄▅▆▇█"
_BINS = 12


@dataclass(frozen=True)
class Summary:
    """What is said about a tensor that is too large to show: all of it numbers, printers write them."""

    shape: tuple[int, ...]
    dtype: str
    low: float
    high: float
    mean: float
    deviation: float
    spark: str
    nan: int
    inf: int
    true: int | None = None


def summary(x: torch.Tensor) -> Summary:
    """The summary of any real tensor; of a complex one, of its absolute values."""
    shape, dtype = tuple(x.shape), str(x.dtype).removeprefix("torch.")
    if x.dtype == torch.bool:
        return Summary(shape, dtype, 0, 1, 0, 0, "", 0, 0, true=int(x.sum()))
    flat = _real(x).flatten()
    nan, inf = int(flat.isnan().sum()), int(flat.isinf().sum())
    finite = flat[flat.isfinite()] if nan or inf else flat
    if not finite.numel():
        return Summary(shape, dtype, 0, 0, 0, 0, "", nan, inf)
    low, high = map(float, finite.aminmax())
    deviation = float(finite.std(correction=0))
    return Summary(shape, dtype, low, high, float(finite.mean()), deviation, _sparkline(finite, low, high), nan, inf)


def _real(x: torch.Tensor) -> torch.Tensor:
    x = x.detach()
    x = x.to_dense() if x.layout != torch.strided else x.dequantize() if x.is_quantized else x
    x = x.abs() if x.is_complex() else x
    return x if x.dtype in (torch.float32, torch.float64) else x.double() if not x.is_floating_point() else x.float()


def _sparkline(x: torch.Tensor, low: float, high: float) -> str:
    """The histogram of finite values, one bar of eight heights for each bin; a value that occurs shows.

    >>> _sparkline(torch.tensor([0.0, 0.0, 0.0, 1.0]), 0, 1)
    '█▁▁▁▁▁▁▁▁▁▁▄'
    """
    if low == high or high - low == float("inf"):
        return ""
    counts = x.cpu().histc(_BINS, low, high)
    heights = (counts / counts.max() * (len(_BARS) - 1)).ceil().int().tolist()
    return "".join(_BARS[h] for h in heights)

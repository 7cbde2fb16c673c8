"""Discrete Fourier transforms with a real result, by their defining sums in cosines and sines (no complex numbers).

    irfft   y_j = s Σ_k w_k (a_k cos(2πjk/n) − b_k sin(2πjk/n)),   w = 1 for k = 0 and k = n/2, else 2
    fft     (a + ib)_j = s Σ_k (a + ib)_k e^{∓2πijk/n}

A pair (a, b) stands for a + ib. These functions are answered above autograd, which differentiates the sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from flint import fmpq

from workings.errors import DomainError
from workings.exact.dispatch.operation import wrap
from workings.exact.numbers import algebra
from workings.exact.numbers.build import build
from workings.exact.numbers.value import Value, constant
from workings.exact.tensor.arena import ARENA, payload_of
from workings.exact.tensor.exact_tensor import OVERRIDES

_Pair = tuple[Any, Any]


def _waves(n: int, rows: int, function: str) -> Any:
    """cos or sin of 2πjk/n for k < rows (down) and j < n (across)."""
    with ARENA.working():
        known = [_wave(function, r, n) for r in range(n)]
        return wrap(payload_of([known[j * k % n] for k in range(rows) for j in range(n)], (rows, n)))


def _wave(function: str, r: int, n: int) -> Value:
    """cos or sin of 2πr/n, by an angle of at most π."""
    v = build(function, algebra.scale(constant("pi"), fmpq(2 * min(r, n - r), n)))
    return -v if function == "sin" and 2 * r > n else v


def _along(x: Any, dim: int, matrix: Any) -> Any:
    return (x.movedim(dim, -1) @ matrix).movedim(-1, dim)


def _resize(x: Any, dim: int, n: int) -> Any:
    """Cut or padded with zeros to n elements along an axis."""
    have = x.shape[dim]
    if n <= have:
        return x.narrow(dim, 0, n)
    shape = list(x.shape)
    shape[dim] = n - have
    return torch.cat([x, x.new_zeros(shape)], dim)


def _transform(pair: _Pair, dim: int, sign: int) -> _Pair:
    """Σ_k (a + ib)_k e^{sign·2πijk/n} along an axis, unscaled. b may be None: zero."""
    a, b = pair
    n = a.shape[dim]
    C, S = _waves(n, n, "cos"), _waves(n, n, "sin")
    re, im = _along(a, dim, C), sign * _along(a, dim, S)
    return (re, im) if b is None else (re - sign * _along(b, dim, S), im + _along(b, dim, C))


def _real_end(pair: _Pair, dim: int, n: int, sign: int) -> Any:
    """Σ over the whole spectrum, of which the half k ≤ n/2 is given, along an axis; the result is real."""
    rows = n // 2 + 1
    a, b = (None if x is None else _resize(x, dim, rows) for x in pair)
    twice = torch.tensor([1.0 if k == 0 or 2 * k == n else 2.0 for k in range(rows)])[:, None]
    y = _along(a, dim, _waves(n, rows, "cos") * twice)
    return y if b is None else y - sign * _along(b, dim, _waves(n, rows, "sin") * twice)


def _divisor(x: Any, norm: str | None, inverse: bool, count: int) -> Any:
    """n, 1 or √n: `backward` (the default) divides the inverse transforms, `forward` the others."""
    if norm == "ortho":
        return x.new_full((), count).sqrt()
    return count if inverse == (norm in (None, "backward")) else 1


def _to_real(x: Any, sizes: Sequence[int], dims: Sequence[int], norm: str | None, inverse: bool) -> Any:
    """Complex transforms along all axes but the last, then the half-spectrum sum along that one."""
    sign = 1 if inverse else -1
    pair: _Pair = (x, None)
    for dim, n in zip(dims[:-1], sizes[:-1], strict=True):
        a, b = pair
        pair = _transform((_resize(a, dim, n), None if b is None else _resize(b, dim, n)), dim, sign)
    y = _real_end(pair, dims[-1], sizes[-1], sign)
    return y / _divisor(x, norm, inverse, math.prod(sizes))


def _one_axis(inverse: bool) -> Callable[..., Any]:
    def one_axis(x: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        return _to_real(x, [2 * (x.shape[dim] - 1) if n is None else n], [dim % x.dim()], norm, inverse)

    return one_axis


def _many_axes(inverse: bool, default: tuple[int, ...] | None) -> Callable[..., Any]:
    def many_axes(x: Any, s: Any = None, dim: Any = default, norm: str | None = None) -> Any:
        if dim is None:
            dim = range(x.dim() - len(s), x.dim()) if s is not None else range(x.dim())
        dims = [d % x.dim() for d in ([dim] if isinstance(dim, int) else dim)]
        sizes = [-1] * len(dims) if s is None else list(s)
        whole = [x.shape[d] for d in dims[:-1]] + [2 * (x.shape[dims[-1]] - 1)]
        return _to_real(x, [w if n == -1 else n for n, w in zip(sizes, whole, strict=True)], dims, norm, inverse)

    return many_axes


for _name, _inverse in {"irfft": True, "hfft": False}.items():
    OVERRIDES[getattr(torch.fft, _name)] = _one_axis(_inverse)
    OVERRIDES[getattr(torch.fft, _name + "2")] = _many_axes(_inverse, (-2, -1))
    OVERRIDES[getattr(torch.fft, _name + "n")] = _many_axes(_inverse, None)


def _stft(
    x: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    """The transform of each windowed frame, as pairs of real and imaginary part in a last axis."""
    if return_complex:
        raise DomainError("Exact values are real: ask stft for pairs of real numbers, return_complex=False.")
    width = win_length or n_fft
    window = x.new_ones(width) if window is None else window
    left = (n_fft - width) // 2
    window = torch.nn.functional.pad(window, (left, n_fft - width - left))
    if center:
        flat = torch.nn.functional.pad(x.reshape(1, -1, x.shape[-1]), (n_fft // 2, n_fft // 2), mode=pad_mode)
        x = flat.reshape(*x.shape[:-1], -1)
    frames = x.unfold(-1, n_fft, hop_length or n_fft // 4) * window
    pair = torch.stack(_transform((frames, None), -1, -1), -1)
    kept = n_fft if onesided is False else n_fft // 2 + 1
    out = pair[..., :kept, :].transpose(-3, -2)
    return out / x.new_full((), n_fft).sqrt() if normalized else out


OVERRIDES[torch.stft] = _stft

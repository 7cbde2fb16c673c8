r"""Where a token stands: absolute encodings added to embeddings, and relative ones added to scores or turned into angles.

    PE(pos, 2i) = sin(pos ω_i),  PE(pos, 2i+1) = cos(pos ω_i),  ω_i = 10000^(−2i/d)     sinusoids (Vaswani et al. 2017)
    P[pos]                                                                              a learned table
    S_ij + b_(i−j)                                                                      relative bias (Shaw et al. 2018, T5)
    S_ij − slope · |i − j|                                                              ALiBi (Press et al. 2022)
    (x_2i, x_2i+1) turned by the angle pos ω_i                                          RoPE (Su et al. 2021)

The n queries are the last n of m positions, so that a cache of older keys needs nothing special.
Axes: h heads, n queries (or tokens), m keys, d width.
"""

from __future__ import annotations

from math import log2
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from workings.errors import DomainError, ShapeError
from workings.nn.fits import check_at_least, check_shapes, is_repeatable


def positions_of(x: Tensor, n: int, start: int = 0) -> Float[Tensor, " n"]:
    """start, start + 1, … in the numbers of x: exact where x is."""
    return x.new_zeros(()) + torch.arange(start, start + n, device=x.device)


def real(pos: Tensor) -> Float[Tensor, "*n"]:
    """Positions as numbers that can be turned into angles: counted ones in PyTorch's default floats."""
    return pos if pos.is_floating_point() else pos.to(torch.get_default_dtype())


def positions_for(x: Tensor, positions: Tensor) -> Float[Tensor, "*n"]:
    """The positions in the numbers of x, after refusing as many as do not fit its tokens."""
    n = x.shape[-2]
    if positions.dim() == 0 or positions.shape[-1] not in (1, n) or not is_repeatable(positions.shape[:-1], x.shape[:-2]):
        raise ShapeError(f"Each of the {n} tokens of x needs a position: x is {[*x.shape]}, positions {[*positions.shape]}.")
    return positions if positions.is_floating_point() else x.new_zeros(()) + positions


def frequencies(pos: Tensor, d: int, base: float = 10000.0) -> Float[Tensor, " i"]:
    r"""The angle of each pair of entries, for one step.

    $$\omega_i = \text{base}^{-2i/d}, \qquad i = 0, \dots, d/2 - 1$$

    >>> from workings import exact
    >>> print(frequencies(exact.arange(1), 4).text())
    [1  1/100]
    """
    _check_even(d)
    i = torch.arange(d // 2, dtype=torch.float64, device=pos.device)
    ω = pos.new_tensor(base) ** (-2 * i / d)
    return ω.to(pos.dtype)


def _check_even(d: int) -> None:
    """Refuse an odd width."""
    if d < 2 or d % 2:
        raise ShapeError(f"Positions by angles pair the entries of a token, so its width must be even, but d = {d}.")


def sinusoidal(n: int | Tensor, d: int, base: float = 10000.0) -> Float[Tensor, "n d"]:
    r"""Each position as sines and cosines of d/2 frequencies, in turn.

    $$PE(pos, 2i) = \sin\frac{pos}{10000^{2i/d}}, \qquad PE(pos, 2i+1) = \cos\frac{pos}{10000^{2i/d}}$$

    `n` is a number of positions 0, 1, …, or a tensor of positions; exact positions give exact values.

    >>> from workings import exact
    >>> print(sinusoidal(exact.arange(2), 4).text())
    ⎡     0       1           0           1⎤
    ⎣sin(1)  cos(1)  sin(1/100)  cos(1/100)⎦
    """
    check_at_least(0, 0 if isinstance(n, Tensor) else n, "There are n ≥ 0 positions to encode, not {}.")
    pos = real(n) if isinstance(n, Tensor) else positions_of(torch.empty(0), n)
    ω = frequencies(pos, d, base)
    θ = pos.unsqueeze(-1) * ω
    PE = torch.stack((θ.sin(), θ.cos()), dim=-1).flatten(-2)
    return PE


class Learned(nn.Module):
    r"""A trained vector for each position 0 … length − 1; nothing is known beyond.

    $$P = \text{table}[start : start + n]$$
    """

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        if length < 0 or width < 1:
            raise ShapeError(f"A table of positions has a row for each and a width of at least 1, not {length} × {width}.")
        self.table = nn.Parameter(torch.empty(length, width))
        nn.init.normal_(self.table, std=0.02)

    def forward(self, n: int, start: int = 0) -> Float[Tensor, "n d"]:
        check_at_least(0, n, "There are n ≥ 0 positions to encode, not {}.")
        length = len(self.table)
        if start < 0:
            raise DomainError(f"Positions are counted from 0, but position {start} was asked for.")
        if start + n > length:
            raise DomainError(
                f"The table of positions was made for {length} tokens, 0 to {length - 1}, but position {start + n - 1} "
                f"was asked for. Make it longer and train it, or use positions that continue, such as sinusoidal."
            )
        P = self.table[start : start + n]
        return P


def relative_bias(b: Float[Tensor, "*h w"], n: int, m: int | None = None) -> Float[Tensor, "*h n m"]:
    r"""Scores that depend on the distance i − j alone; distances beyond the reach r of the table count as r.

    $$B_{ij} = b_{i-j}, \qquad b = (b_{-r}, \dots, b_{r})$$

    >>> relative_bias(torch.tensor([-1.0, 0.0, 1.0]), 3)
    tensor([[ 0., -1., -1.],
            [ 1.,  0., -1.],
            [ 1.,  1.,  0.]])
    """
    _check_table(b)
    r = b.shape[-1] // 2
    D = distances(n, m, b.device).clamp(-r, r)
    B = b[..., D + r]
    return B


def _check_table(b: Tensor) -> None:
    """Refuse a table that does not go from −r to r."""
    if not b.dim() or b.shape[-1] % 2 == 0:
        raise ShapeError(f"b_{{−r}}, …, b_r are 2r + 1 numbers, an odd number of them, but b is {[*b.shape]}.")


def distances(n: int, m: int | None = None, device: Any = None) -> Int[Tensor, "n m"]:
    """i − j for the last n of m positions i and all positions j."""
    m = n if m is None else m
    _check_causal(n, m)
    j = torch.arange(m, device=device)
    i = j[m - n :]
    return i.unsqueeze(-1) - j


def _check_causal(n: int, m: int) -> None:
    """Refuse more queries than there are positions of keys."""
    if not 0 <= n <= m:
        raise DomainError(f"The queries are the last of the keys' positions, but there are {n} queries and {m} keys.")


class RelativeBias(nn.Module):
    """A learned `relative_bias` for each head, clipped at `reach`. Called with n and m, it gives B."""

    def __init__(self, heads: int, reach: int) -> None:
        super().__init__()
        if heads < 1 or reach < 0:
            raise DomainError(f"A relative bias needs at least 1 head and a reach of 0 or more, not {heads} and {reach}.")
        self.b = nn.Parameter(torch.zeros(heads, 2 * reach + 1))

    def forward(self, n: int, m: int | None = None) -> Float[Tensor, "h n m"]:
        B = relative_bias(self.b, n, m)
        return B


def alibi_slopes(heads: int) -> Float[Tensor, " h"]:
    r"""One slope for each head, from steep to flat.

    $$slope_k = 2^{-8k/h}, \qquad k = 1, \dots, h$$

    For a number of heads that is no power of two: the slopes of the power p below it, then every other one of those of 2p.

    >>> alibi_slopes(4)
    tensor([0.2500, 0.0625, 0.0156, 0.0039])
    """
    check_at_least(1, heads, "ALiBi has a slope for each head: there is at least 1, not {}.")
    p = 2 ** int(log2(heads))
    k = torch.arange(1, p + 1)
    slopes = 2.0 ** (-8 * k / p)
    if p < heads:
        slopes = torch.cat((slopes, alibi_slopes(2 * p)[::2][: heads - p]))
    return slopes


def alibi(heads: int, n: int, m: int | None = None) -> Float[Tensor, "h n m"]:
    r"""Each head's scores fall with the distance, without anything to learn.

    $$B_{kij} = -slope_k \, |i - j|$$

    >>> alibi(8, 1, 4)[0, 0, :3]
    tensor([-1.5000, -1.0000, -0.5000])
    """
    D = distances(n, m).abs()
    B = -alibi_slopes(heads).reshape(-1, 1, 1) * D
    return B


def rope(
    x: Float[Tensor, "*b n d"], positions: Tensor | None = None, base: float = 10000.0, halves: bool = False
) -> Float[Tensor, "*b n d"]:
    r"""Turn each pair of entries by an angle that grows with the position, so that q·k depends on i − j alone.

    $$y_{2i} = x_{2i} \cos\theta_i - x_{2i+1} \sin\theta_i, \qquad
    y_{2i+1} = x_{2i} \sin\theta_i + x_{2i+1} \cos\theta_i, \qquad \theta_i = pos\,\omega_i$$

    Pairs are neighbours, (x₀, x₁), (x₂, x₃), …, as in the paper; with `halves` they are (x₀, x_{d/2}), (x₁, x_{d/2+1}), …,
    as in Llama and GPT-NeoX.

    >>> from workings import exact
    >>> print(rope(exact("1 0; 1 0"), exact.arange(2)).text())
    ⎡     1       0⎤
    ⎣cos(1)  sin(1)⎦
    """
    check_shapes(rope, x)
    n, d = x.shape[-2:]
    pos = positions_of(x, n) if positions is None else positions_for(x, positions)
    ω = frequencies(pos, d, base)
    θ = pos.unsqueeze(-1) * ω
    a, b = pairs(x, halves)
    u = a * θ.cos() - b * θ.sin()
    v = a * θ.sin() + b * θ.cos()
    y = from_pairs(u, v, halves)
    return y


def pairs(x: Float[Tensor, "*b d"], halves: bool) -> tuple[Float[Tensor, "*b i"], Float[Tensor, "*b i"]]:
    """The first and the second entry of each pair: the halves of x, or its even and its odd entries."""
    half = x.shape[-1] // 2
    return (x[..., :half], x[..., half:]) if halves else (x[..., 0::2], x[..., 1::2])


def from_pairs(u: Float[Tensor, "*b i"], v: Float[Tensor, "*b i"], halves: bool) -> Float[Tensor, "*b d"]:
    """The vector whose pairs are u and v."""
    return torch.cat((u, v), dim=-1) if halves else torch.stack((u, v), dim=-1).flatten(-2)


class Rotary(nn.Module):
    """`rope` for queries and keys: called with either and the position of its first token."""

    def __init__(self, base: float = 10000.0, halves: bool = False) -> None:
        super().__init__()
        self.base, self.halves = base, halves

    def forward(self, x: Float[Tensor, "*b n d"], start: int = 0) -> Float[Tensor, "*b n d"]:
        check_shapes(rope, x)
        n = x.shape[-2]
        pos = positions_of(x, n, start)
        y = rope(x, pos, self.base, self.halves)
        return y

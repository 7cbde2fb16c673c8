r"""Perplexity: the number of equally likely words a model is as unsure as.

    PP = t^(−1/M Σ log_t p_i) = (Π p_i)^(−1/M)         for any base t > 0, t ≠ 1

A perplexity is per unit: per word, per token or per character. Two are comparable only in one unit, over the same text:

    bits per character = −Σ log₂ p_i / characters
    PP per word = (PP per character)^(characters per word)

Axes: m units.
"""

from __future__ import annotations

from math import e, log

import torch
from jaxtyping import Float
from torch import Tensor

from workings.errors import DomainError, ShapeError
from workings.nn.fits import check_at_least, check_inside
from workings.nn.temperature import is_known

Number = int | float | Float[Tensor, ""]


def perplexity(p: Float[Tensor, "*m"], t: Number = e) -> Float[Tensor, ""]:
    r"""From the probability the model gave each unit; the base `t` of the logarithm makes no difference.

    $$\mathrm{PP} = t^{-\frac1M \sum_i \log_t p_i} \qquad \log_t p = \frac{\log p}{\log t}$$

    >>> perplexity(torch.tensor([1/2, 1/4, 1/8]), 2)
    tensor(4.)
    """
    _check_units(p)
    check_inside("A probability lies between 0 and 1", p, lambda p: ~((p >= 0) & (p <= 1)))
    t = base(t, p)
    H = -torch.mean(torch.log(p) / torch.log(t))
    PP = t**H
    return PP


def perplexity_from_log(log_p: Float[Tensor, "*m"]) -> Float[Tensor, ""]:
    r"""From natural logarithms of probabilities, which do not underflow.

    $$\mathrm{PP} = e^{-\frac1M \sum_i \log p_i}$$

    >>> perplexity_from_log(torch.tensor([-1000.0, -1002.0]) / 1000)
    tensor(2.7210)
    """
    _check_units(log_p)
    check_inside("The logarithm of a probability is at most 0", log_p, lambda log_p: ~(log_p <= 1e-5))
    H = -torch.mean(log_p)
    PP = torch.exp(H)
    return PP


def bits(nats: Number) -> Number:
    """Nats in bits: divided by log 2.

    >>> round(bits(1.75278), 5)
    2.52873
    """
    return nats / log(2)


def bits_per_character(log_p: Float[Tensor, "*m"], characters: int) -> Float[Tensor, ""]:
    r"""What the model spends on each character of the text, whatever units it reads: this compares models fairly.

    $$\mathrm{bpc} = \frac{-\sum_i \log_2 p_i}{\text{characters}}$$

    >>> bits_per_character(torch.tensor([0.5, 0.125]).log(), 8)  # 1 + 3 bits
    tensor(0.5000)
    """
    _check_units(log_p)
    check_at_least(1, characters, "Bits per character need a text of at least one character, not {}.")
    B = -log_p.sum() / log(2)
    return B / characters


def per_longer_unit(PP: Number, length: int | float) -> Number:
    r"""The perplexity per word of a model that reads characters, when a word has `length` of them on average.

    $$\mathrm{PP}_{\text{word}} = \mathrm{PP}_{\text{character}}^{\text{length}}$$

    >>> per_longer_unit(2.0, 5)
    32.0
    """
    return PP ** unit_length(length)


def per_shorter_unit(PP: Number, length: int | float) -> Number:
    r"""The perplexity per character of a model that reads words, when a word has `length` of them on average.

    $$\mathrm{PP}_{\text{character}} = \mathrm{PP}_{\text{word}}^{1/\text{length}}$$

    >>> round(per_shorter_unit(32.0, 5), 9)
    2.0
    """
    return PP ** (1 / unit_length(length))


def _check_base(t: Number) -> None:
    """Refuse what is no base of logarithms."""
    if is_known(t) and not (t > 0 and t != 1):
        raise DomainError(f"A logarithm needs a base t > 0 other than 1; t = {float(t):g}.")


def base(t: Number, p: Tensor) -> Tensor:
    """`t` as a tensor beside `p`, if logarithms have such a base."""
    _check_base(t)
    return t if isinstance(t, Tensor) else torch.ones_like(p.sum()) * t


def _check_units(p: Tensor) -> None:
    """Refuse a text without units."""
    if not p.numel():
        raise ShapeError("The perplexity of no units is not defined: pass at least one probability.")


def unit_length(length: int | float) -> int | float:
    """`length`, if it is a length."""
    if not length > 0:
        raise DomainError(f"The longer unit holds a positive number of shorter ones, not {length:g}.")
    return length

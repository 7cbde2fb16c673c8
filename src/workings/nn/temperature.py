r"""Softmax with an inverse scale β, or a temperature T = 1/β, and measures of how sharp its result is.

    p_i = e^(β s_i) / Σ_j e^(β s_j)       softargmax_β(s)
    J   = β (diag(p) − p pᵀ)              its Jacobian ∂p/∂s
    H   = − Σ p_i log p_i                 entropy; e^H keys hold the weight
    Var = (1/n) Σ (p_i − 1/n)²            0 for uniform weights, (n − 1)/n² for one-hot ones

A large temperature is a small β: T → ∞ gives the uniform vector, T → 0 the indicator of the maximum.
Axes: n scores.
"""

from __future__ import annotations

from math import inf
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from workings.errors import DomainError, ShapeError, WorkingsError
from workings.nn.fits import check_axis, check_inside, check_shapes, first, is_repeatable


def softmax(s: Float[Tensor, "*n"], beta: Any = None, *, T: Any = None, dim: int = -1) -> Float[Tensor, "*n"]:
    r"""Positive numbers that sum to 1, in the proportions e^(β s), or e^(s/T).

    $$p_i = \frac{e^{\beta s_i}}{\sum_j e^{\beta s_j}}, \qquad \beta = \frac{1}{T}$$

    Give `beta` (1 if nothing is said) or `T`; either may be a letter.

    >>> from workings import exact
    >>> s = exact("0 log(9)")
    >>> print(softmax(s).text(), softmax(s, beta=2).text(), softmax(s, T=2).text())
    [1/10  9/10] [1/82  81/82] [1/4  3/4]
    """
    check_axis("s", s, dim)
    β = inverse_scale(beta, _exactly(T, s))
    check_scale("β s", β, s)
    p = (β * s).softmax(dim)
    check_softmax(p, s, dim)
    return p


def _exactly(T: Any, s: Tensor) -> Any:
    """A float T beside exact scores as an exact number: 1/T would round."""
    return s.new_tensor(T) if type(T) is float and hasattr(s, "free_symbols") else T


def inverse_scale(beta: Any, T: Any) -> Any:
    """β, from whichever of β and T was given; 1 if nothing was."""
    if T is None:
        if beta is not None and is_known(beta) and not _is_finite(beta):
            raise DomainError("Softmax needs a finite β. Its limit for β → ∞ is argmax_weights(s).")
        return 1 if beta is None else beta
    if beta is not None:
        raise WorkingsError("Softmax takes the inverse scale β or the temperature T = 1/β, not both: leave one out.")
    if is_known(T) and not _is_positive(T):
        raise DomainError(f"Softmax needs a temperature T > 0, not {T}. Its limit for T → 0 is argmax_weights(s).")
    return 1 / T


def is_known(x: Any) -> bool:
    """Whether x is a number, without letters that would leave its sign open."""
    return not getattr(x, "free_symbols", None)


def _is_finite(beta: Any) -> bool:
    """Whether a number, or each of several, is neither infinite nor NaN."""
    return bool(((beta > -inf) & (beta < inf)).all()) if isinstance(beta, Tensor) else -inf < beta < inf


def _is_positive(T: Any) -> bool:
    """Whether a number, or each of several, is above 0; a NaN is not."""
    return bool((T > 0).all()) if isinstance(T, Tensor) else T > 0


def check_scale(needs: str, β: Any, s: Tensor) -> None:
    """Refuse several β (or T) that cannot be repeated over the scores."""
    if isinstance(β, Tensor) and not is_repeatable(β.shape, s.shape) and not is_repeatable(s.shape, β.shape):
        raise ShapeError(f"{needs} needs one β, or one for each row of scores: s is {[*s.shape]}, β is {[*β.shape]}.")


def check_softmax(p: Tensor, s: Tensor, dim: int = -1) -> None:
    """Refuse scores whose softmax is NaN although none of them is: a row of nothing but −∞, or one with ∞ in it.

    Such a row is NaN throughout, so the first weight of each row says it, at next to no cost.
    """
    if torch.compiler.is_compiling() or not p.numel() or first(p.select(dim, 0), _not_a_number) is None:
        return
    s = s.detach().expand_as(p).movedim(dim, -1)
    for at in _not_a_number(p.select(dim, 0)).nonzero().tolist():
        row = s[tuple(at)]
        if not _not_a_number(row).any():  # a NaN among the scores is a NaN in the result
            nothing = bool((row == -inf).all())
            reason = "every score is −∞, and a softmax over nothing has no value" if nothing else "a score is ∞"
            raise DomainError(f"A softmax needs a finite score in every row: in the row at {at} {reason}.")


def _not_a_number(x: Tensor) -> Tensor:
    return x != x


def softmax_jacobian(s: Float[Tensor, "*b n"], beta: Any = None, *, T: Any = None) -> Float[Tensor, "*b n n"]:
    r"""How each weight moves with each score: J_ij = ∂p_i/∂s_j.

    $$J = \beta\,(\operatorname{diag}(p) - p\,p^\top)$$

    It tends to the zero matrix as p tends to a one-hot vector.

    >>> from workings import exact
    >>> print(softmax_jacobian(exact("0 log(3)")).text())
    ⎡ 3/16  −3/16⎤
    ⎣−3/16   3/16⎦
    """
    check_axis("s", s, -1)
    β = inverse_scale(beta, T)
    check_scale("β s", β, s)
    p = (β * s).softmax(dim=-1)
    check_softmax(p, s)
    if isinstance(β, Tensor) and β.dim():
        β = β.unsqueeze(-1)  # one for each row of scores is one for each matrix
    P = p.unsqueeze(-1)  # a column
    J = β * (torch.diag_embed(p) - P @ P.mT)
    return J


def _check_probabilities(p: Tensor) -> None:
    """Refuse what is not a vector of probabilities: numbers from 0 to 1 that sum to 1."""
    check_shapes(entropy, p)
    check_inside("A probability lies between 0 and 1", p, lambda p: ~((p >= 0) & (p <= 1)))
    total = first(p.sum(-1), lambda total: (total - 1).abs() > 1e-3)
    if total is not None:
        raise DomainError(f"The probabilities of a vector sum to 1; here they sum to {total:g}.")


def entropy(p: Float[Tensor, "*b n"]) -> Float[Tensor, "*b"]:
    r"""The spread of a probability vector in nats: 0 for one-hot, log n for uniform.

    $$H = -\sum_i p_i \log p_i, \qquad 0 \log 0 = 0$$

    >>> from workings import exact
    >>> print(entropy(exact("1/2 1/2 0")).text())
    log 2
    """
    _check_probabilities(p)
    H = -torch.xlogy(p, p).sum(-1)
    return H


def effective_keys(p: Float[Tensor, "*b n"]) -> Float[Tensor, "*b"]:
    r"""How many equally weighted keys would have this entropy: 1 for one-hot, n for uniform.

    $$N = e^{H}$$

    >>> from workings import exact
    >>> print(effective_keys(exact("1/3 1/3 1/3 0")).text())
    3
    """
    H = entropy(p)
    N = H.exp()
    return N


def variance(p: Float[Tensor, "*b n"]) -> Float[Tensor, "*b"]:
    r"""How far a probability vector is from uniform: 0 for uniform, (n − 1)/n² for one-hot.

    $$\operatorname{Var}(p) = \frac{1}{n} \sum_i \left(p_i - \frac{1}{n}\right)^2$$

    >>> from workings import exact
    >>> print(variance(exact("1 0 0 0")).text())
    3/16
    """
    _check_probabilities(p)
    n = p.shape[-1]
    Var = ((p - 1 / n) ** 2).sum(-1) / n
    return Var

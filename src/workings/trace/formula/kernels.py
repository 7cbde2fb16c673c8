"""Operations that the rules of differentiation read and write, beyond those with a notation of their own, with PyTorch.

`CALLS` are PyTorch's functions, by their names and with their arguments. `BACKWARD` are what only a gradient is made of, and
`MEANINGS` says what each of these is.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

MEANINGS = {
    "put": "a with b in place of its entries at [option text]",
    "outer": "a bᵀ for vectors: every entry of a times every entry of b",
    "zeros": "a tensor of zeros; option shape",
    "reversed_cumsum": "sums from each entry to the last along option dim: Σ_{j ≥ i} a_j",
    "unsort": "the entries of a put back where they stood before they were sorted; args a, where they stood; option dim",
    "order": "where the entries of sorted a stood; options dim, descending, k (how many of them)",
    "argmax": "where the largest entry of a stands along option dim; of several, the one that max chose",
    "argmin": "where the smallest entry of a stands along option dim; of several, the one that min chose",
    "scatter_add": "zeros of option shape with a added at the indices b along option dim",
    "sum_copies": "a summed over the copies that repeating a value of option shape made",
    "transposed_convolution": "the transposed convolution of a with the kernel b; option shape and those of the convolution",
    "correlation": "the correlation of a with b: for each place of a kernel of option shape, the sum of their products",
    "unpool": "a added where the maximum of each window of b stood; options of the pooling",
    "spread_windows": "a shared out equally over each window of a value of option shape; options of the pooling",
    "entries": "the entries of a at the places b: a_b",
    "causal_mask": "0 on and below the diagonal, −∞ above it; option shape",
    "identity": "the identity matrix; option size",
}


# ---- PyTorch's functions


def _values(name: str) -> Callable[..., Tensor]:
    """A function that returns values and where they stood: the values."""
    return lambda a, *args, **options: getattr(torch, name)(a, *args, **options)[0]


def _norm(a: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False, **_: Any) -> Tensor:
    return torch.linalg.vector_norm(a, 2 if p in (None, "fro") else p, dim, keepdim)


def _reduced(name: str) -> Callable[..., Tensor]:
    """prod and std take no axis at all, or one."""
    return lambda a, *args, **options: getattr(a, name)(*args, **{k: v for k, v in options.items() if v is not None})


def _on_copies(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function of PyTorch's that may write into what it is given, as batch norm into its running statistics: a rule is
    computed again and again, and only the run itself changes the author's tensors."""
    return lambda *args, **options: function(*map(_copy, args), **{key: _copy(value) for key, value in options.items()})


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


CALLS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(torch, name)
        for name in """
        cumsum cumprod tril triu gather index_select log1p expm1 log2 log10 tan sinh cosh atan erf exp2 clamp round ceil
        chunk split unbind cosine_similarity
        """.split()
    },
    **{
        name: getattr(F, name)
        for name in """
        softplus logsigmoid l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits nll_loss
        kl_div rms_norm conv1d max_pool1d max_pool2d avg_pool1d avg_pool2d normalize pad
        """.split()
    },
    **{name: _on_copies(getattr(F, name)) for name in "leaky_relu elu batch_norm".split()},
    "floor": lambda a: torch.floor(a) if isinstance(a, Tensor) else math.floor(a),
    "mod": operator.mod,
    "prod": _reduced("prod"),
    "std": _reduced("std"),
    "norm": _norm,
    "sort": _values("sort"),
    "topk": _values("topk"),
    "flip": lambda a, *dims: torch.flip(a, dims if isinstance(dims[0], int) else dims[0]),
    "roll": torch.roll,
    "repeat": lambda a, *sizes: a.repeat(*sizes),
    "trace": torch.trace,
    "diagonal": torch.diagonal,
    "einsum": lambda *args, text: torch.einsum(text, *args),
    **{
        name: getattr(torch, name) for name in "arange linspace eye full zeros_like ones_like full_like numel tensor".split()
    },
}
CONSTANT = frozenset("round floor ceil arange linspace eye full zeros_like ones_like full_like numel tensor zeros".split())
"""Operations whose derivative is zero wherever it exists."""


# ---- what only gradients are made of


def _outer(a: Tensor, b: Tensor) -> Tensor:
    return a.unsqueeze(-1) * b.unsqueeze(-2)


def _order(a: Tensor, *, dim: int = -1, descending: bool = False, k: int | None = None) -> Tensor:
    if k is not None:
        return torch.topk(a, k, dim, descending).indices
    return torch.sort(a, dim=dim, descending=descending).indices


def _unsort(g: Tensor, where: Tensor, *, dim: int = -1, shape: tuple[int, ...]) -> Tensor:
    return g.new_zeros(shape).scatter_add(dim, where, g)


def _sum_copies(g: Tensor, *, shape: tuple[int, ...]) -> Tensor:
    lead = g.dim() - len(shape)
    g = g.sum(tuple(range(lead))) if lead else g
    pairs = [n for have, want in zip(g.shape, shape, strict=True) for n in (have // want, want)]
    return g.reshape(pairs).sum(tuple(range(0, 2 * len(shape), 2))) if shape else g


def _convolution_back(wanted: int) -> Callable[..., Tensor]:
    """The gradient of a convolution, of its input (0) or of its kernel (1): the first argument is ∂L/∂y, or x."""

    def compute(
        a: Tensor, b: Tensor, *, shape: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Tensor:
        g, x, K = (a, a.new_zeros(shape), b) if wanted == 0 else (b, a, a.new_zeros(shape))
        rank = K.dim() - 2
        each = [(n,) * rank if isinstance(n, int) else tuple(n) for n in (stride, padding, dilation)]
        mask = [wanted == 0, wanted == 1, False]
        zero = (0,) * rank
        out = torch.ops.aten.convolution_backward(g, x, K, None, *each, False, zero, groups, mask)
        found: Tensor = out[wanted]
        return found

    return compute


def _unpool(g: Tensor, x: Tensor, *, rank: int, **options: Any) -> Tensor:
    pool = F.max_pool1d if rank == 1 else F.max_pool2d
    where = pool(x, return_indices=True, **options)[1]
    flat = g.new_zeros((*x.shape[:-rank], math.prod(x.shape[-rank:])))
    return flat.scatter_add(-1, where.flatten(-rank), g.flatten(-rank)).reshape(x.shape)


def _spread_windows(g: Tensor, *, shape: tuple[int, ...], rank: int, **options: Any) -> Tensor:
    """The rule of an average is linear: pull g back through it."""
    pool = F.avg_pool1d if rank == 1 else F.avg_pool2d
    with torch.enable_grad():
        x = g.new_zeros(shape).requires_grad_()
        (found,) = torch.autograd.grad(pool(x, **options), x, g)
    return found


BACKWARD: dict[str, Callable[..., Any]] = {
    "outer": _outer,
    "reversed_cumsum": lambda g, *, dim: g.flip(dim).cumsum(dim).flip(dim),
    "entries": lambda a, i: a[i],
    "order": _order,
    "unsort": _unsort,
    "argmax": lambda a, *, dim: a.max(dim, keepdim=True).indices,
    "argmin": lambda a, *, dim: a.min(dim, keepdim=True).indices,
    "scatter_add": lambda g, i, *, dim, shape: g.new_zeros(shape).scatter_add(dim, i, g),
    "sum_copies": _sum_copies,
    "transposed_convolution": _convolution_back(0),
    "correlation": _convolution_back(1),
    "unpool": _unpool,
    "spread_windows": _spread_windows,
}

r"""What attention can be made to compute: nothing, a permutation, a convolution. Tokens are rows.

S = β I             a_ii = e^β/(e^β + n − 1): the identity only for β → ∞
q_j = k_π(j)        z_j = v_π(j), a permutation
A = I               Z = X W_V, a convolution of width 1
S_ij = log w_{j−i}  a convolution with a kernel w ≥ 0 of sum 1; at the ends the weights in reach are renormalised
a head for each r   Z = Σ_r (shift_r X) W_r, a convolution with any kernel
"""

from __future__ import annotations

from math import inf
from typing import Annotated, Any, Literal

import torch
import torch.nn.functional as F

from workings.course.constructions import identity_diagonal, identity_layer, permutation_layer, width_one
from workings.course.conv_heads import conv1d_by_heads, conv2d_by_heads, convolution_weights
from workings.nn.transformer.masks import window_mask
from workings.studies.claim import Bounds
from workings.studies.decide.proof import compared, equal, proved
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Worked
from workings.studies.pictures.kinds import Bars, Curves, Heatmap, Line

_VALUES = "4 1 0 2 6 3 5"
_KERNEL = "1/4 1/2 1/4"
_SLIPS = ("bias without the logarithm", "mask left out")


@study(rows=("B12", "B13", "B14"))
def identity_and_permutation(
    tokens: Annotated[int, Range(2, 64, "one token is always copied"), "tokens n of the sweep"] = 4,
    seed: Seed = 0,
    broken: Literal["", "overlapping keys", "inverse permutation", "soft weights"] = "",
) -> list[Part]:
    """Attention copies its tokens, or shuffles them, in the limit of large β; for no finite β exactly.

    Exact numbers and the letter b for β.
    """
    from workings import exact, show

    b: Any = exact("b")
    diagonal: Any = _own_weight(b, exact("1 1 1 1"), broken)
    values: Any = exact("1 4; 2 5; 3 6")
    π = [2, 0, 1] if broken == "inverse permutation" else [1, 2, 0]
    shuffled: Any = permutation_layer(values, π)
    X: Any = exact("1 2; 3 -1; 0 4")
    W: Any = exact("1 2 0; -1 1 3")
    soft: Any = identity_layer(X, beta=exact("1")) @ W if broken == "soft weights" else width_one(X, W)
    conv: Any = F.conv1d(X.T.unsqueeze(0), W.T.unsqueeze(-1)).squeeze(0).T
    g = torch.Generator().manual_seed(seed)
    C = torch.randn(tokens, 8, generator=g, dtype=torch.float64)
    β = torch.linspace(0, 25, 51, dtype=torch.float64)
    away = [float((identity_layer(C, float(value)) - C).norm() / C.norm()) for value in β]
    share = identity_diagonal(β, tokens)
    table = [float(_own_weight(v, torch.ones(4, dtype=torch.float64), broken)[0]) for v in (0.5, 1.0, 5.0, 20.0)]
    known = (0.354661, 0.475367, 0.980187, 1.0)
    return [
        equal(
            "With K Qᵀ = I the weight of each token on itself is e^β/(e^β + n − 1), below 1 for every finite β",
            diagonal,
            torch.stack([identity_diagonal(b, 4)] * 4),
            "softmax of one β and n − 1 zeros",
        ),
        compared(
            "For n = 4 and β = ½, 1, 5, 20 it is 0.354661, 0.475367, 0.980187 and 1.0 when rounded, never 1 itself",
            max(abs(found - true) for found, true in zip(table, known, strict=True)) if max(table) < 1 else 1.0,
            Bounds(high=6e-7),
            "largest difference",
            "e^β/(e^β + 3)",
        ),
        equal(
            "Queries q_j = k_π(j) shuffle: a weight of 1 at row 1, column 2 gives h_1 = v_2; (1, 2, 3) becomes (2, 3, 1)",
            shuffled,
            exact("2 5; 3 6; 1 4"),
            "orthonormal keys and β → ∞",
        ),
        equal("With A = I attention is a convolution of width 1", soft, conv, "Z = X W_V at every place"),
        Curves(
            f"From the mean to the identity, n = {tokens}",
            β.tolist(),
            [Line("weight on itself", share.tolist()), Line("‖H − C‖/‖C‖", away)],
            "β",
            "",
        ),
        Heatmap(
            "A permutation as attention weights",
            torch.eye(3)[[1, 2, 0]].tolist(),
            ["h1", "h2", "h3"],
            ["v1", "v2", "v3"],
            digits=0,
        ),
        Worked("A permutation of three tokens", show(permutation_layer, values, [1, 2, 0])),
    ]


def _own_weight(β: Any, ones: Any, broken: str) -> Any:
    """The weight of each token on itself, for orthonormal keys as queries; broken, keys at an angle of 60°."""
    K = torch.diag_embed(ones)
    S = (K + 1) / 2 if broken == "overlapping keys" else K @ K.mT
    return (β * S).softmax(-1).diagonal()


@study(rows=("B15", "B5"))
def attention_as_convolution(
    channels: Annotated[int, Range(1, 16, "exact numbers are slow for many")] = 3,
    width: Annotated[int, Range(1, 7, "an odd number of offsets is used"), "half the kernel's width, rounded down"] = 1,
    seed: Seed = 0,
    broken: Literal["", "bias without the logarithm", "mask left out", "kernel turned round"] = "",
) -> list[Part]:
    """One head can average over a window like a convolution; a head for each offset is any convolution.

    The course's signal and kernel with exact numbers, then random kernels of any sign, for signals and for images.
    """
    from workings import exact, show

    v: Any = exact(_VALUES).unsqueeze(-1)
    w: Any = exact(_KERNEL)
    n = len(v)
    A: Any = _slipped(n, w, broken) if broken in _SLIPS else convolution_weights(n, w)
    h: Any = (A @ v).squeeze(-1)
    padded: Any = F.conv1d(v.T.unsqueeze(0), w.reshape(1, 1, 3), padding=1).flatten()
    g = torch.Generator().manual_seed(seed)
    k = 2 * width + 1
    kernel = torch.randint(-3, 4, (2, channels, k), generator=g)
    signal = torch.randint(-5, 6, (9, channels), generator=g)
    exact_kernel: Any = exact(kernel.tolist())
    exact_signal: Any = exact(signal.tolist())
    turned = exact_kernel.flip(-1) if broken == "kernel turned round" else exact_kernel
    heads: Any = conv1d_by_heads(exact_signal, turned)
    conv: Any = F.conv1d(exact_signal.T.unsqueeze(0), exact_kernel, padding=width).squeeze(0).T
    picture = torch.randn(2, channels, 7, 7, generator=g, dtype=torch.float64)
    square = torch.randn(4, channels, 3, 3, generator=g, dtype=torch.float64)
    by_heads = conv2d_by_heads(picture, square.flip(-1) if broken == "kernel turned round" else square)
    off = float((by_heads - F.conv2d(picture, square, padding=1)).abs().max())
    ends = (h - padded)[[0, -1]]
    return [
        equal(
            "With log-weights as bias the course's signal becomes 3, 3/2, 3/4, 5/2, 17/4, 17/4, 13/3",
            h,
            exact("3 3/2 3/4 5/2 17/4 17/4 13/3"),
            "softmax of log w is w, renormalised at the ends to (2/3, 1/3)",
        ),
        equal("In the interior that is the convolution with (¼, ½, ¼)", h[1:-1], padded[1:-1], "the kernel sums to 1"),
        equal(
            "At the borders it is more than the zero-padded convolution, by 3/4 and 13/12",
            ends,
            exact("3/4 13/12"),
            "renormalised weights (2/3, 1/3) against (½, ¼) and a zero",
        ),
        proved(
            "The weights of one head are a band: nothing outside it, every row sums to 1",
            bool(exact.equal(A.sum(-1), torch.ones_like(A.sum(-1))).equal) and _is_band(A),
            "7 × 7 weights, exactly",
            "keys out of reach are masked, and a softmax sums to 1",
        ),
        equal(
            "A head for each offset computes any convolution, with weights of any sign and the ends padded with zeros",
            heads,
            conv,
            "Z = Σ_r (shift_r X) W_r (Cordonnier et al. 2020)",
        ),
        compared(
            "So does a head for each of the nine offsets of a 3 × 3 kernel, on images",
            off,
            Bounds(high=1e-12),
            "largest difference from conv2d",
            "Z = Σ_rs (shift_rs X) W_rs (Cordonnier et al. 2020)",
        ),
        Heatmap("The weights of a head that convolves with (¼, ½, ¼)", _floats(A)),
        Bars(
            "One head against the zero-padded convolution: only the ends differ",
            [str(i + 1) for i in range(n)],
            {"attention": _floats(h), "conv1d": _floats(padded)},
            "value",
        ),
        Table(
            "Both ends",
            ["place", "attention", "zero-padded convolution"],
            [[i + 1, h[i].text(), padded[i].text()] for i in (0, 1, n - 1)],
        ),
        Worked("The weights for three tokens", show(convolution_weights, 3, w)),
    ]


def _slipped(n: int, w: Any, broken: str) -> Any:
    """The weights of a head whose bias is the kernel itself, or that looks beyond its window."""
    offset = torch.arange(n) - torch.arange(n)[:, None]
    S = w[(offset + 1).clamp(0, 2)]
    if broken == "mask left out":
        return S.log().softmax(-1)
    return S.masked_fill(~window_mask(n, 3), -inf).softmax(-1)


def _is_band(A: Any) -> bool:
    found = torch.tensor(_floats(A))
    n = len(found)
    far = (torch.arange(n) - torch.arange(n)[:, None]).abs() > 1
    return bool((found[far] == 0).all() and (found[~far] > 0).all())


def _floats(tensor: Any) -> Any:
    """Exact values as floats, in lists."""
    return [_floats(row) for row in tensor] if tensor.dim() else float(tensor)

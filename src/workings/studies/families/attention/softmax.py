r"""Softmax with a temperature: its limits, what it ignores, how it sharpens, and how its gradient fades.

    p = softmax(s/T),  β = 1/T           T → ∞: uniform,  T → 0: all on the maximum
    |n p_i − 1| ≤ e^(R/T) − 1            R the range of the scores
    1 − p_max ≤ (n − 1) e^(−Δ/T)         Δ the lead of the largest score
    dH/dT = Var_p(s)/T³,  dH/dc = −c Var_p(z)      entropy over the temperature, and over a multiplier c of the logits z
    J = diag(p) − p pᵀ,  ‖J‖ ≤ 1 − Σ p_i² ≤ 2 (1 − p_max)      the Jacobian by the scores, Frobenius norm

`workings.nn.temperature` has softmax, its Jacobian and the measures of sharpness.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from workings.errors import WorkingsError
from workings.nn.temperature import entropy, softmax, softmax_jacobian, variance
from workings.studies.claim import Bounds, Claim
from workings.studies.decide.proof import compared, equal, proved
from workings.studies.definition import Seed, study
from workings.studies.families.attention.perturbation import ROUNDING
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text, Worked
from workings.studies.pictures.kinds import Bars, Curves, Line

_TEMPERATURES: dict[str, Callable[[Any, Any], Any]] = {
    "": lambda s, T: softmax(s, T=T),
    "β is T, not 1/T": lambda s, T: softmax(s, beta=T),
    "the first of the largest takes all": lambda s, T: _first_largest(s),
    "no exponential": lambda s, T: s / s.sum(-1, keepdim=True),
}


def _first_largest(s: Any) -> Any:
    at = torch.arange(s.shape[-1]) == s.argmax(-1, keepdim=True)
    return torch.where(at, torch.ones_like(s), torch.zeros_like(s))


@study(rows=("A5", "A6", "L2"))
def temperature(
    hot: Annotated[float, Range(10, 1e6, "the limit T → ∞ is looked at from here on"), "a large temperature"] = 100.0,
    cold: Annotated[float, Range(0.01, 0.3, "the limit T → 0 is looked at from here on"), "a small temperature"] = 0.1,
    keys: Annotated[int, Range(2, 64, "one score alone has weight 1"), "number of random scores"] = 6,
    seed: Seed = 0,
    broken: Literal["", "β is T, not 1/T", "the first of the largest takes all", "no exponential"] = "",
) -> list[Part]:
    """A large temperature makes softmax uniform, a small one picks the maximum, and no weight is ever zero.

    An exam asks which of four statements is false: (i) no finite T ever yields a uniform output; (ii) T → ∞ is uniform;
    (iii) for z = (4, 3, 2, 1), T → 0 tends to (1, 0, 0, 0); (iv) no component is ever zero for T > 0. It is (i).
    """
    from workings import exact

    weights = _TEMPERATURES[broken]
    g = torch.Generator().manual_seed(seed)
    s = torch.randn(keys, generator=g, dtype=torch.float64)
    z = torch.tensor([4.0, 3.0, 2.0, 1.0], dtype=torch.float64)
    Z, T = exact("4 3 2 1"), exact("T")
    shifted, same = weights(Z + exact("c"), 2), weights(Z, 2)
    smallest = weights(Z, exact("1/1000"))
    claims = [
        equal(
            "Adding one number c to all scores changes no weight",
            shifted,
            same,
            "e^(s + c) = e^s e^c, and e^c cancels; proved with a letter for c",
        ),
        equal(
            "(i) «No finite T yields a uniform output» is false: equal scores do, at every T",
            weights(exact("7 7 7 7"), T),
            exact("1/4 1/4 1/4 1/4"),
            "the witness (7, 7, 7, 7), with a letter for T",
        ),
        compared(
            "(ii) As T → ∞ the weights tend to 1/n: |n p − 1| ≤ e^(R/T) − 1, R the range of the scores",
            _over_uniform(weights, s, [hot * 2**k for k in range(8)]),
            Bounds(high=1 + 1e-6),
            "largest distance over its bound",
            reference="e^(−R/T) ≤ n p_i ≤ e^(R/T)",
        ),
        compared(
            "(iii) For z = (4, 3, 2, 1) and T → 0 the weights tend to (1, 0, 0, 0): 1 − p₁ ≤ 3e^(−1/T)",
            max(
                float((1 - weights(z, cold / 2**k)[0]) / (3 * torch.tensor(-(2**k) / cold).exp() + 1e-15)) for k in range(6)
            ),
            Bounds(high=1),
            "largest distance over its bound",
            reference="the three others lie 1, 2 and 3 below the largest",
        ),
        proved(
            "(iv) No weight is ever 0: at T = 1/1000 the smallest of z = (4, 3, 2, 1) is still positive",
            bool((smallest > 0).all()),
            f"smallest weight {_power_of_ten(smallest[-1])}; in float32 it underflows to {softmax(z.float(), T=1e-3)[-1]:g}",
            "an exponential is positive; exact arithmetic",
        ),
        compared(
            "Entropy rises with T, that is, falls with β: dH/dT = Var_p(s)/T³ > 0",
            max(_entropy_slope_error(weights, s, T) for T in (0.5, 1.0, 2.0, 5.0)),
            Bounds(high=1e-8),
            "largest relative difference from the law",
            reference="derivative of the entropy of a Gibbs distribution",
        ),
    ]
    if broken:
        return [*claims]
    T_grid = [10 ** (k / 10 - 1.5) for k in range(46)]
    lines = torch.stack([softmax(z, T=T) for T in T_grid])
    return [
        *claims,
        Text("The false statement of the exam is (i). A large temperature is a small β: the words are easily confused."),
        _temperature_table(z),
        Curves(
            "Weights of the scores 4, 3, 2, 1 over the temperature",
            T_grid,
            [Line(f"score {4 - i}", lines[:, i].tolist()) for i in range(4)],
            xlabel="T = 1/β",
            ylabel="weight",
            xscale="log",
        ),
        Curves(
            "Entropy goes from 0 to log n as T grows",
            T_grid,
            [
                Line("entropy", entropy(lines).tolist()),
                Line("log 4", [log(4)] * len(T_grid), dashed=True),
            ],
            xlabel="T = 1/β",
            ylabel="nats",
            xscale="log",
        ),
        Worked("Scores 0 and log 9 at T = 2", _show_temperature()),
    ]


def _over_uniform(weights: Callable[[Any, Any], Any], s: Tensor, temperatures: list[float]) -> float:
    """How far the weights are from uniform, over the bound; the largest of several temperatures."""
    R, n = s.max() - s.min(), len(s)
    return max(float((n * weights(s, T) - 1).abs().max() / torch.expm1(R / T)) for T in temperatures)


def _entropy_slope_error(weights: Callable[[Any, Any], Any], s: Tensor, T: float) -> float:
    t = torch.tensor(T, dtype=torch.float64, requires_grad=True)
    p = weights(s, t)
    H = -torch.xlogy(p, p).sum()
    slope = torch.autograd.grad(H, t)[0] if H.requires_grad else torch.zeros(())
    law = _variance_of(s, softmax(s, T=T)) / T**3
    return float(abs(slope - law) / law)


def _variance_of(s: Tensor, p: Tensor) -> Tensor:
    """The variance of the scores under the weights."""
    return (p * (s - (p * s).sum()) ** 2).sum()


def _power_of_ten(p: Any) -> str:
    """A weight that floats may not hold, as a power of ten."""
    return f"10^{float(p.log().float64()) / log(10):.0f}" if bool(p > 0) else "0"


def _temperature_table(z: Tensor) -> Table:
    rows = []
    for T in (1000.0, 10.0, 1.0, 0.1, 0.01):
        p, single = softmax(z, T=T), softmax(z.float(), T=T)
        rows.append([T, 1 / T, float(p[0]), float(p[-1]), float(single[-1]), float(entropy(p))])
    columns = ["T", "β", "weight of 4", "weight of 1", "in float32", "entropy"]
    return Table(
        "Softmax of (4, 3, 2, 1)", columns, rows, "in float32 the smallest weight underflows; exactly, it is positive"
    )


def _show_temperature() -> Any:
    from workings import exact, show

    return show(softmax, exact("0 log(9)"), T=2)


_SHARPENED: dict[str, Callable[[Any, Any], Any]] = {
    "": lambda z, c: softmax(c * z),
    "added to the logits, not multiplied": lambda z, c: softmax(c + z),
    "weights not divided by their sum": lambda z, c: (c * z).exp(),
}


@study(rows=("A8", "A9", "A11"))
def sharpening(
    logits: Annotated[str, "the logits z, numbers that differ by 0.01 to 10"] = "1 2 3",
    most: Annotated[float, Range(3, 30, "one-hot is looked at from here on"), "largest multiplier"] = 8.0,
    seed: Seed = 0,
    broken: Literal["", "added to the logits, not multiplied", "weights not divided by their sum"] = "",
) -> list[Part]:
    """Larger logits sharpen a softmax: its entropy falls, its variance rises, and its gradient fades.

    The logits are multiplied by c = 1, 2, 3 …; the weights of (1, 2, 3) are worked out to two decimals, with the slips
    that are often printed.
    """
    weights = _SHARPENED[broken]
    z = _logits(logits)
    n = len(z)
    multipliers = [most * k / 40 for k in range(1, 41)]
    P = torch.stack([weights(z, c) for c in multipliers])
    spread = ((P - 1 / n) ** 2).mean(-1)  # variance(p), of what need not sum to 1
    steps, largest = (spread[1:] - spread[:-1]).tolist(), float(spread.max())
    claims = [
        _three_triples(weights),
        compared(
            "The entropy falls: dH/dc = −c Var_p(z)",
            max(_sharpening_error(weights, z, c) for c in (0.5, 1.0, 2.0, 3.0)),
            Bounds(high=1e-8),
            "largest relative difference from the law",
            reference="derivative of the entropy of a Gibbs distribution",
        ),
        proved(
            "The variance (1/n) Σ(p − 1/n)² of the weights rises with c, and stays below (n − 1)/n², that of one-hot",
            min(steps) > -ROUNDING and bool(spread[-1] > spread[0] + ROUNDING) and largest < (n - 1) / n**2 + ROUNDING,
            f"from {float(spread[0]):.4g} to {largest:.4g}, never falling by more than {max(0.0, -min(steps)):.2g}; "
            f"one-hot has {(n - 1) / n**2:.4g}",
            "dVar/dc = (2/n) Σ p²(z − z̄) ≥ 0, a covariance of rising functions",
        ),
        _three_jacobians(weights),
        compared(
            "The Jacobian fades as the weights become one-hot: ‖J‖ ≤ 1 − Σp² ≤ 2(1 − max p)",
            _jacobian_excess(weights, z, multipliers[4::5]),
            Bounds(high=1e-12),
            "largest ‖J‖ less its bound",
            reference="J is positive semidefinite with trace 1 − Σp²",
        ),
    ]
    if broken:
        return [*claims]
    J = [float(softmax_jacobian(c * z).norm()) for c in multipliers]
    H, P3 = entropy(P).tolist(), torch.stack([softmax(c * z) for c in (1, 2, 3)])
    rows = [
        [c, *(float(x) for x in (entropy(p), entropy(p).exp(), variance(p), softmax_jacobian(c * z).norm()))]
        for c, p in zip((1, 2, 3), P3, strict=True)
    ]
    return [
        *claims,
        Table("Three measures of sharpness", ["c", "entropy", "effective keys", "variance", "‖J‖"], rows),
        Text(
            "(0.97, 0.01, 0.01, 0.01) has variance 0.1728, and one-hot of four 3/16 = 0.1875. ‖J‖ is by the multiplied "
            "logits; by z itself it is c times that, which also tends to 0."
        ),
        Bars(
            "Weights of the logits times 1, 2, 3",
            [f"z = {one:g}" for one in z.tolist()],
            {f"c = {c}": p.tolist() for c, p in zip((1, 2, 3), P3, strict=True)},
            ylabel="weight",
        ),
        Curves(
            "Sharper weights, smaller gradient",
            multipliers,
            [
                Line("entropy / log n", [h / log(n) for h in H]),
                Line("variance / one-hot's", (spread * n**2 / (n - 1)).tolist()),
                Line("‖J‖", J),
                Line("2(1 − max p)", (2 * (1 - P.amax(-1))).tolist(), dashed=True),
            ],
            xlabel="multiplier c",
        ),
        Worked("The Jacobian at the scores 0 and log 3", _show_jacobian()),
    ]


def _logits(text: str) -> Tensor:
    """
    >>> _logits("1 2 3").tolist()
    [1.0, 2.0, 3.0]
    """
    try:
        z = torch.tensor([float(word) for word in text.replace(",", " ").split()], dtype=torch.float64)
    except ValueError:
        z = torch.zeros(0)
    if len(z) < 2 or not 0.01 <= float(z.max() - z.min()) <= 10:
        raise WorkingsError(f"logits is a list of numbers that differ by 0.01 to 10, such as '1 2 3'; got {text!r}.")
    return z


def _three_triples(weights: Callable[[Any, Any], Any]) -> Claim:
    wanted = [[0.09, 0.24, 0.67], [0.02, 0.12, 0.87], [0.00, 0.05, 0.95]]
    z = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    found = [[round(x, 2) for x in weights(z, c).tolist()] for c in (1, 2, 3)]
    return proved(
        "(1, 2, 3) times 1, 2, 3 gives (0.09, 0.24, 0.67), (0.02, 0.12, 0.87) and (0.00, 0.05, 0.95), not 0.86 and not 0.98",
        found == wanted,
        "; ".join(f"({', '.join(f'{x:.4f}' for x in weights(z, c).tolist())})" for c in (1, 2, 3)),
        "no fourth decimal is near a tie of rounding",
    )


def _three_jacobians(weights: Callable[[Any, Any], Any]) -> Claim:
    z = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    norms = [float(_jacobian(weights, z, c).norm()) for c in (1.0, 2.0, 3.0)]
    return compared(
        "For (1, 2, 3) times 1, 2, 3 the norm ‖diag(p) − ppᵀ‖ is 0.3894, 0.2130 and 0.0912, as autograd finds it",
        max(abs(found - true) for found, true in zip(norms, (0.38939, 0.21298, 0.0912086), strict=True)),
        Bounds(high=1e-5),
        f"norms {', '.join(f'{x:.4f}' for x in norms)}; largest difference",
        reference="J = diag(p) − ppᵀ",
    )


def _jacobian(weights: Callable[[Any, Any], Any], z: Tensor, c: float) -> Tensor:
    """∂p by the logits as the softmax gets them, from autograd."""
    J: Tensor = torch.autograd.functional.jacobian(lambda z: weights(z, c), z)
    return J if weights is _SHARPENED["added to the logits, not multiplied"] else J / c


def _jacobian_excess(weights: Callable[[Any, Any], Any], z: Tensor, multipliers: list[float]) -> float:
    """By how much ‖J‖ exceeds the smaller of its bounds, at most."""
    excess = []
    for c in multipliers:
        p = weights(z, c)
        bound = torch.minimum(1 - (p**2).sum(), 2 * (1 - p.max()))
        excess.append(float(_jacobian(weights, z, c).norm() - bound))
    return max(excess)


def _sharpening_error(weights: Callable[[Any, Any], Any], z: Tensor, c: float) -> float:
    t = torch.tensor(c, dtype=torch.float64, requires_grad=True)
    p = weights(z, t)
    slope = torch.autograd.grad(-torch.xlogy(p, p).sum(), t)[0]
    law = -c * _variance_of(z, softmax(c * z))
    return float(abs(slope - law) / abs(law))


def _show_jacobian() -> Any:
    from workings import exact, show

    return show(softmax_jacobian, exact("0 log(3)"))

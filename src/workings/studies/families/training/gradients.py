r"""Gradients through time and through saturated activations.

    h_t = w h_{t−1} + d_t               ∂h_t/∂w = Σ_{k=1..t} w^{k−1} h_{t−k},   |∂h_T/∂h_0| = |w|^T
    c_t = f_t c_{t−1} + i_t c̃_t         ∂c_T/∂c_0 = Π f_t where the gates do not look at the state; f = σ(b) keeps σ(b)^T
    σ′(x) = e^{−|x|}/(1 + e^{−|x|})²     tanh′(x) = 4e^{−2|x|}/(1 + e^{−2|x|})²     relu′(x) = 1 for x > 0

In a wide network with weights of variance σ_w²/d a gradient's square is multiplied in each layer by χ = σ_w² E[φ′(z)²],
z ~ N(0, q), where q ← σ_w² E[φ(z)²] (Schoenholz et al. 2017).
"""

from __future__ import annotations

from math import sqrt
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from workings.course.temporal import state_gradient, temporal_gradient
from workings.nn.activations import activation, relu_slope, sigmoid_slope, sigmoid_tail, tanh_slope, tanh_tail
from workings.nn.recurrent.layers import LSTM, RNN
from workings.studies.claim import Bounds
from workings.studies.decide.certified import certified
from workings.studies.decide.proof import agrees, compared, equal
from workings.studies.decide.sequential import judged
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Cell, Part, Table, Worked
from workings.studies.pictures.kinds import Curves, Line
from workings.studies.running.progress import progress

_DRIVE = "3/10 -1/5 1/2 1/10 -2/5 3/5 1/5 -1/10"
_WEIGHTS = "-3/2 -1 1/2 1 3/2"


def _last_state(w: Tensor, d: Tensor, h: Tensor, broken: str) -> tuple[Tensor, Tensor]:
    """h_t of the linear unit, and all states from h_0 on; truncated, the gradient passes one step only."""
    H = [h]
    for d_t in d.unbind():
        h = w * (h.detach() if broken == "truncated to one step" else h) + d_t
        H.append(h)
    return h, torch.stack(H)


def _derivative(y: Tensor, x: Tensor) -> Tensor:
    """∂y/∂x, which is 0 where no path leads from x to y."""
    found = torch.autograd.grad(y, x, allow_unused=True)[0] if y.requires_grad else None
    return torch.zeros_like(x) if found is None else found


@study(rows=("E4",))
def temporal_gradients(
    time: Annotated[int, Range(10, 200, "over a few steps nothing vanishes"), "steps T"] = 50,
    forget: Annotated[float, Range(3, 10, "a smaller bias forgets within the time"), "bias of the forget gate"] = 5.0,
    seed: Seed = 0,
    broken: Literal["", "truncated to one step", "bias at the wrong gate"] = "",
) -> list[Part]:
    """A gradient through T steps of a recurrent unit is w^T: it vanishes or explodes, unless a gate holds the state.

    Exact numbers and letters for the linear unit, autograd for a tanh unit and for an LSTM.
    """
    from workings import exact, show

    w, h = exact("w").requires_grad_(), exact("h")
    last, states = _last_state(w, exact("a b c d"), h, broken)
    (slope,) = torch.autograd.grad(last, w)
    given = exact("7/10").requires_grad_()
    course, _ = _last_state(given, exact(_DRIVE), exact("1/4"), broken)
    (course_slope,) = torch.autograd.grad(course, given)
    far: list[Any] = []
    for weight in exact(_WEIGHTS).unbind():
        h_0 = exact("0").requires_grad_()
        h_T, _ = _last_state(weight, exact(" ".join(["0"] * 20)), h_0, broken)
        far.append(_derivative(h_T, h_0).abs())
    powers = torch.stack([state_gradient(weight, 20) for weight in exact(_WEIGHTS).unbind()])
    kept = _lstm_gradient(time, forget, broken)
    law = float(torch.sigmoid(torch.tensor(forget, dtype=torch.float64))) ** time
    lost = _tanh_gradient(time, 0.9)
    return [
        equal(
            "∂h_t/∂w is the sum of w^{k−1} h_{t−k} over all delays k, for any inputs",
            slope,
            temporal_gradient(w.detach(), states.detach()),
            "the recursion ∂h_t/∂w = h_{t−1} + w ∂h_{t−1}/∂w, with letters for all inputs and t = 4",
        ),
        agrees(
            "For w = 0.7 and the course's eight inputs it is 1.39954",
            float(course_slope),
            1.39954,
            5e-6,
            "Σ w^{k−1} h_{t−k}, computed independently",
        ),
        equal(
            "|∂h_T/∂h_0| is |w|^T: for T = 20 and w = −1.5, −1, 0.5, 1, 1.5 it is 3325, 1, 10⁻⁶, 1, 3325",
            torch.stack(far),
            powers,
            "a product of T equal factors; the sign of w does not matter",
        ),
        agrees(
            "An LSTM whose gates do not look at the state passes on σ(b)^T over T steps, b the bias of its forget gate",
            kept,
            law,
            1e-9,
            "∂c_T/∂c_0 = Π f_t (Gers et al. 2000)",
        ),
        compared(
            "It keeps at least ten times as much as a tanh unit with w = 0.9",
            kept / max(lost, 1e-300),
            Bounds(low=10),
            f"LSTM {kept:.3g}, tanh unit {lost:.3g}, ratio",
            "σ(b)^T against Π w tanh′(z_t) ≤ 0.9^T",
        ),
        _over_time(time, forget, seed),
        Table(
            "|w|^T",
            ["w", "T = 5", "T = 20", "T = 50", "what happens"],
            [
                [float(v), *(abs(float(v)) ** T for T in (5, 20, 50)), word]
                for v, word in zip(
                    (-1.5, -1, 0.5, 0.9, 1, 1.5),
                    ("explodes", "stays", "vanishes", "vanishes", "stays", "explodes"),
                    strict=True,
                )
            ],
        ),
        Worked("∂h_2/∂w by hand", show(_two_steps, exact("w").requires_grad_(), exact("h"), backward=True)),
    ]


def _two_steps(w: Tensor, h: Tensor) -> Tensor:
    h_1 = w * h + 2
    h_2 = w * h_1 + 3
    return h_2


def _lstm_gradient(T: int, forget: float, broken: str) -> float:
    """∂c_T/∂c_0 of an LSTM of one unit whose gates see the inputs alone."""
    cell = LSTM(1, 1).double()
    with torch.no_grad():
        for p in cell.parameters():
            p.zero_()
        cell.b_x[0 if broken == "bias at the wrong gate" else 1] = forget  # type: ignore[index]
    c = torch.zeros(1, 1, dtype=torch.float64, requires_grad=True)
    state = (torch.zeros(1, 1, dtype=torch.float64), c)
    c_T = c
    for _ in range(T):
        _, (h_T, c_T) = cell(torch.zeros(1, 1, 1, dtype=torch.float64), state)
        state = (h_T, c_T.detach().requires_grad_() if broken == "truncated to one step" else c_T)
    return float(_derivative(c_T.sum(), c))


def _tanh_gradient(T: int, w: float) -> float:
    """∂h_T/∂h_0 of a tanh unit, from h_0 = ½ without inputs."""
    h_0 = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    h = h_0
    for _ in range(T):
        h = torch.tanh(w * h)
    return float(_derivative(h, h_0))


def _over_time(T: int, forget: float, seed: int) -> Part:
    """The gradient of layers of sixteen units by distance: two recurrent ones, and an LSTM with and without its bias."""
    torch.manual_seed(seed)
    X = torch.randn(1, T, 4, dtype=torch.float64)
    lines = []
    for radius in (0.8, 1.3):
        layer = RNN(4, 16, g="identity").double()
        with torch.no_grad():
            layer.W_h.mul_(radius / float(torch.linalg.eigvals(layer.W_h).abs().max()))
        lines.append(Line(f"linear RNN, largest eigenvalue {radius:g}", _by_distance(layer, X)))
    for bias in (0.0, forget):
        gated = LSTM(4, 16).double()
        with torch.no_grad():
            gated.b_x[16:32] += bias  # type: ignore[index]
        lines.append(Line(f"LSTM, forget bias {bias:g}", _by_distance(gated, X)))
    return Curves(
        "How much of a gradient is left after some steps back",
        list(range(T)),
        lines,
        "steps back",
        "‖∂h_T/∂x‖, of the last",
        yscale="log",
    )


def _by_distance(layer: Any, X: Tensor) -> list[float]:
    X = X.detach().requires_grad_()
    H, _ = layer(X)
    (slope,) = torch.autograd.grad(H[0, -1].sum(), X)
    lengths = slope[0].norm(dim=-1).flip(0)
    return (lengths / lengths[0]).clamp(1e-12, 1e12).tolist()


# ------------------------------------------------------------------------------------------------ saturation


@study(rows=("F6",), thorough={"width": 512})
def saturation(
    depth: Annotated[int, Range(5, 60, "a few layers show nothing"), "layers"] = 15,
    width: Annotated[int, Range(32, 1024, "the law is about wide layers")] = 64,
    seed: Seed = 0,
    broken: Literal["", "argument doubled"] = "",
) -> list[Part]:
    """The slopes of σ and tanh die out as e^−|x| and 4e^−2|x|, that of ReLU is 1; in a deep net this multiplies.

    Certified values of the slopes, then gradients through wide random networks held against the mean-field law.
    """
    from flint import arb

    from workings import exact

    times = 2 if broken else 1

    def steep(x: Any) -> Any:
        return times * x

    at = arb(10)
    sigmoid_ratio = times * _logistic_slope(steep(at)) * at.exp()
    tanh_ratio = times * 4 * _logistic_slope(2 * steep(at)) * (2 * at).exp() / 4
    x: Any = exact("0").requires_grad_()
    (top,) = torch.autograd.grad(torch.sigmoid(steep(x)), x)
    positive: Any = exact("1/1000 1 1000").requires_grad_()
    (passed,) = torch.autograd.grad(torch.relu(steep(positive)).sum(), positive)
    claims: list[Part] = [
        certified(
            "At x = 10 the slope of σ is e^−|x| to one part in ten thousand",
            sigmoid_ratio,
            Bounds(0.9999, 1),
            "σ′(x) e^|x|",
            "σ′(x) e^|x| = 1/(1 + e^−|x|)²",
        ),
        certified(
            "At x = 10 the slope of tanh is 4e^−2|x| to one part in ten thousand",
            tanh_ratio,
            Bounds(0.9999, 1),
            "tanh′(x) e^2|x| / 4",
            "tanh′(x) e^2|x|/4 = 1/(1 + e^−2|x|)²",
        ),
        equal("The largest slope of σ is ¼, at 0", top, exact("1/4"), "σ(1 − σ) ≤ ¼"),
        equal(
            "The slope of ReLU is 1 at every positive input, however large", passed, exact("1 1 1"), "relu(x) = x for x > 0"
        ),
    ]
    lines: list[Line] = []
    rows: list[list[Cell]] = []
    for name, variance in (("sigmoid", 1.0), ("tanh", 1.0), ("relu", 2.0)):
        lengths, law = _through_layers(name, variance, depth, width, seed, times)
        claims.append(
            judged(
                f"Through {name} layers the gradient shrinks by √χ a layer, within a tenth in the logarithm",
                (lengths[:, -1].log() - law[-1].log()) / depth,
                Bounds(-0.1, 0.1),
                what=f"log factor by layer beyond the law's {float(law[-1].log()) / depth:.3g}",
                reference="χ = σ_w² E[φ′(z)²] (Schoenholz et al. 2017)",
            )
        )
        lines += [Line(name, lengths.median(0).values.tolist()), Line(f"{name}, law", law.tolist(), dashed=True)]
        rows.append([name, float(lengths[:, -1].median()), float(law[-1])])
    grid = torch.linspace(-8, 8, 81, dtype=torch.float64)
    slopes = [("σ′", sigmoid_slope), ("tanh′", tanh_slope), ("relu′", relu_slope)]
    tails = [("e^−|x|", sigmoid_tail), ("4e^−2|x|", tanh_tail)]
    drawn = [Line(name, f(grid).clamp(min=1e-7).tolist()) for name, f in slopes]
    drawn += [Line(name, f(grid).clamp(1e-7, 1).tolist(), dashed=True) for name, f in tails]
    return [
        *claims,
        Curves("Slopes and their tails", grid.tolist(), drawn, "x", "slope", yscale="log"),
        Curves(
            "Length of a gradient on its way back",
            list(range(depth + 1)),
            lines,
            "layers back",
            "length, of the last",
            yscale="log",
        ),
        Table(f"After {depth} layers", ["activation", "gradient, median", "law"], rows),
    ]


def _logistic_slope(x: Any) -> Any:
    """σ′ of a ball."""
    return (-x).exp() / (1 + (-x).exp()) ** 2


def _through_layers(name: str, variance: float, depth: int, width: int, seed: int, times: int) -> tuple[Tensor, Tensor]:
    """The lengths of gradients by the number of layers they came back through, draws × (depth + 1), and the law."""
    g = torch.Generator().manual_seed(seed)
    φ, slope = activation(name)
    x = torch.randn(100, width, generator=g, dtype=torch.float64)
    states = [x.requires_grad_()]
    for _ in progress(range(depth), f"{name} layers"):
        W = sqrt(variance / width) * torch.randn(100, width, width, generator=g, dtype=torch.float64)
        z = (φ(times * states[-1]).unsqueeze(-2) @ W).squeeze(-2)
        states.append(z)
    last = torch.randn(100, width, generator=g, dtype=torch.float64)
    slopes = torch.autograd.grad(states[-1], states, last)
    lengths = torch.stack([s.norm(dim=-1) / last.norm(dim=-1) for s in reversed(slopes)], 1)
    from numpy.polynomial.hermite_e import hermegauss

    nodes, weights = (torch.from_numpy(part) for part in hermegauss(80))
    weights = weights / weights.sum()
    q, factors = 1.0, []
    for _ in range(depth):
        z = sqrt(q) * nodes
        factors.append(variance * float((weights * slope(z) ** 2).sum()))
        q = variance * float((weights * φ(z) ** 2).sum())
    law = torch.tensor([1.0, *reversed(factors)], dtype=torch.float64).cumprod(0).sqrt()
    return lengths, law

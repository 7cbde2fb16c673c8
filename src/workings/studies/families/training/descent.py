r"""How large a learning rate may be: the multiplier of a step, and the edge at 2/curvature.

    w ← w − η L′(w),   L = ½ λ (w − w*)²      w − w* times 1 − ηλ: smooth for η < 1/λ, alternating up to 2/λ
    L = 8 (w_h − ½)²                          the unrolled recurrent unit of the course: λ = 16, stable for η < 1/8
    θ ← θ − η ∇L(θ)                           near a minimum of any loss: λ is the largest eigenvalue of its Hessian

In training, the largest eigenvalue of a network, its sharpness, rises until it reaches 2/η and stays (Cohen et al. 2021).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import torch
from torch import Tensor
from torch.autograd.functional import hessian

from workings.course.scalar_rnn import linear_rnn_loss
from workings.nn.update import critical_rate, multiplier, sgd, trajectory
from workings.studies.decide.proof import agrees, equal, proved
from workings.studies.decide.trials import most_trials
from workings.studies.definition import Seed, study
from workings.studies.families.training.batched_networks import BatchedNetworks
from workings.studies.parameters import Range
from workings.studies.parts import Cell, Part, Table, Worked
from workings.studies.pictures.kinds import Curves, Line, Numbers, Scatter
from workings.studies.running.progress import progress

_RATES = ("1/10", "1", "3")


def _unrolled(w_h: Tensor) -> Tensor:
    """The loss of the course's recurrent unit as a function of w_h, for inputs 2 and ½ and the target 3."""
    from workings import exact

    return linear_rnn_loss(exact("2 1/2"), exact("0"), w_h, w_x=1, b=0, v=2, c=0, target=3)


def _step(w: Tensor, eta: Tensor, broken: str) -> Tensor:
    """One step of descent on the unrolled unit, its gradient by autograd on exact numbers."""
    w = w.detach().requires_grad_()
    (g,) = torch.autograd.grad(_unrolled(w), w)
    return sgd(w.detach(), g / 2 if broken == "factor v forgotten" else g, eta)


@study(rows=("E3", "F5"))
def learning_rate(
    start: Annotated[float, Range(-2, 3, "other starts leave the picture"), "w_h before the first step"] = 0.3,
    seed: Seed = 0,
    broken: Literal["", "factor v forgotten", "gradient ascends"] = "",
) -> list[Part]:
    """Each step of descent multiplies the error by 1 − ηλ: it converges for η < 2/λ, here 1/8.

    The loss is that of a linear recurrent unit unrolled over two steps, L = 8(w_h − ½)², with exact numbers and letters. A
    second part sweeps the rate on a random quadratic of ten variables.
    """
    from workings import exact, show

    w, η = exact("w"), exact("eta")
    sign = -1 if broken == "gradient ascends" else 1
    after = _step(w, sign * η, broken)
    taken: Any = torch.stack([_step(exact("3/10"), sign * exact(rate), broken) for rate in _RATES])
    one = torch.stack(
        [_step(exact("3/2"), sign * exact(rate), broken) - exact("1/2") for rate in ("62/500", "1/8", "63/500")]
    )
    below, at, above = (float(value.abs()) for value in one)  # from w − ½ = 1, so that these are |multipliers|
    found, λ_max = _edge_of_quadratic(seed, sign * (0.5 if broken == "factor v forgotten" else 1))
    return [
        equal(
            "A step multiplies the distance to the minimum by 1 − 16η",
            after - exact("1/2"),
            (1 - 16 * η) * (w - exact("1/2")),
            "L′ = 16 w_h − 8, the curvature λ is 16",
        ),
        equal(
            "From 0.3 the rates 0.1, 1 and 3 lead to 0.62, 3.5 and 9.9",
            taken,
            exact("31/50 7/2 99/10"),
            "w_new = 0.3 + 3.2η",
        ),
        proved(
            "Descent converges for η < 1/8 and not beyond: |1 − 16η| is below 1 at 0.124, 1 at 0.125, above 1 at 0.126",
            below < 1 and at == 1 and above > 1,
            f"|multiplier| {below:.6g}, {at:.6g}, {above:.6g}",
            "|1 − ηλ| < 1 for 0 < η < 2/λ",
        ),
        agrees(
            "On a quadratic of ten variables the largest usable rate is 2/λ_max, within half a per cent",
            found,
            2 / λ_max,
            0.005 * 2 / λ_max,
            "each eigenvector shrinks by its own 1 − ηλ; the steepest decides",
        ),
        *_trajectories(start),
        Worked("One step with η = 0.1, from w_h = 0.3", show(_unrolled, exact("3/10").requires_grad_(), backward=True)),
    ]


def _edge_of_quadratic(seed: int, factor: float) -> tuple[float, float]:
    """The smallest rate of a grid at which descent on a random quadratic grows, and its steepest curvature."""
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(30, 10, generator=g, dtype=torch.float64)
    H = X.T @ X / 30
    λ_max = float(torch.linalg.eigvalsh(H)[-1])
    rates = 2 / λ_max * torch.linspace(0.5, 1.5, 401, dtype=torch.float64)
    θ = torch.randn(10, generator=g, dtype=torch.float64).expand(len(rates), 10)
    size = θ.norm(dim=-1)
    for _ in range(2000):
        θ = sgd(θ, factor * θ @ H, rates[:, None])
    grows = ~(θ.norm(dim=-1) < size)
    return float(rates[grows.int().argmax()] if bool(grows.any()) else rates[-1]), λ_max


def _trajectories(start: float) -> list[Part]:
    """Paths on the parabola and the error by step, for rates on either side of 1/16 and 1/8."""
    rates = (0.03, 0.0625, 0.1, 0.124, 0.13)
    reach = 2 * abs(start - 0.5) + 0.05
    grid = torch.linspace(0.5 - reach, 0.5 + reach, 41)
    paths = {η: trajectory(lambda w: 16 * w - 8, torch.tensor(start, dtype=torch.float64), η, 12) for η in rates}
    shown: dict[str, tuple[Numbers, Numbers]] = {"L = 8(w − ½)²": (grid.tolist(), (8 * (grid - 0.5) ** 2).tolist())}
    shown |= {f"η = {η:g}": (paths[η][:6].tolist(), (8 * (paths[η][:6] - 0.5) ** 2).tolist()) for η in (0.03, 0.1, 0.13)}
    errors = [Line(f"η = {η:g}", (path - 0.5).abs().clamp(min=1e-9).tolist()) for η, path in paths.items()]
    words = (
        "smooth" if multiplier(η, 16) >= 0 else "alternates, converges" if η < 1 / 8 else "leaves"
        for η in (*rates, 1.0, 3.0)
    )
    rows: list[list[Cell]] = [[η, float(multiplier(η, 16)), word] for η, word in zip((*rates, 1.0, 3.0), words, strict=True)]
    return [
        Scatter("Five steps on the parabola", shown, "w_h", "L"),
        Curves("The error after each step", list(range(13)), errors, "step", "|w_h − ½|", yscale="log"),
        Table("The multiplier 1 − 16η", ["η", "multiplier", "what happens"], rows, f"the edge is at {critical_rate(16):g}"),
    ]


# ------------------------------------------------------------------------------------------------ networks


@study(rows=("F5",), thorough={"width": 24})
def minimum_stability(
    width: Annotated[int, Range(2, 32, "the whole Hessian is computed"), "hidden units"] = 6,
    seed: Seed = 0,
    broken: Literal["", "flattest direction in place of the steepest", "gradient doubled"] = "",
) -> list[Part]:
    """A minimum of a small network holds descent up to the rate 2/λ_max of its Hessian.

    A network is brought to a minimum; from a small step aside, descent with many rates either returns or leaves.
    """
    x = torch.linspace(-1, 1, 12, dtype=torch.float64)[:, None]
    y = torch.sin(3 * x)
    θ, loss = _minimum(x, y, width, seed)
    λ, U = torch.linalg.eigh(hessian(loss, θ))
    which = int((λ > 1e-3 * λ[-1]).int().argmax()) if broken.startswith("flattest") else -1
    λ_max, u = float(λ[-1]), U[:, which]
    rates = 2 / λ_max * torch.linspace(0.5, 1.5, 101, dtype=torch.float64)
    away = θ + 1e-7 * u.expand(len(rates), -1)
    factor = 2.0 if broken == "gradient doubled" else 1.0
    distances = [torch.full_like(rates, 1e-7)]
    for _ in progress(range(100), "descent with many rates"):
        away = sgd(away, factor * _gradient(loss, away), rates[:, None])
        distances.append(((away - θ) @ u).abs())
    grows = ~(distances[-1] < distances[0])
    edge = float(rates[grows.int().argmax()] if bool(grows.any()) else rates[-1])
    paths = torch.stack(distances)[:, [30, 45, 55]].clamp(1e-14, 1e3)
    return [
        agrees(
            "Descent returns to the minimum for rates below 2/λ_max of the Hessian and leaves it above, within 2 %",
            edge,
            2 / λ_max,
            0.02 * 2 / λ_max,
            "linear stability: near a minimum the step multiplies an eigenvector's part by 1 − ηλ",
        ),
        agrees(
            "The part along the steepest eigenvector is multiplied by 1 − ηλ_max a step: −0.6 at the rate 1.6/λ_max",
            -(float((distances[10] / distances[0])[30]) ** 0.1),
            float(1 - rates[30] * λ_max),
            0.02,
            "linear stability",
        ),
        Curves(
            "Distance from the minimum along the steepest direction",
            list(range(101)),
            [Line(f"η = {float(rates[i]) * λ_max:.2f}/λ", paths[:, k].tolist()) for k, i in enumerate((30, 45, 55))],
            "step",
            "distance",
            yscale="log",
        ),
        Curves(
            "Curvatures at the minimum",
            list(range(1, len(λ) + 1)),
            [Line("eigenvalues of the Hessian", λ.flip(0).clamp(min=1e-12).tolist(), points=True)],
            "number",
            "λ",
            yscale="log",
        ),
    ]


def _minimum(x: Tensor, y: Tensor, width: int, seed: int) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """The parameters of a small tanh network at a minimum, and its loss as a function of one or several rows of them."""
    g = torch.Generator().manual_seed(seed)
    sizes = [width, width, width, 1]

    def loss(θ: Tensor) -> Tensor:
        w, b, v, c = (part.unsqueeze(-2) for part in θ.split(sizes, dim=-1))
        error = (torch.tanh(x * w + b) * v).sum(-1, keepdim=True) + c - y
        return (error**2).mean((-2, -1)) / 2 + 1e-3 * (θ**2).sum(-1) / 2

    θ = torch.randn(sum(sizes), generator=g, dtype=torch.float64).requires_grad_()
    search = torch.optim.LBFGS(
        [θ], lr=1, max_iter=2000, tolerance_grad=1e-12, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        search.zero_grad()
        value = loss(θ)
        value.backward()
        return value

    search.step(closure)
    best = θ.detach()
    for _ in range(3):  # Newton's method takes the gradient to rounding
        best = best - torch.linalg.lstsq(hessian(loss, best), _gradient(loss, best)).solution
    return best, loss


def _gradient(loss: Callable[[Tensor], Tensor], θ: Tensor) -> Tensor:
    """∇L of each row of parameters."""
    θ = θ.detach().requires_grad_()
    return torch.autograd.grad(loss(θ).sum(), θ)[0]


@study(rows=("F5",), thorough={"steps": 6000, "width": 32}, trains=True)
def edge_of_stability(
    rate: Annotated[float, Range(0.1, 0.4, "smaller ones need more steps, larger ones leave"), "learning rate η"] = 0.2,
    steps: Annotated[int, Range(500, 20_000, "the sharpness needs time to rise")] = 2500,
    width: Annotated[int, Range(8, 64, "small networks, many steps"), "hidden units"] = 24,
    seed: Seed = 0,
    broken: Literal["", "last layer alone trained"] = "",
) -> list[Part]:
    """Full-batch descent on a network sharpens its loss up to 2/η and stays at that edge.

    Seven tanh networks with two hidden layers fit a Chebyshev polynomial at twenty points. With the last layer alone trained
    the loss is a quadratic: its curvature stays what it was.
    """
    g = torch.Generator().manual_seed(seed)
    x = torch.linspace(-1, 1, 20, dtype=torch.float64)[:, None]
    y = 8 * x**4 - 8 * x**2 + 1
    networks = BatchedNetworks(7, [1, width, width, 1], g)
    trained = networks.parameters[-2:] if broken else networks.parameters

    def losses() -> Tensor:
        return networks.squared_losses(x, y)

    every = max(1, steps // 25)
    seen, sharp, fitted = [], [], []
    for step in progress(range(steps + 1), "descent with the whole batch"):
        if step % every == 0:
            seen.append(step)
            sharp.append(networks.sharpness(losses, trained, g))
            fitted.append(losses().detach())
        slopes = torch.autograd.grad(losses().sum(), trained)
        with torch.no_grad():
            for p, slope in zip(trained, slopes, strict=True):
                p.copy_(sgd(p, slope, rate))
    λ = torch.stack(sharp) * rate / 2
    late = λ[-6:].mean(0)
    loss = torch.stack(fitted)
    return [
        most_trials(
            "The sharpness comes to 2/η: the mean of the last fifth lies within a quarter of it",
            (0.25 - (late - 1).abs()).tolist(),
            what="0.25 − |ηλ/2 − 1|",
            reference="edge of stability (Cohen et al. 2021)",
        ),
        most_trials(
            "On the way it rises, by at least a half of what it was",
            (late / λ[0] - 1.5).tolist(),
            what="λ at the end over λ at the start, − 1.5",
            reference="progressive sharpening (Cohen et al. 2021)",
        ),
        Curves(
            "The sharpness rises to 2/η and stays there",
            seen,
            [
                Line(
                    "ηλ/2, median of 7 networks",
                    λ.median(1).values.tolist(),
                    λ.min(1).values.tolist(),
                    λ.max(1).values.tolist(),
                ),
                Line("the edge", [1.0] * len(seen), dashed=True),
            ],
            "step",
            "ηλ/2",
            claimed=(0.75, 1.25),
        ),
        Curves(
            "The loss falls all the same",
            seen,
            [Line("median of 7", loss.median(1).values.tolist(), loss.min(1).values.tolist(), loss.max(1).values.tolist())],
            "step",
            "loss",
            yscale="log",
        ),
        Table(
            "Seven networks",
            ["network", "ηλ/2 at the start", "at the end", "loss at the end"],
            [[i + 1, float(λ[0, i]), float(late[i]), float(loss[-1, i])] for i in range(7)],
        ),
    ]

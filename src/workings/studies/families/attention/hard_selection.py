r"""Five ways to select one value, the gradient that each gives to the scores, and what argmax blocks in a decoder.

    argmax               a constant in pieces: no gradient
    softmax, large β     J = β (diag(p) − ppᵀ), ‖J‖ ≤ 2β (1 − p_max): fades as β grows
    Gumbel-softmax       softmax((s + g)/T): picks i with probability softmax(s)_i as T → 0, and has a gradient
    straight-through     argmax forward, the gradient of softmax backward
    identity layer       y = x Iᵀ: in a fully connected net, passes one value on; there are no scores

`workings.nn.transformer.hard` has them; `workings.course.dedupe` is the decoder.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from workings.course.dedupe import DedupeDecoder, answer_loss
from workings.course.dedupe_task import example
from workings.nn.temperature import softmax, softmax_jacobian
from workings.nn.transformer.hard import (
    argmax_weights,
    gumbel_noise,
    pass_through,
    score_gradient,
    straight_through,
)
from workings.studies.claim import Bounds
from workings.studies.decide.proof import agrees, compared, proved
from workings.studies.decide.sequential import measured
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text, Worked
from workings.studies.pictures.kinds import Bars, Curves, Line

_Select = Callable[[Tensor], Tensor]


@study(rows=("A14",), thorough={"samples": 2_000_000})
def five_ways(
    beta: Annotated[float, Range(20, 1000, "a smaller β does not select"), "the large β"] = 60.0,
    cold: Annotated[float, Range(0.001, 0.05, "a warmer draw is not hard"), "temperature of the hard Gumbel draws"] = 0.01,
    samples: Annotated[int, Range(10_000, 10_000_000, "fewer decide nothing"), "Gumbel draws at most"] = 200_000,
    seed: Seed = 0,
    broken: Literal["", "temperature 1 everywhere", "normal noise for Gumbel's", "no surrogate gradient"] = "",
) -> list[Part]:
    """Five ways to select one value agree forward, and differ in the gradient that they give to the scores.

    Plain argmax gives none, a softmax with a large β hardly any, the straight-through estimator that of softmax, and
    Gumbel-softmax that of a random draw. An identity layer passes a value on without any scores.
    """
    g = torch.Generator().manual_seed(seed)
    s = torch.tensor([0.5, 2.0, 1.0, -1.0], dtype=torch.float64)
    V = torch.randn(4, 3, generator=g, dtype=torch.float64)
    v, G = V[s.argmax()], V @ torch.ones(3, dtype=torch.float64)  # the loss is the sum of h, so ∂L/∂a = V 1
    soft = broken == "temperature 1 everywhere"

    def noise(like: Tensor) -> Tensor:
        return (
            torch.randn(like.shape, generator=g).to(like) if broken == "normal noise for Gumbel's" else gumbel_noise(like, g)
        )

    def gumbel(s: Tensor, T: float) -> Tensor:
        return softmax(s + noise(s), T=1.0 if soft else T)

    def warm(s: Tensor) -> Tensor:
        return argmax_weights(s + noise(s)) if broken == "no surrogate gradient" else gumbel(s, 1.0)

    def gradient_at(β: float) -> float:
        return float(score_gradient(lambda s: softmax(s, beta=1.0 if soft else β), s, G).norm())

    ways: dict[str, _Select] = {
        "argmax": softmax if soft else argmax_weights,
        "softmax, large β": lambda s: softmax(s, beta=1.0 if soft else beta),
        "straight-through": softmax if soft else argmax_weights if broken == "no surrogate gradient" else straight_through,
    }
    passed = v @ torch.eye(3, dtype=v.dtype).softmax(-1) if soft else pass_through(v)
    gradients = {name: score_gradient(way, s, G) for name, way in ways.items()}
    of_softmax = softmax_jacobian(s) @ G
    draws = gumbel(s.expand(2000, -1), cold)
    claims = [
        compared(
            "Forward they agree: argmax, a large β, straight-through and the identity layer all give the best value",
            max(float((h - v).abs().max()) for h in (*(way(s) @ V for way in ways.values()), passed)),
            Bounds(high=1e-6),
            "largest difference from it",
            reference="softmax tends to argmax; 1 − p_max ≤ (m − 1)e^(−βΔ)",
        ),
        proved(
            "Plain argmax gives no gradient to the scores",
            not bool(gradients["argmax"].any()),
            f"gradient {_few(gradients['argmax'])}",
            "constant in pieces",
        ),
        compared(
            "The straight-through estimator gives the gradient of softmax",
            float((gradients["straight-through"] - of_softmax).abs().max()),
            Bounds(high=1e-12),
            "largest difference",
            reference="Jᵀ ∂L/∂a with J = diag(p) − ppᵀ",
        ),
        compared(
            "The gradient of a softmax with a large β fades: twice the β divides it by more than ten",
            gradient_at(beta) / gradient_at(beta / 2),
            Bounds(high=0.1),
            "ratio of the norms",
            reference="‖J‖ ≤ 2β(1 − p_max) ≤ 2β(m − 1)e^(−βΔ)",
        ),
        measured(
            "A cold Gumbel-softmax picks a key: its largest weight is above 0.98 on average",
            lambda n: gumbel(s.expand(n, -1), cold).amax(-1).clamp(0, 1),
            Bounds(low=0.98),
            what="mean of the largest weight",
            bounds=(0, 1),
            most=samples,
            reference="T → 0",
        ),
        measured(
            "It picks the best key as often as softmax says, within 0.02: P = softmax(s)",
            lambda n: (gumbel(s.expand(n, -1), cold).argmax(-1) == 1).double(),
            Bounds(float(softmax(s)[1]) - 0.02, float(softmax(s)[1]) + 0.02),
            what="share",
            bounds=(0, 1),
            most=samples,
            reference="the Gumbel-max theorem",
        ),
        measured(
            "And it gives a gradient: at T = 1 the mean norm is at least a tenth of that of softmax",
            lambda n: score_gradient(warm, s.expand(n, -1), G.expand(n, -1)).norm(dim=-1),
            Bounds(low=0.1 * float(of_softmax.norm())),
            what="mean norm",
            most=samples,
            batch=2_000,
            reference="reparameterised gradient",
        ),
    ]
    if broken:
        return [*claims]
    by_gumbel = score_gradient(warm, s.expand(200, -1), G.expand(200, -1)).mean(0)
    gradients |= {"Gumbel-softmax, T = 1, mean of 200": by_gumbel, "softmax, β = 1": of_softmax}
    weights = {name: way(s) for name, way in ways.items()} | {
        "Gumbel-softmax, one cold draw": draws[0],
        "softmax, β = 1": softmax(s),
    }
    betas = [2 ** (k / 4) for k in range(20)]
    return [
        *claims,
        Table(
            "Weights of the scores 0.5, 2, 1, −1",
            ["way", "0.5", "2", "1", "−1"],
            [[name, *a.tolist()] for name, a in weights.items()],
        ),
        Table(
            "Gradient of L = Σ h to the scores",
            ["way", "0.5", "2", "1", "−1"],
            [*([name, *a.tolist()] for name, a in gradients.items()), ["identity layer", None, None, None, None]],
            "the identity layer has no scores; its gradient to the value is 1",
        ),
        Bars(
            "The gradient that each way gives",
            ["0.5", "2", "1", "−1"],
            {n: a.tolist() for n, a in gradients.items()},
            "∂L/∂s",
        ),
        Curves(
            "A larger β selects more and teaches less",
            betas,
            [
                Line("1 − largest weight", [float(1 - softmax(s, beta=β).max()) for β in betas]),
                Line("norm of the gradient", [float((softmax_jacobian(s, beta=β) @ G).norm()) for β in betas]),
                Line(
                    "2β(m − 1)e^(−βΔ)‖∂L/∂a‖",
                    [float(6 * β * (-torch.tensor(β)).exp() * G.norm()) for β in betas],
                    dashed=True,
                ),
            ],
            xlabel="β",
            xscale="log",
            yscale="log",
        ),
        Worked("Straight-through: argmax forward, softmax backward", _show_straight_through()),
    ]


def _few(x: Tensor) -> str:
    return ", ".join(f"{one:.4g}" for one in x.tolist())


def _show_straight_through() -> Any:
    from workings import show

    return show(straight_through, torch.tensor([1.0, 2.0, 3.0], requires_grad=True), backward=True)


_MATRICES = ("W_Q", "W_K", "W_V", "W_O", "E")


@study(rows=("C13",))
def argmax_gradient(
    prompt: Annotated[str, "letters A to D"] = "DAA",
    steps: Annotated[int, Range(50, 2000, "the loss needs some steps to fall"), "steps of gradient descent on W_V"] = 200,
    rate: Annotated[float, Range(0.01, 0.3, "larger steps overshoot"), "learning rate"] = 0.1,
    seed: Seed = 0,
    broken: Literal["", "softmax for argmax", "argmax for softmax", "queries in place of values"] = "",
) -> list[Part]:
    """Argmax attention blocks the gradient to queries and keys only; values, output and embedding still learn.

    The decoder of the dedupe-and-sort problem, Z = P X W_V with P constant in pieces: the loss is smooth in W_V and W_O,
    flat in W_Q and W_K, and jumps in E, where ties break. A softmax with T = √d has a gradient for all five.
    """
    tokens = example(prompt)
    T = sqrt(2)
    hard = DedupeDecoder(T if broken == "softmax for argmax" else 0.0)
    soft = DedupeDecoder(0.0 if broken == "argmax for softmax" else T)
    learned = "W_Q" if broken == "queries in place of values" else "W_V"
    by_hard, by_soft = _gradients(hard, tokens), _gradients(soft, tokens)
    differences = {name: _finite_difference(hard, tokens, name) for name in _MATRICES[:4]}
    flat = max(float(differences[name].abs().max()) for name in ("W_Q", "W_K"))
    losses = _train(hard, tokens, [learned], rate, steps)
    claims = [
        proved(
            "With argmax no gradient reaches W_Q and W_K, and no small step on them changes the loss",
            by_hard["W_Q"] == by_hard["W_K"] == flat == 0,
            f"gradient norms {by_hard['W_Q']:g} and {by_hard['W_K']:g}; finite differences at most {flat:.2g}",
            "P is constant in pieces",
        ),
        compared(
            "But W_V and W_O get theirs: finite differences find gradients there, of norms above 0.1",
            min(float(differences[name].norm()) for name in (learned, "W_O")),
            Bounds(low=0.1),
            f"autograd has {by_hard[learned]:.4g} and {by_hard['W_O']:.4g}; the smaller norm is",
            reference="Z = P X W_V is linear in W_V",
        ),
        compared(
            "A softmax with T = √d gives a gradient to all five matrices",
            min(by_soft.values()),
            Bounds(low=1e-3),
            "smallest norm",
            reference="J = (diag(p) − ppᵀ)/T is not 0",
        ),
        compared(
            "W_V alone learns through argmax: gradient descent on it halves the loss",
            losses[-1] / losses[0],
            Bounds(high=0.5),
            f"loss from {losses[0]:.5f} to {losses[-1]:.5f}, ratio",
            reference="the loss is convex in W_V",
        ),
    ]
    if prompt == "DAA" and steps == 200 and rate == 0.1:
        claims.append(
            agrees(
                "For the prompt D A A, 200 steps of size 0.1 bring the loss from 8.79726 to 3.54055",
                losses[-1],
                3.54055,
                1e-5,
                "computed independently",
            )
        )
    if broken:
        return [*claims]
    both = _train(DedupeDecoder(T), tokens, ["W_Q", "W_K", "W_V"], rate, steps)
    norms = {"argmax": by_hard, f"softmax, T = √2 = {T:.3f}": by_soft}
    every = range(0, steps + 1, max(1, steps // 50))
    return [
        *claims,
        Text(
            "With argmax the gradient that autograd gives to E is not the whole truth: moving E breaks ties between equal "
            "scores, and the loss jumps there."
        ),
        Table(
            "Norm of the gradient of the loss",
            ["attention", *_MATRICES],
            [[name, *(found[one] for one in _MATRICES)] for name, found in norms.items()],
        ),
        Bars(
            "What argmax blocks",
            _MATRICES,
            {name: [found[one] for one in _MATRICES] for name, found in norms.items()},
            ylabel="norm of the gradient",
            yscale="log",
        ),
        Curves(
            "Training through argmax (W_V) and through softmax (W_Q, W_K, W_V)",
            [*every],
            [Line("argmax, W_V", [losses[k] for k in every]), Line("softmax, W_Q W_K W_V", [both[k] for k in every])],
            xlabel="step",
            ylabel="loss",
        ),
    ]


def _gradients(model: DedupeDecoder, tokens: Tensor) -> dict[str, float]:
    """The norm of the gradient to each matrix; 0 where none comes."""
    weights = [getattr(model, name) for name in _MATRICES]
    found = torch.autograd.grad(answer_loss(model(tokens), tokens), weights, allow_unused=True)
    return {name: 0.0 if g is None else float(g.norm()) for name, g in zip(_MATRICES, found, strict=True)}


def _train(model: DedupeDecoder, tokens: Tensor, names: list[str], rate: float, steps: int) -> list[float]:
    """Plain gradient descent on the named matrices, as PyTorch does it; one without a gradient stays as it is."""
    optimizer = torch.optim.SGD([getattr(model, name) for name in names], lr=rate)
    losses = []
    for _ in range(steps):
        L = answer_loss(model(tokens), tokens)
        losses.append(L.item())
        optimizer.zero_grad()
        L.backward()
        optimizer.step()
    return [*losses, answer_loss(model(tokens), tokens).item()]


def _finite_difference(model: DedupeDecoder, tokens: Tensor, name: str, h: float = 1e-5) -> Tensor:
    """Central differences of the loss by each entry of a matrix."""
    W = getattr(model, name).detach()
    found = torch.zeros_like(W)
    for i in range(W.numel()):
        at = torch.zeros_like(W)
        at.view(-1)[i] = h
        W += at
        above = answer_loss(model(tokens), tokens)
        W -= 2 * at
        found.view(-1)[i] = (above - answer_loss(model(tokens), tokens)).detach() / (2 * h)
        W += at
    return found

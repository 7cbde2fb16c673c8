"""The other four items of the exam: latent spaces, a recurrent net of two steps, what runs in parallel, several heads."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from workings.course.scalar_rnn import bptt
from workings.nn.transformer.dot_product import attention, attention_weights
from workings.studies.definition import Seed, study
from workings.studies.families.exam.exam import Option, decided
from workings.studies.parts import Part

_D, _H = 8, 4
"""Width of the model and number of heads."""


def _normal(g: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=g, dtype=torch.float64)


# ------------------------------------------------------------------------------------------------- latent spaces


@study(rows=("L2", "J1"))
def exam_latent(
    seed: Seed = 0,
    broken: Literal["", "a code as wide as the input", "a code rounded to its signs", "a code drawn anew each time"] = "",
) -> list[Part]:
    """Exam, the latent space of an auto-encoder: which of four descriptions is right.

    The auto-encoder is the best linear one, by principal components, of 60 inputs of width 6.
    """
    g = torch.Generator().manual_seed(seed)
    X = _normal(g, 60, 6) * torch.tensor([3.0, 2.0, 0.5, 0.3, 0.2, 0.1]).double()
    X = X - X.mean(dim=0)
    width = 6 if broken == "a code as wide as the input" else 2
    D = torch.linalg.svd(X).Vh[:width]

    def code(x: Tensor) -> Tensor:
        z = x @ D.T
        if broken == "a code drawn anew each time":
            z = z + 0.1 * _normal(g, *z.shape)
        return torch.sign(z) if broken == "a code rounded to its signs" else z

    Z = code(X)
    kept = 1 - float((X - Z @ D).square().sum() / X.square().sum())
    distinct, again = len(torch.unique(Z, dim=0)), bool((code(X) == Z).all())
    sizes = f"{width} numbers for {X.shape[1]}, {100 * kept:.0f} % of the variance kept"
    return decided(
        [
            Option(
                "A compressed representation: fewer numbers, from which the input is rebuilt",
                True,
                width < 6 and kept > 0.8,
                sizes,
            ),
            Option("A copy of the input, number for number", False, width == 6 and kept > 0.999, sizes),
            Option("A finite set of classes", False, distinct <= 4, f"{distinct} different codes of 60 inputs"),
            Option(
                "A random vector: the same input has another code each time",
                False,
                not again,
                "encoded twice, the codes are " + ("the same" if again else "different"),
            ),
        ],
        "z = encoder(x), x̂ = decoder(z), width of z below that of x",
    )


# ---------------------------------------------------------------------------------------------- recurrent net


@study(rows=("L2", "E5"))
def exam_rnn(
    seed: Seed = 0, broken: Literal["", "the input's weight is learned", "ascent", "g is the identity"] = ""
) -> list[Part]:
    """Exam, h_t = g(w h_{t−1} + a x_t) over two steps, L = ½(h₂ − y)²: which change of w is a step of descent."""
    name = "identity" if broken == "g is the identity" else "tanh"
    w, a, x = torch.tensor(0.7).double(), torch.tensor(0.4).double(), torch.tensor([1.3, -0.5]).double()
    y, η = 0.2, 0.1
    found = bptt(w, a, x, y, name)
    g = torch.tanh if name == "tanh" else torch.nn.Identity()

    def loss(w: Tensor, a: Tensor) -> Tensor:
        return (g(w * g(a * x[0]) + a * x[1]) - y) ** 2 / 2

    leaf = (a if broken == "the input's weight is learned" else w).clone().requires_grad_()
    L = loss(w, leaf) if broken == "the input's weight is learned" else loss(leaf, a)
    sign = 1 if broken == "ascent" else -1
    step = sign * η * float(torch.autograd.grad(L, leaf)[0])
    error, h_1 = found.h[2] - y, found.h[1]
    slope = found.delta[1] / error  # g′(z₂)
    by_a = found.delta[1] * x[1] + found.delta[0] * x[0]
    changes = {
        "−η (h₂ − y) g′(z₂) h₁": (-η * error * slope * h_1, "∂L/∂w, for h₀ = 0 leaves only the second step"),
        "−η (h₂ − y) g′(z₂) (x₂ + w g′(z₁) x₁)": (-η * by_a, "that is −η ∂L/∂a, the step of the other weight"),
        "+η (h₂ − y) g′(z₂) h₁": (η * error * slope * h_1, "that climbs"),
        "−η (h₂ − y) h₁": (-η * error * h_1, "that leaves out g′(z₂), right only where g′ is 1"),
    }
    first = next(iter(changes))
    return decided(
        [
            Option(
                rule, rule == first, abs(float(change) - step) < 1e-12, f"{float(change):+.7f}, autograd {step:+.7f}; {why}"
            )
            for rule, (change, why) in changes.items()
        ],
        "back-propagation through time",
    )


# ------------------------------------------------------------------------------------------- what runs in parallel


@study(rows=("L2", "C2"))
def exam_parallel(
    seed: Seed = 0, broken: Literal["", "no causal mask", "no step depends on the one before"] = ""
) -> list[Part]:
    """Exam, what can be computed for all positions at once: which of four statements is true.

    Each is decided by computing both ways: at once, where all that is not yet known is left out, and one after the other.
    """
    g = torch.Generator().manual_seed(seed)
    alone = broken == "no step depends on the one before"
    X, E, positions = _normal(g, 6, _D), _normal(g, 12, _D), _normal(g, 10, _D)
    at_once = attention(X, X, X, causal=broken != "no causal mask")
    in_turn = torch.stack([attention(X[t : t + 1], X[: t + 1], X[: t + 1])[0] for t in range(len(X))])
    w = 0.0 if alone else 0.8
    states, h = [], torch.zeros(_D, dtype=torch.float64)
    for x in X:
        h = torch.tanh(w * h + x)
        states.append(h)
    trained = float((at_once - in_turn).abs().amax())
    state = float((torch.tanh(X) - torch.stack(states)).abs().amax())
    written, spoken = (_written(kind, X, E, positions, alone) for kind in ("attention", "recurrent"))
    return decided(
        [
            Option(
                "In training a decoder Transformer predicts all positions in one pass",
                True,
                trained < 1e-9,
                f"one pass and one position after the other differ by {trained:.2g}",
            ),
            Option(
                "In training a recurrent net computes all its states at once",
                False,
                state < 1e-9,
                f"states without the ones before differ by {state:.2g}",
            ),
            Option(
                "When it writes, a Transformer computes all new tokens in one pass",
                False,
                written < 1e-9,
                f"one pass and token by token differ by {written:.2g}",
            ),
            Option(
                "When it writes, a recurrent net computes all new tokens in one pass",
                False,
                spoken < 1e-9,
                f"one pass and token by token differ by {spoken:.2g}",
            ),
        ],
        "teacher forcing gives all inputs in advance; writing does not",
    )


def _written(kind: str, prompt: Tensor, E: Tensor, positions: Tensor, alone: bool) -> float:
    """How far four new outputs, all at once with blanks for unknown tokens, are from those written one after the other."""
    blank = torch.zeros(4, prompt.shape[1], dtype=torch.float64)

    def outputs(new: Tensor) -> Tensor:
        seen = blank if alone else new
        if kind == "attention":
            X = torch.cat([prompt, seen]) + positions
            keys = prompt if alone else X
            return attention(X[-4:], keys, keys) if alone else attention(X, X, X, causal=True)[-4:]
        h, states = prompt.mean(dim=0), []
        for x in seen:
            h = torch.tanh((0.0 if alone else 0.8) * h + x + 0.1)
            states.append(h)
        return torch.stack(states)

    new = blank.clone()
    for t in range(3):
        token = (outputs(new)[t] @ E.T).argmax()
        new[t + 1] = E[token]
    once = outputs(blank)
    return float((once - outputs(new)).abs().amax())


# ------------------------------------------------------------------------------------------- multi-head attention


@study(rows=("L2", "B1"))
def exam_heads(
    seed: Seed = 0,
    broken: Literal[
        "", "heads share their projections", "each head reads the one before", "outputs averaged", "heads of full width"
    ] = "",
) -> list[Part]:
    """Exam, multi-head attention: which of four statements is not one of its features."""
    g = torch.Generator().manual_seed(seed)
    X = _normal(g, 5, _D)
    width = _D if broken == "heads of full width" else _D // _H
    heads = [tuple(_normal(g, _D, width) for _ in range(3)) for _ in range(_H)]
    if broken == "heads share their projections":
        heads = [heads[0]] * _H
    W_O = _normal(g, _H * width, _D)

    def computed(order: list[int]) -> list[Tensor]:
        Z: dict[int, Tensor] = {}
        x = X
        for i in order:
            W_Q, W_K, W_V = heads[i]
            Z[i] = attention(x @ W_Q, x @ W_K, x @ W_V)
            if broken == "each head reads the one before":
                x = x + Z[i] @ W_V.T
        return [Z[i] for i in range(_H)]

    Z, backwards = computed([0, 1, 2, 3]), computed([3, 2, 1, 0])
    maps = [attention_weights(X @ W_Q, X @ W_K) for W_Q, W_K, _ in heads]
    apart = float((maps[0] - maps[1]).abs().amax())
    order = max(float((a - b).abs().amax()) for a, b in zip(Z, backwards, strict=True))
    mixed = torch.stack(Z).mean(dim=0) @ W_O[:width] if broken == "outputs averaged" else torch.cat(Z, dim=-1) @ W_O
    parts = sum(z @ W for z, W in zip(Z, W_O.split(width), strict=True))
    off = float((mixed - parts).abs().amax())
    numbers, single = sum(W.numel() for head in heads for W in head) + W_O.numel(), 4 * _D * _D
    return decided(
        [
            Option(
                "Each head has projections of its own, so that heads weigh tokens differently",
                True,
                apart > 1e-6,
                f"the maps of two heads differ by {apart:.2g}",
            ),
            Option(
                "No head waits for another: they can run in any order, or at once",
                True,
                order < 1e-9,
                f"forwards and backwards differ by {order:.2g}",
            ),
            Option(
                "The heads' outputs stand side by side and are mixed by W_O, which is Σ Z_i W_Oi",
                True,
                off < 1e-9,
                f"[Z₁ … Z_h] W_O and Σ Z_i W_Oi differ by {off:.2g}",
            ),
            Option(
                "h heads have h times the parameters of one head of full width",
                False,
                numbers == _H * single,
                f"{numbers} for {_H} heads, {single} for one",
            ),
        ],
        "d_k = d/h: 4d² for every h",
    )

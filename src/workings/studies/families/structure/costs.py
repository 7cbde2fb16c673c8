r"""What layers cost: operations, steps that wait for one another, passes of a model.

    attention proper    S = Q Kᵀ, Z = A V: 2 n² d multiplications, one after the other in 2 products
    recurrence          W_x x_t + W_h h_{t−1}: 2 n d², in n products, each waiting for the one before
    projections         W_Q, W_K, W_V, W_O: 4 n d² more for an attention layer
    window of w         2 n w d in place of 2 n² d

So attention proper is the cheaper one exactly when n < d; with its projections a layer of attention never is. Operations are
counted while PyTorch runs them; steps are the longest chain of matrix products in the graph that autograd keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from workings.course.counts import attention_cost, recurrent_cost
from workings.equations.recurrent import rnn
from workings.equations.transformer import attention
from workings.nn.transformer.dot_product import attention_weights
from workings.nn.transformer.local import local_attention
from workings.nn.transformer.masks import window_mask
from workings.studies.claim import Bounds
from workings.studies.decide.proof import compared, proved
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text
from workings.studies.pictures.kinds import Curves, Heatmap, Line
from workings.studies.running.progress import progress

_PRODUCTS = ("MmBackward0", "BmmBackward0", "AddmmBackward0", "MvBackward0")


def _multiplications(run: Callable[[], Any]) -> int:
    """The multiplications of all matrix products of a computation, counted as PyTorch runs them."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops() // 2  # a multiplication and an addition each


def _longest_chain(out: Tensor) -> int:
    """The most matrix products that wait for one another on the way to `out`."""
    depth: dict[Any, int] = {}
    waiting = [(out.grad_fn, False)]
    while waiting:
        node, seen = waiting.pop()
        if node is None or node in depth:
            continue
        before = [child for child, _ in node.next_functions if child is not None]
        if seen:
            depth[node] = max((depth[child] for child in before), default=0) + (type(node).__name__ in _PRODUCTS)
        else:
            waiting += [(node, True), *((child, False) for child in before)]
    return depth[out.grad_fn]


class _Layers:
    """A layer of attention and a recurrent one on the same n tokens of width d."""

    def __init__(self, n: int, d: int, g: torch.Generator, broken: str = "") -> None:
        self.X = torch.randn(n, d, generator=g).requires_grad_()
        self.W = [torch.randn(d, d, generator=g) / d**0.5 for _ in range(2)]
        self.broken = broken

    def attend(self) -> Tensor:
        """Attention proper; broken, each query waits for the answer before it."""
        if self.broken == "attention one query after another":
            rows: list[Tensor] = []
            for x in self.X.unbind():
                q = (x if not rows else x + rows[-1][0]) @ self.W[0]
                rows.append(attention(q[None], self.X, self.X))
            return torch.cat(rows)
        return attention(self.X, self.X, self.X)

    def recur(self) -> Tensor:
        """A tanh recurrence; broken, its state is not handed on."""
        h = self.X.new_zeros(self.X.shape[-1])
        if self.broken == "state not handed on":
            return torch.tanh(self.X @ self.W[0].T)
        return rnn(self.X, h, (self.W[0], self.W[1], None, None))[0]


@study(rows=("C1",), thorough={"width": 96})
def layer_costs(
    width: Annotated[int, Range(8, 256, "wider ones take long to count"), "width d"] = 24,
    seed: Seed = 0,
    broken: Literal["", "attention one query after another", "state not handed on"] = "",
) -> list[Part]:
    """Attention proper takes n²d operations in a constant number of steps, a recurrence nd² in n steps: they cross at n = d.

    Operations and steps are counted; the seconds in the last picture are of this machine, and no claim rests on them.
    """
    d = width
    g = torch.Generator().manual_seed(seed)
    lengths = [d // 2, d - 1, d, d + 1, 2 * d]
    attend, recur, steps_a, steps_r = [], [], [], []
    for n in progress(lengths, "layers of many lengths"):
        layers = _Layers(n, d, g, broken)
        attend.append(_multiplications(layers.attend))
        recur.append(_multiplications(layers.recur))
        steps_a.append(_longest_chain(layers.attend()))
        steps_r.append(_longest_chain(layers.recur()))
    laws = [(2 * attention_cost(n, d).operations, 2 * recurrent_cost(n, d).operations) for n in lengths]
    cheaper = [a < r for a, r in zip(attend, recur, strict=True)]
    known = [(attention_cost(n, 512).operations, recurrent_cost(n, 512).operations) for n in (50, 512, 4096)]
    return [
        proved(
            "The two products of attention take 2n²d multiplications",
            attend == [law for law, _ in laws],
            f"n = {lengths}, d = {d}: counted {attend}",
            "Vaswani et al. 2017, table 1, which leaves the factor out",
        ),
        proved(
            "A recurrence takes 2nd² multiplications",
            recur == [law for _, law in laws],
            f"counted {recur}",
            "Vaswani et al. 2017, table 1",
        ),
        proved(
            "Attention proper is cheaper exactly when n < d",
            cheaper == [n < d for n in lengths] and attend[lengths.index(d)] == recur[lengths.index(d)],
            f"cheaper for n = {[n for n, yes in zip(lengths, cheaper, strict=True) if yes]}, as much at n = d = {d}",
            "n²d < nd² iff n < d",
        ),
        proved(
            "In attention 2 products wait for one another, whatever n; in a recurrence n",
            steps_a == [2] * len(lengths)
            and [s >= n for s, n in zip(steps_r, lengths, strict=True)] == [True] * len(lengths),
            f"longest chains: attention {steps_a}, recurrence {steps_r}",
            "h_t needs h_{t−1}; Z = softmax(Q Kᵀ) V does not need another row of Z",
        ),
        Curves(
            f"Operations against length, d = {d}",
            lengths,
            [
                Line("attention proper", attend),
                Line("recurrence", recur),
                Line("attention with its projections", [a + 4 * n * d * d for a, n in zip(attend, lengths, strict=True)]),
            ],
            "tokens n",
            "multiplications",
            xscale="log",
            yscale="log",
            marks=[(d, "n = d")],
        ),
        _seconds(d, g),
        _reach(g),
        Table(
            "Leading terms for d = 512",
            ["n", "attention n²d", "recurrence nd²"],
            [[n, a, r] for n, (a, r) in zip((50, 512, 4096), known, strict=True)],
        ),
        Text(
            "A layer of attention also projects to queries, keys, values and back, 4nd² multiplications: with them it "
            "does more work than a recurrence at every length. What it saves is waiting, not work."
        ),
    ]


def _seconds(d: int, g: torch.Generator) -> Part:
    """Seconds of both layers by length, the best of three runs."""
    lengths = [d // 2, d, 2 * d, 4 * d]
    found: dict[str, list[float]] = {"attention": [], "recurrence": []}
    for n in lengths:
        layers = _Layers(n, d, g)
        for name, run in (("attention", layers.attend), ("recurrence", layers.recur)):
            times = []
            for _ in range(3):
                began = perf_counter()
                with torch.no_grad():
                    run()
                times.append(perf_counter() - began)
            found[name].append(1e3 * min(times))
    lines = [Line(name, values) for name, values in found.items()]
    note = "of this machine, with what else it did; no claim rests on them"
    return Curves("Milliseconds against length", lengths, lines, "tokens n", "ms", xscale="log", yscale="log", note=note)


def _reach(g: torch.Generator) -> Part:
    """How much the last output depends on each token, by distance."""
    layers = _Layers(40, 16, g)
    lines = []
    for name, run in (("attention", layers.attend), ("recurrence", layers.recur)):
        (slope,) = torch.autograd.grad(run()[-1].sum(), layers.X)
        lines.append(Line(name, slope.norm(dim=-1).flip(0).clamp(min=1e-12).tolist()))
    return Curves(
        "How much the last output depends on a token",
        list(range(40)),
        lines,
        "places back",
        "length of the gradient",
        yscale="log",
    )


# ------------------------------------------------------------------------------------------------ windows


@study(rows=("B16",))
def local_window(
    window: Annotated[int, Range(3, 31, "an odd number of keys, the query's own in the middle"), "width w"] = 5,
    tokens: Annotated[int, Range(8, 256, "a window on few tokens sees all"), "tokens n"] = 48,
    seed: Seed = 0,
    broken: Literal["", "window one place too wide", "half the reach", "all scores computed"] = "",
) -> list[Part]:
    """A window of w keys leaves nothing outside it, costs n·w in place of n², and is full attention when it covers all.

    Banded attention that computes the scores in reach alone, held against masked attention.
    """
    g = torch.Generator().manual_seed(seed)
    w = window + 1 - window % 2
    Q, K, V = (torch.randn(tokens, 8, generator=g, dtype=torch.float64) for _ in range(3))
    taken = {"window one place too wide": lambda w: w + 2, "half the reach": lambda w: w // 2}.get(broken, lambda w: w)
    A = attention_weights(Q, K, window_mask(tokens, taken(w)))
    far = ~window_mask(tokens, w)

    def local(n: int, width: int) -> Tensor:
        if broken == "all scores computed":
            return attention(Q[:n], K[:n], V[:n], mask=window_mask(n, width))
        return local_attention(Q[:n], K[:n], V[:n], taken(width))

    masked = attention(Q, K, V, mask=window_mask(tokens, w))
    half = tokens // 2
    counts = {n: _multiplications(lambda n=n: local(n, w)) for n in (half, 2 * half)}  # type: ignore[misc]
    whole = {n: _multiplications(lambda n=n: attention(Q[:n], K[:n], V[:n])) for n in (half, 2 * half)}  # type: ignore[misc]
    widths = [2 * k + 1 for k in range(0, min(tokens, 40), 3)]
    full = attention(Q, K, V)
    apart = [float((local_attention(Q, K, V, each) - full).norm() / full.norm()) for each in widths]
    cover = local(tokens, 2 * tokens - 1)
    return [
        compared("Outside the window every weight is exactly 0", float(A[far].max()), Bounds(high=0), "largest", "e^−∞ = 0"),
        compared(
            "Computing the scores in reach alone gives what masked attention gives",
            float((local(tokens, w) - masked).abs().max()),
            Bounds(high=1e-12),
            "largest difference",
            "masked scores have weight 0",
        ),
        proved(
            "It takes 2nwd multiplications, so twice the tokens cost twice as much; full attention four times",
            counts == {n: 2 * n * w * 8 for n in (half, 2 * half)} and whole[2 * half] == 4 * whole[half],
            f"n = {half}, {2 * half}: window {[*counts.values()]}, full {[*whole.values()]}",
            "n queries with w keys each",
        ),
        compared(
            "A window that reaches all keys, w ≥ 2n − 1, is full attention",
            float((cover - full).abs().max()),
            Bounds(high=1e-12),
            "largest difference",
            "|j − i| ≤ n − 1 holds for all pairs",
        ),
        Heatmap(
            "Weights inside a window",
            A[:16, :16].tolist(),
            [str(i) for i in range(16)],
            [str(i) for i in range(16)],
            "key",
            "query",
        ),
        Curves("From a window to full attention", widths, [Line("‖local − full‖/‖full‖", apart)], "width w", "difference"),
        Table(
            "Scores that are computed",
            ["tokens n", "full n²", f"window nw, w = {w}"],
            [[n, n * n, n * w] for n in (64, 512, 4096, 32768)],
            "an even w covers w + 1 keys, for the window is centred",
        ),
    ]

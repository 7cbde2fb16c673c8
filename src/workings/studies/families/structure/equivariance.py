r"""What the order of tokens means to attention without positions.

    SA(P X) = P SA(X)            equivariance: permuted tokens give permuted outputs
    mean(SA(P X)) = mean(SA(X))  invariance, of a pooled read-out alone

In one causal layer the output at a place is a function of its own token and the multiset of those before it; a second layer
reads what the first made of each prefix, which does depend on the order.

Axes: n tokens, d width.
"""

from __future__ import annotations

from itertools import permutations
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from workings.course.dedupe import DedupeDecoder
from workings.course.dedupe_task import encode
from workings.nn.transformer.block import Block
from workings.nn.transformer.dot_product import attention
from workings.nn.transformer.positions import sinusoidal
from workings.studies.claim import Bounds
from workings.studies.decide.proof import compared, equal, proved
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Worked
from workings.studies.pictures.kinds import Bars

_TOKENS = "1 1; 1 0; 0 2"
_W_Q = "1 0; 1 1"


def _self_attention(X: Any, broken: str) -> Any:
    """Exact self-attention of three tokens, with keys X and queries X W; with positions 0, 1, 2 added, if broken so."""
    from workings import exact

    if broken == "positions added":
        X = X + exact("0 0; 1 1; 2 2")
    return attention(X @ exact(_W_Q), X, X, scale=1)


@study(rows=("B8",))
def equivariance(
    tokens: Annotated[int, Range(3, 40, "two tokens have one swap"), "tokens of the block that is measured"] = 12,
    seed: Seed = 0,
    broken: Literal["", "positions added", "read off the mean"] = "",
) -> list[Part]:
    """Without positions attention is equivariant: permuted tokens give permuted outputs, and only a pool is invariant.

    All orders of three tokens with exact numbers, then a random Transformer block with five kinds of positions.
    """
    from workings import exact, show

    X: Any = exact(_TOKENS)
    Z = _self_attention(X, broken)
    orders = [list(order) for order in permutations(range(3))]
    outs = [_self_attention(X[order], broken) for order in orders]
    moved: Any = torch.stack(outs)
    permuted: Any = torch.stack([Z[order] for order in orders])
    pooled: Any = moved.mean(1)
    first = [out.mean(0) if broken == "read off the mean" else out[0] for out in outs]
    same: Any = torch.stack([first[0]] * 6)
    changed = exact.equal(torch.stack(first), same).equal
    residuals = _residuals(tokens, seed)
    worst = residuals["none" if broken != "positions added" else "sinusoidal"]
    return [
        equal(
            "For every order P of three tokens SA(PX) = P SA(X)",
            moved,
            permuted,
            "S, A and Z are made of dot products, row by row",
        ),
        equal(
            "The mean of the outputs is the same for every order: a pooled read-out is invariant",
            pooled,
            torch.stack([Z.mean(0)] * 6),
            "a mean does not see an order",
        ),
        proved(
            "The output of the first place is not: equivariance is no invariance",
            None if changed is None else not changed,
            f"for the six orders it is {'; '.join(' '.join(each.text().split()) for each in first[:3])} …",
            "row 1 of P SA(X) is another row of SA(X)",
        ),
        compared(
            "A whole Transformer block without positions is equivariant to rounding",
            worst,
            Bounds(high=1e-12),
            "largest |Block(PX) − P Block(X)|",
            "norms and feed-forward networks work on each token alone",
        ),
        Bars(
            "What a permutation changes in a block, by its positions",
            [*residuals],
            {"largest |Block(PX) − P Block(X)|": [max(value, 1e-17) for value in residuals.values()]},
            "difference",
            "log",
        ),
        Worked("Attention of three tokens without positions", show(attention, X @ exact(_W_Q), X, X, scale=1)),
    ]


def _residuals(n: int, seed: int) -> dict[str, float]:
    """How far a random block is from equivariant, for each kind of positions."""
    from workings.models.transformer import attention_positions

    g = torch.Generator().manual_seed(seed)
    X = torch.randn(1, n, 8, generator=g, dtype=torch.float64)
    order = torch.randperm(n, generator=g)
    order = order.roll(1) if bool((order == torch.arange(n)).all()) else order
    added = {
        "sinusoidal": sinusoidal(torch.arange(n, dtype=torch.float64), 8),
        "learned table": torch.randn(n, 8, generator=g).double(),
    }
    found = {}
    for name in ("none", "sinusoidal", "learned table", "relative", "alibi", "rope"):
        torch.manual_seed(seed)
        block = Block(8, 2, positions=attention_positions(name, 2, n)).double()
        with torch.no_grad():
            if name == "relative":
                block.attention.positions.b.normal_()  # type: ignore[union-attr]
            P = added.get(name, torch.zeros(n, 8, dtype=torch.float64))
            found[name] = float((block(X[:, order] + P) - block(X + P)[:, order]).abs().max())
    return found


# ------------------------------------------------------------------------------------------------ prefixes as sets


@study(rows=("C10",))
def prefix_order(
    prompt: Annotated[int, Range(3, 6, "all orders of the prompt are tried"), "tokens before the last one"] = 5,
    seed: Seed = 0,
    broken: Literal["", "positions added", "no causal mask"] = "",
) -> list[Part]:
    """One causal layer without positions sees the prompt as a multiset; two layers see its order too.

    The course's decoder on D A A in all orders, exactly, then random causal stacks of one to four blocks.
    """
    texts = ("D A A <START>", "A D A <START>", "A A D <START>")
    logits = torch.stack([_dedupe_logits(text, broken) for text in texts])
    z_law = torch.tensor([1.5, 0.75, 1.5, 0.75, 0, 0], dtype=torch.float64)
    depths = [1, 2, 3, 4]
    spread = [_spread(prompt, depth, seed, broken) for depth in depths]
    return [
        compared(
            "The course's decoder gives the same logits 1.5, 0.75, 1.5, 0.75, 0, 0 for D A A, A D A and A A D",
            float((logits - z_law).abs().max()),
            Bounds(high=0),
            "largest difference",
            "Z at ⟨START⟩ is (3/4, 3/2), the mean of the values of the prompt",
        ),
        compared(
            "For one causal block the output after the prompt is the same for every order",
            spread[0],
            Bounds(high=1e-12),
            "largest difference between orders",
            "the keys of one layer are a function of each token alone",
        ),
        compared(
            "For two causal blocks it depends on the order, by more than a thousandth",
            spread[1],
            Bounds(low=1e-3),
            "largest difference between orders",
            "the second layer's keys are functions of prefixes",
        ),
        Bars(
            "How much the order of the prompt changes the output",
            [f"depth {d}" for d in depths],
            {"difference": [max(v, 1e-17) for v in spread]},
            "largest difference",
            "log",
        ),
        Table(
            "Orders of the prompt",
            ["depth", "largest difference between orders"],
            [[d, v] for d, v in zip(depths, spread, strict=True)],
        ),
    ]


def _dedupe_logits(text: str, broken: str) -> Tensor:
    model = DedupeDecoder()
    tokens = encode(text)
    if broken == "positions added":
        E = model.E.detach()
        X = E[tokens] + torch.arange(len(tokens), dtype=E.dtype)[:, None] * torch.tensor([1.0, 0, 0, 0], dtype=E.dtype)
        weights = (X @ model.W_Q @ (X @ model.W_K).T)[-1]
        best = (weights == weights.max()).double()
        return ((best / best.sum()) @ X @ model.W_V @ model.W_O @ E.T).detach()
    return model(tokens)[-1].detach()


def _spread(prompt: int, depth: int, seed: int, broken: str) -> float:
    """The largest difference of the last output between all orders of a random prompt."""
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    blocks = [Block(8, 2).double() for _ in range(depth)]
    tokens = torch.randn(prompt + 1, 8, generator=g, dtype=torch.float64)
    orders = torch.tensor([[*order, prompt] for order in permutations(range(prompt))])
    X = tokens[orders]
    if broken == "positions added":
        X = X + sinusoidal(torch.arange(prompt + 1, dtype=torch.float64), 8)
    with torch.no_grad():
        for block in blocks:
            X = block(X, causal=broken != "no causal mask")
    return float((X[:, -1] - X[0, -1]).abs().max())

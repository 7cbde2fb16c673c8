r"""What several heads cost, and what a head adds that another already has.

    weights of Q, K, V, O:     e·h·(2d + 2t) = 4e²  for heads of width d = t = e/h, whatever h is
    multiplications:           4ne² + 2n²e          the same; with wider heads, both grow
    [Z, Z] W = Z W_O for all Z   if and only if the upper and the lower half of W sum to W_O

`workings.nn.transformer.heads` has the counts, `workings.course.dedupe` the decoder with a duplicated head.
"""

from __future__ import annotations

from itertools import product
from typing import Annotated, Any, Literal

import torch

from workings.course.dedupe import DedupeDecoder, answer_loss, neutral_projection
from workings.course.dedupe_task import example
from workings.nn.transformer.heads import multiply_adds, weight_count
from workings.nn.transformer.multihead import MultiHeadAttention
from workings.studies.claim import Bounds, Claim
from workings.studies.decide.proof import compared, equal, proved
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text, Worked
from workings.studies.pictures.kinds import Bars, Curves, Line


@study(rows=("B4",))
def head_counts(
    width: Annotated[int, Range(8, 512, "a width that several heads can share"), "width e of the model"] = 64,
    tokens: Annotated[int, Range(2, 512, "attention needs tokens"), "number of tokens n"] = 32,
    key_width: Annotated[int, Range(1, 512, "any width of a head"), "width d = t of a head where it is given"] = 24,
    seed: Seed = 0,
    broken: Literal["", "every head has the full width"] = "",
) -> list[Part]:
    """Heads that share the width cost 4e² weights and the same arithmetic, however many they are.

    Counted in the layers themselves, with PyTorch's counter of operations. So several heads are no more economical than one:
    only heads that do not share the width cost more, e·h·(2d + 2t).
    """
    counts = [h for h in range(1, width + 1) if width % h == 0]
    if len(counts) > 8:
        counts = [h for h in counts if h & (h - 1) == 0]
    found = {h: _counted(width, h, width if broken else None, tokens) for h in counts}
    weights, operations = [one[0] for one in found.values()], [one[1] for one in found.values()]
    given = {h: _counted(width, h, width if broken else key_width, tokens) for h in (1, 3, 5)}
    claims = [
        proved(
            "Whatever the number of heads, Q, K, V and O have 4e² weights",
            {*weights} == {4 * width**2} == {weight_count(width, h) for h in counts},
            f"{', '.join(f'{w:,}' for w in weights)} for {', '.join(map(str, counts))} heads; 4e² = {4 * width**2:,}",
            "h heads of width e/h",
        ),
        proved(
            "And one pass over n tokens takes 4ne² + 2n²e multiplications",
            {*operations}
            == {4 * tokens * width**2 + 2 * tokens**2 * width}
            == {multiply_adds(tokens, width, h) for h in counts},
            f"{', '.join(f'{o:,}' for o in operations)} counted; 4ne² + 2n²e = {multiply_adds(tokens, width, 1):,}",
            "scores and averages take n²e in all heads together",
        ),
        proved(
            f"Heads of another width cost e·h·(2d + 2t): for d = t = {key_width} and 1, 3, 5 heads",
            [one[0] for one in given.values()] == [width * h * 4 * key_width for h in given],
            f"{', '.join(f'{one[0]:,}' for one in given.values())} weights",
            "counted in the layers",
        ),
    ]
    if broken:
        return [*claims]
    full = [_counted(width, h, width, tokens) for h in counts]
    rows = [[h, width // h, *found[h], *full[i]] for i, h in enumerate(counts)]
    columns = ["heads", "width of a head", "weights", "multiplications", "weights, full width", "multiplications"]
    return [
        *claims,
        Text(
            "«More parameter-efficient» is not shown by this: several heads have as many weights as one of the full width."
        ),
        Table(f"Width {width}, {tokens} tokens", columns, rows),
        Curves(
            "Weights over the number of heads",
            counts,
            [
                Line("heads share the width", weights),
                Line("every head has the full width", [one[0] for one in full]),
                Line("4e²", [4 * width**2] * len(counts), dashed=True),
            ],
            xlabel="heads",
            ylabel="weights",
            xscale="log",
            yscale="log",
        ),
    ]


def _counted(width: int, heads: int, head_width: int | None, tokens: int) -> tuple[int, int]:
    """Weights of a layer, and the multiplications of one pass as PyTorch counts them."""
    from torch.utils.flop_counter import FlopCounterMode

    layer = MultiHeadAttention(width, heads, key_width=head_width, value_width=head_width, bias=False)
    with FlopCounterMode(display=False) as counter:
        Q, K, V = layer.queries_keys_values(torch.zeros(tokens, width), None, None)
        Z = (Q @ K.mT).softmax(-1) @ V
        Z.transpose(-3, -2).flatten(-2) @ layer.W_O.mT
    return sum(p.numel() for p in layer.parameters()), counter.get_total_flops() // 2


@study(rows=("B6",))
def duplicated_head(
    most: Annotated[int, Range(1, 3, "all whole matrices up to this size are tried"), "largest entry tried"] = 2,
    seed: Seed = 0,
    broken: Literal["", "the second head differs", "the upper half alone"] = "",
) -> list[Part]:
    """A duplicated head changes nothing exactly if the halves of the output projection sum to the old one.

    In the dedupe-and-sort decoder, with W_O = I₄ for [Z, Z] the logits become (z₁, z₂, z₁, z₂), where the old W_O gave
    (z₂, z₁, z₂, z₁): not the same model, and another loss.
    """
    from workings import exact

    g = torch.Generator().manual_seed(seed)
    differs = broken == "the second head differs"
    z = exact("z_1 z_2")
    pair: Any = torch.cat([z, exact("y_1 y_2") if differs else z])
    old = exact("0 1 0 1; 1 0 1 0")
    halves: Any = pair @ exact("1 0 0 0; 0 1 0 0; 0 0 1 0; 0 0 0 1")
    M = exact("m_11 m_12 m_13 m_14; m_21 m_22 m_23 m_24")
    upper = torch.cat([M, old if broken == "the upper half alone" else old - M])
    neutral: Any = pair @ upper
    before: Any = z @ old
    tokens = example("DAA")
    losses = _losses(differs)
    claims = [
        equal(
            "With W_O = I₄ the duplicated head gives the logits (z₁, z₂, z₁, z₂)",
            halves,
            exact("z_1 z_2 z_1 z_2"),
            "letters",
        ),
        equal(
            "With the halves M and W_O − M it gives Z W_O, whatever M is",
            neutral,
            before,
            "letters for Z and for M",
        ),
        _only_those(most, differs, broken == "the upper half alone", g),
        compared(
            "The loss of D A A becomes 6.5473 (10.2114 if row t is scored against token t), from 8.7973 (4.2114)",
            max(abs(x - y) for x, y in zip(losses, (8.79726, 4.2114, 6.5473, 10.2114), strict=True)),
            Bounds(high=1e-4),
            f"losses {', '.join(f'{x:.4f}' for x in losses)}; largest difference",
            reference="values computed independently",
        ),
    ]
    if broken:
        return [*claims]
    logits = {f"{h} head{'s' * (h > 1)}": DedupeDecoder(heads=h)(tokens)[3].detach() for h in (1, 2)}
    return [
        *claims,
        Table(
            "Loss of the answer A D ⟨STOP⟩",
            ["model", "next token", "same token (a slip)"],
            [["one head", *losses[:2]], ["the head twice, W_O = I₄", *losses[2:]]],
        ),
        Bars(
            "Logits at ⟨START⟩",
            ["A", "B", "C", "D", "START", "STOP"],
            {name: one.tolist() for name, one in logits.items()},
            ylabel="logit",
        ),
        Worked("A projection for which duplication is neutral", _show_neutral()),
    ]


def _only_those(most: int, differs: bool, upper: bool, g: torch.Generator) -> Claim:
    """All columns of whole numbers up to `most`: neutral for Z = I exactly if the halves sum to the old column."""
    entries = torch.tensor([*product(range(-most, most + 1), repeat=4)], dtype=torch.float64)
    Z = torch.eye(2, dtype=torch.float64)
    second = Z.flip(0) if differs else Z
    both = torch.cat([Z, second], dim=1)
    found = wrong = 0
    for old in product(range(-1, 2), repeat=2):
        target = torch.tensor(old, dtype=torch.float64)
        same = (both @ entries.mT == (Z @ target)[:, None]).all(0)
        summed = (entries[:, :2] + (0 if upper else 1) * entries[:, 2:] == target).all(1)
        found, wrong = found + int(same.sum()), wrong + int((same != summed).sum())
    return proved(
        "No other projection is neutral: of all whole matrices up to the size tried, exactly those whose halves sum to W_O",
        wrong == 0 and found > 0,
        f"{9 * len(entries):,} pairs of an old and a new column tried, {found:,} neutral, {wrong:,} exceptions",
        "all cases counted, column by column; Z = I decides for all Z",
    )


def _losses(differs: bool) -> list[float]:
    """The loss of one head and of two, each against the next token and against the same one."""
    tokens = example("DAA")
    one = DedupeDecoder()(tokens)
    Z = one[:, [1, 0]]  # the logits are z₂, z₁, z₂, z₁, and 0 for the two marks
    two = torch.cat([Z, Z.flip(-1) if differs else Z, one[:, 4:]], dim=-1)
    return [answer_loss(logits, tokens, slip).item() for logits in (one, two) for slip in (False, True)]


def _show_neutral() -> Any:
    from workings import exact, show

    return show(neutral_projection, exact("0 1 0 1; 1 0 1 0"), exact("1 0 0 0; 0 1 0 0"))

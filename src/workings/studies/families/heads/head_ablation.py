r"""Heads that specialise: a small model trained here on two relations at once, its heads shown and left out one by one.

    O = Σ_i Z_i W_Oᵢᵀ + b_O         what each head adds; leaving one out ablates it

Every token has to name the token before it and the first token: two relations, one attention layer, no residual. A head has
one pattern of weights for each token, so that two relations want two heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from workings.course.examples import ablated_head
from workings.nn.transformer.multihead import MultiHeadAttention
from workings.studies.decide.trials import most_trials
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text, Worked
from workings.studies.pictures.kinds import Bars, Heatmap
from workings.studies.running.progress import progress

_VOCABULARY, _TOKENS, _WIDTH, _BATCH, _TESTED = 8, 10, 32, 32, 300
_PROBES = ("the token before", "the first token")
_HEADS = ("the head that looks back", "the other head")


class _Reader(nn.Module):
    """One attention layer that reads two answers for each token."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(_VOCABULARY, _WIDTH)
        self.positions = nn.Parameter(torch.randn(_TOKENS, _WIDTH))
        self.attention = MultiHeadAttention(_WIDTH, heads)
        self.answers = nn.Linear(_WIDTH, 2 * _VOCABULARY)

    def forward(self, tokens: Tensor, without: int | None = None) -> Tensor:
        """The logits of both answers, without one of the heads if that is said."""
        X = self.embedding(tokens) + self.positions
        if without is None:
            O = self.attention(X)
        else:
            Z = self.attention.contributions(X)
            assert self.attention.b_O is not None
            O = Z.sum(-3) - Z[:, without] + self.attention.b_O
        return self.answers(O).unflatten(-1, (2, _VOCABULARY))

    def weights(self, tokens: Tensor) -> Tensor:
        """The mean weights of each head."""
        return self.attention.weights(self.embedding(tokens) + self.positions).mean(0)


@dataclass(frozen=True)
class _Trial:
    """What one seed gave: losses with one head and with two, and what each head of the two does."""

    losses: tuple[float, float]
    accuracy: list[float]
    harm: list[list[float]]
    """How much accuracy each probe loses, first without the head that looks back, then without the other."""
    weights: Tensor

    @property
    def matching(self) -> float:
        """The harm to the matching probe beyond that to the other, on average over the two heads."""
        (back, other), (wrong, first) = self.harm
        return (back - other + first - wrong) / 2


@study(rows=("B3",), trains=True, thorough={"trials": 20})
def head_ablation(
    trials: Annotated[int, Range(7, 50, "seven of seven decide at α = 0.01"), "models trained, with a seed each"] = 7,
    steps: Annotated[int, Range(300, 5000, "fewer steps teach too little"), "steps of training"] = 400,
    seed: Seed = 0,
    broken: Literal["", "both probes ask the same"] = "",
) -> list[Part]:
    """Two heads specialise: without the head that looks back, the probe that needs it fails, and the other does not.

    A layer of width 32 is trained to name, for each token, the token before it and the first token of the sequence, with one
    head of width 32 and with two of width 16, which have equally many weights.
    """
    same = bool(broken)
    done = [_trial(seed * 1000 + k, steps, same) for k in progress(range(trials), "training one head and two")]
    claims = [
        most_trials(
            "Leaving out a head harms the probe that it serves by at least 0.3 more accuracy than the other probe",
            [one.matching for one in done],
            0.3,
            what="difference of the harm",
            reference="O = Σ Z_i W_Oᵢᵀ + b_O: a head is a summand",
        ),
        most_trials(
            "Two narrow heads learn both relations better than one wide head with as many weights, by at least 0.02 nats",
            [one - two for one, two in (trial.losses for trial in done)],
            0.02,
            what="loss of one head less that of two",
            reference="a head has one distribution over the keys for each query",
        ),
    ]
    if broken:
        return [*claims]
    first = done[0]
    names = [f"token {i}" for i in range(_TOKENS)]
    left: dict[str, Sequence[float]] = {"both heads": first.accuracy}
    for head, harm in zip(_HEADS, first.harm, strict=True):
        left[f"without {head}"] = [a - lost for a, lost in zip(first.accuracy, harm, strict=True)]
    columns = [
        "trial",
        "loss, one head",
        "loss, two heads",
        *(f"{probe} without {head}" for head in _HEADS for probe in ("before", "first")),
    ]
    rows = [
        [k, *one.losses, *(one.accuracy[probe] - one.harm[head][probe] for head in (0, 1) for probe in (0, 1))]
        for k, one in enumerate(done[:12])
    ]
    return [
        *claims,
        Text(
            "One head is not helpless: with unequal weights on the two tokens a wide value can carry both, and some trials "
            "come close; each time it was worse than two."
        ),
        Table("Losses, and accuracy of each probe without one of the two heads", columns, rows),
        *(
            Heatmap(f"Weights of the head that looks {where}", first.weights[i].tolist(), names, names, "key", "query")
            for i, where in enumerate(("back", "at the first token"))
        ),
        Bars(
            "Accuracy with both heads, and without one of them",
            _PROBES,
            left,
            ylabel="accuracy",
        ),
        Bars(
            "One wide head and two narrow ones",
            [f"trial {k}" for k in range(len(done[:12]))],
            {"one head": [one.losses[0] for one in done[:12]], "two heads": [one.losses[1] for one in done[:12]]},
            ylabel="loss, nats",
        ),
        Worked("A head that finds the largest token and one that looks back; then the second is left out", _show_ablated()),
    ]


def _answers(tokens: Tensor, same: bool) -> Tensor:
    """The token before (of the first: itself) and the first token; or the token before, twice."""
    before = torch.cat([tokens[:, :1], tokens[:, :-1]], dim=1)
    return torch.stack([before, before if same else tokens[:, :1].expand_as(tokens)], dim=-1)


def _trained(heads: int, seed: int, steps: int, same: bool) -> _Reader:
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    model = _Reader(heads)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        tokens = torch.randint(_VOCABULARY, (_BATCH, _TOKENS), generator=g)
        L = _loss(model(tokens), _answers(tokens, same))
        optimizer.zero_grad()
        L.backward()
        optimizer.step()
    return model.eval()


def _loss(logits: Tensor, answers: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, -2), answers.flatten())


@torch.no_grad()
def _trial(seed: int, steps: int, same: bool) -> _Trial:
    """Train one head and two on the same tokens, then look at the two."""
    with torch.enable_grad():
        one, two = (_trained(heads, seed, steps, same) for heads in (1, 2))
    g = torch.Generator().manual_seed(seed + 1)
    tokens = torch.randint(_VOCABULARY, (_TESTED, _TOKENS), generator=g)
    answers = _answers(tokens, same)

    def accuracy(without: int | None = None) -> list[float]:
        return (two(tokens, without).argmax(-1) == answers).double().mean((0, 1)).tolist()

    A = two.weights(tokens)
    back = int(A.diagonal(-1, -2, -1).mean(-1).argmax())  # the head with more weight on the token before
    order, whole = [back, 1 - back], accuracy()
    harm = [[a - b for a, b in zip(whole, accuracy(head), strict=True)] for head in order]
    losses = (_loss(one(tokens), answers).item(), _loss(two(tokens), answers).item())
    return _Trial(losses, whole, harm, A[order])


def _show_ablated() -> Any:
    from workings import exact, show

    return show(ablated_head, exact("1; 3; 2"), exact("1 0 0; 0 1 0; 0 0 1"), exact("1 0 0; 1 0 0; 0 1 0"))

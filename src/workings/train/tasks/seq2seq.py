r"""From one sequence to another: old English to modern, spelling to sound, or pairs of your own.

    memory = encoder(source)
    L = −1/M Σ log P(target_{t+1} | target_{≤t}, memory)      over the M tokens of the targets, ⟨stop⟩ included

Verses are cut into subwords (byte-pair encoding, trained on the pairs to learn from), words into letters and sounds. The
figures: the loss and the share of right tokens when the target so far is given (`token_accuracy`), and the share of targets
that greedy decoding hits exactly (`exact_match`); `copied` is the share that writing down the source would hit.

Axes: b pairs, m tokens of the source, n of the target.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from workings.errors import WorkingsError
from workings.models.decoding.search import beam
from workings.models.transformer import mask_of
from workings.nn.objectives.losses import cross_entropy
from workings.train.data.pairs import Pair
from workings.train.tasks.shuffled import Shuffled
from workings.train.text.tokens import PAD, START, STOP, Tokens

Batch = tuple[Int[Tensor, "b m"], Int[Tensor, " b"], Int[Tensor, "b n"]]
"""Source tokens, how many of each row are there, target tokens."""


def check_known(data: str) -> None:
    """There is such data."""
    if data not in ("verses", "sounds") and not Path(data).is_file():
        raise WorkingsError(
            f"{data} is neither verses nor sounds nor a file. Give a TSV file: a pair a line, a tab between."
        )


def kind(asked: str, data: str, side: int) -> str:
    """What a side is cut into: as asked, or letters and sounds for spelling, subwords for the rest."""
    if asked != "auto":
        return asked
    return ("characters", "words")[side] if data == "sounds" else "subwords"


Rows = list[tuple[list[int], list[int]]]


def encode(found: list[Pair], source: Tokens, target: Tokens, longest: int) -> Rows:
    """The pairs as tokens, ⟨start⟩ and ⟨stop⟩ around the target; without those too long."""
    sides = zip(source.encode([a for a, _ in found]), target.encode([b for _, b in found]), strict=True)
    rows = [(a, [START, *b, STOP]) for a, b in sides if a and len(a) <= longest and len(b) <= longest]
    if not rows:
        raise WorkingsError(f"All of the {len(found):,} pairs have more than {longest} tokens on a side: raise --longest.")
    return rows


class BatchesByLength:
    """The batch of a step: of pairs seen in a random order, those of about one length together, with little padding."""

    NEAR = 16
    """Batches that are sorted by length together."""

    def __init__(self, rows: Rows, batch: int, seed: int) -> None:
        self.rows, self.batch, self.seed = rows, batch, seed
        self.seen = Shuffled(len(rows), batch * self.NEAR, seed)
        self.at, self.near = -1, torch.empty(0, dtype=torch.long)

    def __call__(self, step: int) -> Batch:
        group, place = divmod(step, self.NEAR)
        if group != self.at:
            i = self.seen(group)
            lengths = torch.tensor([len(self.rows[k][0]) + len(self.rows[k][1]) for k in i.tolist()])
            self.at, self.near = group, i[lengths.argsort(stable=True)]
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + group)
        place = int(torch.randperm(self.NEAR, generator=generator)[place])
        return collate([self.rows[k] for k in self.near[place * self.batch : (place + 1) * self.batch].tolist()])


def collate(rows: Rows) -> Batch:
    """Pairs as tensors, the shorter ones padded."""
    lengths = torch.tensor([len(a) for a, _ in rows])
    return _padded([a for a, _ in rows]), lengths, _padded([b for _, b in rows])


def _padded(rows: list[list[int]]) -> Int[Tensor, "b n"]:
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def loss(model: nn.Module, batch: Batch) -> Tensor:
    source, lengths, target = batch
    θ = model(source, target[:, :-1], lengths)
    L = cross_entropy(θ.flatten(0, 1), target[:, 1:].flatten(), ignore=PAD)
    return L


def figures(model: Any, test: list[Pair], source: Tokens, target: Tokens, longest: int) -> dict[str, float]:
    """The figures on pairs that were not learned from; a pair that is too long counts as missed in `exact_match`."""
    total, right, tokens = 0.0, 0, 0
    for part in _parts(encode(test, source, target, longest)):
        s, lengths, t = collate(part)
        θ, y = model(s, t[:, :-1], lengths), t[:, 1:]
        total += cross_entropy(θ.flatten(0, 1), y.flatten(), ignore=PAD, reduction="sum").item()
        right += int(((θ.argmax(dim=-1) == y) & (y != PAD)).sum())
        tokens += int((y != PAD).sum())
    written = translations(model, [a for a, _ in test], source, target, longest)
    hit = sum(ours == theirs for ours, (_, theirs) in zip(written, test, strict=True))
    figures = {"loss": total / tokens, "token_accuracy": right / tokens, "exact_match": hit / len(test)}
    return {**figures, "copied": sum(a == b for a, b in test) / len(test)}


def _parts(rows: Rows, size: int = 100) -> Iterator[Rows]:
    rows = sorted(rows, key=lambda row: len(row[0]))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


@torch.no_grad()
def translations(model: Any, texts: list[str], source: Tokens, target: Tokens, longest: int) -> list[str]:
    """What greedy decoding writes for each text; nothing for one that is too long."""
    rows = source.encode(texts)
    out = [""] * len(texts)
    fitting = sorted((i for i, row in enumerate(rows) if 0 < len(row) <= longest), key=lambda i: len(rows[i]))
    for start in range(0, len(fitting), 100):
        places = fitting[start : start + 100]
        for i, tokens in zip(places, greedy_rows(model, [rows[i] for i in places], longest), strict=True):
            out[i] = target.decode(tokens)
    return out


def greedy_rows(model: Any, rows: list[list[int]], longest: int) -> list[list[int]]:
    """The most likely token each time, for many sources at once."""
    lengths, source = torch.tensor([len(row) for row in rows]), _padded(rows)
    memory, mask = model.encoder(source, lengths), mask_of(source, lengths)
    cache = model.given(source[0]).new_cache()
    last, found = torch.full((len(rows), 1), START), []
    for _ in range(longest + 1):
        last = model.decode(last, memory, mask, cache)[:, -1:].argmax(dim=-1)
        found.append(last)
        if bool(torch.cat(found, dim=1).eq(STOP).any(dim=1).all()):
            break
    return [row[: row.index(STOP)] if STOP in row else row for row in torch.cat(found, dim=1).tolist()]


def best(model: Any, text: str, source: Tokens, target: Tokens, longest: int, beams: int = 4) -> list[tuple[str, float]]:
    """The best targets that beam search finds for one text, with Σ log p."""
    (row,) = source.encode([text])
    found = beam(model.given(torch.tensor(row)), [START], longest + 1, beams=beams, alpha=0.6, stop=STOP)
    return [(target.decode([token for token in b.tokens if token != STOP]), b.log_p) for b in found]


def sample_text(model: Any, text: str, source: Tokens, target: Tokens, longest: int) -> str:
    return f"{text} → {translations(model, [text], source, target, longest)[0]}"

"""The recipe of a decoder that sorts letters; its equations stand in `workings.train.tasks.sort`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from workings.train.capabilities import Answers, Shows
from workings.train.forward_pass import ForwardPass, likeliest, numbered_tokens
from workings.train.recipe import OpenRun, Recipe
from workings.train.settings import Training, setting
from workings.train.task import Task

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class SortSettings(Training, steps=400, rate=5e-3, warmup=50, clip=1.0):
    longest: int = setting(12, "letters of the longest string", least=2)
    test: int = setting(10_000, "strings drawn to evaluate on; each counts once", least=1)
    width: int = setting(32, "width of a token", least=1)
    heads: int = setting(2, "attention heads", least=1)
    depth: int = setting(1, "blocks", least=1)
    positions: str = setting("none", "how positions are encoded", among=("none", "rope", "alibi", "sinusoidal"))
    batch: int = setting(128, "strings per update, over all processes", least=1)


class Sort(Recipe, Answers, Shows):
    name = "sort"
    summary = "Letters to their distinct ones in order, by a small decoder; the exam's fixed weights fail beside it."
    example = "workings train sort --longest 8"
    Settings = SortSettings
    prompt = "DAAC"
    has_beams = False
    input_hint = "Give letters: --input DAAC."

    def task(self, settings: Any) -> Task:
        import torch

        from workings.train.tasks.sort import (
            IGNORE,
            answer_of,
            figures,
            fixed_match,
            loss,
            strings,
            training_pairs,
            unseen_strings,
        )

        judges = torch.Generator().manual_seed(settings.seed)
        test = unseen_strings(settings.longest, judges, settings.test)
        fixed = fixed_match(test[:100])

        def batches(step: int) -> tuple[Tensor, Tensor]:
            return training_pairs([*islice(strings(settings.longest), settings.batch)])

        return Task(
            self.model(settings, {}),
            batches,
            loss,
            evaluate=lambda model: {**figures(model, test), "fixed_weights": fixed, "strings": len(test)},
            sample=lambda model: "\n".join(f"{prompt} → {answer_of(model, prompt)}" for prompt in test[:3]),
            unit="tokens",
            count=lambda batch: int((batch[1] != IGNORE).sum()),
        )

    def model(self, settings: Any, files: Mapping[str, str]) -> nn.Module:
        from workings.course.dedupe_task import VOCABULARY
        from workings.models.language_model import LanguageModel

        return LanguageModel(
            len(VOCABULARY), settings.width, settings.heads, settings.depth, positions=settings.positions, tied=False
        )

    def answers(self, run: OpenRun, prompt: str, beams: int | None) -> list[str]:
        import torch

        from workings.train.tasks.sort import answer_of, letters

        with torch.no_grad():
            return [answer_of(run.model, letters(prompt))]

    def forward_pass(self, run: OpenRun, given: str) -> ForwardPass:
        import torch

        from workings.course.dedupe_task import VOCABULARY, encode
        from workings.train.tasks.sort import letters
        from workings.train.text.next_token import next_token

        pieces = (*letters(given), "<START>")
        call = partial(next_token, run.model, encode([*pieces]).unsqueeze(0).to(torch.long))
        describe = partial(likeliest, names=VOCABULARY, before="Next: ")
        return ForwardPass(call, (pieces, tuple(VOCABULARY)), describe, numbered_tokens(pieces))

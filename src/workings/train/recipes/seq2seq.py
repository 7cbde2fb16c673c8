"""The recipe of an encoder and a decoder; its equations stand in `workings.train.tasks.seq2seq`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from workings.checksum import sha256
from workings.errors import WorkingsError
from workings.train.capabilities import Answers, Shows
from workings.train.forward_pass import ForwardPass, likeliest_by_row, numbered_tokens, visible
from workings.train.recipe import OpenRun, Recipe
from workings.train.settings import Training, setting
from workings.train.task import Task
from workings.train.text.tokens import KINDS, START, Tokens

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class Seq2SeqSettings(Training, steps=3000, rate=2e-3, beta2=0.98, warmup=200, clip=1.0):
    data: str = setting("sounds", "verses (old to modern English), sounds (spelling to sound), or a TSV file of pairs")
    source: str = setting("auto", "tokens of the source", among=KINDS)
    target: str = setting("auto", "tokens of the target; words are what stands between spaces", among=KINDS)
    vocabulary: int = setting(2000, "subwords to learn, for either side", least=300)
    longest: int = setting(64, "tokens of the longest sequence; pairs with a longer one are left out", least=2)
    pairs: int = setting(0, "pairs to learn from; 0 is all", least=0)
    test: int = setting(500, "pairs to evaluate on", least=1)
    width: int = setting(64, "width of a token", least=1)
    heads: int = setting(4, "attention heads", least=1)
    depth: int = setting(2, "blocks of the encoder, and of the decoder", least=1)
    dropout: float = setting(0.0, "dropout of what a layer adds", least=0, below=1)
    batch: int = setting(128, "pairs per update, over all processes", least=1)


class Seq2Seq(Recipe, Answers, Shows):
    name = "seq2seq"
    summary = "One sequence to another by an encoder and a decoder: spelling to sound, old to modern English, your pairs."
    example = "workings train seq2seq --data sounds --steps 500"
    Settings = Seq2SeqSettings
    prompt = "hello"
    has_beams = True
    input_hint = "Give a source: --input hello."

    def task(self, settings: Any) -> Task:
        from workings.train.data.pairs import pairs
        from workings.train.tasks.seq2seq import BatchesByLength, check_known, encode, figures, kind, loss, sample_text
        from workings.train.text.tokens import PAD, learn_tokens

        check_known(settings.data)
        train, test = pairs(settings.data, settings.seed)
        train, digest = train[: settings.pairs or None], sha256("\n".join(map("\t".join, train + test)))
        kinds = [kind(settings.source, settings.data, 0), kind(settings.target, settings.data, 1)]
        source = learn_tokens([a for a, _ in train], kinds[0], settings.vocabulary)
        target = learn_tokens([b for _, b in train], kinds[1], settings.vocabulary)
        files = {"source.json": source.json(), "target.json": target.json()}
        rows = encode(train, source, target, settings.longest)
        judges = test[: settings.test]
        return Task(
            self.model(settings, files),
            batches=BatchesByLength(rows, settings.batch, settings.seed),
            loss=loss,
            evaluate=lambda model: figures(model, judges, source, target, settings.longest),
            sample=lambda model: "\n".join(sample_text(model, a, source, target, settings.longest) for a, _ in judges[:3]),
            files=files,
            hashes={settings.data: digest},
            unit="tokens",
            count=lambda batch: int((batch[2][:, 1:] != PAD).sum()),
        )

    def model(self, settings: Any, files: Mapping[str, str]) -> nn.Module:
        from workings.models.transformer import EncoderDecoder

        m, n = map(len, _tokens_in(files))
        return EncoderDecoder(m, n, settings.width, settings.heads, settings.depth, dropout=settings.dropout)

    def answers(self, run: OpenRun, prompt: str, beams: int | None) -> list[str]:
        from workings.train.tasks.seq2seq import best, translations

        source, target = _tokens_in(run.files)
        longest = run.settings.longest
        (row,) = source.encode([prompt])
        if not 0 < len(row) <= longest:
            raise WorkingsError(f"The prompt has {len(row)} tokens; this model reads 1 to {longest}.")
        if beams is None:
            return translations(run.model, [prompt], source, target, longest)
        found = best(run.model, prompt, source, target, longest, beams)
        return [f"{text}  (log p {log_p:.3f})" for text, log_p in found]

    def forward_pass(self, run: OpenRun, given: str) -> ForwardPass:
        import torch

        (answer,) = self.answers(run, given, None)
        source, target = _tokens_in(run.files)
        rows = source.encode([given])[0], [START, *target.encode([answer])[0]]
        call = partial(_answer_given, run.model, *(torch.tensor([row]) for row in rows))
        names = [tuple(map(visible, kind.names(row))) for kind, row in zip((source, target), rows, strict=True)]
        classes = tuple(map(visible, target.names(range(len(target)))))
        said = f"It writes {answer!r}; before it, and after each of its tokens:\n"
        describe = lambda p: said + likeliest_by_row(p, names[1], classes)  # noqa: E731
        return ForwardPass(call, (*names, classes), describe, numbered_tokens(names[0]))


def _tokens_in(files: Mapping[str, str]) -> tuple[Tokens, Tokens]:
    """The tokens of a run's sources and of its targets."""
    return Tokens.read(files["source.json"]), Tokens.read(files["target.json"])


def _answer_given(model: Any, source: Tensor, target: Tensor) -> Tensor:
    """The probability of each token of the target, given those before it and the source."""
    θ = model(source, target)
    p = θ[0].softmax(dim=-1)
    return p

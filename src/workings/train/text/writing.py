"""Text written by a language model, token after token."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from workings.errors import WorkingsError
from workings.models.decoding.search import Decoder, beam, greedy, sample
from workings.train.text.decoders import WithoutUnknown, decoder_of
from workings.train.text.language import Language


@dataclass(frozen=True)
class SamplingOptions:
    """How the next token is chosen: temperature 0 takes the likeliest, `beams` searches instead of drawing."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    beams: int | None = None
    seed: int = 0
    length: int = 200

    def tokens(self, decoder: Decoder, prompt: list[int]) -> Iterator[int]:
        """The tokens after the prompt, as they come; those of beam search come at the end."""
        if self.beams is not None:
            return iter(beam(decoder, prompt, self.length, beams=self.beams)[0].tokens)
        if self.temperature == 0:
            return greedy(decoder, prompt, self.length)
        generator = torch.Generator().manual_seed(self.seed)
        return sample(decoder, prompt, self.length, self.temperature, self.top_k, self.top_p, generator)


def continuation(language: Language, tokens: list[int], choice: SamplingOptions) -> Iterator[str]:
    """The text after some tokens, piece by piece: together they are what the new tokens say."""
    last = tokens[-1]
    decoder, unknown = decoder_of(language.model), language.number.get(language.unknown or "")
    for token in choice.tokens(decoder if unknown is None else WithoutUnknown(decoder, unknown), tokens):
        yield language.decode([last, token])[len(language.decode([last])) :]
        last = token


def prompt_tokens(language: Language, prompt: str) -> list[int]:
    """The tokens of a prompt; one that the model does not know is an error."""
    pieces = language.cut(prompt)
    if unknown := [piece for piece in pieces if piece not in language.number]:
        raise WorkingsError(
            f"The model does not know {unknown[0]!r}: it has {len(language.vocabulary)} {language.unit}s. Change the prompt."
        )
    if not pieces:
        raise WorkingsError("Generation starts from a prompt: give a --prompt that is not empty.")
    return language.encode(pieces)


def beginning(language: Language) -> tuple[list[int], str]:
    """What a text follows that no prompt is given for, and its name: the end of a line, or a space, or some token."""
    said = {language.join([token]): i for i, token in reversed([*enumerate(language.vocabulary)])}
    for text, name in (("\n", "the end of a line"), (" ", "a space")):
        if text in said:
            return [said[text]], name
    first = next(i for i, token in enumerate(language.vocabulary) if token != language.unknown)
    return [first], repr(language.decode([first]))

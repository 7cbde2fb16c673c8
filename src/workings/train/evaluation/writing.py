"""Text written by a run: token after token by a language model, an answer by the models of pairs.

Axes: b beams, n tokens, v vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from workings.errors import WorkingsError
from workings.models.decoding.search import Decoder, beam, greedy, sample
from workings.train.evaluation.opened import Opened
from workings.train.text.language import Language


@dataclass(frozen=True)
class Choice:
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


def continued(language: Language, prompt: str, choice: Choice) -> Iterator[str]:
    """The text after the prompt, piece by piece."""
    return after(language, prompted(language, prompt), choice)


def after(language: Language, tokens: list[int], choice: Choice) -> Iterator[str]:
    """The text after some tokens, piece by piece: together they are what the new tokens say."""
    last = tokens[-1]
    decoder, unknown = decoder_of(language.model), language.number.get(language.unknown or "")
    for token in choice.tokens(decoder if unknown is None else Knowing(decoder, unknown), tokens):
        yield language.decode([last, token])[len(language.decode([last])) :]
        last = token


def prompted(language: Language, prompt: str) -> list[int]:
    """The tokens of a prompt; one that the model does not know is an error."""
    pieces = language.cut(prompt)
    if unknown := [piece for piece in pieces if piece not in language.number]:
        raise WorkingsError(
            f"The model does not know {unknown[0]!r}: it has {len(language.vocabulary)} {language.unit}s. Change the prompt."
        )
    if not pieces:
        raise WorkingsError("Writing goes on from something: give a --prompt that is not empty.")
    return language.encode(pieces)


def beginning(language: Language) -> tuple[list[int], str]:
    """What a text follows that no prompt is given for, and its name: the end of a line, or a space, or some token."""
    said = {language.join([token]): i for i, token in reversed([*enumerate(language.vocabulary)])}
    for text, name in (("\n", "the end of a line"), (" ", "a space")):
        if text in said:
            return [said[text]], name
    first = next(i for i, token in enumerate(language.vocabulary) if token != language.unknown)
    return [first], repr(language.decode([first]))


def answered(found: Opened, prompt: str, beams: int | None) -> list[str]:
    """What a run of sort or seq2seq writes for a prompt; with beams, the best ones with Σ log p."""
    if found.recipe.name == "sort":
        from workings.course.dedupe_task import answer
        from workings.train.recipes.sort import answered as letters

        word = prompt.replace(" ", "").upper()
        answer(word)  # a prompt of other letters is refused
        with torch.no_grad():
            return [letters(found.model, word)]
    from workings.train.recipes.seq2seq import best, translated
    from workings.train.text.tokens import Tokens

    source, target = (Tokens.read(found.files[f"{side}.json"]) for side in ("source", "target"))
    longest = found.settings.longest
    (row,) = source.encode([prompt])
    if not 0 < len(row) <= longest:
        raise WorkingsError(f"The prompt has {len(row)} tokens; this model reads 1 to {longest}.")
    if beams is None:
        return translated(found.model, [prompt], source, target, longest)
    return [f"{text}  (log p {log_p:.3f})" for text, log_p in best(found.model, prompt, source, target, longest, beams)]


# models as decoders


def decoder_of(model: Any) -> Decoder:
    """A Transformer is one; recurrent models and bigrams are made into one."""
    if isinstance(model, Decoder):
        return model
    return RecurrentDecoder(model) if hasattr(model, "cell") else BigramDecoder(model)


class Knowing:
    """A decoder that never says «unknown»: the other tokens share its probability."""

    def __init__(self, decoder: Decoder, unknown: int) -> None:
        self.decoder, self.unknown, self.context = decoder, unknown, decoder.context

    def __call__(self, tokens: Int[Tensor, "b n"], cache: Any = None) -> Float[Tensor, "b n v"]:
        θ = self.decoder(tokens, cache).clone()
        θ[..., self.unknown] = -torch.inf
        return θ

    def new_cache(self) -> Any:
        return self.decoder.new_cache()


class State:
    """What a model carries from token to token: the state of its cell, none for a bigram."""

    def __init__(self) -> None:
        self.length = 0
        self.state: Any = None

    def select(self, rows: Int[Tensor, " b"]) -> None:
        """Keep the states of these beams."""
        if isinstance(self.state, tuple):
            self.state = tuple(part[:, rows] for part in self.state)
        elif self.state is not None:
            self.state = self.state[:, rows]


class RecurrentDecoder:
    """A recurrent character model as a decoder: its state is the cache."""

    context: int | None = None

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, tokens: Int[Tensor, "b n"], cache: State | None = None) -> Float[Tensor, "b n v"]:
        cache = cache or self.new_cache()
        θ, cache.state = self.model(tokens, cache.state)
        cache.length += tokens.shape[1]
        return torch.as_tensor(θ)

    def new_cache(self) -> State:
        return State()


class BigramDecoder:
    """A bigram model as a decoder: only the last token counts."""

    context: int | None = None

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, tokens: Int[Tensor, "b n"], cache: State | None = None) -> Float[Tensor, "b n v"]:
        if cache is not None:
            cache.length += tokens.shape[1]
        θ: Tensor = self.model(tokens[:, -1])
        return θ.unsqueeze(1)

    def new_cache(self) -> State:
        return State()

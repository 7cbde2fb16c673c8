"""The next token of a text, traced: the forward pass of any language model."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from workings.errors import WorkingsError
from workings.models.decoding.search import Decoder
from workings.train.forward_pass import ForwardPass, likeliest, numbered_tokens, visible
from workings.train.text.language import Language
from workings.train.text.writing import prompt_tokens

HINT = 'Give a text: --input "to be".'


def forward_pass(language: Language, text: str) -> ForwardPass:
    """The probability of each token after a text."""
    if not language.cut(text):
        raise WorkingsError(f"The --input is empty. {HINT}")
    tokens = torch.tensor([prompt_tokens(language, text)])
    pieces = tuple(language.vocabulary[i] for i in tokens[0].tolist())
    call = partial(_predictor_of(language.model), language.model, tokens)
    names = tuple(map(visible, language.vocabulary))
    after = partial(likeliest, names=names, before=f"After {text!r}: ")
    return ForwardPass(call, (tuple(map(visible, pieces)), names), after, numbered_tokens(pieces))


def _predictor_of(model: Any) -> Any:
    """The function below that suits a model; it is what `show` opens, so each is written out."""
    if isinstance(model, Decoder):
        return next_token
    return _next_of_state if hasattr(model, "cell") else _next_of_last


def next_token(model: Any, tokens: Tensor) -> Tensor:
    """The probability of each token after the last."""
    θ = model(tokens)
    p = θ[0, -1].softmax(dim=-1)
    return p


def _next_of_state(model: Any, tokens: Tensor) -> Tensor:
    """The same by a recurrent model."""
    θ = model(tokens)[0]
    p = θ[0, -1].softmax(dim=-1)
    return p


def _next_of_last(model: Any, tokens: Tensor) -> Tensor:
    """The same by a bigram model, which reads the last token alone."""
    θ = model(tokens[0, -1:])
    p = θ[0].softmax(dim=-1)
    return p

"""Cutting text into tokens: characters, words between spaces, or subwords learned by byte-pair encoding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from workings.errors import WorkingsError

KINDS = ("auto", "subwords", "characters", "words")
_SPECIAL = ("<pad>", "<start>", "<stop>", "<unknown>")
PAD, START, STOP, _UNKNOWN = range(4)


class Tokens:
    """A vocabulary and the way to cut text into it; the first four tokens are padding, start, stop and unknown."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def __len__(self) -> int:
        return int(self.tokenizer.get_vocab_size())

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [list(found.ids) for found in self.tokenizer.encode_batch(list(texts))]

    def decode(self, tokens: Sequence[int]) -> str:
        return str(self.tokenizer.decode([token for token in tokens if token > _UNKNOWN]))

    def names(self, tokens: Iterable[int]) -> list[str]:
        """Each token as it is written in the vocabulary."""
        return [str(self.tokenizer.id_to_token(token)) for token in tokens]

    def json(self) -> str:
        """All there is to it, as text."""
        return str(self.tokenizer.to_str())

    @staticmethod
    def read(text: str) -> Tokens:
        from tokenizers import Tokenizer

        return Tokens(Tokenizer.from_str(text))


def learn_tokens(texts: Sequence[str], kind: str, size: int = 2000) -> Tokens:
    """The tokens of these texts: each character or word of them, or `size` subwords.

    >>> tokens = learn_tokens(["abc", "cab"], "characters")
    >>> len(tokens), tokens.decode(tokens.encode(["bac"])[0]), tokens.encode(["z"])
    (7, 'bac', [[3]])
    """
    if not texts:
        raise WorkingsError("There are no texts to learn tokens from.")
    return Tokens(_MAKERS[kind](texts, size))


def _subwords(texts: Sequence[str], size: int) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=[*_SPECIAL], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _characters(texts: Sequence[str], size: int) -> Any:
    from tokenizers import Regex, decoders, pre_tokenizers

    return _word_level(sorted(set("".join(texts))), pre_tokenizers.Split(Regex("."), "isolated"), decoders.Fuse())


def _words(texts: Sequence[str], size: int) -> Any:
    from tokenizers import pre_tokenizers

    return _word_level(sorted({word for text in texts for word in text.split()}), pre_tokenizers.WhitespaceSplit(), None)


def _word_level(symbols: list[str], cut: Any, joined: Any) -> Any:
    """A tokenizer with a number for each symbol."""
    from tokenizers import Tokenizer, models

    number = {symbol: i for i, symbol in enumerate([*_SPECIAL, *symbols])}
    tokenizer = Tokenizer(models.WordLevel(number, unk_token=_SPECIAL[_UNKNOWN]))
    tokenizer.pre_tokenizer = cut
    if joined is not None:
        tokenizer.decoder = joined
    return tokenizer


_MAKERS = {"subwords": _subwords, "characters": _characters, "words": _words}

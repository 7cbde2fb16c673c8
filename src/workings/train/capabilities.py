"""What a recipe can do beyond training. A recipe can do what it has the methods for; a verb of the command line asks.

generate     Writes, Answers, Draws, Finds
eval         Classifies, ExplainsWords, Writes (--text)
neighbors    HasVectors
show         Shows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from torch import Tensor, nn

    from workings.models.vectors import WordVectors
    from workings.train.forward_pass import ForwardPass
    from workings.train.recipe import OpenRun
    from workings.train.text.explain import Explainer
    from workings.train.text.language import Language

Sheet: TypeAlias = 'Float[Tensor, "c n m"]'
"""Pictures in rows, as one."""


@runtime_checkable
class Writes(Protocol):
    """A language model: it continues a text, and any text can be measured by it."""

    def language(self, settings: Any, files: Mapping[str, str], model: nn.Module) -> Language:
        """The model with the way text is cut into its tokens."""


@runtime_checkable
class Answers(Protocol):
    """A model that writes one text for another."""

    prompt: str
    """A prompt to try."""
    has_beams: bool
    """Whether several answers can be searched for."""

    def answers(self, run: OpenRun, prompt: str, beams: int | None) -> list[str]:
        """The answer to a prompt; with beams, the best ones with Σ log p."""


@runtime_checkable
class Draws(Protocol):
    """A model of pictures that can be drawn at random."""

    def samples(self, run: OpenRun, count: int, seed: int) -> Sheet:
        """A square of pictures that the prior draws."""

    def interpolations(self, run: OpenRun, rows: int, steps: int, seed: int) -> Sheet:
        """Each row goes from one test picture to another, in steps between their codes."""


@dataclass(frozen=True)
class Search:
    """The pictures nearest to some words."""

    names: list[tuple[str, float]]
    """What they show, and the cosine of each."""
    sheet: Sheet
    unknown: list[str]
    """Words that the model does not know."""


@runtime_checkable
class Finds(Protocol):
    """A model that finds pictures for words."""

    def search(self, run: OpenRun, words: str, count: int) -> Search:
        """The pictures, among those never trained on, that are nearest to some words."""


@dataclass(frozen=True)
class Predictions:
    """The test examples of a classifier: texts or pictures, their classes, and the probabilities it gives."""

    classes: Sequence[str]
    y: Int[Tensor, " n"]
    p: Float[Tensor, "n c"]
    texts: Sequence[str] = ()
    pictures: Float[Tensor, "n c h w"] | None = None


@runtime_checkable
class Classifies(Protocol):
    """A classifier, whose mistakes can be listed."""

    def predictions(self, run: OpenRun) -> Predictions:
        """What the model makes of its test examples."""


@runtime_checkable
class ExplainsWords(Protocol):
    """A classifier of texts that knows each word's part in its decision."""

    def explainer(self, run: OpenRun) -> Explainer:
        """The model with the way texts are cut for it."""


@runtime_checkable
class HasVectors(Protocol):
    """A model that has learned a vector for each word."""

    def vectors(self, run: OpenRun) -> WordVectors:
        """The words with their vectors."""


@runtime_checkable
class Shows(Protocol):
    """A model whose forward pass can be shown on an input of one's own."""

    input_hint: str
    """What an input is."""

    def forward_pass(self, run: OpenRun, given: str) -> ForwardPass:
        """The forward pass on an input from the command line."""

"""A recipe: how one of the course's models is made and trained. The table holds names; a recipe loads when it is used."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from workings.errors import WorkingsError
from workings.train.settings import Training

if TYPE_CHECKING:
    from torch import Tensor, nn

Batches: TypeAlias = Callable[[int], Any]
"""The batch of a step: the same step gives the same batch, so that a resumed run sees what an uninterrupted one would."""
Loss: TypeAlias = "Callable[[nn.Module, Any], Tensor]"


@dataclass
class Task:
    """What is trained: a model, its batches, its loss and how it is judged."""

    model: nn.Module
    batches: Batches
    loss: Loss
    evaluate: Callable[[nn.Module], dict[str, float]] | None = None
    """The model's figures on data it does not learn from."""
    best: str = "loss"
    """The figure by which the best checkpoint is chosen."""
    highest: bool = False
    """Whether a higher figure is better."""
    sample: Callable[[nn.Module], str] | None = None
    """Something to read while it trains."""
    files: dict[str, str] = field(default_factory=dict)
    """What is needed beside the weights to use the model: its vocabulary, its classes. Written into the run."""
    hashes: dict[str, str] = field(default_factory=dict)
    """The data by name → sha256."""
    unit: str = "examples"
    """What `count` counts, and speed is given in."""
    count: Callable[[Any], float] | None = None
    """How many terms the loss of a batch is the mean of (its tokens, say); without it, the examples. Parts of a batch weigh
    as much as they count."""
    reduction: str = "mean"
    """Whether the loss is the `mean` over these terms or their `sum`, whose parts are added."""
    part: Callable[[Any, int, int], Any] | None = None
    """Examples `start` to `stop` of a batch, where cutting the first axis of its tensors is not it."""
    whole: bool = False
    """Whether the loss compares the examples of a batch with each other, so that a batch cannot be split."""


class Recipe(ABC):
    """A short file that reads as the textbook: settings, data, model, loss."""

    name: ClassVar[str]
    summary: ClassVar[str]
    example: ClassVar[str]
    """The smallest useful command."""
    Settings: ClassVar[type[Training]]

    @abstractmethod
    def task(self, settings: Any) -> Task:
        """Read the data and make the model."""

    @abstractmethod
    def model(self, settings: Any, files: Mapping[str, str]) -> nn.Module:
        """The model of a finished run, before its weights are loaded."""


RECIPES: dict[str, str] = {
    "shakespeare": "workings.train.recipes.shakespeare:Shakespeare",
    "bigram": "workings.train.recipes.bigram:Bigram",
    "sentiment": "workings.train.recipes.sentiment:Sentiment",
    "digits": "workings.train.recipes.digits:Digits",
    "autoencoder": "workings.train.recipes.autoencoder:AutoEncoder",
    "vae": "workings.train.recipes.vae:Vae",
    "clip": "workings.train.recipes.clip:Clip",
    "siglip": "workings.train.recipes.clip:Siglip",
    "sort": "workings.train.recipes.sort:Sort",
    "seq2seq": "workings.train.recipes.seq2seq:Seq2Seq",
}


def recipe(name: str) -> Recipe:
    """The recipe of this name; an unknown one suggests the nearest."""
    if name not in RECIPES:
        near = get_close_matches(name, RECIPES, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(RECIPES)}."
        raise WorkingsError(f"No recipe is called {name!r}; {hint}")
    module, _, attribute = RECIPES[name].partition(":")
    made: Recipe = getattr(import_module(module), attribute)()
    return made


def summary(name: str) -> str:
    """A recipe's summary, read from its source: listing the recipes loads none of them, nor PyTorch."""
    import ast
    from importlib.util import find_spec

    module, _, attribute = RECIPES[name].partition(":")
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    with open(spec.origin, encoding="utf-8") as file:
        classes = [node for node in ast.parse(file.read()).body if isinstance(node, ast.ClassDef)]
    body = next((node.body for node in classes if node.name == attribute), [])
    for line in body:
        match line:
            case ast.Assign(targets=[ast.Name("summary")], value=ast.Constant(str(text))):
                return text
            case ast.AnnAssign(target=ast.Name("summary"), value=ast.Constant(str(text))):
                return text
    return ""

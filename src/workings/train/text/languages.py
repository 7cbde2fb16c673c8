"""How the model of a run reads text: a recipe of a language model says so by `language(settings, files, model)`."""

from __future__ import annotations

from workings.errors import WorkingsError
from workings.train.evaluation.opened import Opened
from workings.train.text.language import Language


def is_language(found: Opened) -> bool:
    """Whether the model of a run reads text token by token."""
    return hasattr(found.recipe, "language")


def language_of(found: Opened, what: str) -> Language:
    """The model with the way text is cut into its tokens."""
    if not is_language(found):
        raise WorkingsError(f"{what} needs a language model; {found.name} is a run of {found.recipe.name}.")
    made: Language = found.recipe.language(found.settings, found.files, found.model)  # type: ignore[attr-defined]
    return made

"""The language model of a run: its model with the vocabulary that the run keeps."""

from __future__ import annotations

import json
from collections.abc import Callable

from workings.errors import WorkingsError
from workings.train.evaluation.language import Language
from workings.train.evaluation.opened import Opened


def characters(found: Opened) -> Language:
    """A model of characters; those that it never saw are left out."""
    return Language(found.model, "character", list, "".join, json.loads(found.files["alphabet.json"]))


READERS: dict[str, Callable[[Opened], Language]] = {"shakespeare": characters}
"""Recipe → how its model reads text. A recipe may say so itself, by `language(settings, files, model)`."""


def is_language(found: Opened) -> bool:
    """Whether the model of a run reads text token by token."""
    return found.recipe.name in READERS or hasattr(found.recipe, "language")


def language_of(found: Opened, what: str) -> Language:
    """The model with the way text is cut into its tokens."""
    if found.recipe.name in READERS:
        return READERS[found.recipe.name](found)
    if not is_language(found):
        raise WorkingsError(f"{what} needs a language model; {found.name} is a run of {found.recipe.name}.")
    made: Language = found.recipe.language(found.settings, found.files, found.model)  # type: ignore[attr-defined]
    return made

"""`workings neighbors`: the words nearest to a word, and analogies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workings.cli.output import say
from workings.errors import WorkingsError


def neighbors(
    word: Annotated[str | None, typer.Argument(metavar="WORD", help="A word that has a vector.")] = None,
    vectors: Annotated[str, typer.Option(help="A file of lines `word number number …`, glove, or a run.")] = "glove",
    analogy: Annotated[
        tuple[str, str, str] | None, typer.Option(metavar="A B C", help="A is to B as C is to the words printed.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Words to print.")] = 10,
) -> None:
    """Print the words nearest to a word, or answers to an analogy.

    Near is by the cosine of their vectors; an analogy asks for the words near b − a + c.

    \b
    Examples:
        workings neighbors king
        workings neighbors --analogy man woman king
        workings neighbors heart --vectors runs/clip-1
    """
    if (word is None) == (analogy is None):
        raise WorkingsError("Give one of a WORD and --analogy a b c.")
    from workings.train.evaluation.open import open_run, vectors_of
    from workings.train.text.vectors import vectors as named_vectors

    is_run = Path(vectors).is_dir() and vectors != "glove"
    known = vectors_of(open_run(vectors)) if is_run else named_vectors(vectors)
    found = known.neighbours(word, count) if word is not None else known.analogy(*(analogy or ("", "", "")), k=count)
    for near, cosine in found:
        say(f"{cosine:.4f}  {near}")

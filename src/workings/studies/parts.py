"""What a study returns beside its claims: tables, worked solutions and pictures. Data; the reports print them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from workings.errors import WorkingsError
from workings.studies.claim import Claim
from workings.studies.pictures.kinds import Picture

if TYPE_CHECKING:
    from workings.show.work import Work

Cell: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True)
class Table:
    """Rows of figures under named columns."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise WorkingsError(f"{self.title!r} has {len(self.columns)} columns, but a row of {len(row)}: {[*row]}.")


@dataclass(frozen=True)
class Worked:
    """The smallest exact case, worked line by line."""

    title: str
    work: Work


@dataclass(frozen=True)
class Text:
    """A paragraph: what a figure means, what the scale of an experiment does not reach."""

    text: str


Part: TypeAlias = Claim | Table | Worked | Text | Picture

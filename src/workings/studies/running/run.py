"""Run a study: as it is, then broken in each of its ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from workings.errors import WorkingsError, kind_of
from workings.studies.claim import Claim
from workings.studies.definition import Study
from workings.studies.outcome import Control
from workings.studies.parameters import BROKEN, SEED
from workings.studies.parts import Part, Table, Text, Worked
from workings.studies.pictures.kinds import PICTURES
from workings.studies.result import Result
from workings.studies.running.code import code_of, versions
from workings.studies.running.progress import shown


def run(made: Study, given: Mapping[str, Any] | None = None, *, thorough: bool = False, controls: bool = True) -> Result:
    """The result of a study for the parameters given; without `controls`, nothing shows that its claims could fail."""
    settings = made.settings(given or {}, thorough=thorough)
    began = perf_counter()
    parts = _parts(made, settings)
    whole = settings[BROKEN] == ""
    ways = made.controls if controls and whole else ()
    broken = tuple(Control(way, _claims(_parts(made, {**settings, BROKEN: way}))) for way in ways)
    return Result(
        made.name,
        made.title,
        made.about,
        made.rows,
        settings,
        tuple(parts),
        broken,
        code_of(made.function),
        versions(),
        datetime.now(UTC).isoformat(timespec="seconds"),
        round(perf_counter() - began, 2),
        made.trains,
    )


def _parts(made: Study, settings: Mapping[str, Any]) -> list[Part]:
    """What the study's function returns, with the seed set and the caller's random numbers left alone."""
    import torch

    what = f"{made.name}, broken: {settings[BROKEN]}" if settings[BROKEN] else made.name
    with shown(what), _one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings[SEED])
        parts = made.function(**settings)
    known = (Claim, Table, Worked, Text, *PICTURES)
    for part in parts if isinstance(parts, list) else [parts]:
        if not isinstance(part, known):
            names = ", ".join(one.__name__ for one in known)
            raise WorkingsError(f"A study returns a list of {names}; {made.name} returned {kind_of(part)}.")
    claims = _claims(parts)
    if not claims:
        raise WorkingsError(f"A study makes a claim; {made.name} returned none.")
    sentences = [claim.sentence for claim in claims]
    if len({*sentences}) < len(sentences):
        raise WorkingsError(f"Each claim of a study has a sentence of its own; {made.name} has one twice.")
    return parts


@contextmanager
def _one_thread() -> Iterator[None]:
    """PyTorch with one thread: for tensors of this size several are slower, and their sums may differ in the last bit."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _claims(parts: list[Part]) -> tuple[Claim, ...]:
    return tuple(part for part in parts if isinstance(part, Claim))

"""Results are kept by parameters and code: a study that was run before, by the same code, is not run again.

    key = sha256(study, parameters, with or without controls, code, versions)

An entry is a JSON file in the user's cache folder. One that is damaged counts as none and is replaced.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workings.atomic import replacing
from workings.checksum import sha256
from workings.errors import WorkingsError
from workings.studies.definition import Study
from workings.studies.result import Result
from workings.studies.running.code import code_of, versions
from workings.studies.running.run import run


def folder() -> Path:
    """Where results are kept: `workings/studies` in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "workings" / "studies"


def cached_run(
    made: Study,
    given: Mapping[str, Any] | None = None,
    *,
    thorough: bool = False,
    controls: bool = True,
    fresh: bool = False,
) -> tuple[Result, bool]:
    """The result of a study, and whether it was there already; `fresh` runs it in any case."""
    path = folder() / f"{made.name}-{_key(made, made.settings(given or {}, thorough=thorough), controls)[:32]}.json"
    if not fresh and (found := _read(path)) is not None:
        return found, True
    result = run(made, given, thorough=thorough, controls=controls)
    with contextlib.suppress(OSError):  # a folder that cannot be written keeps nothing
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial:
            partial.write_text(result.json(), encoding="utf-8")
    return result, False


def _key(made: Study, settings: Mapping[str, Any], controls: bool) -> str:
    facts = [made.name, settings, controls, code_of(made.function), versions()]
    return sha256(json.dumps(facts, sort_keys=True))


def _read(path: Path) -> Result | None:
    try:
        return Result.from_json(path.read_text(encoding="utf-8"))
    except (OSError, WorkingsError):
        return None

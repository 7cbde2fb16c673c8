"""An outcome as JSON and back. Every part carries its kind; infinities are words, for JSON has none.

{"format": 1, "name": "key-noise", "parts": [{"kind": "Claim", "sentence": …}, …], …}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from math import inf, isfinite, nan
from typing import Any

from workings.errors import WorkingsError
from workings.studies.claim import Bounds, Claim, Method, Verdict
from workings.studies.outcome import Control, Outcome
from workings.studies.parts import Table, Text, Worked
from workings.studies.pictures.kinds import PICTURES, Line

_FORMAT = 1
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (Claim, Bounds, Control, Table, Text, Line, *PICTURES)}
_WORDS = {"inf": inf, "-inf": -inf, "nan": nan}
_ENUMS = {"verdict": Verdict, "method": Method}


def to_json(outcome: Outcome) -> str:
    """Everything that `from_json` needs to make it anew."""
    facts = {field.name: _data(getattr(outcome, field.name)) for field in fields(Outcome)}
    return json.dumps({"format": _FORMAT, "verdict": str(outcome.verdict), **facts}, ensure_ascii=False, allow_nan=False)


def from_json(text: str) -> Outcome:
    """Read what `to_json` wrote."""
    try:
        data = json.loads(text)
        if data["format"] != _FORMAT:
            raise WorkingsError(f"This result has format {data['format']}; this version reads {_FORMAT}.")
        return Outcome(**{field.name: _value(data[field.name]) for field in fields(Outcome)})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise WorkingsError(f"This is no result of a study, or it is damaged: {error}.") from error


def _data(value: Any) -> Any:
    """A value as JSON has it."""
    match value:
        case Worked(title=title, work=work):
            return {"kind": "Worked", "title": title, "work": work.json()}
        case Enum():
            return str(value)
        case float() if not isfinite(value):
            return {"float": str(value)}
        case list() | tuple():
            return [_data(one) for one in value]
        case Mapping():
            return {"kind": "dict", "pairs": [[key, _data(one)] for key, one in value.items()]}
    if is_dataclass(value):
        return {"kind": type(value).__name__, **{field.name: _data(getattr(value, field.name)) for field in fields(value)}}
    return value


def _value(data: Any) -> Any:
    """What `_data` made JSON of."""
    match data:
        case {"kind": "Worked", "title": title, "work": work}:
            from workings.show.work import Work

            return Worked(title, Work.from_json(work))
        case {"kind": "dict", "pairs": pairs}:
            return {key: _value(one) for key, one in pairs}
        case {"kind": kind}:
            named: dict[str, Any] = {name: _value(one) for name, one in data.items() if name != "kind"}
            return _KINDS[kind](**{name: _ENUMS[name](one) if name in _ENUMS else one for name, one in named.items()})
        case {"float": word}:
            return _WORDS[word]
        case list():
            return tuple(_value(one) for one in data)
    return data

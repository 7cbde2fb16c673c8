r"""The table of false claims: one entry for each, with the phrasings that make it, the truth, and what demonstrates it.

A phrasing in `claims.toml` is a regular expression over one sentence, with five shorthands that keep it readable:

    a blank   any white space, `self attention` in two lines, too
    ~         a hyphen, a blank or nothing: `self~attention`
    …         at most twenty words or so, none of them in `stops` (nor `but`, `not`, `while` …)
    ‥         at most three words, none of them like that (nor `no`)
    <word>    one of the words that the entry `words` lists under that name
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

_REACH = 40
"""Words, blanks and other marks that … passes over."""
_TURNS = r"but|whereas|while|unlike|although|though|however|not|never|cannot|rather|instead|\w+n['’]t"
"""Words after which the rest of a sentence is about something else, or the other way round."""
_SHORTHAND = re.compile(r"<(\w+)>| |~|…|‥")


@dataclass(frozen=True)
class Claim:
    """A claim that is false: how it is worded, where it is meant otherwise, what is true instead."""

    id: str
    cues: tuple[tuple[str, ...], ...]
    """Of each tuple, a sentence that makes the claim contains one (in lower case); this spares most sentences the rest."""
    phrasings: tuple[str, ...]
    unless: str
    """A sentence in which this is found means something else, or is true."""
    topic: str
    """This must be found in the sentence, or not far before it."""
    stops: str
    claim: str
    """What the phrasings say, in one clause."""
    truth: str
    why: str
    demonstration: str
    """A row of the catalogue and a name to import (`A16: workings.course.key_noise_mean`)."""
    study: str
    """The study that shows the truth, and fails where its mechanism is broken; none if there is none."""

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """The phrasings, compiled."""
        return tuple(self._compiled(rf"(?<!\w)(?:{text})(?!\w)") for text in self.phrasings)

    @cached_property
    def otherwise(self) -> re.Pattern[str]:
        """`unless`, compiled; if there is none, it finds nothing."""
        return self._compiled(self.unless or r"(?!)")

    @cached_property
    def about(self) -> re.Pattern[str]:
        """`topic`, compiled; if there is none, it finds itself anywhere."""
        return self._compiled(self.topic)

    def has_cues(self, lowered: str) -> bool:
        """Whether a text in lower case could make the claim at all."""
        return all(any(word in lowered for word in words) for words in self.cues)

    def _compiled(self, text: str) -> re.Pattern[str]:
        return re.compile(regular_expression(text, self.stops), re.IGNORECASE | re.DOTALL)


@cache
def claims() -> tuple[Claim, ...]:
    """All claims, in the order of the table."""
    return tuple(_claim(id, row) for id, row in _rows().items() if id != "words")


@cache
def first_cues() -> frozenset[str]:
    """The words that all claims begin to look for: rare ones, so the first tuple of cues is to be the rarest."""
    return frozenset(word for claim in claims() for word in claim.cues[0])


def _claim(id: str, row: dict[str, Any]) -> Claim:
    """One entry of the table."""
    cues = tuple(tuple(cue.split("|")) for cue in row["cues"])
    usual = {"unless": "", "topic": "", "stops": "", "study": ""}
    return Claim(**usual | row | {"id": id, "cues": cues, "phrasings": tuple(row["phrasings"])})


@cache
def _rows() -> dict[str, dict[str, Any]]:
    """The table as it is written."""
    return tomllib.loads(Path(__file__).with_name("claims.toml").read_text(encoding="utf-8"))


def regular_expression(text: str, stops: str = "") -> str:
    r"""A phrasing as a plain regular expression.

    >>> regular_expression("a~b c")
    'a[-–\\s]?b(?:[\\s~]+)c'
    """
    turns = f"{_TURNS}|{regular_expression(stops)}" if stops else _TURNS
    gap = rf"(?:\W|(?!(?:{turns})(?!\w))\w++){{0,{_REACH}}}?"
    few = rf"(?:(?!(?:{turns}|no|neither|nor|hardly|less|few|fewer)(?!\w))\w++,?[\s~]+){{0,3}}?"
    plain = {" ": r"(?:[\s~]+)", "~": r"[-–\s]?", "…": gap, "‥": few}

    def one(found: re.Match[str]) -> str:
        return plain[found[0]] if found[1] is None else f"(?:{regular_expression(_rows()['words'][found[1]], stops)})"

    return _SHORTHAND.sub(one, text)

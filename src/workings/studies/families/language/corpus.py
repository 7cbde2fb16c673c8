"""Texts for the studies of language: two domains written by a seeded grammar, or the user's own files.

Plays address a listener, and their numbers are few; an encyclopedia has years, measures, brackets and foreign names. Words
are drawn by Zipf's law, the r-th of a list with weight 1/r; half of the names are invented of syllables, so that a fresh
passage always has words that nobody saw before. What the grammar lacks is meaning: the figures are about form alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated, TypeAlias

from workings.errors import WorkingsError
from workings.train.data.fetch import cached_archive
from workings.train.data.sources import SOURCES
from workings.train.data.texts import text as text_of

TextName: TypeAlias = Annotated[str, "a file of yours, or a text in your cache (shakespeare …); empty: written by a grammar"]
_SLOT = re.compile(r"<(\w+)>")


@dataclass(frozen=True)
class Domain:
    """A kind of text: sentences with slots, and the words of each slot, the frequent ones first."""

    sentences: Sequence[str]
    words: Mapping[str, Sequence[str]]
    syllables: Sequence[str]

    def text(self, characters: int, seed: int) -> str:
        """Sentences up to about so many characters; the same seed gives the same text."""
        draw, found, length = random.Random(seed), [], 0
        cast = [_name(draw, self.syllables) for _ in range(8)]
        fill: dict[str, Callable[[], str]] = {
            "name": lambda: draw.choice(cast) if draw.random() < 0.5 else _name(draw, self.syllables),
            "year": lambda: str(draw.randint(1500, 1999)),
            "number": lambda: str(draw.randint(2, 9999)),
            **{slot: _zipf(draw, words) for slot, words in self.words.items()},
        }
        while length < characters:
            sentence = _SLOT.sub(lambda slot: fill[slot[1]](), draw.choice(self.sentences))
            found.append(sentence[0].upper() + sentence[1:])
            length += len(sentence) + 1
        return " ".join(found)


def _name(draw: random.Random, syllables: Sequence[str]) -> str:
    return "".join(draw.choices(syllables, k=draw.choice((2, 2, 3)))).capitalize()


def _zipf(draw: random.Random, words: Sequence[str]) -> Callable[[], str]:
    """Draws the r-th word with weight 1/r."""
    weights = [*accumulate(1 / r for r in range(1, len(words) + 1))]
    return lambda: draw.choices(words, cum_weights=weights)[0]


PLAYS = Domain(
    [
        "<address>, the <noun> doth <verb> thy <noun>!",
        "<address>, I would not <verb> the <adjective> <noun> for all thy <noun>.",
        "O <name>, thou <adjective> <noun>, wilt thou <verb> me?",
        "the <noun> and the <noun> shall <verb> before the <noun>.",
        "if <name> <verb> the <noun>, then let <name> <verb> too.",
        "what <adjective> <noun> is this, that I should <verb> it?",
        "<name>, my <adjective> <noun>, hath <number> reasons to <verb>.",
        "come, <verb> with me, and <verb> the <adjective> <noun> of <name>.",
        "thy <noun> is more <adjective> than my <noun>, and less <adjective>.",
    ],
    {
        "address": ["good my lord", "sweet lady", "sirrah", "gentle cousin", "noble sir", "fair maid", "old friend"],
        "noun": (
            "king heart night love crown sword grave honour ghost tongue sorrow horse fool brother daughter throne dagger "
            "mercy winter rose battle moon letter poison raven storm music candle prison garden serpent mirror"
        ).split(),
        "adjective": (
            "good sweet noble gentle false cruel bloody mad poor proud faithful weary golden secret silent wicked merry "
            "bitter tender hollow"
        ).split(),
        "verb": (
            "love kill swear weep speak die follow curse forgive remember betray kiss banish crown mourn serve dream hide "
            "wound sing"
        ).split(),
    },
    "an el or ma ro lio tha be cor de li ga do na ri ca us ia mon rick".split(),
)
ENCYCLOPEDIA = Domain(
    [
        "in <year>, the <noun> of <name> (<number> <unit>) was <verb> by <name> <name>.",
        "the <adjective> <noun> has a <measure> of <number>.<number> <unit>; it was <verb> in <year>.",
        "<name> (born <year>) is a <adjective> <noun> in the <place> of <name>.",
        "its <measure>, about <number> <unit>, is the <adjective> in the <place>.",
        "according to the census of <year>, the <place> had <number> inhabitants and <number> <noun>s.",
        "the <noun> was <verb> between <year> and <year>, and is now <adjective>.",
        "see also: <noun> of <name>, <adjective> <noun>, <name> <noun>.",
        "most of the <noun> is <adjective> (see <name>, <year>).",
    ],
    {
        "noun": (
            "river station species bridge language university railway village theory mountain album protein company church "
            "island election satellite museum parliament dialect mineral orchestra reactor glacier"
        ).split(),
        "adjective": (
            "largest northern common former official industrial regional modern chemical historic municipal volcanic annual "
            "endemic tropical digital"
        ).split(),
        "verb": "built described discovered founded measured restored published abolished renamed annexed".split(),
        "place": "district province region country municipality archipelago".split(),
        "measure": "length population area height density frequency".split(),
        "unit": "km m km² kg °C MHz".split(),
    },
    "vá kö zin jy wū ta ško gra pě ql þor mé nzi xo bø uy dž hra".split(),
)


def source_text(named: str, domain: Domain, characters: int, seed: int) -> str:
    """`characters` of a text, its words between single spaces: of the user's, or of the grammar. Nothing is fetched."""
    if not named:
        return domain.text(characters, seed)[:characters]
    if named in SOURCES and cached_archive(named) is None:
        raise WorkingsError(
            f"{named} is not in your cache, and a study downloads nothing. Get it: workings data get {named}"
        )
    found = " ".join(text_of(named).split())[:characters]
    if len(found) < characters:
        raise WorkingsError(f"{named} has {len(found):,} characters between single spaces; {characters:,} are needed.")
    return found

"""The patterns of einops: axes by their names, before and after.

b t (h d) -> b h t d        axis (h d) split into h×d = 2×4, axes in the order b h t d
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(r"\s*(\(|\)|\.\.\.|\w+)")
_REST = "..."
"""Axes that have no name."""
_Group = tuple[str, ...]


class PatternError(ValueError):
    """A text that is no pattern, or does not fit a shape."""


@dataclass(frozen=True)
class Pattern:
    """Both sides: for each axis the names it is made of, (h d) of two; none for an axis of length 1."""

    before: tuple[_Group, ...]
    after: tuple[_Group, ...]

    def __str__(self) -> str:
        return f"{_written(self.before)} -> {_written(self.after)}"

    @property
    def reverse(self) -> Pattern:
        return Pattern(self.after, self.before)

    def lengths(self, shape: Sequence[int], sizes: Mapping[str, int]) -> dict[str, int]:
        """How long each axis of one side is, from the shape of what has this side.

        >>> parse("b (h d) -> b h d").lengths((2, 6), {"h": 2})
        {'h': 2, 'b': 2, 'd': 3}
        """
        found = {name: int(size) for name, size in sizes.items()}
        for group, length in self._aligned(shape):
            unknown = [name for name in group if name not in found]
            known = math.prod(found[name] for name in group if name in found)
            if len(unknown) > 1 or (known and length % known):
                raise PatternError(f"({' '.join(group)}) of length {length} cannot be told apart")
            found |= {name: length // max(known, 1) for name in unknown}
        return found

    def _aligned(self, shape: Sequence[int]) -> Iterator[tuple[_Group, int]]:
        """The axes of the first side with their lengths; those of … are left out."""
        count = len(shape) - len(self.before) + 1
        place = 0
        for group in self.before:
            if group == (_REST,):
                place += count
                continue
            if place >= len(shape):
                raise PatternError(f"{_written(self.before)} has more axes than {tuple(shape)}")
            yield group, shape[place]
            place += 1
        if place != len(shape):
            raise PatternError(f"{_written(self.before)} has not as many axes as {tuple(shape)}")

    def needed(self, lengths: Mapping[str, int]) -> dict[str, int]:
        """The lengths without which the first side cannot be told apart, and those that only the second has."""
        own = {name for group in self.before for name in group}
        joined = {name for group in self.before if len(group) > 1 for name in group}
        new = {name for group in self.after for name in group} - own
        return {name: n for name, n in lengths.items() if name in joined | new and not name.isdigit()}

    def left_out(self) -> list[str]:
        """The axes that the second side has not."""
        kept = {name for group in self.after for name in group}
        return [name for group in self.before for name in group if name not in kept]

    def words(self, shape: Sequence[int], sizes: Mapping[str, int]) -> list[str]:
        """What changes from the first side to the second.

        >>> parse("b t (h d) -> b h t d").words((2, 3, 8), {"h": 2})
        ['axis (h d) split into h×d = 2×4', 'axes in the order b h t d']
        >>> parse("b h t d -> b t (h d)").words((2, 2, 3, 4), {}), parse("d -> b d").words((3,), {"b": 2})
        (['axes in the order b t h d', 'h and d joined'], ['repeated along b = 2'])
        """
        lengths = self.lengths(shape, sizes)
        said = [_split(group, lengths) for group in self.before if len(group) > 1]
        names, wanted = ([name for group in side for name in group] for side in (self.before, self.after))
        new = [name for name in wanted if name not in names]
        if new:
            long = "×".join(str(lengths.get(name, name)) for name in new)
            said.append(f"repeated along {'×'.join(new)} = {long}" if not new[0].isdigit() else f"repeated {long} times")
        moved = [name for name in wanted if name in names]
        if moved != [name for name in names if name in wanted] or (new and wanted[: len(new)] != new):
            said.append(f"axes in the order {' '.join(wanted)}")
        said += [f"{', '.join(group[:-1])} and {group[-1]} joined" for group in self.after if len(group) > 1]
        ones = [sum(not group for group in side) for side in (self.before, self.after)]
        if ones[0] != ones[1] and not new:
            said.append("axes of length 1 left out" if ones[0] > ones[1] else "with a new axis")
        return [word for word in said if not _undoes(word, self)]


def _undoes(word: str, pattern: Pattern) -> bool:
    """Whether an axis is told apart only to be joined again: (h d) on both sides."""
    return any(
        word.startswith((f"axis ({' '.join(group)}) split", f"{', '.join(group[:-1])} and {group[-1]} joined"))
        for group in pattern.before
        if len(group) > 1 and group in pattern.after
    )


def _split(group: _Group, lengths: Mapping[str, int]) -> str:
    return f"axis ({' '.join(group)}) split into {'×'.join(group)} = {'×'.join(str(lengths[name]) for name in group)}"


def parse(text: str) -> Pattern:
    """The pattern that a text is; PatternError where it is none."""
    before, arrow, after = text.partition("->")
    if not arrow or "->" in after:
        raise PatternError(f"'{text}' has no two sides")
    return Pattern(_side(before), _side(after))


def _side(text: str) -> tuple[_Group, ...]:
    groups: list[_Group] = []
    inside: list[str] | None = None
    place, text = 0, text.rstrip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise PatternError(f"'{text}' is no list of axes")
        place, token = found.end(), found[1]
        if token == "(" and inside is None:
            inside = []
        elif token == ")" and inside is not None:
            groups.append(tuple(inside))
            inside = None
        elif token in "()":
            raise PatternError(f"the brackets of '{text}' do not fit")
        elif inside is not None:
            inside.append(token)
        else:
            groups.append(() if token == "1" else (token,))
    if inside is not None:
        raise PatternError(f"the brackets of '{text}' do not fit")
    return tuple(groups)


def _written(side: tuple[_Group, ...]) -> str:
    return " ".join("1" if not group else group[0] if len(group) == 1 else f"({' '.join(group)})" for group in side)


def letters_of(text: str) -> str:
    """An equation of einops' einsum in single letters, as PyTorch's has them; PatternError where it is none.

    >>> letters_of("batch q d, batch k d -> batch q k")
    'bqd,bkd->bqk'
    """
    before, arrow, after = text.partition("->")
    if not arrow or any(sign in text for sign in "(.1"):
        raise PatternError(f"'{text}' is no equation of axes")
    words = [[name for group in _side(part) for name in group] for part in (*before.split(","), after)]
    letters: dict[str, str] = {}
    for name in dict.fromkeys(name for part in words for name in part):
        free = (
            letter
            for letter in (*name, *"abcdefghijklmnopqrstuvwxyz")
            if letter.isalpha() and letter not in letters.values()
        )
        letters[name] = next(free)
    *inputs, output = ("".join(letters[name] for name in part) for part in words)
    return f"{','.join(inputs)}->{output}"


def pattern_of(options: Mapping[str, Any]) -> tuple[Pattern, dict[str, Any]]:
    """The pattern among the options of an operation, and the sizes of axes, which are the others."""
    sizes = {name: size for name, size in options.items() if name not in ("pattern", "reduction")}
    return parse(str(options["pattern"])), sizes

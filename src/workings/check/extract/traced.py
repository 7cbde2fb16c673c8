"""A text that knows where each of its characters comes from, through every replacement."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Traced:
    """`text`, taken from the document at `start`; `origins` once it is no longer what stands there.

    >>> mended = Traced("1 approx 2", start=10).sub(re.compile("approx"), lambda found: r"\\approx")
    >>> mended.text, mended.origin(2), mended.origin(3), mended.origin(10)
    ('1 \\\\approx 2', 12, 12, 19)
    """

    text: str
    start: int
    origins: tuple[int, ...] | None = None

    def origin(self, index: int) -> int:
        """Where character `index` stands in the document."""
        return self.start + index if self.origins is None else self.origins[index]

    def sub(self, pattern: re.Pattern[str], change: Callable[[re.Match[str]], str]) -> Traced:
        """Replace every match by `change(match)`. What the two have in common at their ends keeps its place."""
        pieces: list[str] = []
        origins: list[int] = []
        done = 0
        for match in pattern.finditer(self.text):
            new = change(match)
            if new != match[0]:
                self._keep(done, match.start(), pieces, origins)
                self._put(match, new, pieces, origins)
                done = match.end()
        if not pieces and done == 0:
            return self
        self._keep(done, len(self.text), pieces, origins)
        return Traced("".join(pieces), self.start, tuple(origins))

    def _keep(self, start: int, end: int, pieces: list[str], origins: list[int]) -> None:
        pieces.append(self.text[start:end])
        origins.extend(range(self.start + start, self.start + end) if self.origins is None else self.origins[start:end])

    def _put(self, match: re.Match[str], new: str, pieces: list[str], origins: list[int]) -> None:
        old, first = match[0], match.start()
        same = 0
        while same < min(len(old), len(new)) and old[-1 - same] == new[-1 - same]:
            same += 1
        pieces.append(new)
        origins.extend([self.origin(first)] * (len(new) - same))
        origins.extend(self.origin(first + len(old) - same + i) for i in range(same))

"""Which examples a model is judged by: a share of each class, so that none is missing on either side."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction

from workings.errors import WorkingsError


def split(order: Iterable[int], y: Sequence[int], share: Fraction) -> tuple[list[int], list[int]]:
    """The places to learn from and those to be judged by, in their order: of each class the first `share`, at least one.

    >>> split([3, 1, 4, 0, 2], y=[0, 0, 1, 0, 1], share=Fraction(1, 3))
    ([1, 0, 2], [3, 4])
    """
    left = {k: max(1, int(n * share)) for k, n in Counter(y).items()}
    sides: dict[bool, list[int]] = defaultdict(list)
    for i in order:
        sides[left[y[i]] > 0].append(i)
        left[y[i]] -= 1
    return sides[False], sides[True]


def check_two_each(y: Sequence[int], classes: Sequence[str], where: str, what: str) -> None:
    """A class needs an example for either side."""
    counts = Counter(y)
    if few := [name for k, name in enumerate(classes) if counts[k] < 2]:
        names = ", ".join(name[:60] for name in few[:5]) + " …" * (len(few) > 5)
        told = f"the class {names} has 1 {what}" if len(few) == 1 else f"the classes {names} have 1 {what} each"
        raise WorkingsError(
            f"{where}: {told}. A class needs at least 2, one to learn from and one to be judged by: add to it, or leave "
            "it out."
        )

"""What supports a finding, whatever its kind: the fewer the ways to misread a claim, the surer it is that it is wrong."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum


class Support(StrEnum):
    """One reason to believe a finding; the last two are reasons to doubt it."""

    ARITHMETIC = "arithmetic"
    """Nothing but numbers, the four operations, powers, roots and round brackets: there is no notation to misread."""
    USUAL = "usual"
    """Beyond that, nothing but notation that nearly every document uses alike: log, Σ, 3(4), matrices."""
    SLIP = "slip"
    """One small change makes the claim right, and hardly by accident."""
    CHAIN = "chain"
    """The rest of its chain is right."""
    ENTRIES = "entries"
    """Most entries of the table are right."""
    COMPUTED = "computed"
    """What is printed looks computed: three digits or more that matter, not a small number that may be a name."""
    NEAR = "near"
    """What is printed is about as large as the truth, as misread formulas hardly are."""
    ELSEWHERE = "elsewhere"
    """The true value is printed in another line of the document, and has three digits or more."""
    CONCLUDED = "concluded"
    """Words say that it follows: so, thus, which gives."""
    FIXED = "fixed"
    """Its letters have one value each in this document, and nothing lets them vary."""
    FORM = "form"
    """The same calculation with other numbers is right in this document."""
    NOTATION = "notation"
    """The rest of its notation stands in claims of this document that are right."""
    DOCUMENT = "document"
    """Nearly all that was decided in this document is right."""
    DOUBTED = "doubted"
    """Words or its form leave it open whether it is claimed at all."""
    CONTRADICTED = "contradicted"
    """Its notation is wrong in this document again and again: rather we misread it."""


OF_DOCUMENT = frozenset(
    {Support.NOTATION, Support.DOCUMENT, Support.FORM, Support.FIXED, Support.DOUBTED, Support.CONTRADICTED}
)
"""What only the whole document shows."""
DOUBTS = frozenset({Support.DOUBTED, Support.CONTRADICTED})


def support_text(supports: Collection[str]) -> str:
    """In the order of `Support`, with commas.

    >>> support_text({"slip", "arithmetic"})
    'arithmetic, slip'
    """
    return ", ".join(support for support in Support if support in supports)


def supports_in(text: str) -> set[str]:
    """What `support_text` wrote."""
    return set(text.split(", ")) if text else set()

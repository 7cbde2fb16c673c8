"""The words around a formula: do they make it an assumption, a mistake that is quoted, or a number with a unit?"""

from __future__ import annotations

import re

SUPPOSED = re.compile(
    r"\b(?:let|suppose|assum\w*|if|given|when(?:ever)?|solve|such that|for which|want|where|set(?:ting)?|choos\w*|pick|find"
    r"|needs?|would|should|imagine|consider|otherwise|unless|must|whether|true or false|is it true)\b[^.;!?]*$",
    re.I,
)
DENIED = re.compile(
    r"\b(?:(?:not|n't|never|wrong(?:ly)?|incorrect(?:ly)?|mistak\w*|erroneous(?:ly)?|false that|claims? that|says that|said"
    r"|typo|naive(?:ly)?|wrote|written as|tempting|deduct\w*|no points?|if it were|first I had)"
    r"(?! (?:only|classified|labell?ed|predicted))\b[^.;!?]{0,30}|(?:instead of|rather than)[\s$]*|~~[\s$]*)$",
    re.I,
)
DENIED_AFTER = re.compile(
    r"[\s$.,)]*(?:\?|(?:which |this |that |it )?(?:is|are|was|would be|looks) "
    r"(?:false|wrong|incorrect|not|a mistake|an error))"
    r"|[\s$,;)]*(?:here,? )?(?:but (?:no\b|it should|that is|this is)"
    r"|(?:that|which|this) (?:has|is|was) (?:the |a )?(?:wrong|incorrect|false))"
    r"|\$?~~",
    re.I,
)
QUOTED = re.compile(r"(?:``|“|«)(?:(?!''|”|»)[^\n])*$")
"""Somebody else's words that are not over yet."""
ASSUMED = re.compile(
    r"\b(?:assume|suppose|given|let|imagine|pretend|if)(?: that| us (?:assume|suppose)(?: that)?| we (?:had|have))?[\s$]*$"
    r"|\b(?:modulo|mod|boolean)\b[^.;!?]{0,20}$|\\mathbb\s*\{?Z\}?_[^.;!?]{0,20}$",
    re.I,
)
"""What is assumed, or counted in another arithmetic, is no claim."""
OPTION = re.compile(r"(?:^|\n)\s*(?:[-*+]\s*)?(?:\[ ?\]|[☐○◯□])\s*(?:\(?[A-Ha-h][.)])?\s*$")
"""The box of an answer that is not chosen."""
SCALE = re.compile(
    r"\$?[ \t~]*(?:[kKMGTB]|[kKMGTP]i?B|[kMGTP]?FLOPs?|[kMG]Hz|[mµμn]s|km|thousand|million|billion|trillion|hours?|h|min"
    r"|minutes?|percent|\\?%)(?![A-Za-z])"
)
"""What stands right behind a formula as the unit of its last number."""


def is_supposed(before: str) -> bool:
    """Whether what stands before a formula makes it an assumption, or an equation to be solved."""
    return SUPPOSED.search(before[-120:]) is not None


def is_denied(before: str, after: str) -> bool:
    """Whether the words around a formula say that it is wrong, assumed, or somebody else's."""
    before = before[-80:]
    if before.rstrip(" *_").lower().endswith(("false:", "wrong:", "incorrect:")):
        return True
    return (
        any(words.search(before) for words in (DENIED, OPTION, QUOTED, ASSUMED))
        or DENIED_AFTER.match(after[:60]) is not None
    )


def has_scale(after: str) -> bool:
    """Whether a unit such as MB or million stands right behind a formula."""
    return SCALE.match(after) is not None

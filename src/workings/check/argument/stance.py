"""What an author thinks of a formula: states it, supposes it, denies it; or it is doubtful which.

A word that denies or supposes says so of a formula only where it governs it: as the verb or the predicate whose object or
that-clause is the formula («it is impossible that …», «… cannot happen»), with nothing but the words of such a construction
between the two. Anywhere else in the clause («False positives: …») it is a reason to doubt and no more.
"""

from __future__ import annotations

import re
from enum import IntEnum


class Stance(IntEnum):
    """From stated to denied."""

    STATED = 0
    DOUBTFUL = 1
    """A word of doubt stands in the clause and does not govern the formula."""
    SUPPOSED = 2
    DENIED = 3


_UNTRUE = (
    r"wrong(?:ly)?|incorrect(?:ly)?|mistak(?:es?|en(?:ly)?)|erroneous(?:ly)?|false(?:ly)?|falsch\w*|impossible|absurd"
    r"|nonsens\w*|contradict\w*|infeasible|violat\w*|fallac\w+|bogus|tempting|naive(?:ly)?"
)
"""Words that call something untrue, as a predicate or as an attribute."""
_NOT = (
    r"(?:is|are|does|do|did|was|would|wo|ca|can|could|should)n[’']t|"
    r"not(?! (?:only|just|merely|simply))|never|cannot|不是|并非"
)
_REJECTS = r"whether|instead of|rather than|unless|no way|no points?(?: for)?|nor|~~"
_THAT = (
    r"that|the|an?|it|is|are|was|were|be|been|to|of|as|case|true|have|has|get|obtain|say|mean|imply|claim|equal|hold|possible"
    r"|writ(?:e|ing)|conclude|think|believe|assume|suppose|happen|follow|statement|equation|in general"
)
"""What may stand between a governing word and its formula: the words of a that-clause or an infinitive."""
_SIGNS = r"[\s$(:*_{“\"'`]"
_ADVERBIAL = (
    r"(?:,? ?(?:for|to|towards?|by)(?: the)?(?: sake of)?(?: an?)?(?: the)? (?:contradiction|contrary|argument)|,? not,?"
    r"(?: i\.e\.| that is| namely))?,?"
)
"""«Assume, for the sake of contradiction, …», «Suppose not, i.e. …»."""
_DENIES = re.compile(
    rf"(?<![a-z])(?:{_UNTRUE}|{_NOT}|{_REJECTS})(?:{_SIGNS}+(?:{_THAT})(?![a-z]))*{_SIGNS}*$", re.IGNORECASE
)
_SUPPOSES = re.compile(
    r"(?<![a-z])(?:(?:assum(?:e|ing)|suppos(?:e|ing)|imagine|pretend|hypothetically|angenommen|设|假设)"
    rf"{_ADVERBIAL}|given|let(?: us)?|if)(?: (?:assume|suppose))?(?: it (?:were|was|is))?(?: the case| true)?(?: that)?"
    r"[\s$(]*$",
    re.IGNORECASE,
)
_PLURAL_LABEL = re.compile(r"(?<![a-z])(?:mistakes|fallacies)\W*$", re.IGNORECASE)
"""Mistakes: the things called wrong, or how many there are."""
_OTHERS_SAY = re.compile(
    r"(?<!the )(?<!this )(?<!our )(?<![a-z])(?<!these )(?<!following )(?:(?<=[a-z] )claim(?:s|ed)|wrote)(?: that| to)?"
    r"[\s$:]*$",
    re.IGNORECASE,
)
"""Somebody else's words: a verb, not «the claims»."""
_DOUBT = re.compile(rf"(?<![a-z])(?:{_UNTRUE}|{_NOT}|{_REJECTS})(?![a-z])", re.IGNORECASE)
_CLAUSE_EDGE = re.compile(
    r"[;,.]\s|(?<![a-z])(?:so|thus|hence|therefore|then|because|since|but|and)(?![a-z])", re.IGNORECASE
)
_SUBJECT = (
    r"[\s$)*_}”\"'’`]*"
    r"(?:[,;–—]? ?(?:which|that|this|it|a|an|and|so|is|are|was|be|to|would|must|leads?|clearly|in|gives?) ?)*"
)
_TRUE = r"(?:true|right|correct|satisfied|hold|happen|occur|the case|possible|valid|work)"
_IS_DENIED = re.compile(
    rf"{_SUBJECT},? ?(?<![a-z])(?:{_UNTRUE})(?![a-z])(?! [a-z]*(?:s|tion|rate)\b)"
    rf"|{_SUBJECT}(?:{_NOT}|can not)(?: be)? ?{_TRUE}\b"
    rf"|[^.;:!?\d=]{{0,40}}?, (?:which|that|this) (?:is|was|would be) (?:an? )?(?:{_UNTRUE})(?![a-z])"
    rf"|{_SUBJECT}(?:fails?|is no solution)(?![a-z])(?! to)"
    r"|[\s$,;]*but (?:it should|no\b)|[\s$;.]*that has the wrong|\$?~~|[\s$)]*(?:[✗✘❌]|\\ding\{5[56]\}|\\xmark)",
    re.IGNORECASE,
)
"""Right behind a formula: a predicate that denies it, a correction, a mark."""
_DOUBT_AFTER = re.compile(rf"[^.;:!?\d=]{{0,40}}?(?<![a-z])(?:{_UNTRUE})(?![a-z])", re.IGNORECASE)
_STRUCK = re.compile(r"[✗✘❌][^\n]{0,40}$|\\(?:[bx]?cancel|sout|st)\{[\s$]*$")
"""A mark at the beginning of the line, or a macro that strikes it out."""


CLASH = re.compile(
    r"\\(?:long)?(?:right|Right)arrow\s*\\(?:long)?(?:left|Left)arrow|\\(?:lightning|contradiction|blitza?)\b|↯|⨳"
)
"""The sign of a contradiction."""


def stance(sentence: str, before: str, after: str) -> Stance:
    """What is thought of a formula: `sentence` is its own up to it, `before` and `after` the text on either side.

    >>> stance("It is impossible that ", "", ""), stance("False positives: ", "", "")
    (<Stance.DENIED: 3>, <Stance.DOUBTFUL: 1>)
    """
    sentence = sentence[-160:]
    if _SUPPOSES.search(sentence):
        return Stance.SUPPOSED
    clause = _CLAUSE_EDGE.split(sentence)[-1]
    governed = _DENIES.search(clause) is not None and not _PLURAL_LABEL.search(clause)
    if governed or _OTHERS_SAY.search(sentence) or _IS_DENIED.match(after[:80]) or _STRUCK.search(before[-60:]):
        return Stance.DENIED
    return Stance.DOUBTFUL if _DOUBT.search(clause) or _DOUBT_AFTER.match(after[:60]) else Stance.STATED

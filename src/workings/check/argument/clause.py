"""The words around a formula: the clause it stands in, and what kind of clause that is.

Words only break ties between the roles that the form of a relation allows. The nearest cue to the left in the same sentence
counts; a list («x = 4, y = 3 and z = 1») hands its cue on. Nothing but a denial or a question right beside it suspends
arithmetic between numbers: «hypothesis», «suppose» and «not» stand in too many sentences.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from workings.check.argument.stance import CLASH, Stance, stance
from workings.check.document.document import Formula


class Cue(StrEnum):
    """What a clause does."""

    THEN = "then"
    """It concludes."""
    LET = "let"
    """It chooses."""
    IF = "if"
    """It restricts."""
    GOAL = "goal"
    SOLVE = "solve"
    NAME = "name"
    """It introduces a function or a model."""
    ANSWER = "answer"
    NONE = ""


_WORDS = {
    Cue.THEN: r"given by|defined by|obtained (?:by|as)|then|so|thus|therefore|hence|we (?:get|have|obtain|find|see|know)"
    r"|gives?|gave|yields?|impl(?:y|ies)|means?|equals?|equal to|is|are|was|becomes?|simplif\w+|results? in"
    r"|comput\w+|calculat\w+|find(?:ing)?|following|finally|recall|note that|adds? up to|leav\w+|making|also"
    r"|daher|folglich|ergibt|ist|则|因此|所以|可?得\w*|故|有|即|那么|易知|解得|\\therefore|∴",
    Cue.LET: r"let|suppose|assum\w+|given|consider\w*|take|taking|choos\w+|pick|set|setting|put|plugging in|denot\w+"
    r"|where|with|using|use|fix|for example|e\.g\.|defin\w+|call|represent\w*|parameters?|sei(?:en)?|gegeben"
    r"|mit|wobei|设|令|记|假设|给定|已知|其中|取|置|定义|选\w*|例如",
    Cue.IF: r"if|when(?:ever)?|unless|for (?:all|any|each|every|arbitrary|which|some)|for|such that|such as|subject to"
    r"|s\.t\.|provided|as long as|constraint|condition|in case(?: of)?|whether|until|while|either|or|since"
    r"|because|wenn|falls|für|若|如果|当|对于?|对所有\w*|对任意\w*|满足|使得|使其|只要|否则|∵|\\because",
    Cue.GOAL: r"(?:show|prove|verify|demonstrate|derive|check|want)(?: that)?|to (?:show|prove)|zeigen?|beweisen?"
    r"|试\w*推导|求证|推导|证明",
    Cue.SOLVE: r"solv(?:e|ing)|solutions?|equations?|system|unknown|satisf\w+|roots?|lines?|hyperplanes?|set up"
    r"|gleichung\w*|求\w*使得?|方程|超平面",
    Cue.NAME: r"function|model|formula|form|defined as|called|encoding|loss|score|funktion|函数\w*为?|模型|分布",
    Cue.ANSWER: r"(?:final )?answers?|in conclusion|antwort|答案?",
}
_CUE = re.compile(
    "|".join(rf"(?P<{cue.name}>(?<![a-z\\])(?:{words})(?![a-z]))" for cue, words in _WORDS.items()), re.IGNORECASE
)
_OPTION = re.compile(r"(?:^|\n)\s*(?:[-*+]\s*)?(?:\[ ?\]|[☐○◯□])\s*(?:\(?[A-Ha-h][.)])?\s*$")
"""The box of an answer that is not chosen."""
_CHOICE = re.compile(r"(?:^|[\n ])[ \t]*(?:[-*+]|\(?[A-Ha-h1-9][.)])[ \t]*\$?$")
"""The mark of a member of a list."""
_QUESTION = re.compile(r"[\s$)*_”\"']*\?")
_ASKED_BEFORE = re.compile(
    r"(?<![a-z])(?:T ?/ ?F|true or false|(?:find|spot)(?: the)? (?:errors?|mistakes?)"
    r"|which (?:(?:one|of|is|are)[^.?]*(?:true|false|correct|wrong|right)))(?![a-z])[^.]*$",
    re.IGNORECASE,
)
"""A question whether what follows is right."""
_OTHER_ARITHMETIC = re.compile(
    r"(?<![a-z])(?:binary|octal|hex(?:adecimal)?|base[ -]?(?:\d+|two|eight|sixteen)|(?:\d+-hour |on a )clock)(?![a-z])",
    re.IGNORECASE,
)
"""Numbers that are not written in tens, or that begin anew: said before a formula, or right behind it."""
_JOIN = re.compile(r"[\s$~,;，、&]*(?:and|or|und|oder|且|和|与|,|;)?[\s$~]*")
"""What stands between the members of a list."""
_SENTENCE_END = re.compile(
    r"(?<![\d(][.])(?<!e\.g\.)(?<!i\.e\.)(?:(?<=[.!?。！？；])|(?<=[.!?][)’”]))[*_]{0,2}[\s}]+|\n[ \t]*\n"
    r"|(?:^|\n)[ \t>]*(?:[-*+]|\d+[.)])[ \t]|\\item"
)
_FULL_STOP = re.compile(r"(?<!i\.e)(?<!e\.g)(?<=[a-z)\d])[.!?][)’”\"*_]*\s*$", re.IGNORECASE)
_MATHEMATICS = re.compile(
    r"\$\$.*?\$\$|\$[^$]*\$|\\\\?\(.*?\\\\?\)|\\\\?\[.*?\\\\?\]|\\begin\{(\w+\*?)\}.*?\\end\{\1\}", re.DOTALL
)
_OPERATOR_WORD = re.compile(r"(?<![a-z])(?:plus|minus|times|divided by|multiplied by)[\s~$]*$", re.IGNORECASE)
_OPERATOR_BEFORE = re.compile(r"[\w)\]] ?[*+×·/] ?\$$")
"""c * $8/3$: an operator in the text, right before the formula."""
_FORMULA_BEFORE = re.compile(r"(?:\$|\\[\])]|\\end\{\w+\*?\})[\s~\\]*(?:\$\$?|\\[\[(]|\\begin\{\w+\*?\})[\s&]*$")
"""A formula that ends right before this one begins: $$…$$ $$+ … = 5$$ goes on with it."""
_RANGE = re.compile(r"(\d{1,9}) ?[-–] ?(\d{1,9}) ?=")
"""Pages 3-5 =: from … to, where a noun stands before it and the second number is the larger one."""
_COUNT = re.compile(r"(\d{1,9}) ?[-–] ?(\d{1,9}) ?= ?(\d{1,9})")
"""3-5 = 3: how many there are from … to …, both counted."""
_NOUN_BEFORE = re.compile(r"[A-Za-z]{2,}s? $")


@dataclass(frozen=True)
class Clause:
    """The kind of the clause, and whether its last conjunction is an «if»; denied, asked, or a part of something longer."""

    cue: Cue = Cue.NONE
    is_conditional: bool = False
    stance: Stance = Stance.STATED
    """Whether it is stated, supposed or denied; somebody else's words count as denied."""
    has_other_arithmetic: bool = False
    """Whether another base or a clock is spoken of."""
    is_asked: bool = False
    is_fragment: bool = False
    """Whether its first side begins outside of the formula."""
    is_answer: bool = False
    """Whether it stands in a solution."""

    @property
    def is_denied(self) -> bool:
        """Whether nobody here says that it is true."""
        return self.stance is Stance.DENIED

    @property
    def is_supposed(self) -> bool:
        """Whether it is supposed."""
        return self.stance is Stance.SUPPOSED

    @property
    def is_doubtful(self) -> bool:
        """Whether the words leave it open that it is meant as it is read."""
        return self.stance is not Stance.STATED or self.has_other_arithmetic


def clause_of(formula: Formula, text: str, is_answer: bool, handed_on: Clause | None = None) -> Clause:
    """The clause of a formula; `handed_on` is that of the formula before it in a list."""
    sentence = _sentence_before(formula)
    found = [Cue[match.lastgroup] for match in _CUE.finditer(sentence) if match.lastgroup]
    conjunctions = [cue for cue in found if cue in (Cue.IF, Cue.THEN)]
    cue = handed_on.cue if handed_on is not None else found[-1] if found else Cue.NONE
    return Clause(
        cue,
        is_conditional=bool(conjunctions) and conjunctions[-1] is Cue.IF,
        stance=Stance.DENIED
        if _is_rejected(formula)
        else stance(_governing(formula, sentence), formula.before, formula.after),
        has_other_arithmetic=bool(_OTHER_ARITHMETIC.search(sentence) or _OTHER_ARITHMETIC.search(formula.after[:30])),
        is_asked=bool(_QUESTION.match(formula.after) or _ASKED_BEFORE.search(formula.before)),
        is_fragment=_is_fragment(formula, text),
        is_answer=is_answer,
    )


def _governing(formula: Formula, sentence: str) -> str:
    """The words that can govern a formula: none of a sentence that ends before it."""
    return "" if _FULL_STOP.search(formula.before) else sentence


def _is_rejected(formula: Formula) -> bool:
    """Whether it is an answer that is not chosen, or ends in a contradiction."""
    return bool(
        _OPTION.search(formula.before[-40:]) or CLASH.search(formula.text) or CLASH.match(formula.after.lstrip(" $"))
    )


def _sentence_before(formula: Formula) -> str:
    """The sentence up to a formula, the formulas in it replaced by a mark."""
    before = _MATHEMATICS.sub("⟨F⟩", formula.before)
    ends = [match.end() for match in _SENTENCE_END.finditer(before)]
    return before[ends[-1] if ends else 0 :]


def _is_fragment(formula: Formula, text: str) -> bool:
    """Whether the left side begins outside: a bracket that closes, an operator word, half a number, a range."""
    depth = 0
    for character in re.split(r"[=≈<>]", re.sub(r"\\(?:left|right)?", "", formula.text), maxsplit=1)[0]:
        depth += (character in "([") - (character in ")]")  # [0, 1) is an interval
        if depth < 0:
            return True
    if formula.text.lstrip().startswith("+") and _FORMULA_BEFORE.search(text[max(0, formula.start - 40) : formula.start]):
        return True
    counted = _COUNT.fullmatch(formula.text.strip())
    if counted and int(counted[2]) - int(counted[1]) + 1 == int(counted[3]):
        return True
    left = text[max(0, formula.start - 24) : formula.start]
    if not formula.display and _OPERATOR_BEFORE.search(left):
        return True
    if not left.endswith(("$", "(", "[", "\n", "}")) and formula.text[:1].isdigit():
        return bool(re.search(r"\d\.\s*$", left)) or bool(_NOUN_BEFORE.search(left) and _is_range(formula.text))
    if re.search(r"[\d.][ \t]*\n$", left) and formula.text[:1].isdigit() and not formula.display:
        return re.search(r"\d\.\s*$", left) is not None
    return not formula.display and _OPERATOR_WORD.search(left.rstrip("$\\( \n~") + " ") is not None


def _is_range(text: str) -> bool:
    """
    >>> _is_range("3-5 = 3 pages"), _is_range("180-135 = 45")
    (True, False)
    """
    found = _RANGE.match(text)
    return found is not None and int(found[1]) < int(found[2])


def continues_list(one: Formula, other: Formula, text: str) -> bool:
    """Whether a formula goes on with the list that the formula before it stands in."""
    between = text[one.end : other.start]
    return one is other or (not other.display and len(between) < 40 and _JOIN.fullmatch(between) is not None)


def is_choice(formula: Formula, text: str) -> bool:
    """Whether nothing but the mark of a list stands before it: (A), b., a bullet."""
    return _CHOICE.search(text[max(0, formula.start - 12) : formula.start]) is not None

r"""Macros in a formula, expanded by TeX's rules; every character keeps the place in the document it stands for.

A formula is a stack of tokens, the next one on top. A macro takes its arguments from the stack and puts its body there, so
that each token is looked at once after each expansion: the time is linear in what comes out.
"""

from __future__ import annotations

import re

from workings.check.extract.macros import Macro, Macros
from workings.check.extract.shorthand import shorthand
from workings.check.extract.traced import Traced

_LONGEST = 100_000
"""Characters of one formula after expansion."""
_MOST = 1_000
"""Expansions in one formula."""

_PATIENCE = 10
"""Formulas of a document that may hit these bounds before others with the same macros are left as they are."""

_WORDS = re.compile(r"\\([A-Za-z]+|[^A-Za-z\s])")
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|#\d|\s+|.", re.DOTALL)

_Token = tuple[str, int, int]
"""Its characters, where the first one comes from, and by how much the place moves on with each (0 inside a macro's body)."""


class TooLargeError(Exception):
    """The formula outgrew its bounds."""


class _Missing(Exception):
    """A macro does not find its arguments."""


def expanded(formula: Traced, macros: Macros) -> Traced:
    """The formula without macros; `TooLargeError` if they do not stop.

    >>> from workings.check.extract.macros import definitions
    >>> expanded(Traced(r"\\v{x} + 1", 5), definitions(r"\\newcommand{\\v}[1]{\\mathbf{#1}}")).text
    '\\\\mathbf{x} + 1'
    """
    position = formula.start
    names = set(_WORDS.findall(formula.text))
    meant = {name: found for name in names if (found := macros.at(name, position) or _usual_macro(name, macros))}
    environments = any(key.startswith("begin ") for key in macros.known)
    if not meant and not environments:
        return formula
    if len(macros.endless) > _PATIENCE and not meant.keys().isdisjoint(frozenset().union(*macros.endless[:_PATIENCE])):
        raise TooLargeError
    try:
        return _Expansion(formula, macros, environments).run()
    except TooLargeError:
        macros.endless.append(frozenset(meant))
        raise


def _usual_macro(name: str, macros: Macros) -> Macro | None:
    """The usual meaning of a name that the document does not define."""
    return None if name in macros.known else shorthand(name)


class _Expansion:
    """The tokens still to be read (last first), and those that are final."""

    def __init__(self, formula: Traced, macros: Macros, environments: bool) -> None:
        self.start, self.macros, self.environments = formula.start, macros, environments
        self.stack = [(match[0], formula.origin(match.start()), 1) for match in _TOKEN.finditer(formula.text)][::-1]
        self.done: list[_Token] = []
        self.size = sum(len(token[0]) for token in self.stack)
        self.count = 0

    def run(self) -> Traced:
        """Expand until nothing is left to expand."""
        while self.stack:
            token = self.stack.pop()
            if token[0][0] != "\\" or len(token[0]) < 2 or not self.replace(token):
                self.done.append(token)
        return _joined(self.done, self.start)

    def replace(self, token: _Token) -> bool:
        """Put what `token` stands for on the stack, if it is a macro."""
        name = token[0][1:]
        macro = self.macros.at(name, self.start) or self.usual(name)
        if self.environments and name in {"begin", "end"}:
            macro = self.environment(name) or macro
        if macro is None:
            return False
        self.taken: list[_Token] = []
        try:
            arguments = self.arguments(macro)
        except _Missing:
            self.stack += self.taken[::-1]
            self.count_steps(10)
            return False
        self.push(macro, arguments, token[1])
        return True

    def usual(self, name: str) -> Macro | None:
        """The usual meaning of a name that the document does not define; with an argument behind it, it is another."""
        macro = _usual_macro(name, self.macros)
        takes_more = macro is not None and not macro.count and bool(self.stack) and self.stack[-1][0] == "{"
        return None if takes_more else macro

    def environment(self, edge: str) -> Macro | None:
        """An environment of the document's own: its name's tokens are dropped."""
        letters = "".join(token[0] for token in self.stack[: -_LOOK_NAME - 1 : -1])
        match = re.match(r"\{([A-Za-z]+\*?)\}", letters)
        macro = self.macros.at(f"{edge} {match[1]}", self.start) if match else None
        if match and macro:
            del self.stack[-match.end() :]
        return macro

    def push(self, macro: Macro, arguments: list[list[_Token]], origin: int) -> None:
        """Put the body with its arguments on the stack."""
        body: list[_Token] = []
        for match in _TOKEN.finditer(macro.body):
            text = match[0]
            if text[0] == "#" and len(text) == 2:
                index = int(text[1])
                body += arguments[index - 1] if 0 < index <= len(arguments) else []
            else:
                body.append((text, origin, 0))
        self.size += sum(len(token[0]) for token in body)
        self.count_steps()
        self.stack += body[::-1]

    def count_steps(self, steps: int = 1) -> None:
        """Some more steps (a search in vain costs more): are the bounds still kept?"""
        self.count += steps
        if self.count > _MOST or self.size > _LONGEST:
            raise TooLargeError

    def take(self) -> _Token:
        """The next token; it goes back if the macro turns out to miss an argument."""
        if not self.stack:
            raise _Missing
        self.taken.append(self.stack.pop())
        return self.taken[-1]

    def arguments(self, macro: Macro) -> list[list[_Token]]:
        """Take the arguments from the stack."""
        if macro.delimiters:
            return self.delimited(macro)
        found: list[list[_Token]] = []
        if macro.star:
            if self.peek() == "*":
                self.skip()
                self.take()
            if self.peek() == "[":
                self.optional()
        if macro.default is not None and macro.count:
            given = self.optional() if self.peek() == "[" else None
            origin = self.stack[-1][1] if self.stack else self.start
            found.append([(match[0], origin, 0) for match in _TOKEN.finditer(macro.default)] if given is None else given)
        while len(found) < macro.count:
            found.append(self.argument())
        return found

    def skip(self) -> None:
        """Pass over spaces."""
        while self.stack and self.stack[-1][0].isspace():
            self.take()

    def peek(self) -> str:
        """The next token that is not a space."""
        index = len(self.stack) - 1
        while index >= 0 and self.stack[index][0].isspace():
            index -= 1
        return self.stack[index][0] if index >= 0 else ""

    def argument(self) -> list[_Token]:
        """A group without its braces, or one token."""
        self.skip()
        if not self.stack or self.stack[-1][0] == "}":
            raise _Missing
        token = self.take()
        return [token] if token[0] != "{" else self.until("}")

    def optional(self) -> list[_Token]:
        """What stands in square brackets."""
        self.skip()
        self.take()
        return self.until("]")

    def until(self, mark: str) -> list[_Token]:
        """Everything up to `mark` outside braces, which is dropped."""
        taken: list[_Token] = []
        depth = 0
        while len(taken) < _LOOK:
            token = self.take()
            if token[0] == mark and depth == 0:
                return taken
            depth += (token[0] == "{") - (token[0] == "}")
            taken.append(token)
        raise _Missing

    def delimited(self, macro: Macro) -> list[list[_Token]]:
        r"""The arguments of `\def\f(#1,#2)`: each one ends where its delimiter comes."""
        for mark in macro.delimiters[0].strip():
            self.skip()
            if self.take()[0] != mark:
                raise _Missing
        found = []
        for mark in macro.delimiters[1:]:
            found.append(self.until(mark.strip()[0]) if mark.strip() else self.argument())
        return found


_LOOK = 5_000
"""Tokens that one argument of a macro may take up."""
_LOOK_NAME = 40


def _joined(tokens: list[_Token], start: int) -> Traced:
    """The text of the tokens; a space keeps a letter from growing onto a command before it."""
    pieces: list[str] = []
    origins: list[int] = []
    command = False
    for text, origin, step in tokens:
        if command and text[0].isalpha():
            pieces.append(" ")
            origins.append(origins[-1])
        pieces.append(text)
        origins.extend(range(origin, origin + len(text)) if step else [origin] * len(text))
        command = text[0] == "\\" and text[-1].isalpha()
    return Traced("".join(pieces), start, tuple(origins))

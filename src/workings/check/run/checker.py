"""From a document to its report: every formula is read, then each line is checked with what was defined before it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from workings.check.argument.argument import Argument
from workings.check.argument.weigh import close
from workings.check.claims.answers import check_answers
from workings.check.claims.identities import Identities
from workings.check.claims.laws import check_laws
from workings.check.claims.letters import FreeLetters
from workings.check.claims.numbers import Numbers
from workings.check.claims.shapes import DeclaredShapes
from workings.check.claims.tables import check_tables
from workings.check.document.document import Document
from workings.check.document.finding import Results
from workings.check.document.options import Options
from workings.check.extract import has_known_ending, read, read_text
from workings.check.knowledge import AFTER
from workings.check.knowledge.running import run_listings
from workings.check.prose import claims_in_prose
from workings.check.report.report import Report
from workings.check.value.value import ball_precision

_MARKS_OF_TEXT = "$=\n≈≡≤≥<>"
"""What stands in a text, and hardly in the name of a file."""
Watch = Callable[[Callable[[], Results]], None]
"""What is told, before the end, how to ask what was found so far."""


def check(source: str | Path, *, kind: str | None = None, run_code: bool = False) -> Report:
    """`check("notes.md")` finds the wrong lines of a worked solution.

    >>> [found] = check("The mean is $(1 + 2 + 5)/3 = 4$.").findings()
    >>> found.says, found.level
    ('(1 + 2 + 5)/3 = 4', 'likely')
    >>> found.why
    'You wrote 4; correct is 8/3 ≈ 2.66667.'

    `source` is a file (.md, .tex, .txt, .ipynb), or the text itself: a string with a `$`, a relation such as `=` or a line
    break is a text, and so is one that names no file and does not end like the name of one.
    `kind` says what a text is (`markdown`, `latex`, `text`, `notebook`); by default its looks decide. Code listings are
    parsed; with `run_code` they run, with your rights on files.

    To check many files in parallel, with limits of time and memory, use `check_files`.
    """
    document = read_text(str(source), "<text>", kind) if _is_text(source) else read(source)
    return Report(document.name, document, check_document(document, Options(run_code)))


def _is_text(source: str | Path) -> bool:
    """A text, and no file: with a mark of a text, or neither with the ending of a document nor the name of a file."""
    if not isinstance(source, str):
        return False
    if not source.strip() or any(mark in source for mark in _MARKS_OF_TEXT):
        return True
    return not (has_known_ending(source) and not any(map(str.isspace, source))) and not os.path.exists(source)


def check_document(document: Document, options: Options | None = None, watch: Watch | None = None) -> Results:
    """What is found in a document. `watch` is given, at the start, a function that tells what was found so far."""
    return examine(document, options or Options(), watch).results


def examine(document: Document, options: Options, watch: Watch | None = None) -> Argument:
    """A document with all its lines read and checked."""
    with ball_precision():
        argument = Argument(document)
        if watch is not None:
            watch(partial(_so_far, argument))
        identities, declared = Identities(argument), DeclaredShapes(argument)
        numbers, letters = Numbers(argument, identities), FreeLetters(argument)
        for line in argument.lines:
            try:
                check_tables(line, argument)
                declared.check(line)
                numbers.read_line(line)
                check_laws(line, argument)
                identities.check_line(line)
                letters.read_line(line)
            except Exception as error:  # one line must not cost the others; the tests see to it that none gets here
                argument.give_up(line, error)
        letters.read_again()
        check_answers(argument)
        scope = argument.everything()
        for rule in AFTER:
            rule(argument, scope)
        claims_in_prose(argument)
    if options.run_code:
        run_listings(argument)
    close(argument)
    return argument


def _so_far(argument: Argument) -> Results:
    close(argument)
    return argument.results

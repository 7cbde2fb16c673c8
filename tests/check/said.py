"""What the checker says about a text, in a form that is easy to compare."""

from workings.check.document.finding import LEVELS, Results
from workings.check.extract import read_text
from workings.check.run.checker import check_document


def report(text: str, name: str = "page.md") -> Results:
    """The report of a text."""
    return check_document(read_text(text, name))


def said(text: str, level: str = "note", name: str = "page.md") -> list[str]:
    """The findings of a text at a level or above: line, kind and truth."""
    document = read_text(text, name)
    wanted = LEVELS[: LEVELS.index(level) + 1]
    return [
        f"{document.place(found.start).line} {found.kind}: {found.truth}"
        for found in check_document(document).findings
        if found.level in wanted
    ]

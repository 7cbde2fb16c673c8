"""Which contexts a document has, and what one sees of the values given in another."""

import pytest

from tests.check.said import report
from workings.check.argument.contexts import Contexts, Form, Visibility, visibility
from workings.check.extract import read_text

SHEET = r"""# Sheet

Here HEAD.

## Exercise 1

Given ONE.

(a) First PART-A.

(b) Then PART-B.

**Solution.** By STEP.

> A note with QUOTE.

## Exercise 2

Now TWO.
"""
BOOK = r"""
\section{One}
Here HEAD.
\begin{example}
Let ONE be. \footnote{Beside ASIDE.}
\end{example}
\begin{solution}
Then SOLVED.
\end{solution}
\begin{align}
x DISPLAY
\end{align}
\begin{enumerate}
\item first ITEM-1
\item second ITEM-2
\end{enumerate}
\sol{This is a long argument of a macro of the author, with a sentence. It says MACRO here and goes on.}
\example{label}{A title}{
A statement with a sentence. It gives GIVEN here.}
{The worked solution says WORKED.
}\\
\section{Two}
And TWO.
"""


def look(text: str, name: str):
    """The context in which a word stands."""
    document = read_text(text, "sheet.tex" if text is BOOK else "sheet.md")
    contexts = Contexts(document)
    return lambda word: contexts.at(document.text.index(word))


@pytest.mark.parametrize(
    "text, word, form",
    [
        (SHEET, "HEAD", Form.SECTION),
        (SHEET, "PART-A", Form.PART),
        (SHEET, "STEP", Form.STEP),
        (SHEET, "QUOTE", Form.BLOCK),
        (BOOK, "ONE", Form.BLOCK),
        (BOOK, "ASIDE", Form.ASIDE),
        (BOOK, "ITEM-2", Form.PART),
        (BOOK, "MACRO", Form.BLOCK),
        (BOOK, "DISPLAY", Form.SECTION),  # mere layout
    ],
)
def test_form_makes_a_context(text, word, form):
    assert look(text, word)(word).form is form


@pytest.mark.parametrize(
    "text, here, there, how",
    [
        (SHEET, "PART-A", "ONE", Visibility.OWN),  # given around it
        (SHEET, "PART-B", "PART-A", Visibility.SIBLING),
        (SHEET, "ONE", "PART-A", Visibility.SIBLING),  # what a part says is the part's
        (SHEET, "TWO", "ONE", Visibility.HIDDEN),
        (SHEET, "TWO", "HEAD", Visibility.FAR),
        (BOOK, "SOLVED", "ONE", Visibility.OWN),  # a solution goes on with its problem
        (BOOK, "ASIDE", "ASIDE", Visibility.OWN),
        (BOOK, "ONE", "ASIDE", Visibility.HIDDEN),
        (BOOK, "ITEM-2", "ITEM-1", Visibility.SIBLING),
        (BOOK, "TWO", "HEAD", Visibility.HIDDEN),
        (BOOK, "WORKED", "GIVEN", Visibility.OWN),  # the arguments of one macro
        (BOOK, "MACRO", "GIVEN", Visibility.HIDDEN),
    ],
)
def test_what_is_seen(text, here, there, how):
    at = look(text, here)
    assert visibility(at(here), at(there)) is how


@pytest.mark.parametrize("head", ["WRONG:", "**Wrong:**", "Common mistake", "The wrong way:"])
def test_a_fence_that_is_called_wrong_claims_nothing(head):
    assert report(f"{head}\n\n```\n12 + 13 = 27\n```\n").counts.wrong == 0
    assert report(f"{head}\n\n```\n12 + 13 = 27\n```\n\n$12 + 13 = 27$").counts.wrong == 1


@pytest.mark.parametrize("head", ["Mistake rate:", "The result:"])
def test_other_fences_claim(head):
    assert report(f"{head}\n\n```\n12 + 13 = 27\n```\n").counts.wrong == 1


def test_labels_count_up_or_are_none():
    at = look("Take (b) of the list.\n\n1) one WORD\n\n2) two\n", "WORD")
    assert at("WORD").form is Form.PART and at("Take").form is Form.DOCUMENT


def test_every_position_has_a_context_and_children_stand_inside_their_parents():
    document = read_text(BOOK, "book.tex")
    contexts = Contexts(document)
    for context in contexts:
        assert all(context.start <= child.start <= child.end <= context.end for child in context.children)
    assert all(contexts.at(i).start <= i < contexts.at(i).end for i in range(len(document.text)))

"""`workings exact`: the exact value of an expression, and its certified decimals."""

from typing import Annotated

import typer

from workings.cli.output import say
from workings.errors import WorkingsError


def exact(
    expression: Annotated[str, typer.Argument(help="A number, an expression, or a matrix with rows split by ';'.")],
    digits: Annotated[int, typer.Option(min=1, max=10_000, help="How many decimals to certify.")] = 6,
    at: Annotated[list[str] | None, typer.Option(metavar="LETTER=VALUE", help="Substitute a value for a letter.")] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX too.")] = False,
) -> None:
    """Print the exact value of EXPRESSION and its certified decimals.

    \b
    Examples:
      workings exact "e^(1/sqrt(2)) / (1 + e^(1/sqrt(2)))" --digits 30
      workings exact "16*w - 8" --at w=3/10
      workings exact "1 1/2; sqrt(2) 0" --latex
    """
    values = dict(_letter_and_value(text) for text in at or [])

    from workings.exact import exact as exact_tensor
    from workings.exact.typeset.grid import grid

    x = exact_tensor(expression)
    if unknown := sorted(values.keys() - x.free_symbols):
        letters = ", ".join(sorted(x.free_symbols)) or "none"
        raise WorkingsError(f"The expression has no letter {', '.join(unknown)}; its letters: {letters}.")
    if values:
        x = x.substitute(**values)

    say(x.text())
    if latex:
        say(x.latex())
    if not x.free_symbols:
        first, *rest = grid(x.decimals(digits)).replace("-", "−").split("\n")
        say("\n".join([f"≈ {first}", *(f"  {line}" for line in rest)]))


def _letter_and_value(text: str) -> tuple[str, str]:
    """Split `w=3/10` into a letter and the text of its value.

    >>> _letter_and_value("w=3/10")
    ('w', '3/10')
    """
    letter, equals, value = (part.strip() for part in text.partition("="))
    if not (letter.isidentifier() and equals and value):
        raise WorkingsError(f"--at needs LETTER=VALUE, such as w=3/10, but got {text!r}.")
    return letter, value

"""Several language models on several texts: one table in bits per character, and what cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping

from workings.train.text.language import TextFigures

Table = Mapping[str, Mapping[str, TextFigures]]
"""Run → text → what the model spends on it."""


def details(found: Table) -> str:
    """A line for each model and text, with every unit."""
    rows = [["run", "text", "tokens", "per token", "per character", "per word", "bits/character", "unknown"]]
    for run, texts in found.items():
        for text, m in texts.items():
            each = [f"{m.perplexity(n):.4g}" for n in m.units().values()]
            rows.append([run, text, f"{m.tokens:,} {m.unit}s", *each, bits(m), f"{m.unknown:.2%}"])
    return aligned(rows)


def bits(m: TextFigures) -> str:
    """Bits per character; at least so many, where the model does not know all of the text."""
    return f"{'≥ ' * bool(m.unknown)}{m.bits_per_character:.4f}"


def comparison(found: Table) -> str:
    """Models by texts in bits per character; the fewest of each text are marked, where they compare.

    >>> m = TextFigures("character", 8, 8, 2, -8 * 0.6931471805599453, 0.0, False)
    >>> print(comparison({"runs/a": {"x.txt": m}}))
    bits/character  x.txt
    runs/a          1.0000 *
    """
    texts = list(next(iter(found.values())))
    fair = {text: _comparable([row[text] for row in found.values()]) for text in texts}

    def cell(m: TextFigures, text: str) -> str:
        least = min((other.bits_per_character for other in fair[text]), default=None)
        return bits(m) + " *" * (m in fair[text] and m.bits_per_character == least)

    rows = [[run, *(cell(row[text], text) for text in texts)] for run, row in found.items()]
    return aligned([["bits/character", *texts], *rows])


def _comparable(text: list[TextFigures]) -> list[TextFigures]:
    """Who does not know a word pays little for it: those that know all of a text compare, or all that know as much."""
    whole = [m for m in text if not m.unknown]
    return whole or (text if len({(m.unit, m.unknown) for m in text}) == 1 else [])


def legend(found: Table) -> str:
    """What the signs of the tables mean, those that are there."""
    texts = [[row[text] for row in found.values()] for text in next(iter(found.values()))]
    star = len(found) > 1 and any(map(_comparable, texts))
    some = any(m.unknown for text in texts for m in text)
    return "\n".join([STAR] * star + [BOUND] * some)


STAR = "* needs the fewest bits per character of a text, among the models that know all of it (or all the same part)"
BOUND = (
    "≥ the model does not know part of the text and pays too little for it: the true figure, and each perplexity, is higher"
)


def warnings(found: Table) -> list[str]:
    """What a reader of the table must know."""
    all_measured = [m for row in found.values() for m in row.values()]
    notes = []
    if len(units := sorted({m.unit for m in all_measured})) > 1:
        notes.append(
            f"The models read different units ({', '.join(units)}): compare bits per character, not perplexity per token."
        )
    for text in next(iter(found.values())):
        for run, m in ((run, row[text]) for run, row in found.items() if row[text].unknown):
            what = (
                "They are left out: they cost nothing, and their characters are not counted"
                if m.left_out
                else "Each costs no more than the one token for unknown ones, though all its characters are counted"
            )
            notes.append(f"{run} does not know {m.unknown:.2%} of the {m.unit}s of {text}. {what}.")
    return notes


def aligned(rows: list[list[str]]) -> str:
    """Cells in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)

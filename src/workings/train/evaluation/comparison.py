"""Several language models on several texts: one table in bits per character, and what cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping

from workings.train.evaluation.language import Measured

Table = Mapping[str, Mapping[str, Measured]]
"""Run → text → what the model spends on it."""


def details(found: Table) -> str:
    """A line for each model and text, with every unit."""
    rows = [["run", "text", "tokens", "per token", "per character", "per word", "bits/character", "unknown"]]
    for run, texts in found.items():
        for text, m in texts.items():
            each = [f"{m.perplexity(n):.4g}" for n in m.units().values()]
            rows.append([run, text, f"{m.tokens:,} {m.unit}s", *each, f"{m.bits_per_character:.4f}", f"{m.unknown:.2%}"])
    return aligned(rows)


def comparison(found: Table) -> str:
    """Models by texts in bits per character; the least of each text is marked.

    >>> m = Measured("character", 8, 8, 2, -8 * 0.6931471805599453, 0.0, False)
    >>> print(comparison({"runs/a": {"x.txt": m}}))
    bits/character  x.txt
    runs/a          1.0000 *
    """
    texts = list(next(iter(found.values())))
    least = {text: min(row[text].bits_per_character for row in found.values()) for text in texts}

    def cell(m: Measured, text: str) -> str:
        return f"{m.bits_per_character:.4f}" + (" *" if m.bits_per_character == least[text] else "")

    rows = [[run, *(cell(row[text], text) for text in texts)] for run, row in found.items()]
    return aligned([["bits/character", *texts], *rows])


def warnings(found: Table) -> list[str]:
    """What a reader of the table must know."""
    all_measured = [m for row in found.values() for m in row.values()]
    notes = []
    if len(units := sorted({m.unit for m in all_measured})) > 1:
        notes.append(
            f"The models read different units ({', '.join(units)}): compare bits per character, not perplexity per token."
        )
    for text in next(iter(found.values())):
        shares = {run: row[text].unknown for run, row in found.items() if row[text].unknown}
        if shares:
            worst = max(shares, key=lambda run: shares[run])
            dropped = found[worst][text].left_out
            what = (
                "left out: they cost nothing, and do not count"
                if dropped
                else "counted as the one token for unknown ones, which is easy"
            )
            notes.append(f"{worst} does not know {shares[worst]:.2%} of {text}: these tokens are {what}.")
    return notes


def aligned(rows: list[list[str]]) -> str:
    """Cells in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)

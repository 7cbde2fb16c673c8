"""docs/conformance.md, written from the outcomes. Nothing in it changes from run to run: no times, sorted names."""

from __future__ import annotations

import math
import os
import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from conformance.row import Row

INTRODUCTION = """\
# Conformance

PyTorch programs run twice, in float64 and on exact tensors, and the two are compared. `make conformance` runs
all of it and writes this page ({versions}).

{totals}
"""

OPINFO = """\
## PyTorch's operators

PyTorch tests its operators with a database of sample inputs (`op_db` in `torch.testing`). Each of its entries
that has a float64 form is run here: sample inputs are snapped to multiples of 1/16, which are exact; samples
have at most 64 elements and there are at most 30 of an entry (entries with larger samples only: 2,000
elements, 6 samples). Results must agree with float64 to 1e-7 and gradients to 1e-6. An entry passes when all
its samples do.

Not counted are {random} random or uninitialised operations ({random_names}) and {untestable} entries without
a real floating-point sample ({untestable_names}).

Entries that do not pass:

{table}
"""

MODELS = """\
## Models

Models of Hugging Face's `transformers` in tiny random configurations, weights at multiples of 1/4. Outputs
and the gradients of all parameters must agree to 1e-9, relative to the largest entry of each tensor; a
gradient that is exactly zero, such as that of a key's bias, is compared with the largest tensor of its model.
Where a model's code computes in float32 whatever its dtype, the reference computes in float64 there, and the
distance to the unchanged float64 model is given.

{table}
"""

MODULES = """\
## Modules and programs

Inputs at multiples of 1/8, parameters at multiples of 1/4. Results, and the gradients of inputs and
parameters, must agree to 1e-9, relative to the largest entry of each tensor.

{table}
"""

OPTIMIZERS = """\
## Optimizers

Three steps of logistic regression; the parameters and the loss after each must agree to 1e-9. `foreach` says
whether PyTorch works on lists of tensors or on one tensor after the other. SparseAdam is left out: exact
tensors have no sparse layout.

{table}
"""

GRAPHS = """\
## Random graphs

Graphs of 5 to 30 random operations, forward and backward. They must agree to 1e-11, plus what a disturbance
of 1e-12 of every intermediate result changes in float64.

{table}
"""

POLES = "At −1, −2, … the value is infinite; PyTorch's kernel answers about 1e32 there."
SERIES = "PyTorch's kernel is off by up to 8e-7 near |x| = 5; ball arithmetic confirms the exact result."
PYTORCH_IS_OFF = {
    "digamma": POLES,
    "polygamma": POLES,
    "special.polygamma": POLES,
    "special.bessel_j0": SERIES,
    "special.bessel_j1": SERIES,
    "special.bessel_y0": SERIES,
    "special.bessel_y1": SERIES,
}
"""Operators whose float64 kernel is less accurate than the tolerance: the exact result differs, and is right."""


def explanation(outcome: Any) -> str:
    """Why an entry does not pass: what is known of the operator, else what was seen."""
    operator = outcome.name.removesuffix("." + outcome.name.rpartition(".")[2])
    known = PYTORCH_IS_OFF.get(outcome.name) or PYTORCH_IS_OFF.get(operator)
    return known if known and outcome.status == "differs" else outcome.reason


def page(outcomes: Sequence[Any], rows: dict[str, list[Row]]) -> str:
    """The whole page."""
    modules = [*rows["modules"], *rows["programs"]]
    parts = [
        INTRODUCTION.format(versions=versions(), totals=totals(outcomes, rows)),
        opinfo(outcomes),
        MODELS.format(table=rows_table("model", rows["models"])),
        MODULES.format(table=rows_table("program", modules)),
        OPTIMIZERS.format(table=rows_table("optimizer", rows["optimizers"])),
        GRAPHS.format(table=rows_table("graphs", rows["graphs"])),
    ]
    return "\n".join(parts)


def versions() -> str:
    import transformers

    python = ".".join(platform.python_version_tuple()[:2])
    return f"here with PyTorch {torch.__version__}, transformers {transformers.__version__}, Python {python}"


def totals(outcomes: Sequence[Any], rows: dict[str, list[Row]]) -> str:
    """How many of each kind agree."""
    status = Counter(outcome.status for outcome in outcomes)
    testable = len(outcomes) - status["random"] - status["untestable"]
    lines = [("entries of PyTorch's operator database", str(status["pass"]), str(testable))]
    for name in ("models", "modules", "programs", "optimizers"):
        lines.append((name, str(sum(row.status == "pass" for row in rows[name])), str(len(rows[name]))))
    return table(("", "agree", "of"), lines)


def opinfo(outcomes: Sequence[Any]) -> str:
    """The entries that do not pass, and those that are not counted."""
    by_status: dict[str, list[Any]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.name):
        by_status.setdefault(outcome.status, []).append(outcome)
    random, untestable = by_status.pop("random", []), by_status.pop("untestable", [])
    by_status.pop("pass", None)
    failing = [(code(o.name), o.status, explanation(o)) for status in sorted(by_status) for o in by_status[status]]
    return OPINFO.format(
        random=len(random),
        random_names=names(random),
        untestable=len(untestable),
        untestable_names=names(untestable),
        table=table(("entry", "status", "reason"), failing) if failing else "None.",
    )


def names(outcomes: Iterable[Any]) -> str:
    return ", ".join(code(outcome.name) for outcome in outcomes) or "none"


def rows_table(what: str, rows: Iterable[Row]) -> str:
    """Rows in the order they were run."""
    lines = [(row.name, row.status, bound(row), "; ".join(filter(None, [row.reason, *row.notes]))) for row in rows]
    return table((what, "status", "largest difference", "notes"), lines)


def bound(row: Row) -> str:
    """A power of ten that the error does not exceed; the last digits of float64 differ between machines."""
    if row.status != "pass":
        return f"{row.error:.0e}" if row.error else ""
    return f"≤ 1e{math.ceil(math.log10(row.error))}" if row.error else "0"


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    shown = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in shown)


def code(name: str) -> str:
    return f"`{name}`"


def write(path: Path, text: str) -> None:
    """Write under a temporary name and rename, so that a reader never sees half a page."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)

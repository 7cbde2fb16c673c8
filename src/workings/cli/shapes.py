"""`workings shapes`: the sizes, parameters and multiply-adds of a model, layer by layer, with their arithmetic."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workings.cli.output import say

if TYPE_CHECKING:
    from torch import Tensor, nn

    from workings.trace.shapes.report import ShapeReport


def shapes(
    model: Annotated[str, typer.Argument(metavar="FILE.py:NAME", help="A model, or a class or function that makes one.")],
    input: Annotated[
        list[str], typer.Option("--input", metavar="SIZES", help="Sizes such as 1x1x32x32; 2x5:int for token indices.")
    ],
    width: Annotated[int | None, typer.Option(min=40, help="Width of the table (default: the terminal's).")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a self-contained HTML page.")] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX.")] = False,
    standalone: Annotated[
        bool, typer.Option("--standalone", help="Print LaTeX as a document of its own, ready to compile.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Print the sizes, parameters and multiply-adds of each layer.

    Sizes and parameters come with their arithmetic; a last line has the memory.

    The file is loaded, which runs its code. The model itself is not changed: a copy of it runs once.

    Several inputs: repeat --input. A batch axis is added when the first layer needs one.

    \b
    Examples:
      workings shapes my.py:net --input 1x1x32x32
      workings shapes my.py:Classifier --input 2x5:int
      workings shapes my.py:net --input 1x1x32x32 --markdown
      workings shapes my.py:net --input 1x1x32x32 --html shapes.html
    """
    from workings.cli.arguments.load import load_module
    from workings.cli.arguments.values import sizes
    from workings.cli.output import latex_form, one_form

    form = one_form(latex=latex_form(latex, standalone, markdown=markdown), markdown=markdown)
    found, added = _run(load_module(model), [sizes(one) for one in input])
    if added:
        say("A batch axis of 1 was added to the input, which the first layer needs.", err=bool(form))
    _print(found, width or shutil.get_terminal_size((130, 40)).columns, html, "document" if standalone else form)
    if found.failure is not None:
        raise typer.Exit(2)


def _print(found: ShapeReport, width: int, html: Path | None, form: str) -> None:
    """The table as a page, in a form, or as text where neither was asked for."""
    from workings.cli.output import write_page
    from workings.show.printers import shape_forms, shape_table

    if html is not None:
        write_page(html, shape_forms.html(found))
        say(f"wrote {html}")
    if form:
        say({"latex": shape_forms.latex, "document": shape_forms.document}.get(form, shape_forms.markdown)(found))
    elif html is None:
        say(shape_table.text(found, width))


def _run(model: nn.Module, sizes: list[tuple[tuple[int, ...], bool]]) -> tuple[ShapeReport, bool]:
    """The report, with a batch axis added if the model runs only so, and whether one was."""
    from workings.trace.shapes.report import shapes as report_of

    order = [True, False] if _batch_is_missing(model, sizes[0][0]) else [False, True]
    reports = []
    for batch in order:
        found = report_of(model, *(_zeros((1, *n) if batch else n, whole) for n, whole in sizes))
        if found.failure is None:
            return found, batch
        reports.append(found)
    return reports[0], order[0]


def _batch_is_missing(model: nn.Module, sizes: tuple[int, ...]) -> bool:
    """Whether the first layer that tells needs one axis more than the input has."""
    from torch import nn

    axes = {nn.Conv1d: 3, nn.Conv2d: 4, nn.Conv3d: 5, nn.BatchNorm2d: 4, nn.BatchNorm3d: 5, nn.Linear: 2, nn.Embedding: 2}
    needed = next((axes[type(layer)] for layer in model.modules() if type(layer) in axes), None)
    return needed is not None and len(sizes) == needed - 1


def _zeros(sizes: tuple[int, ...], whole: bool) -> Tensor:
    """A tensor of zeros that takes one number's memory: every layer copies what it changes."""
    import torch

    return torch.zeros((), dtype=torch.long if whole else torch.get_default_dtype()).expand(sizes)

"""One scale for values of all sizes: exact entries with their decimals, decimals, then a one-line summary.

⎡  1/2      1/2⎤ …            an exact tensor, with ≈ decimals beside it
[0.5  1.25]                   a tensor of up to `Options.most` entries
−3.2 … 3.9  ▁▂▅█▅▂▁  mean 0    a larger one
(1, 2)  "word"  ⟨Linear⟩      anything else
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from workings.control import plain
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.exact.typeset.grid import grid
from workings.exact.typeset.latex import matrix_latex
from workings.show.options import Options
from workings.show.write.block import beside, width
from workings.show.write.brief import name_of, short_repr
from workings.show.write.cells import Form, forms
from workings.show.write.decimals import align_points, decimal, latex_decimal, map_cells
from workings.show.write.escape import latex_code, latex_text
from workings.show.write.saved import saved_of, summary_of
from workings.show.write.sparkline import Summary

_MOST_ITEMS = 8
"""Items of a tuple, list or dict that are shown."""
INLINE = 9
"""Entries of a matrix that are put into a formula when substitution is short."""
_MOST_COLUMNS = 10
"""Columns of amsmath's bmatrix; wider matrices are arrays."""


def text_of(value: Any, options: Options) -> str:
    """The value as a block of text, one line or several.

    >>> print(text_of(torch.tensor([[1.0, 0.25], [12.0, -1.0]]), Options()))
    ⎡ 1.00   0.25⎤
    ⎣12.00  −1.00⎦
    >>> text_of((1, 0.5, "a"), Options())
    '(1, 0.5, "a")'
    """
    parts = text_forms(value, options)
    joined = beside(parts[0][1], *(piece for sign, block in parts[1:] for piece in (f" {sign} ", block)))
    if width(joined) <= options.width:
        return joined
    return "\n".join([parts[0][1], *(beside(f"{sign} ", block) for sign, block in parts[1:])])


def text_forms(value: Any, options: Options, names: Sequence[str] = ()) -> list[tuple[str, str]]:
    """The ways the value is written, each after its sign: [("=", "1/√2"), ("≈", "0.7071")].

    `names` are those of the parts of a value that is unpacked: [("⇒", "a = 1    b = 2")].
    """
    if names and is_list(value):
        return [("⇒", _named_items(value, options, names))]
    if not isinstance(value, torch.Tensor):
        return [("=", _text_object(value, options))]
    if not value.numel():
        return [("=", "[]")]
    if saved_of(value) is not None:
        return [("=", _text_summary(value, options))]
    if not _has_values(value):
        return [("=", f"no values: a tensor on {value.device}")]
    if value.numel() > options.most:
        return [("=", _text_summary(value, options))]
    shown = squeezed(value)
    return [(form.sign, _text_grid(form, options, value.dim() - shown.dim())) for form in forms(shown, options)]


def text_of_form(form: Form, options: Options) -> str:
    """One way a value is written, as a block of text."""
    return _text_grid(form, options)


def latex_of_form(form: Form) -> str:
    return _latex_matrix(form.latex)


_LABEL = re.compile(r"^\[(?=[\d, ]+, :, :\] =$)", re.MULTILINE)


def _text_grid(form: Form, options: Options, squeezed_axes: int = 0) -> str:
    """The entries as blocks; a label names all axes, those of length 1 too: [0, 1, :, :] ="""
    return _LABEL.sub("[" + "0, " * squeezed_axes, grid(align_points(form.text), width=options.width))


def _has_values(x: torch.Tensor) -> bool:
    return x.device.type != "meta" and "Fake" not in type(x).__name__


def latex_of(value: Any, options: Options) -> str:
    r"""The value in LaTeX's math mode.

    >>> print(latex_of(torch.tensor([[1.0, 0.25]]), Options()))
    \begin{bmatrix} 1.00 & 0.25 \end{bmatrix}
    """
    first, *rest = latex_forms(value, options)
    return first[1] + "".join(f" {sign} {string}" for sign, string in rest)


def latex_forms(value: Any, options: Options) -> list[tuple[str, str]]:
    r"""The ways the value is written in LaTeX, each after its sign."""
    if isinstance(value, Mapping | tuple | list):
        return _latex_item_forms(value, options)
    if not isinstance(value, torch.Tensor):
        return [("=", _latex_atom(value, options))]
    if not value.numel():
        return [("=", "[\\,]")]
    if saved_of(value) is not None:
        return [("=", _latex_summary(value, options))]
    if not _has_values(value):
        return [("=", rf"\text{{no values: a tensor on {latex_text(str(value.device))}}}")]
    if value.numel() > options.most:
        return [("=", _latex_summary(value, options))]
    return [(r"\approx" if form.sign == "≈" else "=", _latex_matrix(form.latex)) for form in forms(squeezed(value), options)]


def squeezed(x: torch.Tensor) -> torch.Tensor:
    """A batch of one matrix as the matrix; its shape is said beside it.

    >>> squeezed(torch.zeros(1, 1, 2, 3)).shape, squeezed(torch.zeros(1, 3)).shape
    (torch.Size([2, 3]), torch.Size([1, 3]))
    """
    while x.dim() > 2 and x.shape[0] == 1:
        x = x[0]
    return x


def _latex_matrix(cells: Any) -> str:
    """A number, a list, a matrix; with more axes, a column of matrices. A vector is a list: neither a row nor a column."""
    if isinstance(cells, str):
        return cells
    if not cells or isinstance(cells[0], str):
        return r"\left[" + r",\ ".join(cells) + r"\right]"
    if cells[0] and isinstance(cells[0][0], list):
        return matrix_latex([[_latex_matrix(part)] for part in cells])
    if len(cells[0]) <= _MOST_COLUMNS:
        return matrix_latex(cells)
    lines = r" \\ ".join(" & ".join(row) for row in cells)
    return rf"\left[\begin{{array}}{{{'r' * len(cells[0])}}} {lines} \end{{array}}\right]"


# ---------------------------------------------------------------------------------------------- shapes and summaries


def shape_of(value: Any) -> str:
    """(2×3) for a tensor, nothing for a single number."""
    if not isinstance(value, torch.Tensor) or not value.dim():
        return ""
    return f"({'×'.join(map(str, value.shape))})"


def summary_facts(found: Summary, digits: int) -> list[tuple[str, str]]:
    """The facts of a summary with their names, as a table shows them."""
    if found.true is not None:
        return [("true", f"{found.true} of {_product(found.shape)}")]
    facts = [("", found.dtype)] if found.dtype not in ("float32", "float64") else []
    if found.nan + found.inf < _product(found.shape):
        facts += _spread(found, digits)
    return facts + [(name, str(count)) for name, count in (("NaN", found.nan), ("Inf", found.inf)) if count]


def _spread(found: Summary, digits: int) -> list[tuple[str, str]]:
    low, high, mean, deviation = (decimal(x, digits) for x in (found.low, found.high, found.mean, found.deviation))
    if found.low == found.high:
        return [("range", f"all {low}")]
    return [("range", f"{low} … {high}  {found.spark}".rstrip()), ("mean", mean), ("std", deviation)]


def _product(shape: tuple[int, ...]) -> int:
    out = 1
    for size in shape:
        out *= size
    return out


def _text_summary(x: torch.Tensor, options: Options) -> str:
    """−3.241 … 3.87  ▁▁▂▅█▅▂▁▁  mean 0.0123  std 0.998  2 NaN"""
    found = summary_of(x)
    if found is None:
        return "exact values with letters"
    written = {"": "{1}", "range": "{1}", "true": "true in {1}", "NaN": "{1} NaN", "Inf": "{1} Inf"}
    return "  ".join(written.get(n, "{0} {1}").format(n, fact) for n, fact in summary_facts(found, options.digits))


def _latex_summary(x: torch.Tensor, options: Options) -> str:
    r"""\text{64×64 entries from } -3.2 \text{ to } 3.9 \text{, mean } 0.01 \text{, std } 1"""
    found = summary_of(x)
    size = r" \times ".join(map(str, x.shape))
    if found is None or found.true is not None or found.nan + found.inf == x.numel():
        what = "exact values with letters" if found is None else _text_summary(x, options)
        return rf"{size} \text{{ entries: {latex_text(what)}}}"
    numbers_ = [latex_decimal(decimal(v, options.digits)) for v in (found.low, found.high, found.mean, found.deviation)]
    bad = "".join(rf",\ {count} \text{{ {name}}}" for name, count in (("NaN", found.nan), ("Inf", found.inf)) if count)
    return rf"{size} \text{{ entries from }} %s \text{{ to }} %s \text{{, mean }} %s \text{{, std }} %s{bad}" % tuple(
        numbers_
    )


# ---------------------------------------------------------------------------------------------- what is not a tensor


def _text_object(value: Any, options: Options) -> str:
    if isinstance(value, Mapping | tuple | list):
        return _text_items(value, options)
    return _atom(value, options)


def _atom(value: Any, options: Options) -> str:
    """One line for a single object; of an unknown one, only its type: its own text may be of any length."""
    if isinstance(value, str):
        return '"' + plain(value if len(value) <= 60 else value[:59] + "…").replace("\n", "⏎") + '"'
    if isinstance(value, numbers.Number):
        return decimal(value, options.digits)
    if value is None or isinstance(value, torch.dtype | torch.device | slice | range):
        return str(value)
    if type(value) in (set, frozenset) and 0 < len(value) <= _MOST_ITEMS:
        inside = sorted(_atom(item, options) for item in value)
        return f"{{{', '.join(inside)}}}"
    return f"⟨{plain(name_of(value))}⟩"


def _items(value: Mapping[Any, Any] | Sequence[Any]) -> tuple[list[tuple[str, Any]], int]:
    """The first items with their names, and how many are left out."""
    names = getattr(value, "_fields", range(len(value)))  # a NamedTuple has names for its items
    keys = [short_repr(key) for key in value] if isinstance(value, Mapping) else names
    pairs = zip(keys, value.values() if isinstance(value, Mapping) else value, strict=True)
    shown = [(str(name), item) for (name, item), _ in zip(pairs, range(_MOST_ITEMS), strict=False)]
    return shown, len(value) - len(shown)


def _text_items(value: Any, options: Options) -> str:
    items, more = _items(value)
    left_out = [f"… and {more} more"] if more else []
    blocks = [text_of(item, options) for _, item in items]
    if isinstance(value, Mapping) and len(items) == 1:
        return beside(f"{{{plain(items[0][0])}: ", blocks[0], "}")
    names = hasattr(value, "_fields")
    if any("\n" in block for block in blocks) or any(shape_of(item) for _, item in items):
        labels = [f"{plain(n)} = " if names else f"[{plain(n)}] = " for n, _ in items]
        return "\n".join([*map(beside, labels, blocks), *left_out])
    sign = ": " if isinstance(value, Mapping) else " = "
    parts = [f"{plain(n)}{sign}{b}" if names or sign == ": " else b for (n, _), b in zip(items, blocks, strict=True)]
    inside = ", ".join([*parts, *left_out])
    left, right = _fences(value)
    return f"{left}{inside}{right}"


def _fences(value: Any) -> tuple[str, str]:
    """{a: 1} is a dictionary, (a = 1) a tuple with names."""
    return ("{", "}") if isinstance(value, Mapping) else ("[", "]") if isinstance(value, list) else ("(", ")")


def _named_items(value: Any, options: Options, names: Sequence[str]) -> str:
    """a = …    b = …, as many beside each other as the width holds."""
    shown = [beside(f"{name} = ", text_of(item, options)) for name, item in zip(names, value, strict=True)]
    rows = [shown[0]]
    for block in shown[1:]:
        joined = beside(rows[-1], "    ", block)
        rows = [*rows[:-1], joined] if width(joined) <= options.width else [*rows, block]
    return "\n".join(rows)


_WIDE = 9
"""Columns of several matrices together that fit on a line; more of them stand below each other."""


def _columns(value: Any) -> int:
    """How many columns a matrix is drawn with; of anything else, none."""
    small = isinstance(value, torch.Tensor) and value.dim() and 0 < value.numel() <= Options().most
    return int(value.shape[-1]) if small else 0


def _latex_item_forms(value: Any, options: Options) -> list[tuple[str, str]]:
    """The items as they are, and where an item has decimals too, all of them again in decimals."""
    items, more = _items(value)
    written = [latex_forms(item, options) for _, item in items]
    signs = {forms_[-1][0] for forms_ in written if len(forms_) > 1}
    found = [("=", _latex_items(value, items, [forms_[0][1] for forms_ in written], more))]
    if signs:
        sign = r"\approx" if r"\approx" in signs else "="
        found.append((sign, _latex_items(value, items, [forms_[-1][1] for forms_ in written], more)))
    return found


def _latex_items(value: Any, items: list[tuple[str, Any]], written: list[str], more: int) -> str:
    sign = ": " if isinstance(value, Mapping) else " = " if hasattr(value, "_fields") else ""
    names = [rf"\text{{{latex_text(n)}}}{sign}" if sign else "" for n, _ in items]
    parts = [*map(str.__add__, names, written), *([rf"\text{{and {more} more}}"] if more else [])]
    left, right = (r"\{", r"\}") if isinstance(value, Mapping) else _fences(value)
    if not parts:
        return f"{left}{right}"
    inside = r",\ ".join(parts)
    if sum(map(_columns, (item for _, item in items))) > _WIDE:
        below = r", \\ & ".join(parts)
        inside = rf"\begin{{aligned}} & {below} \end{{aligned}}"
    return rf"\left{left}{inside}\right{right}"


def _latex_atom(value: Any, options: Options) -> str:
    atom = _atom(value, options)
    return latex_decimal(atom) if isinstance(value, numbers.Number) else latex_code(atom.strip("⟨⟩"))


# ---------------------------------------------------------------------------------------------- values put into formulas


def is_list(value: Any) -> bool:
    """Whether the value is shown as several labelled blocks."""
    if isinstance(value, torch.Tensor):
        return squeezed(value).dim() > 2 and _has_values(value)
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple | list) else ()
    return any(shape_of(part) for part in parts)


def is_same(a: Any, b: Any) -> bool:
    """Whether two recorded values are shown alike: the same numbers, wherever they are kept.

    >>> is_same((torch.ones(2), 1), (torch.ones(2), 1)), is_same([1], [1, 2])
    (True, False)
    """
    if a is b:
        return True
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        if isinstance(a, ExactTensor) and isinstance(b, ExactTensor):
            return a.shape == b.shape and all(x is y for x, y in zip(a.elements(), b.elements(), strict=True))
        return type(a) is type(b) is torch.Tensor and _equal(a, b)
    if isinstance(a, tuple | list) and type(a) is type(b):
        return len(a) == len(b) and all(map(is_same, a, b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(is_same(a[key], b[key]) for key in a)
    return type(a) is type(b) and isinstance(a, numbers.Number | str) and bool(a == b)


def _equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    plain_ = a.layout == b.layout == torch.strided and _has_values(a) and _has_values(b)
    return plain_ and a.dtype == b.dtype and a.device == b.device and torch.equal(a, b)


def is_opaque(value: Any) -> bool:
    """Whether a value is shown by its type alone."""
    return value is not None and not isinstance(value, torch.Tensor | Mapping | tuple | list | str | numbers.Number)


def is_scalar(value: Any) -> bool:
    """Whether the value is a single number."""
    return isinstance(value, numbers.Number) or (isinstance(value, torch.Tensor) and not value.dim())


def inline_of(value: Any, options: Options, latex: bool = False) -> str | None:
    """The value to put into a formula, a number, [1, 0] or a drawn matrix; None where its name says more."""
    most = {"none": 0, "short": INLINE}.get(options.substitution, options.most)
    if isinstance(value, numbers.Number) and not isinstance(value, bool) and most:
        return latex_of(value, options) if latex else text_of(value, options)
    if not isinstance(value, torch.Tensor) or not 0 < value.numel() <= most or not _has_values(value):
        return None
    if squeezed(value).dim() > 2:
        return None
    form = forms(squeezed(value), options)[0]
    if _has_long_letters(value, form):
        return None
    if latex:
        return _latex_matrix(form.latex)
    return _text_grid(form, options) if value.dim() >= 2 else _inline(form.text)


_LONGEST = 60
"""Characters of an entry with letters that is put into a formula."""


def _has_long_letters(value: torch.Tensor, form: Form) -> bool:
    """Whether an entry is a formula in letters that is too long to be read within another."""
    if not isinstance(value, ExactTensor) or not any(v.free for v in value.elements()):
        return False
    written: list[str] = []
    map_cells(form.text, written.append)
    return any(len(cell) > _LONGEST or cell.startswith("⟨") for cell in written)


def _inline(cells: Any) -> str:
    """A number, or a vector as [1, 0]."""
    return cells if isinstance(cells, str) else f"[{', '.join(cells)}]"

"""A long formula of MathML in terms: where a line may break, since browsers break none inside a formula.

A ⊙ B + C       A,  ⊙ B,  + C        each an element of its own, which begins with its sign
"""

from __future__ import annotations

from xml.etree import ElementTree

from workings.trace.formula.tree import Apply, Formula, Leaf, Number, Sequence

_BREAKS = frozenset("+−⊙·")
"""Signs before which a line may break, outside all brackets."""
_LONG = 400
"""Characters of markup that are worth a look."""


def terms(markup: str) -> list[str]:
    """The terms and factors of a formula, outside brackets, fractions and roots.

    >>> long = "<mi>a</mi>" * 40
    >>> [part[-27:] for part in terms(f"<mrow><mrow>{long}<mo>+</mo><mi>b</mi></mrow><mo>⊙</mo><mi>c</mi></mrow>")]
    ['<mi>a</mi><mi>a</mi></mrow>', '<mo>+</mo><mi>b</mi></mrow>', '<mo>⊙</mo><mi>c</mi></mrow>']
    """
    if len(markup) < _LONG or not markup.startswith("<mrow>"):
        return [markup]
    try:
        root = ElementTree.fromstring(f"<mrow>{markup}</mrow>")
    except ElementTree.ParseError:
        return [markup]
    groups: list[list[ElementTree.Element]] = [[]]
    for part in _flat(root):
        if _is_break(part) and groups[-1]:
            groups.append([])
        groups[-1].append(part)
    return [f"<mrow>{''.join(map(_written, group))}</mrow>" for group in groups]


def _is_break(part: ElementTree.Element) -> bool:
    return part.tag == "mspace" or (part.tag == "mo" and part.text in _BREAKS)


def _written(part: ElementTree.Element) -> str:
    return ElementTree.tostring(part, encoding="unicode", short_empty_elements=False)


def _flat(row: ElementTree.Element) -> list[ElementTree.Element]:
    """What stands in a row and in the rows in it; in brackets only if these are long, without a matrix to be as tall as."""
    found: list[ElementTree.Element] = []
    for part in row:
        if part.tag != "mrow":
            found.append(part)
        elif not any(inner.get("fence") for inner in part):
            found += _flat(part)
        elif len(_written(part)) < _LONG or part.find(".//mtable") is not None:
            found.append(part)
        else:
            found += [_upright(inner, part) for inner in _flat(part)]
    return found


def _upright(part: ElementTree.Element, row: ElementTree.Element) -> ElementTree.Element:
    """A bracket that stands apart from what it encloses, as tall as that is."""
    if part.get("fence") and "minsize" not in part.attrib and row.find(".//mfrac") is not None:
        part.set("minsize", "2.3em")
    return part


def widest(formula: Formula, columns: dict[str, int]) -> tuple[int, int]:
    """How many characters wide the widest term of a formula is, and all of it; `columns` are the widths of its leaves.

    >>> x = Leaf("x")
    >>> widest(Apply("add", (Apply("exp", (x,)), x)), {"x": 10})
    (12, 25)
    """
    match formula:
        case Apply("add" | "sub" | "mul" | "neg", args):
            parts = [widest(arg, columns) for arg in args]
            return max(most for most, _ in parts), sum(whole for _, whole in parts) + 3 * (len(parts) - 1)
        case Apply("div", (top, bottom)):
            width = max(widest(top, columns)[1], widest(bottom, columns)[1])
        case Apply(_, args) | Sequence(args):
            width = sum(widest(arg, columns)[1] + 2 for arg in args)
        case Leaf(text):
            width = columns.get(text, len(text))
        case Number():
            width = 4
        case _:
            width = 12
    return width, width

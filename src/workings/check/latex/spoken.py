"""Words that are written as products: SE, df, MSE are names, np is n times p.

A run of letters is a name where the document never speaks of most of its letters alone. Which letters stand alone, only the
whole document tells: collect `letters_alone` over all its formulas, then put `words_as_names` on each of them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from workings.check.latex.syntax import Big, Node, Number, Product, Script, Symbol


def letters_alone(tree: Node) -> set[str]:
    """The letters (`x`, `alpha`) that stand alone in a formula: not side by side with another, and not as an index.

    >>> from workings.check.latex.parse import parse
    >>> sorted(letters_alone(parse("n + SE(p - 1) = 2q x_k")))
    ['n', 'p', 'q', 'x']
    """
    found: set[str] = set()
    waiting: list[Node] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Product):
            runs = {at for first, last in _runs(node) for at in range(first, last)}
            waiting += [factor for at, (_, factor) in enumerate(node.factors) if at not in runs]
        elif isinstance(node, Script):
            waiting += [part for part in (node.base, node.above) if part is not None]
        elif isinstance(node, Symbol) and "text" not in node.style:
            found.add(node.name)
        else:
            waiting += node.children()
    return found


def words_as_names(tree: Node, spoken: Collection[str]) -> Node:
    r"""The tree with each run of letters that is a word as one name; `spoken` are the letters that stand alone.

    Indices stay as they are: the ij of x_{ij} are two.

    >>> from workings.check.latex.parse import parse
    >>> words_as_names(parse("SE + np"), {"n", "p"}) == parse(r"\text{SE} + np")
    True
    """
    kept: Node | None = None
    match tree:
        case Script(below=below):
            kept = below
        case Big(operator="∫", body=Product(factors=(*_, (_, Symbol(name="d")), (_, Symbol()))) as whole):
            kept = whole  # ∫ … dx: what the integral runs over is no word
    tree = tree.rebuilt(lambda part: part if part is kept else words_as_names(part, spoken))
    if not isinstance(tree, Product):
        return tree
    count = len(tree.factors)
    factors = _with_indices(tree.factors)
    tree = replace(tree, factors=tuple(factors))
    for first, last in reversed(_runs(tree)):
        letters = [factor for _, factor in factors[first:last]]
        if _is_word("".join(_letter(letter) for letter in letters), spoken):
            factors[first:last] = [(factors[first][0], _joined(letters))]
    if len(factors) == count:
        return tree
    return factors[0][1] if len(factors) == 1 else replace(tree, factors=tuple(factors))


def _with_indices(factors: tuple[tuple[str, Node], ...]) -> list[tuple[str, Node]]:
    """a1 is a_1: nobody multiplies a letter by a number that stands right behind it."""
    found: list[tuple[str, Node]] = []
    for sign, factor in factors:
        before = found[-1][1] if found else None
        is_index = isinstance(factor, Number) and factor.text.isdigit() and not sign
        second = len(found) > 1 and isinstance(found[-2][1], Number)  # 2x3
        is_letter = isinstance(before, Symbol) and _letter(before) not in ("", "i", "j")  # j8 may be 8 √−1
        if is_index and is_letter and not second and before is not None and before.span[1] == factor.span[0]:
            name = Script(before, factor, span=(before.span[0], factor.span[1]))
            found[-1] = found[-1][0], name
        else:
            found.append((sign, factor))
    return found


def _is_word(run: str, spoken: Collection[str]) -> bool:
    """Whether a run of letters is a word: fewer than half of its letters, each counted once, are spoken of alone."""
    letters = set(run)
    return len(run) > 1 and 2 * sum(letter in spoken for letter in letters) < len(letters)


def _runs(product: Product) -> list[tuple[int, int]]:
    """Where plain letters follow one another without a space, each run from its first factor to behind its last."""
    runs: list[tuple[int, int]] = []
    first = 0
    for at in range(1, len(product.factors) + 1):
        if at == len(product.factors) or not _follows(product, at):
            if at - first > 1:
                runs.append((first, at))
            first = at
    return runs


def _follows(product: Product, at: int) -> bool:
    """Whether factor `at` is a letter that stands right behind the letter before it."""
    (_, before), (sign, here) = product.factors[at - 1], product.factors[at]
    return (
        not sign and isinstance(before, Symbol) and _letter(before) != "" != _letter(here) and before.span[1] == here.span[0]
    )


def _letter(node: Node) -> str:
    """A plain letter, with or without an index; nothing for anything else."""
    if isinstance(node, Script):
        node = node.base
    return node.name if isinstance(node, Symbol) and len(node.name) == 1 and node.name.isalpha() and not node.style else ""


def _joined(letters: list[Node]) -> Node:
    """One name of several letters; what stands below or above the last belongs to the name."""
    span = letters[0].span[0], letters[-1].span[1]
    last = letters[-1]
    name = Symbol("".join(map(_letter, letters)), ("text",), span=span)
    return replace(last, base=name, span=span) if isinstance(last, Script) else name

"""What a formula means by the values it was computed with: the number of an axis, the divisor of a variance.

x.softmax(d)        where d is −1             softmax(x, dim=−1)
x.var(axis=0)       where x is NumPy's        var(x, axis 0, over n)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from workings.trace.formula.tree import Apply, Call, Code, Formula, Leaf, Number, Options, leaves, map_parts, walk

_SPREADS = ("var", "std")


def needs_values(formula: Formula) -> bool:
    """Whether a formula names an axis, or has a variance: what it means is known when the statement runs."""
    return any(_is_spread(part) or _names_axis(part) for part in walk(formula))


def _names_axis(part: Formula) -> bool:
    return isinstance(part, (Apply, Call)) and any(_is_named_axis(key, value) for key, value in part.options)


def draws_mask(part: Formula) -> bool:
    """Whether a part may forget some of its numbers by chance: attention with a `dropout_p`."""
    if not isinstance(part, Apply) or part.op != "scaled_dot_product_attention":
        return False
    rate = dict(part.options).get("dropout_p", part.args[4] if len(part.args) > 4 else 0)
    return rate not in (0, Number(0))


def completed(formula: Formula, values: Mapping[str, Any], arrays: Collection[str] = ()) -> Formula:
    """The formula as it was meant where the names have these values; `arrays` are those that are NumPy's.

    >>> completed(Apply("sum", (Leaf("x"),), (("dim", Leaf("d")),)), {"d": 1})
    Apply(op='sum', args=(Leaf(text='x'),), options=(('dim', 1),))
    >>> completed(Apply("var", (Leaf("x"),)), {}, {"x"})
    Apply(op='var', args=(Leaf(text='x'),), options=(('correction', 0),))
    """
    formula = map_parts(formula, lambda part: completed(part, values, arrays))
    match formula:
        case Apply(op, args, options):
            formula = Apply(op, args, _with_axes(options, values))
        case Call(name, args, options):
            formula = Call(name, args, _with_axes(options, values))
    return numpys(formula) if arrays and _is_spread(formula) and _is_of_arrays(formula, arrays) else formula


def _is_spread(part: Formula) -> bool:
    name = part.op if isinstance(part, Apply) else part.name if isinstance(part, Call) else ""
    return name.rpartition(".")[2] in _SPREADS


def _is_of_arrays(formula: Formula, arrays: Collection[str]) -> bool:
    """Whether what is reduced is NumPy's: made of arrays, by no function that might make a tensor of them."""
    if isinstance(formula, Call) and "." in formula.name:
        return formula.name.rpartition(".")[0] in arrays
    first = formula.args[0] if isinstance(formula, (Apply, Call)) and formula.args else formula
    return any(text in arrays for text in leaves(first)) and not any(isinstance(part, (Call, Code)) for part in walk(first))


def numpys(formula: Formula) -> Formula:
    """A variance or standard deviation of NumPy's, which divides by n unless `ddof` says otherwise."""
    if not isinstance(formula, (Apply, Call)) or not _is_spread(formula):
        return formula
    given = dict(formula.options)
    options = (*((k, v) for k, v in formula.options if k not in ("ddof", "correction")), ("correction", _divisor(given)))
    return (
        Apply(formula.op, formula.args, options) if isinstance(formula, Apply) else Call(formula.name, formula.args, options)
    )


def _divisor(given: Mapping[str, Any]) -> Any:
    return given.get("ddof", given.get("correction", 0))


def _with_axes(options: Options, values: Mapping[str, Any]) -> Options:
    known = {key: values[str(value)] for key, value in options if _is_named_axis(key, value) and str(value) in values}
    axes = {key: value for key, value in known.items() if isinstance(value, (int, tuple, list)) or value is None}
    return tuple((key, axes.get(key, value)) for key, value in options)


def _is_named_axis(key: str, value: Any) -> bool:
    return key == "dim" and isinstance(value, (Leaf, Code))

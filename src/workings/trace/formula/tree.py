"""The mathematics of a statement as a tree.

A formula is data: printers write it as text, LaTeX or MathML, `evaluate` computes it again, `backward.py` differentiates it.

    Leaf("Q")                          a value the statement read, by the text it was read with (Q, self.W, x.shape[-1])
    Number(2)                          a literal
    Apply("matmul", (Q, K), options)   an operation, named as in `OPERATIONS`; options are what is not an operand (dim=-1)
    Call("self.attn", (x,), options)   a call with no mathematics of its own here (a module, the author's function)
    Code("x if x > 0 else y")          Python with no formula: shown as it is written
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Options = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Leaf:
    """A value that was read: its text is its key in `Step.operands`."""

    text: str


@dataclass(frozen=True)
class Number:
    """A literal number or constant such as `True` or `None`."""

    value: Any


@dataclass(frozen=True)
class Apply:
    """An operation on formulas."""

    op: str
    args: tuple[Formula, ...]
    options: Options = ()


@dataclass(frozen=True)
class Call:
    """A call of something that has a name but no notation."""

    name: str
    args: tuple[Formula, ...]
    options: Options = ()


@dataclass(frozen=True)
class Sequence:
    """A tuple of formulas, or a list of them."""

    items: tuple[Formula, ...]
    is_list: bool = False


@dataclass(frozen=True)
class Code:
    """Source text without a formula."""

    text: str


Formula = Leaf | Number | Apply | Call | Sequence | Code


def walk(formula: Formula) -> Iterator[Formula]:
    """The formula and everything in it, outside in, left to right."""
    yield formula
    parts = formula.args if isinstance(formula, (Apply, Call)) else formula.items if isinstance(formula, Sequence) else ()
    for part in parts:
        yield from walk(part)


def rebuilt(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """The same formula of changed parts.

    >>> rebuilt(Apply("add", (Leaf("a"), Number(1))), lambda part: Number(2))
    Apply(op='add', args=(Number(value=2), Number(value=2)), options=())
    """
    match formula:
        case Apply(op=op, args=args, options=options):
            return Apply(op, tuple(map(change, args)), options)
        case Call(name=name, args=args, options=options):
            return Call(name, tuple(map(change, args)), options)
        case Sequence(items=items, is_list=is_list):
            return Sequence(tuple(map(change, items)), is_list)
    return formula


def spelled_out(formula: Formula, letters: Mapping[str, Formula]) -> Formula:
    """The formula with letters replaced by what they stand for, which may have letters too."""
    if isinstance(formula, Leaf) and formula.text in letters:
        return spelled_out(letters[formula.text], letters)
    return rebuilt(formula, lambda part: spelled_out(part, letters))


def leaves(formula: Formula) -> list[str]:
    """The texts of the leaves, each once, in reading order."""
    return list(dict.fromkeys(part.text for part in walk(formula) if isinstance(part, Leaf)))


OPERATIONS = {
    # op: (arity, what it means)
    "add": "a + b",
    "sub": "a − b",
    "mul": "a ⊙ b, elementwise (a·b when one side is a number)",
    "div": "a / b",
    "pow": "a^b",
    "neg": "−a",
    "matmul": "a b, matrix product",
    "transpose": "aᵀ: the last two axes exchanged",
    "sqrt": "√a",
    "rsqrt": "1/√a",
    "exp": "e^a",
    "log": "log a",
    "square": "a²",
    "abs": "|a|",
    "sin": "sin a",
    "cos": "cos a",
    "tanh": "tanh a",
    "sigmoid": "σ(a)",
    "relu": "max(0, a)",
    "gelu": "GELU(a)",
    "silu": "a σ(a)",
    "softmax": "softmax along option dim",
    "log_softmax": "log softmax along option dim",
    "logsumexp": "log Σ e^a along option dim",
    "sum": "Σ a, along option dim if given",
    "mean": "mean of a, along option dim if given",
    "var": "variance of a; options dim, correction",
    "max": "max a along option dim if given",
    "min": "min a along option dim if given",
    "amax": "as max; of several largest entries, each has its share of the gradient",
    "amin": "as min; of several smallest entries, each has its share of the gradient",
    "cat": "concatenation of the items of a Sequence along option dim",
    "stack": "stack of the items of a Sequence along option dim",
    "reshape": "a in another shape (view, reshape, flatten, unsqueeze, squeeze, permute …), option text",
    "index": "a[option text]",
    "masked_fill": "a where the mask is false, else the value",
    "where": "b where a is true, else c",
    "linear": "x Wᵀ + b; args x, W and possibly b",
    "embedding": "rows of W at the indices x; args x, W",
    "cross_entropy": "cross-entropy of logits and targets",
    "mse_loss": "mean (a − b)²",
    "layer_norm": "(a − μ)/√(σ² + ε) ⊙ γ + β",
    "conv2d": "convolution",
    "scaled_dot_product_attention": "softmax(Q Kᵀ/√d) V",
    "compare": "a relation; option relation is one of < ≤ > ≥ = ≠",
    "not": "¬a",
    "and": "a ∧ b",
    "or": "a ∨ b",
    # what only the rules of the backward pass need
    "rowsum": "the sum of each row: along the last axis, which is kept",
    "sign": "sign(a): −1, 0 or 1",
    "indicator": "[a < b]: 1 where the option relation holds, else 0",
    "normal_cdf": "Φ(a), the standard normal distribution",
    "normal_pdf": "φ(a), its density",
    "onehot": "rows of zeros with a 1 at a; option classes",
    "ones": "a tensor of ones; option shape",
    "expand": "a repeated to option shape",
    "unsqueeze": "a with axes of length 1 inserted at option dim (a tuple), so that it broadcasts",
    "unbroadcast": "a summed over the axes along which a value of option shape was repeated",
    "scatter": "zeros of option shape with a added at [option text]",
    "scatter_rows": "zeros with option rows rows, the rows of a added at the indices b",
}
"""Operations that have a notation. `build.py` maps Python and PyTorch spellings to these names."""

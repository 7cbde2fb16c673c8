"""Trees that read back as they were written, and text that nobody would write: a tree or a `ParseError`, in bounded time."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workings.check.latex.latex import latex
from workings.check.latex.parse import DEEPEST, ParseError, parse
from workings.check.latex.syntax import (
    Big,
    Cases,
    Chain,
    Derivative,
    Dots,
    Function,
    Given,
    Group,
    Items,
    Labelled,
    Matrix,
    Node,
    Nothing,
    Number,
    Postfix,
    Product,
    Quotient,
    Root,
    Script,
    Sum,
    Symbol,
    Words,
)

LETTERS = "x y W alpha Sigma theta ell infty e n".split()
FONTS = [(), (), (), ("bold",), ("cal",), ("bb",), ("rm",), ("bold", "hat"), ("tilde",), ("bar",), ("dot", "vec")]
RELATIONS = "= ≈ ≤ ≥ < > ≠ → ← ⇒ ⇔ ∈ ∉ ⊂ ⊆ ∼ ∝ ≡ := ≪ ≫ ↦ :".split()
TIMES = ["", "", "", "·", "×", "*", "∘", "⊙", "⊗", "@", "⊕", "∪", "mod"]
NUMBERS = "0 1 2 10 0.70 .5 3.14159 1e-5 1000 2.5e3".split()
MATRICES = "bmatrix pmatrix vmatrix Vmatrix array matrix smallmatrix".split()


class Grower:
    """Builds trees as the parser builds them, choosing by a source of randomness."""

    def __init__(self, source: random.Random) -> None:
        self.choice = source.choice

    def leaf(self) -> Node:
        kind = self.choice("nnsssst.")
        if kind == "n":
            return Number(self.choice(NUMBERS))
        if kind == "t":
            return Symbol(
                self.choice(["MSE", "loss", "d-model"]), self.choice([("text",), ("text", "hat"), ("text", "bold")])
            )
        return Dots() if kind == "." else Symbol(self.choice(LETTERS), self.choice(FONTS))

    def node(self, depth: int) -> Node:
        """An expression: anything but a chain, a list or words."""
        return getattr(self, self.choice(KINDS))(depth - 1) if depth > 0 else self.leaf()

    def nodes(self, depth: int, least: int = 1) -> tuple[Node, ...]:
        return tuple(self.node(depth) for _ in range(self.choice([least, least, least + 1])))

    def chain(self, depth: int) -> Chain:
        items = self.nodes(depth, 2)
        return Chain(items, tuple(self.choice(RELATIONS) for _ in items[1:]))

    def part(self, depth: int) -> Node:
        """One of several things side by side."""
        kind = self.choice("nnncw")
        return (
            self.node(depth)
            if kind == "n"
            else self.chain(depth)
            if kind == "c"
            else Words(self.choice([" if ", "for all x", "∀"]))
        )

    def inside(self, depth: int) -> Node:
        """What may stand in braces."""
        kind = self.choice("nnnnclrgw")
        if kind == "c":
            return self.chain(depth)
        if kind == "l":
            return Items((self.part(depth), self.part(depth)))
        if kind == "r":
            return Chain((Nothing(), self.node(depth)), (self.choice(RELATIONS),))
        if kind == "g":
            return Given(self.node(depth), self.choice([self.node(depth), self.chain(depth)]), self.choice("|‖"))
        return Words("in words, too") if kind == "w" else self.node(depth)

    def bound(self, depth: int) -> Node | None:
        kind = self.choice("ni*")
        return None if kind == "n" else self.inside(depth) if kind == "i" else Symbol(self.choice("*+-"))

    def rows(self, depth: int) -> tuple[tuple[Node, ...], ...]:
        return tuple((self.inside(depth), *self.nodes(depth)) for _ in range(self.choice([1, 2])))

    def script(self, depth: int) -> Node:
        below, above = self.bound(depth), self.bound(depth)
        base = self.choice([self.node(depth), Nothing()])
        return Script(base, below, above or (Number("2") if below is None else None))

    def sum(self, depth: int) -> Node:
        return Sum(tuple((self.choice("+-±"), node) for node in self.nodes(depth)))

    def product(self, depth: int) -> Node:
        first, *rest = self.nodes(depth, 2)
        return Product((("", first), *((self.choice(TIMES), node) for node in rest)))

    def quotient(self, depth: int) -> Node:
        return Quotient(self.inside(depth), self.inside(depth))

    def slash(self, depth: int) -> Node:
        return Quotient(self.node(depth), self.node(depth), False)

    def group(self, depth: int) -> Node:
        both = self.choice(["()", "[]", "{}", "||", "‖‖", "⌊⌋", "⌈⌉", "⟨⟩", "[)", "(]", "{"])
        return Group(both[0], self.items(depth), both[1:])

    def items(self, depth: int) -> tuple[Node, ...]:
        """Items of a bracket; a lone matrix would be read as the matrix with those brackets."""
        if self.choice([True, False, False]):
            return (Given(self.node(depth), self.chain(depth)),)
        items = tuple(self.part(depth) for _ in range(self.choice([1, 1, 2])))
        lone = len(items) == 1 and isinstance(items[0], Matrix) and items[0].kind in ("array", "matrix", "smallmatrix")
        return (*items, Number("1")) if lone else items

    def function(self, depth: int) -> Node:
        name = self.choice("exp log softmax relu tanh argmax".split())
        below = Number("2") if name == "log" else None
        return Function(name, self.choice([(), self.items(depth), self.items(depth)]), below, self.bound(depth))

    def bare_function(self, depth: int) -> Node:
        """Its argument stands in braces; round brackets there would count as its brackets."""
        argument = self.node(depth)
        round_one = isinstance(argument, Group) and argument.open == "("
        return Function("log", (Number("1") if round_one else argument,), None, None, False)

    def binomial(self, depth: int) -> Node:
        return Function("binom", (self.node(depth), self.node(depth)))

    def mean(self, depth: int) -> Node:
        return Function("overline", (Sum((("+", self.node(depth)), ("+", self.node(depth)))),))

    def root(self, depth: int) -> Node:
        return Root(self.inside(depth), self.choice([None, self.node(depth)]))

    def matrix(self, depth: int) -> Node:
        return Matrix(self.rows(depth), self.choice(MATRICES))

    def list_matrix(self, depth: int) -> Node:
        return Matrix((self.nodes(depth), self.nodes(depth)), "[;]")

    def cases(self, depth: int) -> Node:
        return Cases(self.rows(depth))

    def big(self, depth: int) -> Node:
        return Big(self.choice("∑∏∫"), self.bound(depth), self.bound(depth), self.choice([self.node(depth), Nothing()]))

    def over_letter(self, depth: int) -> Node:
        return Big(self.choice(["max", "argmin"]), Symbol("x"), None, self.node(depth))

    def derivative(self, depth: int) -> Node:
        return Derivative(self.choice([None, self.node(depth)]), self.nodes(depth), self.choice("∂d"))

    def gradient(self, depth: int) -> Node:
        return Derivative(
            self.choice([None, self.node(depth)]), self.choice([(), self.nodes(depth)]), self.choice(["∇", "∇²"])
        )

    def postfix(self, depth: int) -> Node:
        return Postfix(self.node(depth), self.choice("!%'|‖"))

    def labelled(self, depth: int) -> Node:
        return Labelled(self.inside(depth), self.inside(depth), self.choice(["under", "over"]))


KINDS = [
    name
    for name in vars(Grower)
    if name[0] != "_" and name not in ("leaf node nodes chain part inside bound rows items".split())
]


def tree(source: random.Random, depth: int) -> Node:
    return Grower(source).inside(depth)


SOURCES = st.randoms(use_true_random=False, note_method_calls=False)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(SOURCES, st.integers(0, 3))
def test_every_tree_reads_back_as_it_was_written(source: random.Random, depth: int) -> None:
    written = tree(source, depth)
    assert parse(latex(written)) == written


def test_thousands_of_trees_read_back_and_their_spans_nest() -> None:
    reads_back(range(2500))


@pytest.mark.slow
def test_many_trees_read_back_as_they_were_written() -> None:
    reads_back(range(10_000, 60_000))


def reads_back(seeds: range) -> None:
    for seed in seeds:
        source = random.Random(seed)
        written = tree(source, source.randrange(5))
        text = latex(written)
        read = parse(text)
        assert read == written, (seed, text)
        for node in read.walk():
            for child in node.children():
                assert 0 <= node.span[0] <= child.span[0] <= child.span[1] <= node.span[1] <= len(text), (
                    seed,
                    text,
                    node,
                    child,
                )


SEEDS = [
    r"\frac{e^{1/\sqrt{2}}}{1+e^{1/\sqrt{2}}} \approx 0.6698",
    r"\begin{aligned} x &= \begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}^\top v \\ &= \left[ 0.5, -1 \right] \end{aligned}",
    r"\sum_{i=1}^{n} \left| x_i - \bar{x} \right|^2 \le \max_{j} \|y_j\|, \quad j = 1, \ldots, n",
    r"\frac{\partial L}{\partial w} = -2 \mathbf{x}^\top (y - p(x|z)) \text{ if } x > 0",
    r"f(x) = \begin{cases} 1{,}000 & x \in \{0, 1\} \\ \log_2 x! & \text{otherwise} \end{cases}",
    r"\underbrace{a \cdot b}_{\text{dot}} \stackrel{\text{def}}{=} ½ x² + √y − ‖z‖ {n \choose k} {a \over b}",
]
PIECES = (
    r"{ } ( ) [ ] | \| _ ^ ' ! % & \\ , ; . = + - / \left \right \left. \right| \frac \sqrt \sum \begin{cases}"
    r" \end{cases} \text{"
    r" \hat \mathbf \log"
).split()


def survives(text: str) -> None:
    """A tree or a ParseError at a place in the text."""
    try:
        parse(text)
        parse(text, wide_slash=True, long_reach=True)
    except ParseError as error:
        assert 0 <= error.position <= len(text)
        assert str(error)


def mutated(source: random.Random) -> str:
    """A formula with a few pieces lost, doubled, moved or strewn in."""
    text = source.choice(SEEDS)
    for _ in range(source.randrange(1, 6)):
        at, to = sorted((source.randrange(len(text) + 1), source.randrange(len(text) + 1)))
        choice = source.randrange(4)
        if choice == 0:
            text = text[:at] + text[min(to, at + 5) :]
        elif choice == 1:
            text = text[:at] + source.choice(PIECES) + text[at:]
        elif choice == 2:
            text = text[:to] + text[at:to][:40] + text[to:]
        else:
            text = (
                text[:at]
                + chr(source.choice([source.randrange(128), source.randrange(0x2000, 0x2300), source.randrange(0x10000)]))
                + text[at:]
            )
        text = text or "x"
    return text


def fuzz(rounds: int, seed: int) -> None:
    source = random.Random(seed)
    for _ in range(rounds):
        survives(mutated(source))
        survives(source.randbytes(source.randrange(60)).decode("latin-1"))
        survives(" ".join(source.choices(PIECES, k=source.randrange(30))))


def test_damaged_formulas_give_a_tree_or_an_error() -> None:
    fuzz(1_000, seed=1)


@pytest.mark.slow
def test_many_damaged_formulas() -> None:
    fuzz(20_000, seed=random.randrange(1 << 30))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80))
def test_any_text_gives_a_tree_or_an_error(text: str) -> None:
    survives(text)


DEEP = (
    r"{ ( | \left( \sqrt \hat \log \sum x^{ \frac{ \begin{matrix} - \| \mathbf{ \left. a/ \sum_ \bf \text{"
    r" \stackrel{x} \nabla {= x!_"
)
FLAT = (
    r"x! 1, a+ a= 1~ x' x_1 & \\ \\&+x |x| || p(x|y) xᵀ ½+ d/d \partial~x/ . 1. 1e \stackrel{ a| 1\,000 \\-x $"
    r" \label{ \text{a x!_2"
    r" \overset{a}{b} ab/"
)


@pytest.mark.parametrize("piece", DEEP.split())
def test_ten_thousand_of_anything_end(piece: str) -> None:
    survives(piece * 10_000)
    survives(piece * 10_000 + "x")
    survives(piece + "x")


@pytest.mark.parametrize("piece", FLAT.split())
def test_long_flat_text_ends(piece: str) -> None:
    survives(piece * (10_000 // len(piece)))


def test_nesting_is_refused_by_a_message() -> None:
    with pytest.raises(ParseError) as caught:
        parse("{" * 10_000 + "x" + "}" * 10_000)
    assert caught.value.reason == f"The formula is nested deeper than {DEEPEST} here."
    assert parse("(" * (DEEPEST - 1) + "x" + ")" * (DEEPEST - 1)) is not None


def test_a_long_text_is_refused() -> None:
    with pytest.raises(ParseError) as caught:
        parse("x" * 100_001)
    assert caught.value.reason == "A formula has at most 100000 characters, but this one has 100001."

"""Formulas in reports: MathML that is well formed and escaped, one line of Unicode that means the same, the fall-backs."""

from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workings.check.document.document import Document
from workings.check.document.finding import Finding, Results
from workings.check.document.relation import Relation
from workings.check.extract import read
from workings.check.latex import syntax
from workings.check.latex.one_line import WRITERS as LINE_WRITERS
from workings.check.latex.one_line import one_line
from workings.check.latex.parse import ParseError, parse
from workings.check.report.formulas import formula_of, readable, tree, truth_tree
from workings.check.report.links import Links
from workings.check.report.mathml import WRITERS, formula
from workings.check.report.report import Report

DOCUMENTS = Path(__file__).parents[1] / "documents"
CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}
"""The elements that MathML Core gives a fixed number of children."""


def elements(markup):
    return list(ElementTree.fromstring(f"<page>{markup}</page>").iter())


def test_the_formulas_of_documents_are_well_formed_mathml():
    formulas = [found.text for path in sorted(DOCUMENTS.iterdir()) for found in read(path).formulas]
    trees = [found for found in map(tree, formulas) if found is not None]
    assert len(trees) > 400
    seen = set()
    for found in trees:
        for element in elements(formula(found)):
            seen.add(element.tag)
            assert len(element) == CHILDREN.get(element.tag, len(element)), (one_line(found), element.tag)
        assert "\n" not in one_line(found)
    assert seen >= {"mfrac", "msub", "msup", "msubsup", "mtable", "msqrt", "munderover", "mover"}


def test_every_kind_of_node_has_both_forms():
    kinds = {kind for kind in vars(syntax).values() if isinstance(kind, type) and issubclass(kind, syntax.Node)}
    kinds.remove(syntax.Node)
    assert kinds == set(WRITERS) == set(LINE_WRITERS)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (r"\frac{a+b}{2c}", "(a + b)/(2c)"),
        (r"x_i^{n+1}", "xᵢⁿ⁺¹"),
        (r"x^{a/b}", "x^(a/b)"),
        (r"2^{1.5}", "2^1.5"),
        (r"\sqrt{a+b} \sqrt[3]{8}", "√(a + b) ³√8"),
        (r"\begin{pmatrix} 1 & 0 \\ 0 & -1 \end{pmatrix}^\top", "[1 0; 0 −1]ᵀ"),
        (r"\begin{bmatrix} a + b & 0 \end{bmatrix}", "[a + b, 0]"),
        (r"\begin{vmatrix} 1 & 2 \\ 3 & 4 \end{vmatrix}", "|1 2; 3 4|"),
        (r"\hat\mu \in \mathbb{R}, \mathcal{L} \ge 0", "μ̂ ∈ ℝ, ℒ ≥ 0"),
        (r"\ln\frac{0.8}{0.2}", "ln(0.8/0.2)"),
        (r"\frac{\partial^2 f}{\partial x \partial y}", "∂²f/(∂x ∂y)"),
        (r"\frac{d}{dx} (x^2 e^{3x})", "d/dx (x² e^(3x))"),
        (r"\frac{d}{dx} \frac{1}{1+x^2}", "d/dx (1/(1 + x²))"),
        (r"f'(x) = 16w - 2", "f′(x) = 16w − 2"),
        (r"\binom{10}{3} = 120", "(10 choose 3) = 120"),
        (r"p(x \mid z), D(p \| q)", "p(x | z), D(p ‖ q)"),
        (r"\sum_{i=1}^n x_i", "∑ᵢ₌₁ⁿ xᵢ"),
        (r"2 \cdot 3 \times 4", "2·3 × 4"),
        (r"50\% \text{ if } 3! > 5", "50% if 3! > 5"),
    ],
)
def test_one_line(source, line):
    assert one_line(parse(source)) == line


@pytest.mark.parametrize(
    ("source", "piece"),
    [
        (r"\frac12", "<mfrac><mn>1</mn><mn>2</mn></mfrac>"),
        (r"\sqrt[3]{x}", "<mroot><mi>x</mi><mn>3</mn></mroot>"),
        (r"\mathbf{W}", '<mi class="bold" mathvariant="normal">W</mi>'),
        ("1.5e-3", "<msup><mn>10</mn><mrow><mo>−</mo><mn>3</mn></mrow></msup>"),
        (r"a_1", "<msub><mi>a</mi><mn>1</mn></msub>"),
        (r"\frac{d}{dx} \frac{1}{x}", "</mspace><mfrac><mn>1</mn><mi>x</mi></mfrac>"),
        (r"\bar x", '<mover accent="true"><mi>x</mi><mo stretchy="false">¯</mo></mover>'),
    ],
)
def test_pieces_of_mathml(source, piece):
    assert piece in formula(parse(source))


def test_brackets_grow_around_what_is_tall_alone():
    assert 'stretchy="false"' in formula(parse("(a + b)"))
    assert 'stretchy="false"' not in formula(parse(r"\left(\frac{a}{b}\right)"))
    assert formula(parse(r"\begin{bmatrix} 1 \\ 2 \end{bmatrix}")).count('fence="true"') == 2


def test_each_side_of_a_chain_may_begin_a_line():
    pieces = formula(parse("a = b = c")).split("</math> ")
    assert len(pieces) == 3
    assert all('<mo form="infix" lspace="0">=</mo>' in piece for piece in pieces[1:])


@given(st.text(max_size=40))
def test_whatever_can_be_read_is_text_on_the_page(text):
    found = tree(rf"x = \text{{{text}}}")
    if found is not None:
        assert {element.tag for element in elements(formula(found))} <= {
            "page",
            "math",
            "mrow",
            "mi",
            "mo",
            "mtext",
            "mn",
        } | set(CHILDREN) | {"mspace", "mtable", "mtr", "mtd", "msqrt"}


def value(node):
    """A closed tree as a fraction."""
    match node:
        case syntax.Number():
            return node.value
        case syntax.Sum():
            return sum((-1 if sign == "-" else 1) * value(term) for sign, term in node.terms)
        case syntax.Product():
            result = Fraction(1)
            for _, factor in node.factors:
                result *= value(factor)
            return result
        case syntax.Quotient():
            return value(node.above) / value(node.below)
        case syntax.Group(items=(item,)):
            return value(item)
        case syntax.Script(above=syntax.Node() as power):
            return value(node.base) ** int(value(power))
    raise AssertionError(node)


closed = st.recursive(
    st.integers(2, 9).map(str),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda ab: rf"\frac{{{ab[0]}}}{{{ab[1]}}}"),
        st.tuples(inner, inner).map(lambda ab: rf"({ab[0]} + {ab[1]})"),
        st.tuples(inner, inner).map(lambda ab: rf"{{{ab[0]}}} \cdot {{{ab[1]}}}"),
        st.tuples(inner, inner).map(lambda ab: rf"{{{ab[0]} + {ab[1]}}} \cdot 3"),
        st.tuples(inner, st.integers(2, 3)).map(lambda ab: rf"{{{ab[0]}}}^{{{ab[1]}}}"),
    ),
    max_leaves=5,
)


@given(closed)
def test_one_line_has_the_value_of_the_formula(source):
    found = parse(source)
    assert value(parse(one_line(found))) == value(found)


# ------------------------------------------------------------------------------------------------- which formula


def result_of(text, relations=(), findings=()):
    return Report("a.md", Document("a.md", text, "markdown"), Results(list(findings), [], list(relations)))


def test_the_formula_is_that_of_the_smallest_relation_around_a_finding():
    text = r"$A = B = \begin{bmatrix} 1 & 2 \end{bmatrix}$"
    start = text.index("2 ")
    whole = Relation(1, len(text) - 1, "A = [1 2]", "claim", "", "right")
    last = Relation(5, len(text) - 1, "B = [1 2]", "claim", "", "wrong")
    found = Finding(start, start + 1, "error", "matrix", "B = [1 2]", "3", "")
    result = result_of(text, [whole, last], [found])
    assert readable(*formula_of(result, Links(result), found)) == "B = [1 2]"
    assert "<mtable>" in formula(formula_of(result, Links(result), found)[1])  # the text has more than `says`


def test_of_two_relations_that_share_a_side_the_one_that_is_quoted_or_wrong_is_meant():
    text = "$a + b = cc = d$"
    first, second = Relation(1, 11, "a + b = cc", "claim", "", "wrong"), Relation(9, 15, "cc = d", "claim", "", "right")
    quoting = Finding(9, 11, "error", "number", "cc = d", "3", "")
    result = result_of(text, [first, second], [quoting])
    assert Links(result).relation_of(quoting) is second
    assert Links(result).relation_of(Finding(9, 11, "error", "number", "cc", "3", "")) is first


def test_without_a_relation_the_words_of_the_finding_are_read():
    found = Finding(0, 1, "error", "number", "1/2 = 3", "", "")
    result = result_of("x", [], [found])
    assert readable(*formula_of(result, Links(result), found)) == "1/2 = 3"


def test_what_cannot_be_read_stands_as_it_is_written():
    broken = Relation(0, 7, r"\frac{1", "claim", "", "undecided")
    result = result_of(r"\frac{1", [broken])
    says, found = formula_of(result, Links(result), broken)
    assert (found, readable(says, found)) == (None, r"\frac{1")
    with pytest.raises(ParseError):
        parse(says)


def test_macros_and_flat_matrices_are_read_from_the_quotation():
    text = r"$\mat{1 & 2} = W\tp$"
    relation = Relation(1, len(text) - 1, r"[1 -2] = W^\top", "claim", "", "right")
    result = result_of(text, [relation])
    assert readable(*formula_of(result, Links(result), relation)) == "[1 −2] = Wᵀ"
    assert "<mtable>" in formula(formula_of(result, Links(result), relation)[1])
    assert tree(r"W\tp = 1") is None


def test_a_truth_in_words_is_not_typeset():
    assert truth_tree("0.667 in row 1, column 2") is None
    assert truth_tree("another formula") is None
    assert one_line(truth_tree(r"\frac{1}{2} x")) == "1/2 x"
    assert one_line(truth_tree("log 2 ≈ 0.69")) == "log 2 ≈ 0.69"

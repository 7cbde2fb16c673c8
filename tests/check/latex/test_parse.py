"""Formulas and the trees they are read as, by hand; spans; what is refused, word for word."""

from __future__ import annotations

import pytest

from workings.check.latex.latex import latex
from workings.check.latex.parse import ParseError, parse
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

N = Number
S = Symbol
a, b, c, d, e, f, i, k, n, p, q, x, y, z = (S(letter) for letter in "abcdefiknpqxyz")
A, B, K, L, Q, T, V, W, w = (S(letter) for letter in "ABKLQTVWw")
ONE, TWO, THREE = N("1"), N("2"), N("3")


def P(*factors: Node | str) -> Product:
    """Factors; a text is the sign before the next one."""
    found: list[tuple[str, Node]] = []
    sign = ""
    for factor in factors:
        if isinstance(factor, str):
            sign = factor
        else:
            found.append((sign, factor))
            sign = ""
    return Product(tuple(found))


def plus(*terms: Node) -> Sum:
    return Sum(tuple(("+", term) for term in terms))


def minus(term: Node) -> Sum:
    return Sum((("-", term),))


def eq(*items: Node, sign: str = "=") -> Chain:
    return Chain(items, (sign,) * (len(items) - 1))


def G(*items: Node, both: str = "()") -> Group:
    return Group(both[0], items, both[1:])


def rows(*found: tuple[Node, ...], kind: str = "bmatrix") -> Matrix:
    return Matrix(found, kind)


READ: dict[str, Node] = {
    # numbers
    "0.70": N("0.70"),
    "x = 1,000": eq(x, N("1000")),
    "1,234,567.5": N("1234567.5"),
    "(1,100)": G(ONE, N("100")),
    "1,2000": Items((ONE, N("2000"))),
    r"\frac{1,500}{2}": Quotient(N("1500"), TWO),
    "x_{1,200}": Script(x, Items((ONE, N("200")))),
    r"5\%": Postfix(N("5"), "%"),
    "0{,}5": N("0.5"),
    "i = 0,1,2": Items((eq(i, N("0")), ONE, TWO)),
    "0, 5": Items((N("0"), N("5"))),
    # relations and formulas side by side
    "a = b = c": eq(a, b, c),
    r"a \leq b \approx c": Chain((a, b, c), ("≤", "≈")),
    "= 5": eq(Nothing(), N("5")),
    "x =": eq(x, Nothing()),
    r"a := b": eq(a, b, sign=":="),
    r"a \stackrel{\text{def}}{=} b": eq(a, b, sign=":="),
    r"a \overset{(1)}{=} b": eq(a, b),
    r"a \xrightarrow{f} b": eq(a, b, sign="→"),
    r"a {=} b": eq(a, b),
    r"a \boxed{= b}": eq(a, b),
    r"\boxed{a = b}": eq(a, b),
    "a, b; c": Items((a, b, c)),
    r"x = 1, \quad y = 2.": Items((eq(x, ONE), eq(y, TWO))),
    r"x = 1 \quad \text{(by hand)}": Items((eq(x, ONE), Words("(by hand)"))),
    r"x = 1 \text{ and } y = 2": Items((eq(x, ONE), Words(" and "), eq(y, TWO))),
    r"\text{two words} + 1 = x": eq(plus(Words("two words"), ONE), x),
    r"x = \text{two words}": eq(x, Words("two words")),
    r"1, 2, \ldots, n": Items((ONE, TWO, Dots(), n)),
    r"x > 0 \forall x": Items((eq(x, N("0"), sign=">"), Words("∀"), x)),
    # rows
    r"x &= 1 + 2 \\ &= 3": Items((eq(x, plus(ONE, TWO)), eq(Nothing(), THREE))),
    r"\begin{aligned} x &= 1 \\[2pt] y &= 2 \nonumber \end{aligned}": Items((eq(x, ONE), eq(y, TWO))),
    r"\begin{align*} a &= b & c &= d \end{align*}": Items((eq(a, b), eq(c, d))),
    r"\begin{eqnarray} a &=& b \\ &=& c \end{eqnarray}": Items((eq(a, b), eq(Nothing(), c))),
    r"x &= a \\ &\quad + b": eq(x, plus(a, b)),
    r"x &= a \\ &- b = c": Chain((x, Sum((("+", a), ("-", b))), c), ("=", "=")),
    r"x &= a \\ -y &= b": Items((eq(x, a), eq(minus(y), b))),
    r"x = \\ a": eq(x, a),
    r"x &= a + \\ & b": eq(x, plus(a, b)),
    r"x &= a \\ & \times b": eq(x, P(a, "×", b)),
    r"\begin{gather} a \\ b \end{gather}": Items((a, b)),
    # sums, products, quotients
    "-x + y": Sum((("-", x), ("+", y))),
    "a + -b": plus(a, minus(b)),
    r"2 \cdot -3": P(TWO, "·", minus(THREE)),
    r"a b \cdot c \times d * e": P(a, b, "·", c, "×", d, "*", e),
    r"a \circ b \odot c \otimes d @ e": P(a, "∘", b, "⊙", c, "⊗", d, "@", e),
    r"\frac{a}{b}": Quotient(a, b),
    r"\dfrac12": Quotient(ONE, TWO),
    r"{a \over b}": Quotient(a, b),
    r"\nicefrac{a}{b}": Quotient(a, b),
    "a/b": Quotient(a, b, False),
    "a/bc": P(Quotient(a, b, False), c),
    "1/2x": P(Quotient(ONE, TWO, False), x),
    "ab/c": Quotient(P(a, b), c, False),
    "a/b/c": Quotient(Quotient(a, b, False), c, False),
    r"a \div b": Quotient(a, b, False),
    "a/-b": Quotient(a, minus(b), False),
    r"\binom{n}{k}": Function("binom", (n, k)),
    r"{n \choose k}": Function("binom", (n, k)),
    "½ x": P(Quotient(ONE, TWO), x),
    "{} - x": minus(x),
    # letters and styles
    "QK": P(Q, K),
    r"\alpha": S("alpha"),
    r"\mathbf{x}": S("x", ("bold",)),
    r"\hat{\mathbf{x}}": S("x", ("bold", "hat")),
    r"\mathbf{\hat x}": S("x", ("bold", "hat")),
    r"\bm x + {\bf y} z": plus(S("x", ("bold",)), P(S("y", ("bold",)), z)),
    r"\mathbb{R}": S("R", ("bb",)),
    r"\mathbf{1}": S("1", ("bold",)),
    r"\mathbf{0.5}": N("0.5"),
    r"\overline{x}": S("x", ("bar",)),
    r"\overline{x + y}": Function("overline", (plus(x, y),)),
    r"\hat{y_i}": Script(S("y", ("hat",)), i),
    r"\mathbf{QK^T}": P(S("Q", ("bold",)), Script(S("K", ("bold",)), None, S("T", ("bold",)))),
    r"{\color{red} x + y}": plus(x, y),
    r"\textbf{x} + \text{x}": plus(S("x", ("bold",)), S("x", ("text",))),
    r"A^\intercal": Script(A, None, S("top")),
    r"\text{MSE}": S("MSE", ("text",)),
    r"\mathrm{head}_1": Script(S("head", ("text",)), ONE),
    r"\cancel{x} \phantom{y} \left( x \right)": P(x, G(x)),
    r"\overset{a}{b}": b,
    # functions
    "f(x)": P(f, G(x)),
    r"\sigma(x)": P(S("sigma"), G(x)),
    "softmax(x)": Function("softmax", (x,)),
    r"\exp(x)": Function("exp", (x,)),
    r"\exp\{x\}": Function("exp", (x,)),
    r"\max(a, b)": Function("max", (a, b)),
    r"\log x y": P(Function("log", (x,), bracketed=False), y),
    r"\log p(x)": Function("log", (P(p, G(x)),), bracketed=False),
    r"\log x (y)": P(Function("log", (x,), bracketed=False), G(y)),
    r"\log_2 x": Function("log", (x,), TWO, None, False),
    r"\log^2 x": Function("log", (x,), None, TWO, False),
    r"\log(x)^2": Script(Function("log", (x,)), None, TWO),
    r"\log -x": Function("log", (minus(x),), bracketed=False),
    r"\tanh = f": eq(Function("tanh", ()), f),
    r"\operatorname{ReLU}(x)": Function("relu", (x,)),
    r"\text{softmax}_i(x)": Function("softmax", (x,), i),
    # scripts
    "x_i^2": Script(x, i, TWO),
    "x^2_i": Script(x, i, TWO),
    "x_{i_k}": Script(x, Script(i, k)),
    "x_12": Script(x, N("12")),
    "2^10": Script(TWO, None, N("10")),
    "x^(2)": Script(x, None, G(TWO)),
    r"x_\text{No Reg}": Script(x, Words("No Reg")),
    r"E_\parallel": Script(S("E"), S("∥")),
    r"x\_{1}": Script(x, ONE),
    r"\frac12": Quotient(ONE, TWO),
    r"W^\top": Script(W, None, S("top")),
    "W^T": Script(W, None, T),
    "W^{-1}": Script(W, None, minus(ONE)),
    "x^{(i)}": Script(x, None, G(i)),
    "x^*": Script(x, None, S("*")),
    "x^{+}": Script(x, None, S("+")),
    "10^-3": Script(N("10"), None, minus(THREE)),
    "f'": Postfix(f, "'"),
    "f''_i^2": Script(Postfix(Postfix(f, "'"), "'"), i, TWO),
    "x_i'": Script(Postfix(x, "'"), i),
    r"x^{\prime}": Postfix(x, "'"),
    "x² + xᵀ + x₁": plus(Script(x, None, TWO), Script(x, None, T), Script(x, ONE)),
    "n!": Postfix(n, "!"),
    "n!=6": eq(Postfix(n, "!"), N("6")),
    "{x_i}^2": Script(Script(x, i), None, TWO),
    "x_{1:n}": Script(x, eq(ONE, n, sign=":")),
    # brackets and bars
    "[a, b)": G(a, b, both="[)"),
    r"\{a, b\}": G(a, b, both="{}"),
    r"\lfloor x \rfloor": G(x, both="⌊⌋"),
    r"\langle x, y \rangle": G(x, y, both="⟨⟩"),
    "|x|": G(x, both="||"),
    "|x||y|": P(G(x, both="||"), G(y, both="||")),
    "2|x|": P(TWO, G(x, both="||")),
    "||x|-1|": G(Sum((("+", G(x, both="||")), ("-", ONE))), both="||"),
    "||x||_2": Script(G(x, both="‖‖"), TWO),
    r"\|x\|": G(x, both="‖‖"),
    r"\left|\left|x\right|\right|": G(G(x, both="||"), both="||"),
    "p(x|z)": P(p, G(Given(x, z))),
    r"p(x, y \mid z)": P(p, G(Given(Items((x, y)), z))),
    "p(q || p)": P(p, G(Given(q, p, "‖"))),
    r"p(q \| p)": P(p, G(Given(q, p, "‖"))),
    r"\{x | x > 1\}": G(Given(x, eq(x, ONE, sign=">")), both="{}"),
    r"\left. f \right|_{x=1}": Script(Postfix(f, "|"), eq(x, ONE)),
    "f|_{x=1}": Script(Postfix(f, "|"), eq(x, ONE)),
    "（a，b）": G(a, b),
    # matrices and cases
    "[1, 2; 3, a]": rows((ONE, TWO), (THREE, a), kind="[;]"),
    r"\begin{bmatrix} 1 & 2 \\ 3 & a \\ \end{bmatrix}": rows((ONE, TWO), (THREE, a)),
    r"\begin{pmatrix*}[r] 1 \\ -2 \end{pmatrix*}": rows((ONE,), (minus(TWO),), kind="pmatrix"),
    r"\begin{bmatrix} 1 & & 2 \\ 3 \end{bmatrix}": rows((ONE, Nothing(), TWO), (THREE,)),
    r"\begin{array}{c|c} 1 & 2 \\ \hline 3 & a \end{array}": rows((ONE, TWO), (THREE, a), kind="array"),
    r"\left[\begin{array}{cc} 1 & 2 \end{array}\right]": rows((ONE, TWO)),
    r"\left(\begin{smallmatrix} 1 \end{smallmatrix}\right)": rows((ONE,), kind="pmatrix"),
    r"\begin{matrix} \# A \\ \# \text{two words} \end{matrix}": rows(
        (Words("# A"),), (Words("# two words"),), kind="matrix"
    ),
    r"\begin{cases} 1 & \text{if } x > 0 \\ 2 & \text{otherwise} \end{cases}": Cases(
        ((ONE, Items((Words("if "), eq(x, N("0"), sign=">")))), (TWO, S("otherwise", ("text",))))
    ),
    r"\left\{\begin{array}{ll} 1 & a \\ 2 & b \end{array}\right.": Cases(((ONE, a), (TWO, b))),
    r"\left\{\begin{aligned} a &= b \\ c &= d \end{aligned}\right.": Group("{", (eq(a, b), eq(c, d)), ""),
    # sums over something
    r"\sum_{i=1}^{n} a b + c": plus(Big("∑", eq(i, ONE), n, P(a, b)), c),
    r"\sum_{\substack{i = 1 \\ k = 2}} a": Big("∑", Items((eq(i, ONE), eq(k, TWO))), None, a),
    r"a \int_0^1 x": P(a, Big("∫", N("0"), ONE, x)),
    r"\lim_{x \to 0} f": Big("lim", eq(x, N("0"), sign="→"), None, f),
    r"\max_{i} x_i": Big("max", i, None, Script(x, i)),
    r"\arg\max_i x": Big("argmax", i, None, x),
    r"\operatorname*{argmin}_w L": Big("argmin", w, None, L),
    r"\underset{x}{\arg\max} f": Big("argmax", x, None, f),
    r"\underset{i}{\sum} x": Big("∑", i, None, x),
    r"\mathop{\arg\max}_x f": Big("argmax", x, None, f),
    r"a / \sum_i x y": Quotient(a, Big("∑", i, None, P(x, y)), False),
    r"a {\sum_i x} / y": Quotient(P(a, Big("∑", i, None, x)), y, False),
    # derivatives
    r"\frac{\partial L}{\partial w}": Derivative(L, (w,)),
    r"\partial L / \partial w": Derivative(L, (w,)),
    r"a \partial L / \partial w b": P(a, Derivative(L, (w,)), b),
    r"\frac{dL}{dw}": Derivative(L, (w,), "d"),
    "dL/dw": Derivative(L, (w,), "d"),
    r"\frac{d}{dw}(w) a": P(Derivative(G(w), (w,), "d"), a),
    r"\frac{d}{dx} x^2 + a": plus(Derivative(Script(x, None, TWO), (x,), "d"), a),
    r"\frac{\partial^2 f}{\partial x^2}": Derivative(f, (x, x)),
    r"\frac{\partial^2 f}{\partial x \partial y}": Derivative(f, (x, y)),
    r"\frac{d}{2}": Quotient(d, TWO),
    "dab/dc": P(Quotient(P(d, a, b), d, False), c),
    r"\frac{d_k}{d}": Quotient(Script(d, k), d),
    r"\nabla_x f": Derivative(f, (x,), "∇"),
    r"\nabla f(x)": Derivative(P(f, G(x)), (), "∇"),
    # roots and labels
    r"\sqrt2 x": P(Root(TWO), x),
    r"\sqrt[3]{x}": Root(x, THREE),
    "√x": Root(x),
    r"\underbrace{a + b}_{\text{sum}}": Labelled(plus(a, b), S("sum", ("text",))),
    r"\overbrace{a}^{b}": Labelled(a, b, "over"),
}


@pytest.mark.parametrize("text", READ)
def test_reads_as_by_hand(text: str) -> None:
    assert parse(text) == READ[text]


@pytest.mark.parametrize("text", READ)
def test_what_was_read_is_written_and_read_again(text: str) -> None:
    tree = parse(text)
    assert parse(latex(tree)) == tree


def test_a_wide_slash_takes_the_product_that_follows() -> None:
    assert parse("a/bc", wide_slash=True) == Quotient(a, P(b, c), False)
    assert parse(r"a/b \cdot c", wide_slash=True) == P(Quotient(a, b, False), "·", c)


def test_a_long_reach_takes_the_product_that_follows() -> None:
    assert parse(r"\log x y", long_reach=True) == Function("log", (P(x, y),), bracketed=False)
    assert parse(r"\log(x) y", long_reach=True) == P(Function("log", (x,)), y)
    sin, cos = (Function(name, (x,), bracketed=False) for name in ("sin", "cos"))
    assert parse(r"\sin x \cos x", long_reach=True) == P(sin, cos)


def test_spans() -> None:
    text = r"x_i + \frac{a}{2} \approx [0.50, -y]"
    shown = {text[node.span[0] : node.span[1]] for node in parse(text).walk()}
    assert shown == {
        text, r"x_i + \frac{a}{2}", "x_i", "x", "i", r"\frac{a}{2}", "a", "2", "[0.50, -y]", "0.50", "-y", "y",
    }  # fmt: skip


def test_spans_of_rows_and_products() -> None:
    text = r"\begin{aligned} x &= \mathbf{a} \cdot b \\ &= 2 \hat{c}^2 \end{aligned}"
    first, second = parse(text).children()
    assert text[slice(*first.span)] == r"x &= \mathbf{a} \cdot b"
    assert text[slice(*second.span)].strip("& ") == r"= 2 \hat{c}^2"
    assert [text[slice(*child.span)] for child in first.children()] == ["x", r"\mathbf{a} \cdot b"]


REFUSED = {
    "(a": ("Expected a closing ) for the bracket at character 1, found the end.", 2),
    "a)": ("Expected the end of the formula, found ')'.", 1),
    "(a]]": ("Expected the end of the formula, found ']'.", 3),
    "{a": ("Expected a closing brace, found the end.", 2),
    "a /": ("Expected a number, a letter or a bracket, found the end.", 3),
    r"\times a": ("Expected a number, a letter or a bracket, found '\\times'.", 0),
    r"a + \foo{b}": ("'\\foo' is not known here.", 4),
    r"x \foo{b}": ("'\\foo' is not known here.", 2),
    "x^": ("Expected something in braces after ^, found the end.", 2),
    "x_i_k": ("Only one _ is allowed here: use braces to say what the second belongs to.", 3),
    "1 000": ("A sign is needed between two numbers.", 2),
    "(1,000 + x)": ("A list or one number? In brackets 1,000 needs a space, or 1{,}000.", 1),
    "a = = b": ("Expected something between = and =, found 'b'.", 6),
    r"\begin{bmatrix} 1": ("Expected \\end{bmatrix}, found the end.", 17),
    r"\begin{tikz} 1 \end{tikz}": ("The environment 'tikz' is not known here.", 0),
    r"\frac{a}": ("Expected something in braces after \\frac, found the end.", 8),
    "a & b)": ("Expected the end of the formula, found ')'.", 5),
    "(a & b)": ("Expected a closing ) for the bracket at character 1, found an alignment mark &.", 3),
    "x = 0,5": ("A list or a decimal? 0,5 needs a space, or 0{,}5.", 4),
    "a.b": ("Expected the end of the formula, found '.'.", 1),
    ")": ("Expected the end of the formula, found ')'.", 0),
    "1.5.2": ("A sign is needed between two numbers.", 3),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused_at_the_character_where_reading_stopped(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert (caught.value.reason, caught.value.position) == REFUSED[text]


FORMS = {
    # numbers as people write them
    "2½": G(plus(TWO, Quotient(ONE, TWO))),
    r"0.1\overline{6}": Quotient(N("15"), N("90")),
    r"\text{24,319}": N("24319"),
    "26.\n86 - x": Sum((("+", N("26.86")), ("-", x))),
    "1,5 + 2": plus(N("1.5"), TWO),
    "x + 0,5": plus(x, N("0.5")),
    "x = 1,5": Items((eq(x, ONE), N("5"))),
    r"\$1,200 + €5": plus(N("1200"), N("5")),
    # a sign that stands for itself, a formula that goes on outside
    r"\circ": S("∘"),
    "-": S("-"),
    "+_k": Script(S("+"), k),
    "1 +": Sum((("+", ONE), ("+", Nothing()))),
    r"a \cdot": P(a, "·", Nothing()),
    # words between operands
    r"a \text{ plus } b": plus(a, b),
    "a mod b": P(a, "mod", b),
    "5 choose 2": Function("binom", (N("5"), TWO)),
    r"2 \text{ apples} + 3 \text{ apples}": plus(P(TWO, Words(" apples")), P(THREE, Words(" apples"))),
    r"x > 2 \text{ and } -y < 3": Items((Chain((x, TWO), (">",)), Words(" and "), Chain((minus(y), THREE), ("<",)))),
    r"2 \text{ min} - 3": Sum((("+", P(TWO, Words(" min"))), ("-", THREE))),
    # a modulus belongs to every side of a congruence
    r"a \equiv b \pmod 3": Chain((P(a, "mod", THREE), P(b, "mod", THREE)), ("≡",)),
    r"a \equiv b (\text{mod } 3)": Chain((P(a, "mod", THREE), P(b, "mod", THREE)), ("≡",)),
    r"a = b \mod 3": eq(a, P(b, "mod", THREE)),
    # ÷ divides by the fraction that follows it
    "1/2 ÷ a/3": Quotient(Quotient(ONE, TWO, False), Quotient(a, THREE, False), False),
    "<a, b> = c": eq(Group("⟨", (a, b), "⟩"), c),
    "a < b": Chain((a, b), ("<",)),
    # rows: a doubled row break, an array that is used like align
    r"\begin{bmatrix} 1 \\\\ 2 \end{bmatrix}": Matrix(((ONE,), (TWO,))),
    r"\begin{array}{rcl} a & = & 1 \\ b & = & 2 \end{array}": Items((eq(a, ONE), eq(b, TWO))),
    r"\left[ \begin{array}{c} 1 \end{array} \right.": Group("[", (Matrix(((ONE,),), "array"),), ""),
    r"\overset{*}⇒ x": Chain((Nothing(), x), ("⇒",)),
    r"\text{so $x_{1}$ is} ": Words("so $x_{1}$ is"),
    r"P(\text{a } | \text{ b})": P(S("P"), G(Given(Words("a "), Words(" b")))),
    r"\text{is \resp{1}}": Words("is 1"),
    "^2": Script(Nothing(), None, TWO),
    "3{}^2": Script(THREE, None, TWO),
    r"a. \text{Then} = b": Items((a, eq(S("Then", ("text",)), b))),
    r"a \le_k b": Chain((a, b), ("≤",)),
    "|": S("|"),
    'x: "even"': Chain((x, Words("even")), (":",)),
}  # fmt: skip


@pytest.mark.parametrize("text", FORMS)
def test_what_authors_write_is_read_as_they_mean_it(text: str) -> None:
    assert parse(text) == FORMS[text]


def test_nothing_is_nothing() -> None:
    assert parse("") == parse(" ") == parse(r"\,") == Nothing()


def test_a_command_of_the_document_s_own_is_a_name():
    assert parse(r"\foo = 3") == Chain((Symbol("\\foo"), Number("3")), ("=",))
    assert latex(parse(r"\foo x")) == r"\foo x"

"""Short pieces of worked mathematics: which lines are wrong, what only follows from an error, and what is no claim at all.

A line that begins with `!!` is to be found, at least as a note, and no other may be called an error or a likely one.
"""

import pytest

from workings.check.document.document import Document
from workings.check.document.finding import LEVELS, Finding
from workings.check.document.relation import Outcome, Role
from workings.check.extract import read_text
from workings.check.run.checker import check_document

TEXTS = {
    "a recurrence with numbers put in": r"""
We use $m_t=\beta_1 m_{t-1}+(1-\beta_1)g_t$ with $m_0=0$. $m_1=\beta_1 m_0+(1-\beta_1)g_1=0.9\cdot 0+0.1\cdot 2=0.2$""",
    "the second turn is wrong": r"""
We use $m_t = \beta m_{t-1} + (1-\beta) g_t$ with $\beta = 0.9$. Then
$m_1 = \beta m_0 + (1-\beta) g_1 = 0.9 \cdot 0 + 0.1 \cdot 2 = 0.2$.

!! And $m_2 = \beta m_1 + (1-\beta) g_2 = 0.9 \cdot 0.2 + 0.1 \cdot 3 = 0.58$.""",
    "a letter of another question": "## Question 1\n$\\lambda=8$\n\n## Question 2\nSolve $\\lambda^2-3\\lambda+2=0$.",
    "degrees of freedom of another exercise": """
## Exercise 1
Let $n = 20$. So $n - 1 = 19$.

## Exercise 2
The degrees of freedom are $n - 1 = 14$.""",
    "an identity of the sigmoid": r"$\sigma(x)(1-\sigma(x))=\sigma(x)-\sigma(x)^2$",
    "a unit does not silence": r"!! So $0.2\cdot 0.5=100$ units",
    "words as a unit": r"!! It took $168 - 126 = 52$ minutes.",
    "another unit": r"It weighs $3 \text{ kg} = 3000 \text{ g}$.",
    "one error, then what follows from it": "!! $a=2+3=6$\n\n$b=2a=12$\n\nThen $c = b + 1 = 13$.",
    "on with the right value": "!! First $a = 2 + 3 = 6$.\n\nThen $b = 2a = 10$.",
    "a negation elsewhere in the sentence": "!! This is not abelian: $2+2=5$",
    "easy words do not silence": "!! This is not hard: we get $3 \\cdot 4 = 13$.",
    "a hypothesis test": "!! In the hypothesis test we compute $Z = \\frac{0.55 - 0.5}{0.02} = 3.5$.",
    "a chain behind let": "!! Let $a = 2 + 3 = 6$.",
    "denied right before": "It is not true that $3 \\cdot 4 = 13$.",
    "asked": "Is $2 + 2 = 5$?",
    "supposed": "Suppose that $2 + 2 = 5$.",
    "what follows from a supposition": "Suppose $2+2=5$. Then $1=2$.\n\n!! But $3 + 3 = 7$.",
    "a correction is checked": "It is not true that $3 \\cdot 4 = 13$; rather\n!! $3 \\cdot 4 = 11$.",
    "pages": "Pages 3-5 = 3 pages",
    "digits": "Digits 0-9 = 10",
    "a division of fractions": "$1/18 ÷ 11/36 = 2/11$",
    "a wrong division of fractions": "!! $1/18 ÷ 11/36 = 3/11$",
    "complex powers": "$e^{j8\\pi/3}=e^{j2\\pi/3}$",
    "wrong complex powers": "!! $(1+i)(1-i)=3$",
    "the first brackets are blamed": r"!! $\|x\|^2=(\sqrt{-4^2+6^2})^2=(\sqrt{(-4)^2+6^2})^2=52$",
    "the odd one out": r"!! $12 \cdot 3 = 35 = 30 + 6 = 36$.",
    "stars multiply": "It has 16*(5*5*6 + 1) = 2416 parameters.",
    "stars multiply wrongly": "!! It has 16*(5*5*6 + 1) = 2426 parameters.",
    "plus between two formulas": "The vector $[1, 1]$ plus $[0, 1]$ = $[1, 2]$.",
    "an operation of the author's own": "Define $a * b = a + b - ab$. Then $2 * 3 = -1$.",
    "an equation and its solution": "Solve $2x + 3 = 11$. We get $x = 4$.\n\nThen $x = 5$ solves $3x = 15$.",
    "a wrong solution": r"""
We solve $0.67 = \frac{1800 - 1650}{s}$, so $s = 223.9$.

!! Solving $2y + 3 = 11$ gives $y = 5$.""",
    "a system": "The system $x + y = 5$, $x - y = 1$ has the solution $x = 3$, $y = 2$.",
    "a polynomial after a root": "We found $p = 1$.\n\n$-3p^2 + 7p - 2 = 0$",
    "a differential equation": r"Let $u = y + t$. The equation becomes $\frac{du}{dt} = u^2$.",
    "a final answer": "We compute $x = 3/4 = 0.75$.\n\n!! Answer: $x = 0.85$.",
    "copied wrongly": r"""
## P
(a) We get $s = 2.2/\sqrt{20} = 0.4919$.

!! (b) Using $s = 0.5919$, the interval follows.""",
    "another case": r"""
## P
(a) We get $s = 2.2/\sqrt{20} = 0.4919$.

(b) Using $s = 0.77$ instead, the interval follows.""",
    "parts with their own values": """
## Problem
(a) With $p = 0.1$: $1 - p = 0.9$.

(b) With $p = 0.3$: $1 - p = 0.7$.

!! (c) With $p = 0.2$: $1 - p = 0.6$.""",
    "an if holds for its paragraph": """
If $x = 4$ and $y = -3$ then $x y = -12$.

Now take $x = 2$, so $x y = 10$ with $y = 5$.""",
    "a wrong number in the calculation": r"""
Given $p = 0.2$ and $n = 50$, we get $\mu = n p = 50 \cdot 0.2 = 10$.

!! Also $\sigma^2 = n p (1 - p) = 50 \cdot 0.2 \cdot 0.7 = 7$.""",
    "partly computed": r"""
Let $p = 0.5$, $a = 10$ and $b = 41$.

!! $v = e^{-0.01}(p a + (1 - p) b) = 0.99005 \times 24.9 = 24.65$""",
    "a set beside its probability": r"$P(A) = \{(1, 2), (2, 1)\} = 2/36$",
    "remainders": "We count modulo 7: $5 + 5 = 3$.",
    "a hypothesis about a mean": "We test $H_0: \\mu = 5$ with $\\bar{x} = 4.6$.\n\nNow $\\mu - 1 = 7$ was found elsewhere.",
    "an interval": r"$2.559 \pm 2.10 \times 0.390 = (1.740, 3.378)$",
    "several assignments side by side": r"$\lambda_1 = -1 \lambda_2 = 3 \quad \lambda_3 = 7$",
    "a determinant set in brackets": r"$\det(A) = \begin{pmatrix}3 & 2\\2 & 4\end{pmatrix} = 8$",
    "rows that are reduced": r"$B = \begin{pmatrix}-5 & -2\\1 & -2\end{pmatrix} = \begin{pmatrix}1 & 0\\0 & 1\end{pmatrix}$",
    "more digits than the inputs have": r"$-0.33 \log_2 0.33 - 0.67 \log_2 0.67 = 0.9183$",
    "an expectation": r"$E((X-1)^{3})=E(X^{3})-3E(X^{2})+3E(X)-1=2$ and not $E^2(X)$",
    "complements": r"$(A+B)^{c}C = A^{c}B^{c}C = C - (A + B) C$",
    "orthogonal matrices": r"With orthogonal $U$: $(V S U^T)(U S V^T) = V S^2 V^T = V S S V^T$",
    "a test that fails": r"$\frac{9}{8} \le 1$ ✗",
    "three sums of one form": "!! $34+25=60$\n\n!! $12+19=32$\n\n!! $47+21=69$",
    "a unit scales nothing": r"!! $0.2 \cdot 0.5=100\text{ units}$ and $5 \cdot 4 = 20$",
    "a scale does": r"$128\cdot 18816 = 2408448 \approx 2.4\text{ million}$",
    "not the case": "It is not the case that $2+2=5$.",
    "whether": "Check whether $3 \\cdot 4=13$ holds.",
    "how many years": "2020-2023 = 4 years",
    "words written as products": r"We get $SE = \sqrt{0.1 \cdot 0.9/100} = 0.03$ and $df = 9$.",
    "what a problem gives holds in its parts": """
## Problem 1
Let $a = 3$ and $b = 4$.

!! (a) The square: $a^2 + 1 = 11$

(b) $2a + b = 10$

(c) Solve $2b + 1 = 11$.

!! (d) $2b = 9$
""",
    "what a problem gives holds in its solution": (
        "## Problem 1\nA box has $n = 10$ balls.\n\n!! **Solution.** $n^2 + 1 = 102$.\n"
    ),
    "an update in one item holds in the next": """
Start with $w = 1$.

- $w \\leftarrow w + 1 = 2$
- $3w = 6$
""",
    "a part that sets a letter anew does so for itself": """
Let $x = 3$.

(a) Here $x = y + 1$. So $2x = 7$.

!! (b) So $2x = 7$.
""",
    "an equation in another paragraph": "Let $x = 3$.\n\nThe line $2x + 1 = 8$ is here.",
    "a unit between two numbers": "!! They keep $90 \\text{ flowers} - 40 = 60 \\text{ flowers}$.",
    "a product of relations": r"$R = \{(1,2),(2,3)\}$ and $S = \{(2,4),(3,5)\}$, so $R \circ S = \{(1,4),(2,5)\}$.",
}

SIBLINGS = {
    "another recurrence": r"""
We use $v_t=\rho v_{t-1}+g_t$ with $v_0=0$ and $\rho = 0.5$. $v_1=\rho v_0+g_1=0.5\cdot 0+3=3$
and $v_2=\rho v_1+g_2=0.5\cdot 3+1=2.5$""",
    "squares in a recurrence": r"""
!! $s_t=\beta_2 s_{t-1}+(1-\beta_2)g_t^2$; $s_0=0$; $s_1=\beta_2 s_0+(1-\beta_2)g_1^2=0.99\cdot 0+0.01\cdot 4=0.4$""",
    "a recurrence in numbers": r"""
$x_{n+1} = x_n/2 + 1/x_n$, $x_0 = 1$, $x_1 = 1/2 + 1/1 = 1.5$, $x_2 = 1.5/2 + 1/1.5 = 1.4167$""",
    "a number of another question": "## Q1\n$n=8$\n\n## Q2\n$n^2-3n+2=0$",
    "a root of another problem": "**Problem 1.** $x = 5$.\n\n**Problem 2.** Solve $x^2 = 4$.",
    "an index of another section": "## A\n$k=3$\n\n## B\nFind $k$ with $2k + 1 = 9$.",
    "an identity of tanh": r"$\tanh(x)^2 - 1 = (\tanh(x)-1)(\tanh(x)+1)$",
    "symmetry of the sigmoid": r"$\sigma(-x) = 1 - \sigma(x)$",
    "money": "!! $0.3\\cdot 0.5=15$ euros",
    "apples": "!! $12 / 4 = 4$ apples",
    "minutes": "!! It takes $3 \\cdot 20 = 80$ minutes.",
    "then less": "!! $a=4\\cdot 2=9$\n\n$b=a-1=8$",
    "then its square": "!! $s = 1 + 2 = 4$, so $t = s^2 = 16$ and $u = t + 1 = 17$",
    "not cyclic": "!! The group is not cyclic: $3+3=7$",
    "never empty": "!! This is never empty: $4 \\cdot 2 = 9$",
    "not old": "!! He is not old, $30 - 12 = 19$",
    "ranges of lines": "Lines 10-12 = 3 lines",
    "ranges of chapters": "Chapters 1-4 = 4 chapters",
    "ranges of seats": "Seats A1-A9 = 9 seats",
    "fractions divided": "$3/4 ÷ 1/2 = 3/2$ and 2/3 ÷ 4/9 = 3/2",
    "fractions multiplied instead": "!! 1/2 ÷ 1/4 = 1/8",
    "turns of a circle": r"$e^{j3\pi}=e^{j\pi}$ and $e^{i\pi} = -1$",
    "a quarter turn": r"!! $e^{i\pi/2} = -i$",
    "a square without its brackets": r"!! $\|x\|^2=(\sqrt{-3^2+4^2})^2=(\sqrt{(-3)^2+4^2})^2=25$",
    "a root without its brackets": r"!! $\|v\| = \sqrt{-1^2 + 2^2} = \sqrt{(-1)^2+2^2} = \sqrt 5$",
    "products as in code": "8*(3*3*4 + 1) = 296 and 2*(10 + 5) + 3*(4 - 1) = 39",
    "a wrong product as in code": "!! 8*(3*3*4 + 1) = 297",
    "a block without a language": "```\n!! 3 + 3 = 7\n```",
    "percent of": "25% of 80 = 20",
    "wrong percent of": "!! 25% of 80 = 25",
    "metres and centimetres": "$5 \\text{ m} + 30 \\text{ cm} = 5.3 \\text{ m}$",
    "halves": "2½ + 1½ = 4",
    "slashes with spaces": "6 / 3 / 2 = 1 and 10 ÷ 4 = 2.5",
    "a cell of a table": "| n | n² |\n|---|---|\n!! | 3 | 3·3 = 10 |",
    "scientific notation": "$1.2 \\times 10^{3} + 300 = 1500$",
    "wrong scientific notation": "!! $1.2e3 + 300 = 1600$",
}
"""What is like the inputs above, and was thought of later."""
TEXTS |= SIBLINGS


def split(text: str) -> tuple[str, set[int]]:
    """The text without its marks, and the lines that have one."""
    rows = text.lstrip("\n").split("\n")
    return "\n".join(row.removeprefix("!! ") for row in rows), {i for i, row in enumerate(rows, 1) if row.startswith("!! ")}


@pytest.mark.parametrize("name", TEXTS)
def test_the_wrong_lines_and_no_other(name):
    text, wanted = split(TEXTS[name])
    document = read_text(text, "page.md", "markdown")
    found = {level: {document.place(f.start).line for f in findings_at(document, level)} for level in ("likely", "note")}
    assert found["likely"] <= wanted <= found["note"]


def findings_at(document: Document, level: str) -> list[Finding]:
    """The findings at a level or above."""
    return [f for f in check_document(document).findings if LEVELS.index(f.level) <= LEVELS.index(level)]


def test_a_letter_that_several_parts_gave_their_own_values_has_none_in_another():
    text = "1. Let $a=3$. So $a+1=4$.\n\n2. Let $a=5$. So $a+1=6$.\n\n3. Here $a+1=4$.\n"
    relations = check_document(read_text(text, "page.md")).relations
    assert [relation.outcome for relation in relations if relation.says.startswith("a+1")] == ["right", "right", "no claim"]


def test_consequences_name_their_cause():
    text, _ = split(TEXTS["one error, then what follows from it"])
    report = check_document(read_text(text, "page.md"))
    [finding] = report.findings
    follows = [relation for relation in report.relations if relation.outcome == Outcome.FOLLOWS]
    assert [relation.says for relation in follows] == ["2a = 12", "b + 1 = 13"]
    assert follows[0].cause == finding.start and follows[0].values == "a = 6 (line 1)"


def test_the_brackets_that_are_missing_are_blamed():
    text, _ = split(TEXTS["the first brackets are blamed"])
    [finding] = check_document(read_text(text, "page.md")).findings
    assert finding.says.startswith(r"(\sqrt{-4^2+6^2})^2")


def test_every_relation_has_a_role_and_every_undecided_claim_a_reason():
    text = r"Let $n = 3$. Then $n + k = 5$ and $x^2 \ge 0$. So $\frac{a}{b} = \frac{c}{d} = 2$ and $f(n) + g = 7$."
    relations = check_document(read_text(text, "page.md")).relations
    assert [relation.role for relation in relations][:2] == [Role.GIVEN, Role.EQUATION]
    assert all(relation.reason for relation in relations if relation.outcome == Outcome.UNDECIDED)


def test_documents_glued_together_say_what_each_says():
    """Nothing leaks from one document into the next: the strongest test of scope."""
    first, second = (split(TEXTS[name])[0] for name in ("parts with their own values", "a wrong number in the calculation"))
    texts = [f"# Sheet {i}\n\n{text}\n\n" for i, text in enumerate([first, second, first], 1)]
    alone = [f.says for text in texts for f in check_document(read_text(text, "page.md")).findings]
    assert [f.says for f in check_document(read_text("".join(texts), "page.md")).findings] == alone != []

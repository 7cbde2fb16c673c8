r"""Read a formula: tokens → tree, by precedence, in one pass, without guessing.

    formulas   a, b; c \quad d     or rows        Items
    formula    a = b ≈ c                          Chain
    sum        a + b - c                          Sum
    term       a b · c / d                        Product, Quotient
    factor     x_i^2, f(x), (a + b), \frac{a}{b}  Script, Function, Group …

`parse` gives a tree for the whole text or raises `ParseError` at the character where reading stopped. How
single things are read stands in `parse_atoms.py`, their scripts in `parse_scripts.py`, brackets in `parse_groups.py`,
matrices and rows in `parse_environments.py`, ∂ in `parse_derivatives.py`.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from workings.check.latex.parse_atoms import ATOMS, with_body
from workings.check.latex.parse_derivatives import begins_differential, derivative
from workings.check.latex.parse_environments import continues
from workings.check.latex.parse_groups import condition_sign, opens_bar
from workings.check.latex.parse_scripts import argument, with_scripts
from workings.check.latex.reader import Reader, product, side_by_side
from workings.check.latex.signs import JOINING_WORDS
from workings.check.latex.syntax import (
    Chain,
    Function,
    Given,
    Node,
    Nothing,
    Number,
    Postfix,
    Product,
    Quotient,
    Script,
    Sum,
    Symbol,
    Words,
)
from workings.check.latex.units import worth
from workings.errors import ParseError

__all__ = ["DEEPEST", "ParseError", "Parser", "parse"]

DEEPEST = 80
"""How deep a formula may be nested."""
_STARTS = frozenset(ATOMS) - {"bar"}
_SCRIPTS = frozenset(("_", "^", "prime", "postfix"))
_ENDS = frozenset(("end of text", "end", "close", "}"))
_OPEN_ENDS = frozenset(("end of text", "row", "&", "end"))
"""Where a formula may break off after a sign: what follows stands outside of it."""
_LONE = frozenset(("close", "mid", "separator", "_", "^"))
"""What follows a sign that stands for itself: P(+ | ill), the operation +_m."""
_SEPARATORS = frozenset(("separator", "quad", "row", "&", ".", "words"))


def parse(text: str, *, wide_slash: bool = False, long_reach: bool = False) -> Node:
    r"""The tree of a formula: of what stands between dollars, or in an `align` environment.

    `wide_slash`: `a/bc` is a/(bc) instead of (a/b)c. `long_reach`: `\log x y` is log(xy) instead of log(x) y.

    >>> parse("x = 0.5").relations
    ('=',)
    """
    reader = Parser(text, wide_slash, long_reach)
    if len(reader.tokens) == 2 and reader.kind in ("bar", "mid", "relation"):
        return Symbol(str(reader.tokens[0][1]), span=reader.tokens[0][2:])
    node = reader.formulas(rows=True)
    if reader.kind != "end of text":
        raise reader.refuse("The end of the formula")
    return node


class Parser(Reader):
    """The grammar: from several formulas down to one factor."""

    def formulas(self, rows: bool = False) -> Node:
        """What stands between two brackets, or in the whole text: one formula or several."""
        start = self.tokens[self.at][2]
        style = self.style
        parts = [part for _, part in self.parts(rows)]
        if self.kind == "mid" or (self.kind == "bar" and not self.bar):
            sign = condition_sign(self)
            if not parts:
                raise self.refuse("Something before the condition's bar")
            condition = [part for _, part in self.parts(rows)]
            if not condition or self.kind == "mid":
                raise self.refuse("One condition after the bar")
            parts = [Given(side_by_side(parts), side_by_side(condition), sign, span=self.span(start))]
        self.style = style
        return side_by_side(parts) if parts else Nothing(span=(start, start))

    def parts(self, rows: bool = False) -> list[tuple[str, Node]]:
        """Formulas with the separator before each; empty places between separators do not count."""
        parts: list[tuple[str, Node]] = []
        separator = ""
        while True:
            kind, value, start, end = self.tokens[self.at]
            if kind == "words" and not self.is_operand(bool(parts) and not separator):
                parts.append((separator, Words(value, span=(start, end))))
                separator = ""
                self.at += 1
            elif kind == "separator" or kind == "quad" or (rows and kind in ("row", "&")):
                separator = value or separator or " "
                self.at += 1
            elif kind == "." and self.is_stop():
                self.at += 1
            elif kind in _SEPARATORS and kind != "words":
                return parts
            elif kind == "bar" and parts and not separator and not self.bar and not opens_bar(self):
                return parts  # the bar of a condition behind words
            else:
                node = self.formula(rows)
                if node is None:
                    return parts
                parts.append((separator, node))
                separator = ""
                if self.tokens[self.at][0] not in _SEPARATORS:
                    return parts

    def is_stop(self) -> bool:
        """Whether a point ends a sentence: nothing follows that it could belong to, or a space stands behind it."""
        following = self.tokens[self.at + 1]
        return following[0] in _SEPARATORS or following[0] in _ENDS or following[2] > self.tokens[self.at][3]

    def is_operand(self, joins: bool) -> bool:
        """Whether these words stand for a quantity: `\\text{number of words} + 1`, but not `x \\text{ and } -y`."""
        kind, value, *_ = self.tokens[self.at + 1]
        return kind in ("relation", "times", "slash", "_", "^") or (kind == "sign" and not (joins and value == "-"))

    def formula(self, rows: bool) -> Node | None:
        """Sums with relations between them; none if nothing is written."""
        start = self.tokens[self.at][2]
        items: list[Node] = []
        relations: list[str] = []
        wrapped = 0
        while True:
            while rows and self.kind == "&":
                self.at += 1
            item = self.sum(rows)
            while self.kind == "}" and wrapped:
                wrapped -= 1
                self.at += 1
            if self.is_wrapped_relation():
                wrapped += 1
                self.at += 1
            kind = self.kind
            relation = self.relation() if kind in ("relation", "stack", "arrow") else None
            if item is None and (relations or relation is not None):
                if relations and relation is not None:
                    raise self.refuse(f"Something between {relations[-1]} and {relation}")
                here = self.span(start)[1] if relations else start
                item = Nothing(span=(here, here))
            if item is not None:
                items.append(item)
            if kind == "pmod" or (kind == "open" and self.is_modulus()):
                kind = self.modulus(items, relations)
                relation = self.relation() if kind in ("relation", "stack", "arrow") else None
            if relation is None:
                break
            relations.append(relation)
            while self.kind in ("_", "^"):
                self.at += 1
                argument(self, relation, script=True)  # ≤_m: the tree has no place for it
            while self.kind == "}" and wrapped:
                wrapped -= 1
                self.at += 1
            if rows and self.kind == "row":
                self.skip_to(_STARTS)
        if wrapped:
            raise self.refuse("A closing brace")
        if not relations:
            return items[0] if items else None
        return Chain(tuple(items), tuple(relations), span=self.span(min(start, items[0].span[0])))

    def is_modulus(self) -> bool:
        """`(\\mod 5)`: a bracket that begins with mod."""
        return self.kind == "open" and self.tokens[self.at + 1][:2] in (("times", "mod"), ("pmod", "mod"))

    def modulus(self, items: list[Node], relations: list[str]) -> str:
        """`\\pmod{5}`: after ≡ it belongs to every side before it, otherwise to the last; the kind of what follows."""
        start = self.tokens[self.at][2]
        bracket = self.kind == "open"
        self.at += 2 if bracket else 1
        number = self.factor()
        if bracket:
            self.take("close", "A closing )")
        if not items:
            raise ParseError("Something is needed before the modulus.", self.text, start)
        first = 0 if "≡" in relations else len(items) - 1
        for at, item in enumerate(items[first:], first):
            if not isinstance(item, Nothing):
                items[at] = Product((("", item), ("mod", number)), span=item.span)
        return self.kind

    def is_wrapped_relation(self) -> bool:
        """`{=}`, `\\boxed{= 5}`: the brace opens before a relation."""
        return self.kind == "{" and self.tokens[self.at + 1][0] == "relation"

    def relation(self) -> str | None:
        """The sign of a relation, if one stands here; labels over it are skipped."""
        kind, value, *_ = self.tokens[self.at]
        if kind == "relation":
            self.at += 1
            return str(value)
        after = self.skip_braces(self.at + 1)
        if kind == "arrow":
            self.at = after
            return {"xrightarrow": "→", "xleftarrow": "←", "xRightarrow": "⇒"}.get(value, "⇐")
        if kind == "stack" and self.tokens[after][0] == "relation":
            self.at = after + 1
            return str(self.tokens[after][1])
        inside = [token for token in self.tokens[after : after + 3] if token[0] in ("{", "relation", "}")]
        if [token[0] for token in inside] == ["{", "relation", "}"]:
            label = self.text[self.tokens[self.at][3] : self.tokens[after][2]]
            self.at = after + 3
            return ":=" if inside[1][1] == "=" and ("def" in label.lower() or "elta" in label) else str(inside[1][1])
        return None

    def skip_braces(self, at: int) -> int:
        """Where the argument that begins here ends."""
        depth = 0
        while self.tokens[at][0] != "end of text":
            depth += {"{": 1, "}": -1}.get(self.tokens[at][0], 0)
            at += 1
            if depth <= 0:
                return at
        return at

    def sum(self, rows: bool = False) -> Node | None:
        """Terms with their signs; none if nothing is written. A sign before the first term makes a sum of one term, too."""
        start = self.tokens[self.at][2]
        terms: list[tuple[str, Node]] = []
        signed = self.kind == "sign"
        if signed and self.is_lone():
            return with_scripts(self, Symbol(self.sign(False), span=self.span(start)))
        while True:
            sign = self.sign(rows) if self.kind == "sign" else ""
            term = self.signed_term(rows) if sign and self.kind == "sign" else self.term(rows)
            if term is None and self.kind == "sign" and not terms and not sign:
                signed = True
                continue
            if term is None and sign and self.kind in _OPEN_ENDS:
                here = self.span(start)[1]
                terms.append((sign, Nothing(span=(here, here))))
                break
            if term is None:
                if sign:
                    raise self.refuse(f"A term after {sign}")
                return None
            terms.append((sign or "+", term))
            if rows and self.kind == "row" and continues(self.tokens, self.at):
                while self.kind in ("row", "&", "quad"):
                    self.at += 1
            if rows and self.kind == "&":
                self.skip_to(("sign", "relation", "stack", "arrow"))
            if self.kind != "sign":
                break
        return Sum(tuple(terms), span=self.span(start)) if signed or len(terms) > 1 else terms[0][1]

    def is_lone(self) -> bool:
        """Whether a sign stands for itself, as in P(+ | ill): nothing follows that it could belong to."""
        kind = self.tokens[self.at + 1][0]
        if kind != "bar":
            return kind in _LONE or (kind == "end of text" and self.at == 0)
        bars = 0
        for kind, *_ in self.tokens[self.at + 1 :]:
            if kind in ("open", "close", "end"):
                break
            bars += kind == "bar"
        return bars == 1 and kind == "close"

    def skip_to(self, kinds: Container[str]) -> bool:
        """Skip alignment marks and the end of a row if one of these kinds comes next."""
        at = self.at
        while self.tokens[at][0] in ("row", "&", "quad"):
            at += 1
        if self.tokens[at][0] not in kinds:
            return False
        self.at = at
        return True

    def signed_term(self, rows: bool) -> Node | None:
        """`a + -b`: the term has a sign of its own."""
        start = self.tokens[self.at][2]
        sign = self.sign(rows)
        term = self.term(rows)
        return term and Sum(((sign, term),), span=self.span(start))

    def term(self, rows: bool = False, reach: bool = False) -> Node | None:
        """Factors with the signs between them; with `reach`, up to the next function only."""
        factors: list[tuple[str, Node]] = []
        times: str | None = None
        slashes = 0
        while True:
            kind, value, start, end = self.tokens[self.at]
            if kind == "times" or kind == "slash":
                if not factors and times is None and self.is_alone():
                    self.at += 1
                    factors.append(("", with_scripts(self, Symbol(value, span=(start, end)))))
                    continue
                if times is not None or not factors:
                    raise self.refuse("A number, a letter or a bracket")
                times = value
                self.at += 1
                while rows and self.kind in ("row", "&"):
                    self.at += 1
            elif kind in _STARTS or (kind == "bar" and (not factors or times is not None or opens_bar(self))):
                if kind == "open" and factors and times is None and self.is_modulus():
                    break
                if reach and factors and kind in ("function", "big"):
                    break
                if times is None and kind in ("{", "stack") and self.is_relation_here():
                    break
                empty = kind == "{" and self.tokens[self.at + 1][0] == "}"
                factor = self.factor()
                if type(factor) is Nothing:
                    continue
                if empty and times is None and factors and isinstance(factor, Script) and type(factors[-1][1]) is Number:
                    sign, base = factors[-1]
                    factors[-1] = sign, replace(factor, base=base, span=(base.span[0], factor.span[1]))  # 0.3{}^3
                elif times in ("/", "÷"):
                    slashes += 1
                    self.divide(factors, self.divisor(factor) if times == "÷" else factor, slashes)
                elif times == "choose":
                    above = product(factors)
                    factors[:] = [("", Function("binom", (above, factor), span=(above.span[0], factor.span[1])))]
                else:
                    if times is None and factors and kind == "number" and type(factors[-1][1]) is Number:
                        raise ParseError("A sign is needed between two numbers.", self.text, start)
                    factors.append((times or "" if factors else "", factor))
                times = None
            elif kind == "sign" and times is not None:
                self.at += 1
                factor = Sum(((value, self.factor()),), span=self.span(start))
                if times in ("/", "÷"):
                    self.divide(factors, factor, slashes)
                else:
                    factors.append((times, factor))
                times = None
            elif kind in ("_", "^") and not factors and times is None:
                factors.append(("", with_scripts(self, Nothing(span=(start, start)))))
            elif kind == "bar" and factors and self.tokens[self.at + 1][0] == "_" and not self.bar:
                self.at += 1
                sign, body = factors[-1]
                factors[-1] = sign, with_scripts(self, Postfix(body, value, span=(body.span[0], end)))
            elif kind == "words" and (times is not None or not factors or self.is_unit(factors[-1][1])):
                self.at += 1
                factors.append((times or "" if factors else "", with_scripts(self, Words(value, span=(start, end)))))
                times = None
            elif not (rows and factors and kind in ("row", "&") and self.skip_to(("times", "slash"))):
                break
        if times is not None and self.kind in _OPEN_ENDS and times not in ("/", "÷", "choose"):
            here = self.span(0)[1]
            factors.append((times, Nothing(span=(here, here))))
        elif times is not None:
            raise self.refuse("A number, a letter or a bracket")
        return product(factors) if factors else None

    def is_alone(self) -> bool:
        """Whether an operator stands for itself: all of a formula, or with an index."""
        return self.tokens[self.at + 1][0] in _LONE or (self.at == 0 and self.tokens[1][0] == "end of text")

    def is_unit(self, last: Node) -> bool:
        """Whether words after a factor belong to it: `5 \\text{ apples} + 3 \\text{ apples}`, not `0 \\text{ and } -x`."""
        words, (following, sign, *_) = self.tokens[self.at], self.tokens[self.at + 1]
        if following in ("relation", "times", "slash", "_", "^"):
            return True
        if following == "sign":
            joins = not isinstance(last, Number) or not JOINING_WORDS.isdisjoint(words[1].lower().split())
            again = any(token[:2] == words[:2] for token in self.tokens[self.at + 1 :])
            return sign == "+" or again or not joins or worth(words[1]) is not None
        return isinstance(last, Number) and (following in _ENDS or following in _SEPARATORS)

    def divisor(self, below: Node) -> Node:
        """What ÷ divides by: a slash after it binds closer, so that 1/18 ÷ 11/36 divides two fractions."""
        while self.tokens[self.at][:2] == ("slash", "/"):
            self.at += 1
            under = self.factor()
            below = Quotient(below, under, False, span=(below.span[0], under.span[1]))
        return below

    def is_relation_here(self) -> bool:
        """Whether a relation stands here, in braces or under a label."""
        if self.kind == "{":
            return self.is_wrapped_relation()
        after = self.skip_braces(self.at + 1)
        return "relation" in (self.tokens[after][0], self.tokens[min(after + 1, len(self.tokens) - 1)][0])

    def divide(self, factors: list[tuple[str, Node]], below: Node, slashes: int) -> None:
        """Put the factors so far over `below`, which takes more factors if the slash is wide or ∂ stands there."""
        if slashes > DEEPEST:
            raise ParseError(f"Quotients are nested deeper than {DEEPEST} here.", self.text, below.span[0])
        under: list[tuple[str, Node]] = [("", below)]
        start = begins_differential(factors) if begins_differential(under) is not None else None
        if start is not None:
            while self.kind in _STARTS and len(under) < 2 * DEEPEST:
                under.append(("", self.factor()))
                if self.kind != "symbol" or self.tokens[self.at][1][0] != "partial":
                    break
                under.append(("", self.factor()))
            found = derivative(product(factors[start:]), product(under))
            if found is not None:
                factors[start:] = [(factors[start][0], with_body(self, found))]
                return
        while self.wide_slash and self.kind in _STARTS:
            under.append(("", self.factor()))
        above = product(factors)
        factors[:] = [("", Quotient(above, product(under), False, span=(above.span[0], under[-1][1].span[1])))]

    def factor(self, scripts: bool = True) -> Node:
        """One thing with its scripts, or without."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise ParseError(f"The formula is nested deeper than {DEEPEST} here.", self.text, self.tokens[self.at][2])
        token = self.tokens[self.at]
        rule = ATOMS.get(token[0])
        if rule is None:
            raise self.refuse("A number, a letter or a bracket")
        self.at += 1
        node = rule(self, token)
        if scripts and self.tokens[self.at][0] in _SCRIPTS:
            node = with_scripts(self, node)
        self.depth -= 1
        return node

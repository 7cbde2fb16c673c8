"""Declared shapes: every product is checked for conformability, every stated size of a result against the computed one."""

from __future__ import annotations

import re

from flint import arb

from workings.check.argument.argument import Argument
from workings.check.argument.lines import EQUAL, Line
from workings.check.claims.sizes import Shapes, Size, Sizes, Unfit, shapes_text
from workings.check.latex.parse import ParseError, parse
from workings.check.latex.syntax import Dots, Items, Matrix, Node, Number, Product, Symbol
from workings.check.latex.weights import plain
from workings.check.value.names import is_closed, is_name
from workings.check.value.value import Table

_SPOKEN = re.compile(
    r"\$([^$]{1,40})\$\s+(?:is|are|has (?:the )?(?:size|shape|dimensions?)|of (?:size|shape))(?: of| an?| the)*\s*$", re.I
)
"""`$W$ is $3 \\times 2$` in prose."""


class DeclaredShapes:
    """The shapes that a document declares, part by part."""

    def __init__(self, argument: Argument) -> None:
        self.argument = argument
        self.parts: dict[int, Sizes] = {}
        for index, line in enumerate(argument.lines):
            self.declare(line, argument.lines[max(0, index - 8) : index])

    def sizes(self, line: Line) -> Sizes:
        """What is declared in a line's part of the document, upon what is declared before all parts."""
        part = self.argument.part(line)
        if part not in self.parts:
            common = self.parts.get(0)
            self.parts[part] = (
                Sizes() if common is None else Sizes(common.sample, dict(common.declared), scalars=set(common.scalars))
            )
        return self.parts[part]

    def declare(self, line: Line, before: list[Line]) -> None:
        """Q, K ∈ ℝ^{n×d}; `$W$ is $3 × 2$`."""
        sizes = self.sizes(line)
        for index, relation in enumerate(line.relations):
            shapes = sizes.of_space(line.sides[index + 1]) if relation == "∈" else None
            if shapes is not None and index == 0:
                self.name(sizes, line.sides[0], shapes)
                for other in reversed(before):
                    if other.formulas[0] is not line.formulas[0] or len(other.sides) > 1 or not is_name(other.sides[0]):
                        break
                    self.name(sizes, other.sides[0], shapes)
            elif shapes is not None and all(sign in EQUAL for sign in line.relations[:index]) and is_name(line.sides[0]):
                self.name(sizes, line.sides[0], shapes)
        if len(line.sides) == 1:
            self.declare_in_prose(line, sizes)

    def declare_in_prose(self, line: Line, sizes: Sizes) -> None:
        """A name in prose, followed by its size."""
        match line.sides[0]:
            case Product(factors=((_, rows), ("×", columns))):
                found = _SPOKEN.search(line.formulas[0].before)
                if found is None:
                    return
                try:
                    name = parse(found.group(1))
                except ParseError:
                    return
                n, m = sizes.size(rows), sizes.size(columns)
                if n is not None and m is not None and is_name(name):
                    self.name(sizes, name, ((n, m),))

    def name(self, sizes: Sizes, node: Node, shapes: Shapes) -> None:
        """A name may have been declared before: then it may have either shape."""
        if is_name(node):
            known = sizes.declared.get(plain(node), ())
            sizes.declared[plain(node)] = (*known, *(shape for shape in shapes if shape not in known))

    def check(self, line: Line) -> None:
        """Every side of a line that is a formula of declared names."""
        sizes = self.sizes(line)
        if not sizes.declared and not any(sign == "∈" for sign in line.relations):
            return
        sizes.tables = self.tables(line)
        stated = self.stated_shapes(line, sizes)
        self.check_printed(line, sizes)
        for index, side in enumerate(line.sides):
            if (index and line.relations[index - 1] not in EQUAL) or is_closed(side) or isinstance(side, Symbol | Number):
                continue
            try:
                shapes = sizes.shapes(side)
            except Unfit as unfit:
                self.add_finding(line, index, "shapes that fit", f"{unfit}.")
                continue
            if shapes and stated is None and index == 1 and line.relations[0] in EQUAL and is_name(line.sides[0]):
                self.derive(sizes, line.sides[0], shapes)
            if not shapes or stated is None or is_name(side):
                continue
            right = any(shape in stated for shape in shapes)
            self.argument.decide(line, max(0, index - 1), right)
            if not right:
                truth = shapes_text(shapes)
                self.add_finding(line, index, truth, f"The formula is {truth}, and {shapes_text(stated)} is stated.")

    def tables(self, line: Line) -> dict[Node, tuple[int, int]]:
        """The shapes of the names that were given a matrix in this problem."""
        view, found = self.argument.view(line), {}
        for name in {plain(part) for side in line.sides for part in side.walk() if is_name(part)}:
            for held in view.seen(name)[:1]:
                if isinstance(held.stated.value, Table) and not held.stated.value.free:
                    found[name] = held.stated.value.shape
        return found

    def derive(self, sizes: Sizes, node: Node, shapes: Shapes) -> None:
        """Q = X W: the name has the shape of its formula, unless it was declared."""
        name = plain(node)
        if name not in sizes.declared and name not in sizes.scalars and len(shapes) == 1:
            sizes.declared[name] = shapes

    def check_printed(self, line: Line, sizes: Sizes) -> None:
        """A ∈ ℝ^{3×2} with a printed matrix of another shape."""
        declared = sizes.declared.get(plain(line.sides[0])) if is_name(line.sides[0]) else None
        for index, side in enumerate(line.sides[1:], 1):
            if not declared or line.relations[index - 1] not in EQUAL or not isinstance(side, Matrix):
                continue
            cells = [cell for row in side.rows for cell in row]
            if len({len(row) for row in side.rows}) != 1 or any(isinstance(cell, Dots | Matrix | Items) for cell in cells):
                continue  # Items: the entries of a row are set apart by commas instead
            n, m = len(side.rows), len(side.rows[0])
            shape = (Size(arb(n), str(n)), Size(arb(m), str(m)))
            numbers = all(size.is_number for pair in declared for size in pair)
            if numbers and shape not in declared and shape[::-1] not in declared:
                truth = shapes_text(declared)
                self.add_finding(line, index, truth, f"The matrix is {n} × {m}, and {truth} is declared.")

    def stated_shapes(self, line: Line, sizes: Sizes) -> Shapes | None:
        """The size that a line states for its result, or that its left name was declared with."""
        for index, relation in enumerate(line.relations):
            if relation == "∈" and all(sign in EQUAL for sign in line.relations[:index]):
                return sizes.of_space(line.sides[index + 1]) or None
        if line.relations and line.relations[0] in EQUAL and is_name(line.sides[0]):
            return sizes.declared.get(plain(line.sides[0]))
        return None

    def add_finding(self, line: Line, index: int, truth: str, why: str) -> None:
        """Report a shape that does not fit."""
        level = "possible" if self.argument.is_doubtful(line) else "likely"
        self.argument.add(line, index, index, level, "shape", truth, why, basis="declared sizes")

"""The mistakes that `make mutants` makes: which there are, and which are left out by rule."""

import ast

from bench.mutate import mutants

SOURCE = b'''"""Docstring with 1 < 2."""
from x import y

WIDTH: "Literal[1]" = 4

def f(a: "1 < 2", b):
    """1 < 2"""
    if a < b and not b:
        raise ValueError(f"{a + b}")
    a.append(b)
    return [a + "x" for a in b if a]

class C:
    def __repr__(self):
        return 1 + 1
'''


def test_every_kind_of_mistake_once():
    found = [(mutant.line, mutant.before, mutant.after) for mutant in mutants("f.py", SOURCE)]
    assert found == [
        (4, "4", "5"),
        (4, "4", "(3)"),
        (8, "a < b and not b", "(not (a < b and (not b)))"),
        (8, "a < b and not b", "(a < b or not b)"),
        (8, "a < b", "(a <= b)"),
        (8, "not b", "(b)"),
        (9, 'raise ValueError(f"{a + b}")', "pass"),
        (10, "a.append(b)", "pass"),
        (11, 'return [a + "x" for a in b if a]', "return None"),
        (11, "a", "(not (a))"),
    ]


def test_each_is_python_and_changes_its_place_only():
    for mutant in mutants("f.py", SOURCE):
        changed = mutant.applied(SOURCE)
        ast.parse(changed)
        assert changed.startswith(SOURCE[: mutant.start]) and changed.endswith(SOURCE[mutant.end :]) and changed != SOURCE


def test_a_mistake_keeps_its_name_when_lines_move():
    moved = SOURCE.replace(b"def f", b"# a comment\n\ndef f")
    assert [mutant.key for mutant in mutants("f.py", moved)] == [mutant.key for mutant in mutants("other/f.py", SOURCE)]

"""What the tracer believes of this library's own code by its name holds."""

import ast
from pathlib import Path

import torch

from workings import course, equations, models, nn, show
from workings.nn.fits import check_shapes
from workings.own_code import FOLDER, has_checks, is_check

READ = (course, equations, models, nn)
"""The packages that mark themselves as written to be read when they are imported."""
KEPT = (ast.Global, ast.Nonlocal)


def checks():
    """Every function, in the files whose checks are believed, that is called a check and has no value."""
    for path in (path for path in sorted(Path(FOLDER).rglob("*.py")) if has_checks(str(path))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.FunctionDef(name=name, returns=ast.Constant(value=None)) if name.lstrip("_").startswith("check_"):
                    yield path, node


def writes(node):
    """Whether it may keep something: an attribute, an entry or a name of somebody else's."""
    places = [n for n in ast.walk(node) if isinstance(n, ast.Attribute | ast.Subscript)]
    return any(not isinstance(n.ctx, ast.Load) for n in places) or any(isinstance(n, KEPT) for n in ast.walk(node))


def test_a_check_raises_or_does_nothing():
    found = list(checks())
    assert len(found) > 50
    folders = {str(folder) for path, _ in found for folder in path.parents}
    assert {package.__path__[0] for package in READ} - folders == {equations.__path__[0]}  # which checks nothing
    assert [f"{path.name}: {node.name}" for path, node in found if writes(node)] == []
    (keeps,) = ast.parse("def check_all(self):\n    self.checked = True").body
    assert writes(keeps)


def test_what_is_called_a_check():
    def check_mine(x) -> None:
        """The author's: not known to do nothing."""

    assert is_check(check_shapes)
    assert not any(map(is_check, (check_mine, len, show)))


def test_a_check_alone_is_no_effect():
    def f(x):
        check_shapes(f, x)
        return x + 1

    assert show(f, torch.ones(2), depth=1).difference == 0

"""Everything reads the row of an operation: without it, each reader fails or says something else."""

import ast
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import workings
from workings.show.ask.reach import cells
from workings.show.formula.notation import latex_formula, mathml_formula, text_formula
from workings.trace.definitions.expand import definition_of
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.from_python import formula_of
from workings.trace.formula.tree import Apply, Leaf, Sequence
from workings.trace.gradient.adjoint import adjoints
from workings.trace.operations import FAMILIES, OPERATIONS
from workings.trace.shapes.explain import explain

ROWS = torch.tensor([[0.5, -1.0], [2.0, 0.25]])
VALUES = {"a": ROWS, "b": ROWS.flip(0), "y": torch.tensor([1, 0])}
SAMPLE = {
    # row: a statement, and its formula
    "exp": "torch.exp(a)",
    "relu": "F.relu(a)",
    "matmul": "a @ b",
    "div": "a / b",
    "linear": "F.linear(a, b)",
    "sum": "a.sum(0)",
    "softmax": "a.softmax(-1)",
    "log_softmax": "a.log_softmax(-1)",
    "cross_entropy": "F.cross_entropy(a, y)",
    "mse_loss": "F.mse_loss(a, b)",
    "layer_norm": "F.layer_norm(a, (2,))",
    "scaled_dot_product_attention": "F.scaled_dot_product_attention(a, b, b)",
}


@pytest.fixture(params=SAMPLE)
def row(request):
    return request.param


def readers(op):
    """What each reader makes of an operation."""
    source = SAMPLE[op]
    formula = formula_of(ast.parse(source, mode="eval").body)
    printers = {
        script.__name__: lambda script=script: script(formula) for script in (text_formula, latex_formula, mathml_formula)
    }
    return printers | {
        "capture": lambda: formula_of(ast.parse(source, mode="eval").body),
        "gradient": lambda: adjoints(formula, Leaf("∂L/∂Z"), VALUES, name="Z"),
        "value": lambda: evaluate(formula, VALUES).tolist(),
    }


def outcome(reader):
    try:
        return reader()
    except Exception as error:
        return type(error)


def without(op, readers):
    """The outcomes while a row is missing."""
    row = OPERATIONS.remove(op)
    try:
        return {name: outcome(reader) for name, reader in readers.items()}
    finally:
        OPERATIONS.add(row)


def test_every_reader_needs_the_row(row):
    own = readers(row)
    before = {name: outcome(reader) for name, reader in own.items()}
    assert not [name for name, found in before.items() if isinstance(found, type)]
    after = without(row, own)
    assert [name for name in before if before[name] == after[name]] == []
    assert {name: outcome(reader) for name, reader in own.items()} == before


def test_definitions_shapes_and_cells_need_the_row():
    x, layer = torch.zeros(2, 3), nn.Linear(4, 2)
    own = {
        "definition": lambda: definition_of(F.linear, (x, x)),
        "definition of a layer": lambda: definition_of(layer, (x,)),
        "shapes": lambda: explain(RuntimeError(), layer, (x,)),
        "shapes of a function": lambda: explain(RuntimeError(), F.linear, (x, layer.weight)),
        "cells": lambda: cells(Apply("linear", (Leaf("x"), Leaf("W"))), (0, 1), {}),
        "a failing layer": lambda: workings.trace.OPERATIONS.layers[nn.Linear][0].name,
    }
    before = {name: str(outcome(reader)) for name, reader in own.items()}
    after = {name: str(found) for name, found in without("linear", own).items()}
    assert [name for name in before if before[name] == after[name]] == []


def test_a_row_stands_once():
    names = [row.name for family in FAMILIES for row in family.ROWS]
    assert sorted(names) == sorted(OPERATIONS)
    assert all(row.meaning for row in OPERATIONS.values())
    with pytest.raises(AssertionError, match="softmax stands in the table already"):
        OPERATIONS.add(OPERATIONS["softmax"])


def test_a_spelling_means_one_operation():
    for row in OPERATIONS.values():
        for name in row.also.split() + row.calls.split():
            assert OPERATIONS.calls[name] == row.name


def test_a_list_of_tensors_is_joined():
    formula = Apply("cat", (Sequence((Leaf("a"), Leaf("b"))),), (("dim", 0),))
    assert text_formula(formula) == "cat(a, b, axis 0)"


OTHER_FACTS = {
    ("trace/code/instrument.py", "_EAGER"): "Python's functions that use up an iterator",
    ("show/formula/latex_script.py", "_FUNCTIONS"): "the functions that LaTeX has commands for",
}
"""Tables with names of operations in them that are facts of something else."""


def tables(source):
    """Names of operations in each literal of a module that holds three of them, by the name it is assigned to."""
    for statement in ast.parse(source).body:
        target = getattr(statement, "targets", [getattr(statement, "target", None)])[0]
        for node in ast.walk(statement):
            match node:
                case ast.Dict(keys=parts) | ast.Set(elts=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
                    words = [part.value for part in parts if isinstance(part, ast.Constant)]
                case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="split")):
                    words = text.split()
                case _:
                    continue
            if len(found := {word for word in words if word in OPERATIONS}) >= 3:
                yield getattr(target, "id", statement.lineno), found


def test_nobody_else_keeps_a_list_of_operations():
    source = Path(workings.__file__).parent
    files = [path for floor in ("trace", "show") for path in sorted((source / floor).rglob("*.py"))]
    found = {
        (str(path.relative_to(source)), name)
        for path in files
        if "operations" not in path.parts
        for name, _ in tables(path.read_text(encoding="utf-8"))
    }
    assert found == OTHER_FACTS.keys()


def test_the_search_for_lists_finds_one():
    assert [*tables('KNOWN = frozenset("exp log softmax".split())')] == [("KNOWN", {"exp", "log", "softmax"})]
    assert [*tables('RULES = {"exp": 1, "log": 2, "softmax": 3}')] == [("RULES", {"exp", "log", "softmax"})]
    assert [*tables('PAIR = {"exp": 1, "log": 2, "other": 3}')] == []

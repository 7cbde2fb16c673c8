"""Why a cell has its value: which cells of the operands it needs, and gradients back to the loss."""

import math

import pytest
import torch
import torch.nn.functional as F

import workings
from tests.formulas import at
from workings.show.ask.reach import cells
from workings.trace.formula.operation import EVERY
from workings.trace.formula.tree import Apply, Code, Leaf, Number, Sequence

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
x, y, z = Leaf("x"), Leaf("y"), Leaf("z")


def op(name, *args, **options):
    return Apply(name, args, tuple(options.items()))


@pytest.mark.parametrize(
    ("formula", "index", "needed"),
    [
        (op("masked_fill", x, y, Number(0)), (1, 0), [(1, 0)] * 3),
        (op("where", x, y, z), (1, 0), [(1, 0)] * 3),
        (op("max", x, y), (1, 0), [(1, 0)] * 2),
        (op("max", x, dim=0), (1,), [(EVERY, 1)]),
        (op("sum", x, dim=-1), (1,), [(1, EVERY)]),
        (op("mean", x, dim=0, keepdim=True), (0, 1), [(EVERY, 1)]),
        (op("sum", x), (), [None]),
        (op("rowsum", x), (1, 0), [(1, EVERY)]),
        (op("linear", x, y, z), (0, 1), [(0, EVERY), (1, EVERY), (1,)]),
        (op("embedding", x, y), (2, 1), [(2,), (EVERY, 1)]),
        (op("layer_norm", x, Sequence((Number(2),)), y), (5, 1), [(5, EVERY), (5, 1), (5, 1)]),
        (op("layer_norm", x, Sequence((Number(2), Number(3)))), (5, 1, 2), [(5, EVERY, EVERY), (5, 1, 2)]),
        (op("einsum", x, y, text="bqd,bkd->bqk"), (0, 1, 2), [(0, 1, EVERY), (0, 2, EVERY)]),
        (op("einsum", Code("'ij,jk->ik'"), x, y), (0, 1), [None, (0, EVERY), (EVERY, 1)]),
        (op("einsum", x, text="...d->..."), (0,), [None]),
        (op("index", x, at=at("0, :")), (1,), [(0, 1)]),
        (op("index", x, at=at("1")), (0, 2), [(1, 0, 2)]),
        (op("index", x, at=at("mask")), (0,), [None]),
        (op("roll", x), (0,), [None]),
    ],
)
def test_the_cells_that_an_operation_needs(formula, index, needed):
    assert cells(formula, index, {}) == needed


def test_a_matrix_times_a_vector():
    known = {"x": torch.ones(2, 3), "y": torch.ones(3)}
    assert cells(op("matmul", x, y), (1,), known) == [(1, EVERY), (EVERY,)]
    assert cells(op("matmul", y, x), (1,), known) == [(EVERY,), (EVERY, 1)]


def test_every_cell_that_is_not_named_has_no_say():
    """A law: what a cell does not need can be anything."""

    def f(Q, K, g):
        S = torch.einsum("qd,kd->qk", Q, K)
        N = F.layer_norm(S, (3,), g)
        return N

    Q, K, g = (torch.randn(n, generator=torch.Generator().manual_seed(len(n))) for n in ((3, 2), (3, 2), (3,)))
    why = workings.show(f, Q, K, g).why("N", (1, 2))
    assert "  S[1, :] = " in why and "  g[2] = " in why and "    Q[1, :] = " in why and "    K[:, :] = " in why
    other = Q.clone()
    other[[0, 2]] = 7.0
    torch.testing.assert_close(f(other, K, g)[1, 2], f(Q, K, g)[1, 2])


def test_a_masked_score_keeps_its_row():
    def f(Q, K):
        S = Q @ K.mT
        S = S.masked_fill(torch.tensor([[False, True], [False, False]]), -math.inf)
        A = S.softmax(-1)
        return A

    lines = workings.show(f, X, X).why("A", (0, 0)).split("\n")
    assert [line.partition(" = ")[0] for line in lines[:5]] == [
        "A[0, 0]",
        "  S[0, :]",
        "    S[0, :]",
        "      Q[0, :]",
        "      K[:, :]",
    ]


def test_a_gradient_is_explained_back_to_the_loss():
    def f(x):
        A = x + 1
        A = A * 2
        B = A * A
        return (A + B).sum()

    assert workings.show(f, X, backward=True).why("∂L/∂x", (0, 0)).split("\n") == [
        "∂L/∂x[0, 0] = 18, since ∂L/∂x = ∂L/∂A",
        "  ∂L/∂A[0, 0] = 18, since ∂L/∂A = 2·∂L/∂A#2",
        "    ∂L/∂A#2[0, 0] = 9, since ∂L/∂A#2 = ∂L/∂A#2 from B + ∂L/∂A#2 from output",
        "      ∂L/∂A#2 from B[0, 0] = 8, since ∂L/∂A#2 from B = 2·(∂L/∂B ⊙ A#2)",
        "        ∂L/∂B[0, 0] = 1, since ∂L/∂B = ones(2×2)",
        "        A[0, 0] = 4, since A = A·2",
        "          A[0, 0] = 2, since A = x + 1",
        "            x[0, 0] = 1",
        "      ∂L/∂A#2 from output[0, 0] = 1, since ∂L/∂A#2 from output = ones(2×2)",
    ]

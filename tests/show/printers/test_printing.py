"""Statements that are easy to print badly: changes in place, values that are unpacked, cells that are matrices."""

import torch

import workings
from workings.show.printers.shape_table import memory


def test_a_change_in_place_keeps_its_underscore():
    def f(x):
        y = x * 1
        y.mul_(2)
        z = y.relu_()
        return z

    work = workings.show(f, torch.tensor([1.0, 2.0]))
    assert work.text().split("\n")[2:4] == ["y.mul_(2) = [2  4]  (2)", "z = y.relu_() = [2  4]  (2)"]
    assert "\\begin{align*}\n&\\texttt{y.mul\\_}(2) = \\left[2,\\ 4\\right]" in work.latex()
    assert "<mtext>y.mul_</mtext>" in work.html()


def test_every_part_that_is_unpacked_has_its_name():
    def f(x):
        (c, *d), e = (x, x * 2, x * 3), x * 4
        return c + e + d[0] + d[1]

    work = workings.show(f, torch.tensor([1.0, 2.0]))
    lines = work.text().split("\n")
    assert lines[2] == "(c, *d), e = ((x, x·2, x·3), x·4) = (([1, 2], [1, 2]·2, [1, 2]·3), [1, 2]·4)"
    assert lines[3] == "  ⇒ c = [1  2]    d[0] = [2  4]    d[1] = [3  6]    e = [4  8]"
    assert "((c, *d), e) &= \\left(\\left(x,\\ x \\cdot 2,\\ x \\cdot 3\\right),\\ x \\cdot 4\\right)" in work.latex()


def test_why_draws_a_matrix_as_one():
    def f(x):
        m = x.inverse()
        y = m @ x
        total = y.sum()
        return total

    assert workings.show(f, torch.tensor([[1.0, 0.0], [0.0, 2.0]])).why("total").split("\n") == [
        "total = 2, since total = Σ y",
        "  y[:, :] = ⎡1  0⎤, since y = m x",
        "            ⎣0  1⎦",
        "    m[:, :] = ⎡1.0  0  ⎤, since m = x⁻¹",
        "              ⎣0    0.5⎦",
        "    x[:, :] = ⎡1  0⎤",
        "              ⎣0  2⎦",
    ]


def test_much_memory_has_a_unit_of_its_own():
    # 2.34 · 2^40; 1023 MiB is not yet a GiB; 999.6 KiB has four digits, and no exponent
    assert memory(int(2.34 * 2**40)) == "2.34 TiB"
    assert memory(1023 * 2**20) == "1,023 MiB"
    assert memory(int(999.6 * 2**10)) == "1,000 KiB"
    assert memory(999 * 2**10) == "999 KiB"


def test_a_branch_says_how_it_went():
    def f(x, n):
        if n:
            x = -x * 2 / n
        return x

    work = workings.show(f, torch.tensor([1.0]), 4)
    assert work.text().split("\n")[1] == "if n: True"
    assert "−x·2 / n = −[1]·2 / 4 = [−0.5]" in work.text()
    assert "<code>: True</code>" in work.html()

"""A line of a solution: name = formula = formula with values = value, nothing twice."""

import torch

from workings.show import show


def test_an_entry_is_said_once():
    def pick(x):
        y = x[1]
        z = 2 * x[0]
        return y, z

    lines = show(pick, torch.tensor([[1.0, 2.0], [3.0, 4.0]])).text().split("\n")
    assert "y = x[1] = [3  4]  (2)" in lines
    assert "z = 2·x[0] = 2·[1, 2] = [2  4]  (2)" in lines

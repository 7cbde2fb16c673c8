"""Statements and gradients number a name that is assigned again alike."""

import re

import torch
from torch import nn

import workings
from workings.show import Work


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = torch.zeros(2)
        self.w = nn.Parameter(torch.tensor([0.5, -1.0]))

    def forward(self, x):
        for row in x:
            self.h = torch.tanh(self.w * self.h + row)
        L = self.h.sum()
        return L


def again(x):
    h = x * 2
    h = h + 1
    y = torch.zeros(2)
    y[0] = h.sum()
    a, h = h - 1, h * h
    a += h
    for _ in range(2):
        h = h * a
    L = (h + a).sum() + y.sum()
    return L


X = torch.tensor([1.0, 2.0])


def test_every_value_that_a_gradient_names_is_made_in_a_line():
    for function, given in ((again, X), (Cell(), torch.ones(3, 2))):
        text = workings.show(function, given, backward=True).text(substitution="none")
        named = set(re.findall(r"∂L/∂(\w+#\d+)", text))
        made = set(re.findall(r"^ *(\w+#\d+) = |(?:⇒|turn \d+ of \d+,) (\w+#\d+) = ", text, re.MULTILINE))
        assert len(named) > 2 and named <= {name for pair in made for name in pair if name}, (named, made)


def test_the_lines():
    lines = workings.show(again, X, backward=True).text(substitution="none", checks=False).splitlines()
    shown = [line.strip() for line in lines]
    assert "h#2 = h + 1 = [3  5]  (2)" in shown
    assert "y[0] = Σ h#2 = 8 ⇒ y#2 = [8  0]  (2)" in shown
    assert "a = h#2 − 1 = [2  4]  (2)" in shown and "h#3 = h#2 ⊙ h#2 = [9  25]  (2)" in shown
    assert "a#2 = a + h#3 = [11  29]  (2)" in shown
    assert "h#4 = h#3 ⊙ a#2 = [99  725]  (2)" in shown and "h#5 = h#4 ⊙ a#2 = [1089  21025]  (2)" in shown


def test_without_gradients_names_are_as_in_the_code():
    assert "#" not in workings.show(again, X).text()


def test_entries_and_sizes_of_a_numbered_value():
    def f(x):
        h = x * 2
        h = h + 1
        t = 1
        L = h[t] * h[0] / h.shape[0]
        return L

    text = workings.show(f, X, backward=True).text()
    assert "L = h#2[t]·h#2[0] / 2 = 5·3 / 2 = 7.5" in text


def test_every_printer_and_the_saved_work_say_the_same():
    work = workings.show(again, X, backward=True)
    assert "h^{(2)} &= h + 1" in work.latex()
    assert '<div class="name"><math displaystyle="true"><msup><mi>h</mi><mrow><mo>(</mo><mn>2</mn>' in work.html()
    loaded = Work.from_json(work.json())
    assert loaded == work and loaded.text() == work.text() and "h#2 = h + 1" in loaded.text()
    assert loaded.markdown() == work.markdown()


def test_a_second_backward_pass_numbers_afresh():
    work = workings.show(again, X, backward=True)
    before = work.text()
    assert work.backward("L").text() == before

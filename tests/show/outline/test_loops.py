"""What a reader sees of a loop: what each turn is about, and the value the code goes on with."""

import pytest
import torch
from torch import nn

import workings
from workings.trace.capture.recorder import Recorder

TWO = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def titles(work):
    return [line.strip() for line in work.text(width=200).split("\n") if ": turn " in line or "…" in line]


def counted(x):
    for _ in range(100):
        x = x + 1
    return x


def enumerated(x):
    for i, v in enumerate(range(70)):
        x = x + v
        if i == 57:
            break
    return x


def unbounded(x):
    n = 0
    while n < 52:
        n += 1
        x = x + n
    return x


@pytest.mark.parametrize(
    ("function", "folded", "last", "value"),
    [
        (counted, "… turns 51–99 ran and are not shown", "turn 100 of 100", 100),
        (enumerated, "… turns 51–57 ran and are not shown", "turn 58 of 58, i = 57, v = 57", 57 * 58 // 2),
        (unbounded, "… turn 51 ran and is not shown", "turn 52 of 52", 52 * 53 // 2),
    ],
)
def test_the_last_turn_of_a_long_loop_is_kept(function, folded, last, value):
    work = workings.show(function, torch.zeros(2))
    assert work["x"].tolist() == [value, value] == work.result.tolist()
    assert titles(work)[3:5] == ["… 47 turns like these (complete=True shows them)", folded]
    assert titles(work)[5].endswith(last)
    assert sum(": turn " in line for line in work.text(complete=True).split("\n")) == 51  # those that were recorded
    shown = work.text().split("\n")
    assert shown[-3].startswith("return x")
    assert any(f"= [{value}  {value}]" in line for line in shown[-6:])


def test_turns_that_were_folded_away_keep_no_large_tensor_alive(monkeypatch):
    def f(x):
        n = 0
        while n < 60:
            n += 1
            y = x + n
        return y

    kept = []
    plain = Recorder.__init__
    monkeypatch.setattr(Recorder, "__init__", lambda self, *args: (plain(self, *args), kept.append(self))[0])
    assert workings.show(f, torch.zeros(70_000)).result[0] == 60
    assert len(kept[0].snapshots.by_reference) == 1 + 51  # x, and y of the first fifty turns and the last


def test_of_a_very_long_loop_the_last_values_are_kept():
    def f(x):
        n, out = 0, [0, 0]
        while n < 2000:
            n += 1
            x = x + 1
            out[n % 2] = n
            if n < 0:
                break
        return x

    work = workings.show(f, torch.zeros(2))
    assert (work["x"].tolist(), work["n"], work["out"]) == ([2000, 2000], 2000, [2000, 1999])
    assert sum(1 for _ in work.steps()) < 300
    assert titles(work)[-2:] == ["… turns 51–1999 ran and are not shown", "while n < 2000: turn 2000 of 2000"]
    assert "  of this turn only what it left is shown" in work.text()
    assert workings.show.Work.from_json(work.json()).text() == work.text()


def test_each_turn_says_what_it_is_about():
    def f(xs, heads):
        out = 0
        for h in range(heads):
            for t, x in enumerate(xs):
                out = out + x.sum() * h + t
        return out

    work = workings.show(f, TWO, 2)
    assert titles(work) == [
        "for h in range(heads): turn 1 of 2, h = 0",
        "for t, x in enumerate(xs): turn 1 of 2, t = 0, x = [1, 2]",
        "for t, x in enumerate(xs): turn 2 of 2, t = 1, x = [3, 4]",
        "for h in range(heads): turn 2 of 2, h = 1",
        "for t, x in enumerate(xs): turn 1 of 2, t = 0, x = [1, 2]",
        "for t, x in enumerate(xs): turn 2 of 2, t = 1, x = [3, 4]",
    ]
    assert workings.show.Work.from_json(work.json()).text() == work.text()
    assert "<code>1, t = 0, x = [1, 2]</code>" in work.html()


def test_a_matrix_that_a_turn_is_about_stands_below_its_title():
    def f(xs):
        total = 0
        for x in xs:
            total = total + x.sum()
        return total

    lines = workings.show(f, torch.stack([TWO, TWO])).text().split("\n")
    place = lines.index("for x in xs: turn 1 of 2")
    assert lines[place + 2 : place + 4] == ["  x = ⎡1  2⎤  (2×2)", "      ⎣3  4⎦"]


def test_a_turn_keeps_the_value_it_began_with():
    def f(xs):
        total = 0
        for x in xs:
            x = x * 10
            total = total + x.sum()
        return total

    assert [title[-10:] for title in titles(workings.show(f, TWO))] == ["x = [1, 2]", "x = [3, 4]"]


def test_which_layer_of_a_sequential_a_turn_runs():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert titles(workings.show(net, TWO)) == [
        "for module in self: turn 1 of 3, module = 0: Linear(2, 3)",
        "for module in self: turn 2 of 3, module = 1: ReLU()",
        "for module in self: turn 3 of 3, module = 2: Linear(3, 1)",
    ]


def test_what_is_read_before_a_method_is_recorded():
    def f(xs, W):
        for x in xs:
            i, g = (W @ x).chunk(2)
        return (i * g).sum()

    work = workings.show(f, TWO, TWO, backward=True)
    (_, second) = [s for s in work.steps() if s.name == "i, g"]
    assert second.operands["x"].tolist() == [3, 4]
    text = work.text(width=200)
    assert "i, g = chunk(W x, 2) = chunk(⎡1  2⎤ [1, 2], 2) ⇒ i = [5]    g = [11]" in text
    assert "was not recorded" not in text


def test_a_block_says_it_too():
    total = torch.tensor(0.0)
    with workings.trace() as work:
        for row in TWO:
            total = total + row.sum()
    assert titles(work) == ["for row in TWO: turn 1 of 2, row = [1, 2]", "for row in TWO: turn 2 of 2, row = [3, 4]"]

"""The four figures: their sizes by hand, the law of the keys, and a short training."""

from math import erfc, log

import pytest
import torch

from workings.errors import WorkingsError
from workings.studies import Boxes, Images
from workings.studies.families.exam.figures import (
    _curve,
    _docstrings,
    _smooth,
    figure_digits,
    figure_keys,
    figure_loss,
    figure_network,
)


def part(parts, kind):
    return next(part for part in parts if isinstance(part, kind))


def test_the_diagram_of_the_network():
    boxes = part(figure_network(), Boxes)
    assert [size for _, size in boxes.stages] == [
        "1×32×32", "8×28×28", "8×7×7", "16×6×6", "16×3×3", "144", "10 logits", "10",
    ]  # fmt: skip
    assert "3,722" in boxes.note


def test_the_grid_has_a_column_for_each_digit():
    grid = part(figure_digits(), Images)
    assert len(grid.rows) == 4 and all(len(row) == 10 for row in grid.rows)
    assert [*grid.captions[0]] == [str(k) for k in range(10)]


def test_keys_on_the_other_side():
    claim = next(one for one in figure_keys(alpha=1e-4) if "other side" in getattr(one, "sentence", ""))
    assert claim.wanted.low + 0.01 == pytest.approx(erfc(1) / 2, abs=1e-4)  # 7.865 %


def test_a_short_training_falls_from_log_c():
    tokens = torch.arange(3_000) % 7  # the next character is certain
    curve = _curve(tokens, 7, 40, seed=0, broken="")
    assert curve[0] == pytest.approx(log(7), abs=0.3) and curve[-1] < 0.5 * curve[0]
    still = _curve(tokens, 7, 5, seed=0, broken="learning rate 0")
    assert max(still) - min(still) < 0.1


def test_smoothing_by_hand():
    assert _smooth([4.0, 2.0, 0.0], width=2) == [4.0, 3.0, 1.0]


def test_the_prose_is_ours_and_long_enough():
    assert len(_docstrings()) > 20_000 and _docstrings().isascii()


def test_too_short_a_text(tmp_path):
    (tmp_path / "short.txt").write_text("To be, or not to be")
    with pytest.raises(WorkingsError, match="at least 5,000"):
        figure_loss(text=str(tmp_path / "short.txt"))
    with pytest.raises(WorkingsError, match=r"alpha goes from 0\.0001 to 0\.1: the noise across is small; got 1\.0\."):
        figure_keys(alpha=1)

"""Heatmaps: true values in the cells, the scale, pooling that says so, names that are text."""

import math
import re
import xml.etree.ElementTree as ET

import pytest
import torch

from workings import exact
from workings.errors import ShapeError
from workings.show.value.heatmap import BLUE, ORANGE, RED, svg


def titles(picture: str) -> list[str]:
    return [t.text for t in ET.fromstring(picture).iter("title")]


def label(picture: str) -> str:
    return ET.fromstring(picture).get("aria-label")


def test_each_cell_says_its_value():
    picture = svg(torch.tensor([[0.0, 0.1], [-2.0, 1e-9]], dtype=torch.float64))
    said = {"row 0, column 0: 0", "row 0, column 1: 0.1", "row 1, column 0: −2", "row 1, column 1: 1e−09"}
    assert set(titles(picture)) == said


def test_float32_is_said_with_the_digits_it_has():
    assert titles(svg(torch.tensor([0.1]))) == ["row 0, column 0: 0.100000001"]


def test_rows_and_columns_are_named_and_escaped():
    picture = svg(torch.eye(2), rows=["<script>", "b"], columns=["c", "a very long token"], title="A & B")
    assert "<script>" not in picture and "<script>, c: 1" in titles(picture)
    assert "a very long…" in "".join(ET.fromstring(picture).itertext())
    assert label(picture) == "Heatmap of A & B: 2×2" and 'role="img"' in picture


def test_the_wrong_number_of_names_is_refused():
    with pytest.raises(ShapeError, match=r"A heatmap with 2 rows needs 2 names, but got 1\."):
        svg(torch.eye(2), rows=["a"])


def cell_colours(picture: str) -> list[tuple[str, float]]:
    cells = picture.split('class="frame"')[0]
    return [(fill, float(opacity)) for fill, opacity in re.findall(r'<g fill="([^"]+)" fill-opacity="([^"]+)"', cells)]


def test_two_signs_are_two_hues_symmetric_about_zero():
    assert cell_colours(svg(torch.tensor([-1.0, 0.0, 2.0]))) == [(ORANGE, 0.5), (BLUE, 0.04), (BLUE, 1.0)]


def test_one_sign_runs_from_the_smallest_to_the_largest():
    assert cell_colours(svg(torch.tensor([3.0, 4.0, 5.0]))) == [(BLUE, 0.04), (BLUE, 0.5), (BLUE, 1.0)]
    assert cell_colours(svg(-torch.tensor([3.0, 5.0]))) == [(ORANGE, 1.0), (BLUE, 0.04)]


def test_what_is_not_finite_is_crossed_out():
    picture = svg(torch.tensor([[1.0, math.nan], [math.inf, 2.0]]))
    assert {"row 0, column 1: NaN", "row 1, column 0: ∞"} <= set(titles(picture))
    assert RED in picture and "2 cells not finite, crossed out" in label(picture)
    assert "1</text>" in picture and "2</text>" in picture  # the legend knows finite numbers only


def test_large_matrices_are_pooled_and_say_so():
    picture = svg(torch.ones(128, 256))
    assert len(titles(picture)) == 64 * 64
    assert "each cell is the mean of 2 × 4 entries" in label(picture)
    assert "row 0–1, column 4–7: 1" in titles(picture)
    assert "pooled" not in svg(torch.ones(64, 64)) and len(titles(svg(torch.ones(64, 64)))) == 4096


def test_a_nan_is_not_lost_by_pooling():
    x = torch.zeros(200, 200)
    x[7, 9] = math.nan
    assert "2 cells not finite" in label(svg(x))  # the blocks of 200/64 entries overlap


@pytest.mark.parametrize("shape", [(10_000, 3), (3, 10_000), (1_000_000,), (100_000, 1), (65, 64)], ids=str)
def test_any_large_shape_stays_bounded(shape):
    assert 0 < len(titles(svg(torch.randn(shape)))) <= 4096


def test_slices_of_more_axes():
    picture = svg(torch.arange(60.0).reshape(3, 5, 2, 2))
    assert "the first 8 of 15 matrices" in label(picture)
    words = list(ET.fromstring(picture).itertext())
    assert "[0, 4]" in words and "[1, 2]" in words and "[1, 3]" not in words


@pytest.mark.parametrize(
    "x",
    [
        torch.tensor(3),
        torch.zeros(0, 3),
        torch.zeros(2, 0),
        torch.eye(3) > 0,
        torch.ones(2, 2, dtype=torch.complex64),
        torch.eye(2).to_sparse(),
    ],
    ids=["number", "no rows", "no columns", "bool", "complex", "sparse"],
)
def test_every_kind_of_tensor_has_a_picture(x):
    assert ET.fromstring(svg(x)).tag == "svg"


def test_exact_tensors():
    assert "row 0, column 1: 0.7071067811865476" in titles(svg(exact("1 1/sqrt(2)")))

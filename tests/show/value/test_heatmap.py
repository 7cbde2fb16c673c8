"""Heatmaps: the numbers of the cells, the scale, pooling that says so, names that are text."""

import io
import json
import math
import xml.etree.ElementTree as ET
from base64 import b64decode

import numpy as np
import pytest
import torch
from PIL import Image

from workings import exact
from workings.errors import ShapeError
from workings.show.value.heatmap import Heatmap, heatmap

BLUE, ORANGE, RED = (0x2F, 0x7F, 0xD6), (0xDD, 0x6B, 0x20), (0xD0, 0x1F, 0x2E)


def svg(picture: Heatmap) -> ET.Element:
    return ET.fromstring(f"<div>{picture.markup()}</div>")[0]


def images(picture: Heatmap) -> list[ET.Element]:
    return [image for image in svg(picture).iter("image") if image.get("data-values")]


def numbers(picture: Heatmap) -> list:
    """The numbers of the first matrix, as the page's script reads them."""
    image = images(picture)[0]
    values = np.frombuffer(b64decode(image.get("data-values")), dtype="<f4")
    return values.reshape(int(image.get("height")), int(image.get("width"))).tolist()


def colours(picture: Heatmap) -> list[tuple[tuple[int, int, int], float]]:
    """Colour and opacity of each cell of the first matrix, as a reader of PNG sees them."""
    data = images(picture)[0].get("href").partition("base64,")[2]
    pixels = Image.open(io.BytesIO(b64decode(data))).convert("RGBA")
    found = np.asarray(pixels).reshape(-1, 4).tolist()
    return [((r, g, b), round(a / 255, 2)) for r, g, b, a in found]


def test_the_numbers_stand_beside_the_picture():
    x = torch.tensor([[0.0, 0.1], [-2.0, 1e-9]], dtype=torch.float64)
    assert numbers(heatmap(x)) == x.float().tolist()


def test_rows_and_columns_are_named_and_escaped():
    picture = heatmap(torch.eye(2), rows=["<script>", "b"], columns=["c", "a very long token"], title="A & B")
    drawn = svg(picture)
    assert "<script>" not in picture.markup() and json.loads(drawn.get("data-rows")) == ["<script>", "b"]
    assert json.loads(drawn.get("data-columns")) == ["c", "a very long token"]
    assert "a very long…" in "".join(drawn.itertext())
    assert drawn.get("aria-label") == "Heatmap of A & B: 2×2" and drawn.get("role") == "img"


def test_the_wrong_number_of_names_is_refused():
    with pytest.raises(ShapeError, match=r"A heatmap with 2 rows needs 2 names, but got 1\."):
        heatmap(torch.eye(2), rows=["a"])


def test_two_signs_are_two_hues_symmetric_about_zero():
    assert colours(heatmap(torch.tensor([-1.0, 0.0, 2.0]))) == [(ORANGE, 0.5), (BLUE, 0.04), (BLUE, 1.0)]


def test_a_legend_has_the_numbers_at_the_ends_of_the_scale():
    assert heatmap(torch.tensor([-1.0, 2.0])).legend == '−2 <i class="both"></i> 2'
    assert heatmap(-torch.tensor([3.0, 5.0])).legend == '−5 <i class="down"></i> −3'
    assert '<p class="legend">3 <i class="up"></i> 5<span>2</span></p>' in heatmap(torch.tensor([3.0, 5.0])).markup()


def test_one_sign_runs_from_the_smallest_to_the_largest():
    assert colours(heatmap(torch.tensor([3.0, 4.0, 5.0]))) == [(BLUE, 0.04), (BLUE, 0.5), (BLUE, 1.0)]
    assert colours(heatmap(-torch.tensor([3.0, 5.0]))) == [(BLUE, 0.04), (ORANGE, 1.0)]


def test_what_is_not_finite_is_crossed_out():
    picture = heatmap(torch.tensor([[1.0, math.nan], [math.inf, 2.0]]))
    assert [colour for colour, _ in colours(picture)] == [BLUE, RED, RED, BLUE]
    assert 'd="M1 0l1 1M2 0l-1 1M0 1l1 1M1 1l-1 1"' in picture.inside
    assert "2 cells not finite, crossed out" in picture.label
    assert picture.legend == '1 <i class="up"></i> 2'  # it knows finite numbers only


def test_what_a_mask_hides_is_empty():
    picture = heatmap(torch.tensor([[1.0, -math.inf], [0.5, 2.0]]))
    assert [opacity for _, opacity in colours(picture)] == [0.31, 0.0, 0.04, 1.0]
    assert picture.label == "Heatmap: 2×2; 1 cells are −∞, left empty" and "crosses" not in picture.inside


def test_large_matrices_are_pooled_and_say_so():
    picture = heatmap(torch.ones(128, 256))
    assert np.shape(numbers(picture)) == (64, 64)
    assert "each cell is the mean of 2 × 4 entries" in picture.label and picture.cells == ' data-block="2 4"'
    assert not heatmap(torch.ones(64, 64)).cells and np.size(numbers(heatmap(torch.ones(64, 64)))) == 4096


def test_a_nan_is_not_lost_by_pooling():
    x = torch.zeros(200, 200)
    x[7, 9] = math.nan
    assert "2 cells not finite" in heatmap(x).label  # the blocks of 200/64 entries overlap


@pytest.mark.parametrize("shape", [(10_000, 3), (3, 10_000), (1_000_000,), (100_000, 1), (65, 64)], ids=str)
def test_any_large_shape_stays_bounded(shape):
    assert 0 < np.size(numbers(heatmap(torch.randn(shape)))) <= 4096


@pytest.mark.parametrize("most", [64, 200, 1000, 5000])
def test_all_matrices_together_have_no_more_cells_than_asked_for(most):
    picture = heatmap(torch.randn(6, 40, 40), most=most)
    cells = [int(image.get("width")) * int(image.get("height")) for image in images(picture)]
    assert len(cells) == max(1, min(6, most // 64)) and sum(cells) <= most


def test_the_same_picture_has_the_same_id_and_stands_again_in_few_bytes():
    one, same, other = heatmap(torch.eye(9), title="a"), heatmap(torch.eye(9), title="b"), heatmap(torch.ones(9, 9))
    assert one.id == same.id != other.id and f'id="{one.id}"' in one.markup()
    assert f'<use href="#{one.id}"/>' in same.again() and "Heatmap of b" in same.again() and len(same.again()) < 300


def test_slices_of_more_axes():
    picture = heatmap(torch.arange(60.0).reshape(3, 5, 2, 2))
    assert "the first 8 of 15 matrices" in picture.label
    words = list(svg(picture).itertext())
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
    assert svg(heatmap(x)).tag == "svg"


def test_exact_tensors():
    assert numbers(heatmap(exact("1 1/sqrt(2)"))) == [[1.0, np.float32(2**-0.5)]]

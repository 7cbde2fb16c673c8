"""The recipe `digits`: every model on real digits, pictures of one's own, and what the recipes of pictures share."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies
from PIL import Image
from sklearn.datasets import load_digits
from torch import nn

from tests.train.smoke import assert_repeats_and_restores, made, same_weights, trained
from workings.errors import ShapeError, WorkingsError
from workings.nn.vision.convolution import parameter_count
from workings.train.data.images import digits
from workings.train.evaluation.open import open_run
from workings.train.loop.engine import train
from workings.train.recipes import recipe
from workings.train.recipes.digits import MODELS
from workings.train.run.run import Run
from workings.train.tasks.digits import figures, sample_text
from workings.train.tasks.drawing import grid, save, shades
from workings.train.tasks.pictures import Standardised, hashes, in_parts, moved
from workings.train.tasks.shuffled import Shuffled

SHORT = dict(steps=6, batch=16, evaluate_every=6, warmup=0)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Twelve grey and twelve coloured pictures of two digits, 28×28, in a folder for each class."""
    place = tmp_path_factory.mktemp("own")
    data = load_digits()
    for digit in (0, 1):
        (place / f"a {digit}").mkdir()
        for i in np.flatnonzero(data.target == digit)[:12]:
            pixels = Image.fromarray((data.images[i] * 15).astype(np.uint8)).resize((28, 28))
            pixels.save(place / f"a {digit}" / f"{i}.png")
    return place


@pytest.mark.parametrize("model", MODELS)
def test_every_model_repeats_and_is_restored(model, tmp_path):
    assert_repeats_and_restores("digits", tmp_path / "run", model=model, **SHORT)


def test_a_cnn_learns_digits_in_seconds():
    _, history = trained("digits", steps=120, batch=64, evaluate_every=120, warmup=0)
    assert history.best["accuracy"] > 0.9
    assert {"loss", "accuracy", "train"} <= history.best.keys()


def test_resumed_in_the_middle_it_ends_with_the_same_bits(tmp_path):
    whole, _ = trained("digits", **SHORT, save_every=3)
    settings, task = made("digits", **SHORT, save_every=3)
    broken, batches = [], task.batches

    def once(step):
        if step == 4 and not broken:
            broken.append(step)
            raise OSError("the power went")
        return batches(step)

    task.batches = once
    with pytest.raises(OSError, match="the power went"):
        train(task, settings, Run(tmp_path / "run"), name="digits")
    _, fresh = made("digits", **SHORT, save_every=3)
    train(fresh, settings, Run(tmp_path / "run"), name="digits")
    assert broken and same_weights(whole.model, fresh.model)


def test_pictures_of_ones_own(own, tmp_path):
    task = assert_repeats_and_restores("digits", tmp_path / "run", data=str(own), channels=2, **SHORT)
    restored = Run(tmp_path / "run")
    assert restored.files()["pictures.json"] == '{"classes": ["a 0", "a 1"], "shape": [3, 28, 28]}'
    assert [*task.hashes] == [str(own)]
    x, y = task.batches(0)
    assert x.shape == (16, 3, 28, 28) and {*y.tolist()} == {0, 1}


def test_the_street_network_has_2922_parameters_on_28_pixels():
    files = {"pictures.json": '{"classes": ["0","1","2","3","4","5","6","7","8","9"], "shape": [1, 28, 28]}'}
    found = recipe("digits")
    settings = found.Settings(model="street")
    assert parameter_count(found.model(settings, files)) == 2922
    assert parameter_count(found.model(settings, {"pictures.json": files["pictures.json"].replace("28", "8")})) == 3722


def refused(text, **settings):
    with pytest.raises(WorkingsError) as caught:
        made("digits", **settings)
    assert str(caught.value) == text


def test_what_does_not_fit_is_said(own, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(
        "SVHN does not come in a package: put its train_32x32.mat and test_32x32.mat into a folder and name that folder, "
        "as in --data FOLDER.",
        data="svhn",
    )
    refused("4 stages halve a picture to nothing: it is 8 wide. Use fewer --stages.", stages=4)
    refused(
        "The street network reads one channel and has ten classes; these pictures have 3 and 2.",
        data=str(own),
        model="street",
    )
    only = tmp_path / "only"
    (only / "cats").mkdir(parents=True)
    refused(f"{only} needs a folder for each of at least two classes; it has 1.", data=str(only))
    (only / "dogs").mkdir()
    for name, size in (("cats", (3, 2)), ("dogs", (3, 2))):
        for i in range(2):
            Image.new("L", size, i).save(only / name / f"{i}.png")
    refused("The cnn takes square pictures; these are 2 high and 3 wide.", data=str(only))
    refused("Without --patch the vit takes square pictures; these are 2 high and 3 wide.", data=str(only), model="vit")
    Image.new("L", (5, 2)).save(only / "dogs" / "2.png")
    refused(
        f"Pictures must have one size: {only}/cats/0.png is 3×2, but {only}/dogs/2.png is 5×2.", data=str(only), model="mlp"
    )


@given(strategies.integers(1, 30), strategies.integers(1, 40), strategies.integers(0, 5))
def test_every_pass_sees_each_example_once(count, batch, seed):
    seen = Shuffled(count, batch, seed)
    steps = 3 * count // batch + 2
    row = torch.cat([seen(step) for step in range(steps)])
    for number in range(steps * batch // count):
        assert sorted(row[number * count : (number + 1) * count].tolist()) == list(range(count))
    again = Shuffled(count, batch, seed)
    assert all(torch.equal(again(step), row[step * batch : (step + 1) * batch]) for step in reversed(range(steps)))


def test_passes_and_seeds_differ():
    seen = Shuffled(100, 100, 0)
    assert not torch.equal(seen(0), seen(1)) and not torch.equal(seen(0), Shuffled(100, 100, 1)(0))
    with pytest.raises(WorkingsError, match=r"^There are no examples to learn from\.$"):
        Shuffled(0, 1, 0)


def test_moved_pictures_are_cut_at_the_border():
    torch.manual_seed(0)
    x = torch.arange(1.0, 10).view(1, 1, 3, 3).repeat(200, 1, 1, 1)
    y = moved(x, 1)
    # the centre, 5, is where the picture was moved to; of 3·3 places each is met
    places = {tuple((picture[0] == 5).nonzero()[0].tolist()) for picture in y}
    assert places == {(i, j) for i in range(3) for j in range(3)}
    down = y[[bool(picture[0, 2, 1] == 5) for picture in y]][0, 0]  # moved down by one: a row of zeros comes in
    assert down.tolist() == [[0, 0, 0], [1, 2, 3], [4, 5, 6]]
    assert moved(x, 1, "replicate").min() == 1


def test_default_shift_is_a_fourteenth_of_the_side(own):
    _, task = made("digits", **SHORT)
    data, seen = digits(), Shuffled(1438, 16, 0)
    assert torch.equal(task.batches(0)[0], data.x[seen(0)])  # 8 // 14 = 0
    _, task = made("digits", data=str(own), **SHORT)
    torch.manual_seed(0)
    x = task.batches(0)[0]
    torch.manual_seed(1)
    assert not torch.equal(task.batches(0)[0], x)  # 28 // 14 = 2
    _, task = made("digits", data=str(own), model="logistic", **SHORT)
    x = task.batches(0)[0]
    torch.manual_seed(1)
    assert torch.equal(task.batches(0)[0], x)  # a linear map sees pictures where they are


def test_standardised_pictures_have_mean_0_and_deviation_1():
    torch.manual_seed(0)
    x = 3 + 2 * torch.randn(50, 2, 4, 4)
    layer = Standardised(2)
    layer.measure(x)
    σ, μ = torch.std_mean(layer(x), dim=(0, 2, 3))
    torch.testing.assert_close((μ, σ), (torch.zeros(2), torch.ones(2)), atol=1e-5, rtol=0)


def test_the_model_knows_the_mean_of_its_pictures(tmp_path):
    trained("digits", tmp_path / "run", model="logistic", **SHORT)
    layer, x = open_run(tmp_path / "run").model[0], digits().x
    assert (layer.μ.item(), layer.σ.item()) == pytest.approx((x.mean().item(), x.std().item()))


def test_accuracy_by_hand():
    class Always(nn.Module):
        """The logits of class 0 and 1 are 0 and 1, whatever the picture."""

        def forward(self, x):
            return torch.tensor([0.0, 1.0]).expand(len(x), 2)

    # three of four are of class 1; −log softmax is log(1 + e) − 1 = 0.31326 there, log(1 + e) = 1.31326 for the other
    found = figures(Always(), torch.zeros(4, 1, 2, 2), torch.tensor([1, 1, 0, 1]))
    assert found["accuracy"] == 0.75
    assert found["loss"] == pytest.approx(0.31326 + 0.25, abs=1e-5)


def test_the_sample_shows_mistaken_digits_first():
    data = digits()

    class Zeros(nn.Module):
        def forward(self, x):
            return torch.eye(10)[torch.zeros(len(x), dtype=torch.long)]

    text = sample_text(Zeros(), data, 1)
    first = next(y for y in data.y_test.tolist() if y != 0)
    assert text.splitlines()[-1] == f"taken for 0 (23%; it is {first})"  # e / (e + 9) = 0.232


def test_parts_are_the_whole():
    x = torch.rand(7, 1, 2, 2)
    assert torch.equal(in_parts(nn.Flatten(), x, size=3), x.flatten(1))


def test_the_hash_is_of_the_pictures():
    data = digits()
    first = hashes("digits", data)
    assert first == hashes("digits", digits())
    data.x[0, 0, 0, 0] += 1
    assert hashes("digits", data) != first
    assert hashes("mnist", data) == {"mnist": "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed"}


def test_shades_by_hand():
    # rows are met two by two: (0 + 1)/2 = ½ is the middle shade; the odd last row stands alone
    x = torch.tensor([[[[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]]])
    assert shades(x) == "▒█\n█"
    assert shades(torch.ones(2, 1, 2, 1), gap=1) == "█ █"


def test_a_grid_and_its_file(tmp_path):
    x = torch.stack([torch.full((1, 2, 2), i / 4) for i in range(3)])
    sheet = grid(x, columns=2)
    assert sheet[0].tolist() == [
        [0, 0, 0, 0.25, 0.25],
        [0, 0, 0, 0.25, 0.25],
        [0, 0, 0, 0, 0],
        [0.5, 0.5, 0, 0, 0],
        [0.5, 0.5, 0, 0, 0],
    ]
    save(sheet, tmp_path / "made" / "grid.png", scale=3)
    with Image.open(tmp_path / "made" / "grid.png") as image:
        assert image.size == (15, 15)
    save(grid(torch.rand(2, 3, 2, 2), 2), tmp_path / "colour.png")
    with Image.open(tmp_path / "colour.png") as image:
        assert image.mode == "RGB"
    with pytest.raises(ShapeError) as caught:
        grid(torch.zeros(2, 2), 1)
    assert str(caught.value) == "A grid needs pictures [b, c, n, m] and a column; got [2, 2] and 1 columns."

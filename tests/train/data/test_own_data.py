"""Data of one's own, with all that files bring along: transparency, 16 bits, strange line breaks, rare classes, odd rows."""

import csv
import io
import re

import numpy as np
import pytest
import torch
from hypothesis import given, strategies
from PIL import Image
from torch.testing import assert_close

from tests.train.smoke import made, online
from workings.checksum import sha256
from workings.errors import WorkingsError
from workings.train.data.images import folder
from workings.train.data.pairs import table as pairs_of
from workings.train.data.pixels import on_white, pixels
from workings.train.data.reviews import records, reviews
from workings.train.data.split import split
from workings.train.data.texts import lines
from workings.train.run import metrics
from workings.train.tasks.bigram import sentences


def refused(function, *given):
    with pytest.raises(WorkingsError) as caught:
        function(*given)
    return str(caught.value)


# one picture


def read(image, path, **options):
    image.save(path, **options)
    return pixels(path)


BLACK_ON_CLEAR = np.array([[[0, 0, 0, 255], [0, 0, 0, 0], [0, 0, 0, 128]]], dtype=np.uint8)
GREY = torch.tensor([0, 255, 127]).view(1, 1, 3).expand(3, 1, 3)
"""Black on white, and half of it: 255 − 128 = 127."""


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_what_is_transparent_is_white(mode, tmp_path):
    assert_close(read(Image.fromarray(BLACK_ON_CLEAR).convert(mode), tmp_path / "x.png"), GREY, check_dtype=False)


@pytest.mark.parametrize(("mode", "premultiplied"), [("RGBA", "RGBa"), ("LA", "La")])
def test_premultiplied_transparency_is_white(mode, premultiplied):
    image = on_white(Image.fromarray(BLACK_ON_CLEAR).convert(mode).convert(premultiplied))
    assert np.asarray(image).tolist() == GREY.permute(1, 2, 0).tolist()


@pytest.mark.parametrize(("mode", "clear"), [("P", 1), ("P", bytes([255, 0])), ("L", 1), ("RGB", (1, 1, 1)), ("1", 255)])
def test_a_transparent_colour_is_white(mode, clear, tmp_path):
    # the file names a colour (or an alpha for each entry of the palette) that is clear; without it the second is dark
    image = Image.new(mode, (2, 1))
    if mode == "P":
        image.putpalette([0, 0, 0, 0, 0, 0])
    image.putpixel((1, 0), clear if mode != "P" else 1)
    assert read(image, tmp_path / "x.png", transparency=clear)[:, 0].tolist() == [[0, 255]] * 3


@pytest.mark.parametrize(
    ("mode", "form"), [("RGB", "png"), ("L", "png"), ("1", "png"), ("P", "gif"), ("CMYK", "tif"), ("LAB", "tif")]
)
def test_other_colours_are_red_green_blue(mode, form, tmp_path):
    image = Image.new("RGB", (2, 1), "white")
    image.putpixel((0, 0), (0, 0, 0))
    if mode == "LAB":  # lightness 0 and 100 %, no colour
        image = Image.merge("LAB", (image.convert("L"), *[Image.new("L", (2, 1), 128)] * 2))
    x = read(image.convert(mode), tmp_path / f"x.{form}")
    assert (x[:, 0] - torch.tensor([0, 255])).abs().max() <= 2  # a few colour spaces round


def sixteen(values):
    return Image.fromarray(np.array([values], dtype=np.uint16))


@pytest.mark.parametrize("form", ["png", "tif"])
def test_sixteen_bits_keep_their_shades(form, tmp_path):
    # 257 · 100 = 25700 is the shade 100 of 255; 128.5 lies between two shades of 8 bits
    x = read(sixteen([0, 25700, 33024, 65535]), tmp_path / f"x.{form}")
    assert_close(x, torch.tensor([0, 100, 33024 / 257, 255]).view(1, 1, 4).expand(3, 1, 4))


def test_sixteen_bits_of_a_pgm(tmp_path):
    (tmp_path / "x.pgm").write_bytes(b"P5 2 1 1000\n" + np.array([500, 1000], dtype=">u2").tobytes())
    assert_close(pixels(tmp_path / "x.pgm")[0, 0], torch.tensor([127.5, 255]), atol=0.01, rtol=0)


def test_sixteen_bits_with_a_transparent_shade(tmp_path):
    x = read(sixteen([0, 7, 65535]), tmp_path / "x.png", transparency=7)
    assert x[0, 0].tolist() == [0, 255, 255]


def test_fractions_from_0_to_1(tmp_path):
    assert read(Image.fromarray(np.array([[0.0, 0.5, 1.0]], np.float32)), tmp_path / "x.tif")[1, 0].tolist() == [
        0,
        127.5,
        255,
    ]


@pytest.mark.parametrize(
    ("values", "kind", "needed"),
    [
        (np.array([[-3.0, 500.0]], np.float32), "fractions, from -3 to 500", "0 … 1"),
        (np.array([[0.0, np.nan]], np.float32), "fractions, from nan to nan", "0 … 1"),
        (np.array([[0, 70000]], np.int32), "32 bits a pixel, from 0 to 70000", "8 or 16 bits"),
    ],
)
def test_numbers_without_a_white(values, kind, needed, tmp_path):
    path = tmp_path / "x.tif"
    Image.fromarray(values).save(path)
    assert refused(pixels, path) == (
        f"{path} has {kind}, and does not say which number is white; {needed} are needed. Save it as a PNG of 8 or 16 bits."
    )


@pytest.mark.parametrize("mode", ["L", "I;16"])
def test_pictures_are_upright(mode, tmp_path):
    # EXIF 6: the camera was turned; a viewer turns the picture by a quarter to the right
    image, exif = Image.new(mode, (2, 1)), Image.Exif()
    image.putpixel((0, 0), 255 if mode == "L" else 65535)
    exif[0x0112] = 6
    assert read(image, tmp_path / "x.png", exif=exif)[0].tolist() == [[255], [0]]


def test_pictures_that_cannot_be_read(tmp_path):
    path = tmp_path / "x.png"
    assert refused(pixels, path) == f"{path} does not exist."
    path.write_text("no picture")
    assert refused(pixels, path) == f"{path} is not a picture that can be read: cannot identify image file '{path}'."
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (300, 300, 3), dtype=np.uint8)).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert refused(pixels, path).startswith(f"{path} is not a picture that can be read: ")
    first, second, *_ = whole.split(b"IDAT")
    path.write_bytes(first + b"IDAT" + second + b"....")  # Pillow answers with a SyntaxError
    assert refused(pixels, path).startswith(f"{path} is not a picture that can be read: broken PNG file")


def test_a_picture_of_monstrous_size(tmp_path, monkeypatch):
    Image.new("L", (50, 50)).save(tmp_path / "x.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    told = refused(pixels, tmp_path / "x.png")
    assert told.startswith(f"{tmp_path / 'x.png'} is not a picture that can be read: Image size (2500 pixels) exceeds limit")


# a folder of pictures


def place(path, counts, colour=lambda name, i: 40 * i % 250, mode="L"):
    """A folder for each class with so many pictures of 2×2."""
    for name, count in counts.items():
        (path / name).mkdir(parents=True)
        for i in range(count):
            Image.new(mode, (2, 2), colour(name, i)).save(path / name / f"{i:03}.png")
    return path


def test_a_tenth_of_each_class_is_kept_for_the_test(tmp_path):
    data = folder(place(tmp_path / "x", {"a": 30, "b": 2, "c": 19}))
    assert torch.bincount(data.y_test).tolist() == [3, 1, 1] and torch.bincount(data.y).tolist() == [27, 1, 18]
    again = folder(tmp_path / "x", seed=1)
    assert again.y.tolist() != data.y.tolist() and torch.bincount(again.y_test).tolist() == [3, 1, 1]


def test_deep_and_shallow_pictures_in_one_folder(tmp_path):
    path = place(tmp_path / "x", {"a": 2, "b": 2})
    sixteen([65535, 65535]).resize((2, 2)).save(path / "b" / "002.png")
    data = folder(path)
    # a and b have 0 and 40; the sixth is white
    assert sorted(torch.cat([data.x, data.x_test])[:, 0, 0, 0].mul(255).round().tolist()) == [0, 0, 40, 40, 255]


def test_a_class_with_one_picture(tmp_path):
    path = place(tmp_path / "x", {"a": 3, "b": 1, "c": 1})
    assert refused(folder, path) == (
        f"{path}: the classes b, c have 1 picture each. A class needs at least 2, one to learn from and one to be judged "
        "by: add to it, or leave it out."
    )


def test_pictures_that_are_all_alike(tmp_path):
    # white icons on nothing are white on white
    path = place(tmp_path / "x", {"a": 2, "b": 2}, lambda name, i: (255, 255, 255, 100 * i), "RGBA")
    assert refused(folder, path) == (
        f"All 4 pictures of {path} are alike: there is nothing to tell the classes by. What is transparent is read as "
        "white, so white on transparent needs a ground of another colour."
    )


@given(
    strategies.lists(strategies.integers(2, 30), min_size=1, max_size=5),
    strategies.fractions(0, "1/5"),
    strategies.randoms(),
)
def test_no_class_is_missing_on_either_side(counts, share, random):
    y = [k for k, n in enumerate(counts) for _ in range(n)]
    order = random.sample(range(len(y)), len(y))
    train, test = split(order, y, share)
    assert sorted(train + test) == sorted(order)
    for k, n in enumerate(counts):
        assert sum(y[i] == k for i in test) == max(1, int(n * share)) < n
    assert train == [i for i in order if i in set(train)]


# labelled texts


def write(path, rows, header=("text", "label")):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


ROWS = [(f"{word} {i}", label) for i in range(15) for word, label in (("good", "pos"), ("bad", "neg"))]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "own.csv"


def test_a_fifth_of_each_class_judges(path):
    rows = [(f"{label} {i}", label) for label, n in (("many", 40), ("few", 10), ("rare", 2)) for i in range(n)]
    data = reviews(write(path, rows))
    by_class = [[sum(y == k for _, y in side) for k in range(3)] for side in (data.train, data.test)]
    assert data.classes == ["few", "many", "rare"] and by_class == [[8, 32, 1], [2, 8, 1]]
    assert len(reviews(str(path), test=5).test) == 1 + 3 + 1  # 10 · 5/52 = 0.96, 40 · 5/52 = 3.8, and at least one


def test_a_text_of_any_length(path):
    usual, long = csv.field_size_limit(), "great " * 40_000
    data = reviews(write(path, [*ROWS, (long, "pos")]))
    assert (long, 1) in data.train + data.test and csv.field_size_limit() == usual


@pytest.mark.parametrize("blank", ["\n", "\n\n\n", "  \n", "\t\r\n"])
def test_blank_lines_are_passed_over(path, blank):
    write(path, ROWS)
    content = path.read_text()
    path.write_text(blank + content.replace("good 3,", f"{blank}good 3,") + blank)
    data = reviews(str(path))
    assert len(data.train) == 24 and len(data.test) == 6


def test_spaces_around_labels_and_columns_do_not_count(path):
    data = reviews(write(path, [*ROWS, ("fine", " pos ")], header=("text", " label")))
    assert data.classes == ["neg", "pos"]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([*ROWS, ("good\nwords", "pos"), ("nice", " ")], ", line 34: the label is empty. Fill it in, or leave the row out."),
        ([*ROWS, ("", "pos")], ", line 32: the text is empty. Fill it in, or leave the row out."),
        (
            [*ROWS, ("good 0", "pos"), ("good 1", "neg")],
            ": one text has two labels, pos on line 4 and neg on line 33. Keep one of the two rows.",
        ),
        ([("good", "pos"), ("bad", "neg")], " has 2 different texts; at least 20 are needed."),
        ([ROWS[0], ROWS[1]] * 20, " has 2 different texts; at least 20 are needed."),
        (
            [*ROWS, ("fine", "neutral")],
            ": the class neutral has 1 text. A class needs at least 2, one to learn from and one to be judged by: add to "
            "it, or leave it out.",
        ),
        ([*ROWS, ("a\nb", "pos", "x")], ", line 32: 3 fields where the header has 2."),
    ],
)
def test_rows_that_do_not_do(path, rows, told):
    assert refused(reviews, write(path, rows)) == f"{path}{told}"


def test_columns_that_stand_twice(path):
    assert refused(reviews, write(path, [], header=("text", "label", "label"))) == (
        f"{path} has 2 columns called label; one is needed."
    )


@pytest.mark.parametrize(
    ("row", "reason"),
    [('"open quote,pos\nnext,neg\n', "unexpected end of data"), ('"open,pos\n"quoted",neg\n', "',' expected after '\"'")],
)
def test_a_quote_that_is_not_closed(path, row, reason):
    write(path, ROWS)
    path.write_text(path.read_text() + row)
    assert refused(reviews, str(path)) == (
        f"{path}, line 32: this row is not CSV ({reason}). A field with a comma, a quote or a line break stands in "
        "quotes, and a quote in it is written twice."
    )


FIELDS = strategies.text(strategies.characters(exclude_characters="\r"))  # a file's \r are gone when it has been read


@given(strategies.lists(strategies.lists(FIELDS, min_size=2, max_size=3).filter(any)))
def test_every_table_that_csv_writes_is_read(rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    content = text.getvalue()
    assert [row for _, row in records(content, "x")] == rows
    first = [written(row).partition("\n")[0] for row in rows]
    assert [content.split("\n")[line - 1] for line, _ in records(content, "x")] == first


def written(row):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(row)
    return text.getvalue()


def test_the_reviews_of_the_package_are_split_as_before():
    online("reviews")
    data = reviews("rotten", test=500)
    assert (len(data.test), data.classes) == (500, ["negative", "positive"])
    assert sha256("\n".join(f"{text}\t{y}" for text, y in data.test)).startswith("a659a6792890")


# what a run was begun with


def test_other_labels_are_other_data(path):
    began = made("sentiment", data=write(path, ROWS))[1].hashes
    assert made("sentiment", data=write(path, ROWS))[1].hashes == began
    other = {"pos": "neg", "neg": "pos"}
    assert made("sentiment", data=write(path, [(text, other[y]) for text, y in ROWS]))[1].hashes != began
    other = {"pos": "zz", "neg": "a"}  # other names in the same order
    assert made("sentiment", data=write(path, [(text, other[y]) for text, y in ROWS]))[1].hashes != began


@pytest.mark.parametrize("name", ["digits", "vae", "autoencoder"])
def test_other_class_names_are_other_data(name, tmp_path):
    path = place(tmp_path / "x", {"a": 3, "b": 3}, lambda name, i: 100 * i + 50 * (name == "a"))
    settings = {"data": str(path), **({"model": "logistic"} if name == "digits" else {})}
    began = made(name, **settings)[1].hashes
    assert made(name, **settings)[1].hashes == began
    (path / "a").rename(path / "aaa")  # still before b
    assert made(name, **settings)[1].hashes != began


# line breaks

BREAKS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""What `splitlines` takes for the end of a line, beside \\n and \\r."""


def test_the_breaks_are_all_there_are():
    assert "".join(c for c in map(chr, range(0x110000)) if len(f"a{c}b".splitlines()) == 2 and c not in "\n\r") == BREAKS


@given(strategies.text(strategies.sampled_from("ab\n" + BREAKS)))
def test_only_a_newline_ends_a_line(text):
    assert "".join(lines(text)) == text
    assert [line.removesuffix("\n") for line in lines(text)] == re.sub(r"\n\Z", "", text).split("\n") * bool(text)


@pytest.mark.parametrize("mark", BREAKS)
def test_a_sample_with_any_break_is_kept(mark, tmp_path):
    path = tmp_path / "metrics.jsonl"
    rows = [{"step": 1, "train": 2.5}, {"step": 1, "sample": f"to be{mark}or\r\nnot"}, {"step": 2, "train": 2.0}]
    for row in rows:
        metrics.append(path, row)
    assert metrics.read(path) == rows
    assert metrics.rewind(path, 1) == rows[:2] and metrics.read(path) == rows[:2]
    path.write_text(path.read_text() + '{"step": 3, "sam')
    assert metrics.read(path) == rows[:2]


@pytest.mark.parametrize("mark", BREAKS)
def test_a_pair_with_any_break(mark, tmp_path):
    path = tmp_path / "p.tsv"
    path.write_text("".join(f"a{mark}{i}\tb{i}\n" for i in range(20)), encoding="utf-8")
    assert pairs_of(path)[3] == (f"a{mark}3", "b3")


def test_a_review_with_any_break(path):
    data = reviews(write(path, [*ROWS, (f"to{BREAKS}be", "pos")]))
    assert (f"to{BREAKS}be", 1) in data.train + data.test


def test_sentences_are_not_cut_at_other_breaks(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("one\u2028 line\n" * 10, encoding="utf-8")
    train, dev, _ = sentences(str(path), "")
    assert dev == "one\u2028 line\n" and train == dev * 9


# pairs


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("only", "two columns with a tab between them are needed; got 1."),
        ("a\tb\tc", "two columns with a tab between them are needed; got 3."),
        ("only\t", "the second column is empty. Fill it in, or leave the line out."),
        (" \tonly", "the first column is empty. Fill it in, or leave the line out."),
    ],
)
def test_a_line_that_is_no_pair(row, told, tmp_path):
    path = tmp_path / "p.tsv"
    path.write_text("".join(f"a{i}\tb{i}\n" for i in range(20)) + row + "\n")
    assert refused(pairs_of, path) == f"{path}, line 21: {told}"


def test_a_pair_counts_once(tmp_path):
    path = tmp_path / "p.tsv"
    path.write_text("".join(f"a{i % 19}\tb\n" for i in range(40)))
    assert refused(pairs_of, path) == f"{path} has 19 different pairs; at least 20 are needed."
    path.write_text("".join(f"a{i % 20}\tb\n" for i in range(40)))
    assert len(pairs_of(path)) == 20
    path.write_text("a\tb\n")
    assert refused(pairs_of, path) == f"{path} has 1 pairs; at least 20 are needed."

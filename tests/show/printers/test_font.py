"""The font that pages embed: it has what brackets grow by, and every sign that pages write."""

import io
import re
from html import unescape
from importlib.resources import files
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[2] / "golden"
BY_OTHERS = set("▁▂▃▄▅▆▇█␛")
"""Signs that stand outside formulas, in the fonts of the system."""


@pytest.fixture(scope="module")
def font():
    pytest.importorskip("brotli", reason="brotli, which reads WOFF2, is not installed")
    from fontTools.ttLib import TTFont

    return TTFont(io.BytesIO((files("workings.page") / "assets" / "workings-math.woff2").read_bytes()))


def test_it_is_small_and_has_a_table_for_mathematics(font):
    assert "MATH" in font and len((files("workings.page") / "assets" / "workings-math.woff2").read_bytes()) < 35_000
    assert "SIL Open Font License" in (files("workings.page") / "assets" / "OFL-stix-two-math.txt").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("sign", "()[]{}√")
def test_what_grows_is_no_broader_than_the_small_sign(font, sign):
    variants = font["MATH"].table.MathVariants
    name = font.getBestCmap()[ord(sign)]
    way = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(name)]
    grown = [size.VariantGlyph for size in way.MathGlyphVariantRecord] + [
        part.glyph for part in way.GlyphAssembly.PartRecords
    ]
    assert max(font["hmtx"][glyph][0] for glyph in grown) <= 1.21 * font["hmtx"][name][0]


def test_it_has_every_sign_of_the_recorded_formulas(font):
    formulas = [
        math for file in GOLDEN.glob("*.html") for math in re.findall(r"<math.*?</math>", file.read_text(encoding="utf-8"))
    ]
    signs = set(unescape(re.sub(r"<[^>]*>", "", "".join(formulas)))) - BY_OTHERS
    assert len(signs) > 60
    assert {sign for sign in signs if ord(sign) not in font.getBestCmap() and not sign.isspace()} == set()

"""The font for mathematics that pages embed: STIX Two Math, cut down to the signs that pages write.

Brackets grow with a matrix only in a font with a MATH table, and many machines have none. Two steps make the font fit:

1. Browsers keep, beside every sign that grows, room for its widest size: softmax( S ). So the broad sizes of a bracket are
   left out, and the pieces that the tallest ones are put together from are narrowed to the width of the small sign.
2. Only the signs below are kept, without hints and kerning. The rest of the font is ten times as large.

Example (brotli is needed to write WOFF2):
    npm pack @fontsource/stix-two-math@5.3.0 && tar xzf fontsource-stix-two-math-5.3.0.tgz && pip install brotli
    python tools/math_font.py package/files/stix-two-math-latin-400-normal.woff2

Its licence (SIL Open Font License 1.1) stands beside it; the licence asks for another name, hence «Workings Math».
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from fontTools import subset
from fontTools.ttLib import TTFont

TARGET = Path(__file__).parents[1] / "src/workings/page/assets/workings-math.woff2"
FAMILY = "Workings Math"
RANGES = [
    (0x20, 0x7E),  # ASCII
    (0x391, 0x3A9),  # Greek
    (0x3B1, 0x3C9),
    (0x2070, 0x208E),  # raised and lowered digits
    (0x1D434, 0x1D467),  # italic letters: a browser takes them for <mi>x</mi>
    (0x1D6E2, 0x1D71B),
]
SIGNS = """
¬ ± × ÷ · ° ¯ ˆ ˙ ˜ ¹ ² ³ ¼ ½ ¾ µ « » ϑ ϕ ϱ ϵ ħ ℎ ℒ ℓ ℕ ℚ ℝ ℤ 𝔼 𝒩
← ↑ → ↓ ↔ ↦ ⇒ ⇔ ∀ ∂ ∃ ∅ ∆ ∇ ∈ ∉ ∏ ∑ − ∓ ∕ ∖ ∗ ∘ √ ∝ ∞ ∣ ∥ ∧ ∨ ∩ ∪ ∫ ∼ ≃ ≅ ≈ ≔ ≠ ≡ ≤ ≥ ≪ ≫ ⊂ ⊆ ⊕ ⊖ ⊗ ⊙ ⊤ ⊥ ⋅ ⋆ ⋮ ⋯ ⋱
‖ ⌈ ⌉ ⌊ ⌋ ⟨ ⟩ ⏞ ⏟ ␣ ✓ – — ‘ ’ “ ” … ′ ″ ⁄
"""
INVISIBLE = [0xA0, 0x302, 0x303, 0x304, 0x305, 0x307, 0x2061, 0x2062, 0x2063, 0x2064, 0x20D7]
"""A space that does not break, accents over letters, and the signs for «applied to» and «times» that are not seen."""
FENCES, ROOT = "()[]{}⟨⟩⌊⌋⌈⌉", "√"
FENCE_WIDTH, ROOT_WIDTH = 1.2, 1.06
"""How much broader than the small sign a large one may be."""


def build(source: Path, target: Path) -> None:
    """Write the font for pages, made from the whole one."""
    font = TTFont(source)
    for sign in FENCES:
        drop_broad_sizes(font, sign)
    for sign in FENCES + ROOT:
        narrow_sizes(font, sign)
    cut(font)
    rename(font)
    font.flavor = "woff2"
    font.save(target)


def construction(font: Any, sign: str) -> Any:
    """How a sign grows: its sizes, and the pieces of anything larger."""
    table = font["MATH"].table.MathVariants
    return table.VertGlyphConstruction[table.VertGlyphCoverage.glyphs.index(font.getBestCmap()[ord(sign)])]


def width(font: Any, glyph: str) -> int:
    return int(font["hmtx"][glyph][0])


def widest(font: Any, sign: str) -> float:
    """The width that every size of a sign may have."""
    return width(font, font.getBestCmap()[ord(sign)]) * (ROOT_WIDTH if sign == ROOT else FENCE_WIDTH)


def drop_broad_sizes(font: Any, sign: str) -> None:
    """Keep the sizes that are narrow; the pieces make up for the others, where there are pieces."""
    way, most = construction(font, sign), widest(font, sign)
    if way.GlyphAssembly is not None:
        way.MathGlyphVariantRecord = [size for size in way.MathGlyphVariantRecord if width(font, size.VariantGlyph) <= most]
        way.VariantCount = len(way.MathGlyphVariantRecord)


def narrow_sizes(font: Any, sign: str) -> None:
    """Squeeze what is still too broad."""
    way, most = construction(font, sign), widest(font, sign)
    sizes = [size.VariantGlyph for size in way.MathGlyphVariantRecord] if way.GlyphAssembly is not None else []
    pieces = [piece.glyph for piece in way.GlyphAssembly.PartRecords] if way.GlyphAssembly is not None else []
    for glyph in sizes + pieces:
        squeeze(font, glyph, most)


def squeeze(font: Any, glyph: str, most: float) -> None:
    """Scale a glyph to this width, if it is broader."""
    advance, outline = width(font, glyph), font["glyf"][glyph]
    if advance > most:
        outline.coordinates.scale((most / advance, 1))
        outline.coordinates.toInt()
        outline.recalcBounds(font["glyf"])
        font["hmtx"][glyph] = (round(most), outline.xMin)


def cut(font: Any) -> None:
    """Keep the signs above with their sizes and their small forms for exponents."""
    options = subset.Options(hinting=False, layout_features=["ssty", "dtls", "flac"], notdef_outline=True)
    options.name_IDs = [0, 1, 2, 4, 6, 13, 14]
    options.drop_tables += ["GDEF", "GPOS", "gasp"]
    signs = {ord(sign) for sign in SIGNS if not sign.isspace()}
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=signs | set(INVISIBLE) | {code for low, high in RANGES for code in range(low, high + 1)})
    cutter.subset(font)


def rename(font: Any) -> None:
    names = {1: FAMILY, 4: FAMILY, 6: FAMILY.replace(" ", "")}
    for record in font["name"].names:
        record.string = names.get(record.nameID, record.string)


if __name__ == "__main__":
    build(Path(sys.argv[1]), TARGET)
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")
